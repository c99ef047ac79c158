"""One attempt, from its files to its outcome: what is kept of it, and every way in which it can end badly."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from plugins.batch.tests.acting import begun
from plugins.batch.tests.helping import ROOT, git, repository, write_turns

from wink_batch import Attempt, Key, Limits, Outcome, Plan, Prices, Task, source
from wink_batch import _supervise as supervise
from wink_batch.content._collect import changes_between

ASSEMBLY = "wink_batch._assembly:assemble"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a workspace, a script and what attempts share."""
    (tmp_path / "repo/d").mkdir(parents=True)
    (tmp_path / "repo/a.txt").write_text("a\n")
    (tmp_path / "repo/d/b.txt").write_text("b\n")
    (tmp_path / "shared").mkdir()
    write_turns(tmp_path / "turns.toml")
    return tmp_path


def attempt(place: Path, *, what: str = "write", workspace: str = "repo", revision: str = "", **plan: Any) -> Attempt:
    """An attempt at a task that acts."""
    task = Task("t", "", source(workspace, revision, base=str(place)), {"do": what, "at": str(place / "shared")})
    options = {"template": "plugins.batch.tests.acting:template", "model": f"scripted:{place}/turns.toml"}
    made = Plan("b", ASSEMBLY, options, cache=str(place / "cache"), paths=(str(ROOT),), **plan)
    return Attempt(Key("t"), task, made)


def run(place: Path, **about: Any) -> Outcome:
    """What it comes to; nothing may be left of it on the node."""
    outcome = supervise.run_attempt(attempt(place, **about))
    assert os.listdir(place / "cache" / "work") == []
    assert (place / "repo/a.txt").read_text() == "a\n"
    assert sorted(os.listdir(place / "repo")) == ["a.txt", "d"]
    return outcome


@pytest.fixture(autouse=True)
def no_nursery_is_left() -> Any:
    """Each thread keeps one until it is closed."""
    yield
    supervise.close_nursery()


@pytest.mark.usefixtures("thousand_files")
def test_a_worker_may_have_a_thousand_files_open(place: Path) -> None:
    """`select` knows the first 1,024 only."""
    assert run(place).status == "done"


@pytest.mark.parametrize("shared", ["overlay", "copy"])
def test_what_is_done_is_kept_as_patch_commit_and_record(
    place: Path, monkeypatch: pytest.MonkeyPatch, shared: str
) -> None:
    """With an overlay, or where none can be mounted with a copy, the same."""
    monkeypatch.setattr(supervise, "_no_overlays", {str(place / "cache"): "not here"} if shared == "copy" else {})
    outcome = run(place)
    assert (outcome.status, outcome.text, outcome.changed, outcome.shared) == ("done", "Done.", ("out.txt",), shared)
    (place / "apply").mkdir()
    subprocess.run(["git", "apply"], input=outcome.patch, cwd=place / "apply", check=True)
    assert (place / "apply/out.txt").read_text() == "t\n"
    (place / "b.bundle").write_bytes(outcome.bundle)
    git("init", "-q", "--bare", "clone", cwd=place)
    git("fetch", "-q", str(place / "b.bundle"), "refs/wink/b/t", cwd=place / "clone")
    assert git("show", "FETCH_HEAD:out.txt", cwd=place / "clone") == "t\n"
    with zipfile.ZipFile(io.BytesIO(outcome.record)) as archive:
        assert "record.db" in archive.namelist()


