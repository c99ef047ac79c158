"""`wink batch` as a person uses it, on this machine alone: begin, interrupt, go on, look, compare, merge."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from plugins.batch.tests.acting import begun
from plugins.batch.tests.helping import (
    ROOT,
    command,
    environment,
    repository,
    rows,
    wait_until,
    wink,
    write_table,
    write_turns,
)

TEMPLATE = "plugins.batch.tests.acting:template"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a workspace, a script and what attempts share."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    (tmp_path / "shared").mkdir()
    write_turns(tmp_path / "turns.toml")
    return tmp_path


def table(place: Path, *doing: str) -> None:
    """A task for each word."""
    about = {"at": str(place / "shared")}
    write_table(
        place / "tasks.jsonl",
        [
            {"id": f"t{one}", "prompt": "Act.", "workspace": "repo", "params": {**about, "do": what}}
            for one, what in enumerate(doing)
        ],
    )


def begin(place: Path, *more: str, out: str = "out") -> list[str]:
    """A command that begins a batch on this machine."""
    given = ["--model", "scripted:turns.toml", "--template", TEMPLATE, "--out", out, "--cache", str(place / "cache")]
    return ["batch", "tasks.jsonl", *given, "--engine", "local", "--parallel", "2", *more]


def test_a_batch_from_its_table_to_its_page(place: Path) -> None:
    """What failed is grouped, what was done is shown with its calls, and the records are where they were wanted."""
    table(place, "write", "die", "write")
    more = ["--retries", "1", "--check", "test -s out.txt", "--results", "all.jsonl", "--results", "all.parquet"]
    done = wink(*begin(place, *more), cwd=place, status=1)
    assert "2 done, 1 failed, 0 left of 3 tasks" in done.stdout
    assert "passed 2 of 3: 66.7% (95 % interval 20.8% to 93.9%)" in done.stdout
    assert "1 x crash" in done.stdout

    import pyarrow.parquet

    kept = rows(place / "out/results.jsonl")
    assert rows(place / "all.jsonl") == kept
    again = pyarrow.parquet.read_table(str(place / "all.parquet")).to_pylist()
    assert [row["id"] for row in again] == [row["id"] for row in kept]
    assert [row["tries"] for row in sorted(kept, key=lambda row: row["id"])] == [1, 2, 1]

    shown = wink("batch", "show", "out", "t0", cwd=place).stdout
    assert "c1 act" in shown
    assert "+t0" in shown
    said = json.loads(wink("batch", "show", "out", "t0", "--json", cwd=place).stdout)
    assert (said["calls"][0]["tool"], said["calls"][0]["changed"]) == ("act", ["out.txt"])
    wink("batch", "show", "out", "--html", "page.html", cwd=place)
    assert "t1" in (place / "page.html").read_text()
    compared = wink("batch", "compare", "out", "out", cwd=place).stdout
    assert "p = 1.0000, may be chance" in compared
    assert wink("batch", "show", "out", "nix", cwd=place, status=2).stderr.startswith("wink: the batch in")


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ended_early_is_gone_on_from(place: Path, ending: signal.Signals) -> None:
    """Killed or interrupted: what was over stays, the rest is begun again, and every task is there once."""
    table(place, "write", "gate", "gate", "gate")
    process = subprocess.Popen(
        command(*begin(place)), cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(
        lambda: rows(place / "out/results.jsonl") != [] and len(begun(str(place / "shared"))) >= 3,
        "it is in the middle",
    )
    process.send_signal(ending)
    _, said = process.communicate(timeout=100)
    if ending == signal.SIGINT:
        assert process.returncode == 130, said
        assert "takes back" in said
    (place / "shared/gate").touch()
    wink("batch", "--resume", "out", "--engine", "local", cwd=place)
    found = rows(place / "out/results.jsonl")
    assert sorted(row["id"] for row in found) == ["t0", "t1", "t2", "t3"]
    assert all((row["status"], row["tries"], row["changed"]) == ("done", 1, ["out.txt"]) for row in found)
    assert os.listdir(place / "cache/work") == []
    again = wink("batch", "--resume", "out", "--engine", "local", cwd=place)
    assert rows(place / "out/results.jsonl") == found
    assert "4 done" in again.stdout


def test_two_interrupts_end_it_at_once(place: Path) -> None:
    """Whoever asks twice does not want to wait; nothing is left running, and it can still be gone on with."""
    table(place, "gate", "gate")
    process = subprocess.Popen(
        command(*begin(place)), cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(begun(str(place / "shared"))) == 2, "both run")
    for _ in range(2):
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == 130
    (place / "shared/gate").touch()
    wink("batch", "--resume", "out", "--engine", "local", cwd=place)
    assert len(rows(place / "out/results.jsonl")) == 2


def test_attempts_side_by_side_and_the_best_is_kept(place: Path) -> None:
    """The checker decides which; all of them are told of."""
    table(place, "write")
    wink(*begin(place, "--attempts", "3", "--check", "plugins.batch.tests.test_command:likes_the_second"), cwd=place)
    (row,) = rows(place / "out/results.jsonl")
    assert (row["passed"], row["tries"], len(row["attempts"])) == (True, 3, 3)
    assert row["patch"] == f"patches/t0@{row['attempt']}.patch"
    assert [one["passed"] for one in row["attempts"]].count(True) == 1


def likes_the_second(attempted: Any) -> bool:
    """A checker that passes one of several."""
    shared = attempted.task.params["at"]
    try:
        os.close(os.open(os.path.join(shared, "liked"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


EDIT = """
[[turn]]
[[turn.call]]
tool = "read_file"
arguments = {{ file_path = "a.txt" }}
[[turn]]
[[turn.call]]
tool = "edit_file"
arguments = {{ file_path = "a.txt", old_string = "{old}", new_string = "{new}" }}
[[turn]]
text = "Done."
"""


def test_what_tasks_changed_is_merged_and_conflicts_are_named(place: Path) -> None:
    """Lines apart come together, the same line does not; one undo takes all of it back."""
    made: list[dict[str, str]] = []
    for name, old, new in (("first", "one", "ONE"), ("second", "five", "FIVE"), ("third", "one", "Uno")):
        (place / f"{name}.toml").write_text(EDIT.format(old=old, new=new))
        made.append({"id": name, "prompt": "Edit.", "workspace": "repo", "model": f"scripted:{place}/{name}.toml"})
    write_table(place / "tasks.jsonl", made)
    wink("batch", "tasks.jsonl", "--engine", "local", "--out", "out", "--cache", str(place / "cache"), cwd=place)
    looked = wink("batch", "merge", "out", "--workspace", "repo", "--dry-run", cwd=place, status=1)
    assert "first: would be merged, a.txt" in looked.stdout
    before = (place / "repo/a.txt").read_text()
    done = wink("batch", "merge", "out", "--workspace", "repo", cwd=place, status=1)
    assert "third: conflicts with first and second at a.txt" in done.stdout
    assert (place / "repo/a.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"
    wink("undo", "--workspace", "repo", cwd=place)
    assert (place / "repo/a.txt").read_text() == before


def test_commits_from_a_remote_are_merged_too(place: Path) -> None:
    """What was pushed is fetched again; a file that is executable, and one that went, are as the task left them."""
    repository(place / "r.git", {"a.txt": "a\n"})
    write_table(
        place / "tasks.jsonl", [{"id": "t0", "prompt": "Act.", "workspace": "r.git", "params": {"do": "write"}}]
    )
    wink(*begin(place, "--checkpoint", "origin"), cwd=place)
    wink("batch", "merge", "out", "--workspace", "repo", cwd=place)
    assert (place / "repo/out.txt").read_text() == "t0\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["tasks.jsonl"], "say which model"),
        (["tasks.jsonl", "--model", "nobody:x"], "there is no model 'nobody:x'; the models are: scripted:FILE"),
        (["tasks.jsonl", "--model", "openai"], "needs the name of a model, as in --model openai:NAME"),
        (["models.jsonl"], "there is no model 'nobody:y'"),
        (["tasks.jsonl", "--model", "openai:x", "--template", "nix:nix"], "No module named 'nix'"),
        (["tasks.jsonl", "--model", "x:y", "--batch-cost", "3"], "needs prices"),
        (["tasks.jsonl", "--model", "x:y", "--task-time", "soon"], "write 90, 15m or 2h"),
        (["tasks.jsonl", "--resume", "x"], "leave out TASKS"),
        (["--resume", "nowhere"], "there is no batch.json in it"),
        (["nix.jsonl", "--model", "x:y"], "No such file"),
        (["show", "nowhere"], "there is no batch.json in it"),
    ],
)
def test_bad_input_gives_one_line_that_says_what_to_do(place: Path, given: list[str], said: str) -> None:
    """Before anything was begun."""
    write_table(place / "tasks.jsonl", [{"id": "a", "prompt": "x"}])
    write_table(
        place / "models.jsonl", [{"id": name, "prompt": "x", "model": f"{name}:y"} for name in ("openai", "nobody")]
    )
    done = wink("batch", *given, cwd=place, status=2)
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert not (place / "out").exists()


def without_ray(place: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """A batch that asks for no engine, where Ray is not installed."""
    (place / "ray.py").write_text("raise ImportError('not installed')\n")
    arguments = [one for one in begin(place) if one not in ("--engine", "local")]
    return subprocess.run(
        command(*arguments, *more),
        cwd=place,
        env={**environment(), "PYTHONPATH": f"{place}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_ray_a_batch_runs_on_this_machine_and_says_so(place: Path) -> None:
    """Whoever has a few tasks needs no cluster."""
    table(place, "write")
    done = without_ray(place)

    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("wink: `wink batch` on Ray needs the package 'ray'; install wink[ray]; without it ")
    assert rows(place / "out/results.jsonl")[0]["status"] == "done"


@pytest.mark.parametrize("more", [("--engine", "ray"), ("--address", "auto")])
def test_where_ray_is_asked_for_one_line_says_how_to_get_it(place: Path, more: tuple[str, ...]) -> None:
    """Nothing of a batch that never began is left, also where its records were to go; what was there stays."""
    table(place, "write")
    (place / "kept").mkdir()
    places = ("--out", "batches/first", "--results", "results/all.jsonl", "--results", "kept/all.jsonl")
    done = without_ray(place, *more, *places)

    assert done.returncode == 2
    assert done.stderr == "wink: `wink batch` on Ray needs the package 'ray'; install wink[ray]\n"
    assert not (place / "batches").exists()
    assert not (place / "results").exists()
    assert list((place / "kept").iterdir()) == []


def test_a_place_for_records_that_cannot_be_had_leaves_nothing_behind(place: Path) -> None:
    """The first place was had already; an empty directory that somebody made stays."""
    table(place, "write")
    (place / "out").mkdir()
    (place / "file").write_text("mine\n")
    given = [*begin(place), "--results", "results/all.jsonl", "--results", "file/all.jsonl"]
    done = subprocess.run(command(*given), cwd=place, env=environment(), capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert not (place / "results").exists()
    assert list((place / "out").iterdir()) == []
    assert (place / "file").read_text() == "mine\n"


def test_a_variable_that_is_not_set_is_told_before_anything_is_made(place: Path) -> None:
    table(place, "write")
    done = wink(*begin(place), "--env", "WINK_NO_SUCH_VARIABLE", cwd=place, status=2)

    assert "there is no such variable" in done.stderr
    assert not (place / "out").exists()


def test_nothing_else_in_wink_imports_ray() -> None:
    """One module does, when an engine is made."""
    found: set[str] = set()
    for path in (*ROOT.glob("src/**/*.py"), *ROOT.glob("plugins/**/*.py")):
        text = path.read_text(encoding="utf-8")
        if "ray" not in text or "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module"
            if is_call and node.args and isinstance(node.args[0], ast.Constant):
                names.append(str(node.args[0].value))
            if any(name.split(".")[0] == "ray" for name in names):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {"plugins/batch/wink_batch/engines/_ray.py"}