def test_a_change_in_a_copy_that_kept_size_and_time_is_collected(place: Path) -> None:
    """A program may set a file's time back; nothing sets that of its last change."""
    lower, copy = place / "repo", place / "copy"
    shutil.copytree(lower, copy)
    copied = copy.stat().st_ctime_ns
    before = (copy / "a.txt").stat()
    (copy / "a.txt").write_text("b\n")
    os.utime(copy / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    (copy / "d").chmod(0o700)

    assert [one.path for one in changes_between(str(lower), str(copy), copied)] == ["a.txt"]


def test_a_commits_state_goes_to_its_own_remote(place: Path) -> None:
    """As a commit on top of the one that it began with, with all files in it."""
    remote, first = repository(place / "r.git", {"x.txt": "x\n", "d/y.txt": "y\n"})
    outcome = run(place, workspace="r.git", revision=first, checkpoint="origin")
    assert outcome.checkpoint.endswith("refs/wink/b/t")
    assert git("rev-parse", "refs/wink/b/t^", cwd=remote).strip() == first == outcome.base
    assert git("ls-tree", "-r", "--name-only", "refs/wink/b/t", cwd=remote).split() == ["d/y.txt", "out.txt", "x.txt"]
    again = run(place, workspace="r.git", revision=first, checkpoint="origin")
    assert again.commit == outcome.commit, (
        "the same work is the same commit, so that pushing it twice is pushing it once"
    )


@pytest.mark.parametrize(
    ("about", "cause"),
    [
        ({"what": "die"}, "crash"),
        ({"what": "hang", "limits": Limits(idle=1.0)}, "hang"),
        ({"what": "hang", "limits": Limits(seconds=1.0)}, "time"),
        ({"workspace": "nowhere"}, "workspace"),
    ],
)
def test_every_bad_end_has_its_cause(
    place: Path, monkeypatch: pytest.MonkeyPatch, about: dict[str, Any], cause: str
) -> None:
    """And what it had in hand is taken back, or gone with it."""
    monkeypatch.setattr(supervise, "GRACE", 2.0)
    outcome = supervise.run_attempt(attempt(place, **about))
    assert (outcome.status, outcome.cause) == ("failed", cause), outcome
    assert outcome.message
    assert outcome.changed == ()
    assert not (place / "cache/work").exists() or os.listdir(place / "cache/work") == []


def test_what_cannot_be_put_together_says_why(place: Path) -> None:
    """Another try would not help."""
    made = attempt(place)
    for options, said in (
        ({"template": "plugins.batch.tests.acting:nix", "model": f"scripted:{place}/turns.toml"}, "has no 'nix'"),
        ({"template": "plugins.batch.tests.acting:template", "model": "nobody:x"}, "nobody"),
    ):
        plan = Plan("b", ASSEMBLY, options, cache=str(place / "cache"), paths=(str(ROOT),))
        outcome = supervise.run_attempt(Attempt(made.key, made.task, plan))
        assert (outcome.cause, outcome.is_passing) == ("template", False)
        assert said in outcome.message


def test_an_attempt_that_is_told_to_stop_takes_back_its_call(place: Path) -> None:
    """The file that the call had half written is not there, and no try was used up."""
    shared = str(place / "shared")
    outcome = supervise.run_attempt(attempt(place, what="gate"), stopping=lambda: bool(begun(shared)))
    assert (outcome.status, outcome.cause) == ("stopped", "interrupted")
    assert outcome.changed == ()


@pytest.mark.parametrize(
    ("check", "passed", "said"),
    [
        ("grep -q t out.txt && touch made-by-the-check && echo fine", True, "fine"),
        ("echo bad >&2; exit 3", False, "bad"),
        ("plugins.batch.tests.test_attempts:judge", True, "read it"),
        ("plugins.batch.tests.test_attempts:broken", None, "ZeroDivisionError"),
        ("plugins.batch.tests.test_attempts:odd", None, "must give True or False"),
    ],
)
def test_checks_judge_and_change_nothing(place: Path, check: str, passed: bool | None, said: str) -> None:
    """What they write is not in the patch."""
    outcome = run(place, check=check)
    assert outcome.verdict is not None
    assert (outcome.status, outcome.verdict.passed, outcome.changed) == ("done", passed, ("out.txt",))
    assert said in outcome.verdict.message


def judge(attempted: Any) -> tuple[float, str]:
    """A checker that reads and writes."""
    assert attempted.files.read("out.txt").content == "t\n"
    Path(attempted.root, "spoilt.txt").write_text("x")
    return 1.0, "read it"


def broken(attempted: Any) -> bool:
    """A checker that cannot judge."""
    return bool(1 / 0)


def odd(attempted: Any) -> str:
    """A checker that says nothing that counts."""
    return "maybe"


def spending(about: Any) -> Any:
    """An assembly whose model answers for ever, and uses tokens."""
    from wink.adapters import ModelTurn, ScriptedAdapter
    from wink.limits import TokenUsage
    from wink.runtime import ToolCall
    from wink_batch import assemble

    prompt, _ = assemble(about)
    turn = ModelTurn(calls=(ToolCall("act", "{}"),), usage=TokenUsage(100, 10))
    return prompt, ScriptedAdapter([turn] * 50)


@pytest.mark.parametrize(
    ("limits", "batch", "cause"),
    [
        (Limits(tokens=250), Limits(), "tokens"),
        (Limits(cost=0.0005), Limits(), "cost"),
        (Limits(), Limits(tokens=300), "budget"),
        (Limits(), Limits(cost=0.0005), "budget"),
    ],
)
def test_tokens_and_money_are_limited_for_the_task_and_for_all(
    place: Path, limits: Limits, batch: Limits, cause: str
) -> None:
    """At most one request more than allowed, and all that was used is told."""
    from dataclasses import replace

    from wink_batch import Meter

    made = attempt(place, limits=limits, batch_limits=batch, prices=Prices(1.0, 10.0))
    made = replace(made, plan=replace(made.plan, assembly="plugins.batch.tests.test_attempts:spending"))
    outcome = supervise.run_attempt(made, Meter.of(made.plan))
    assert (outcome.status, outcome.cause) == ("failed", cause), outcome
    assert outcome.usage.tokens == 330
    assert outcome.usage.cost == pytest.approx(0.0006)
