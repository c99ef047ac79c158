"""`wink accept --rest`: what can be accepted is, and what cannot stays in the try."""

from __future__ import annotations

import json
import subprocess
from datetime import timedelta
from pathlib import Path

from plugins.sandbox.tests.tries.conftest import Wink, tree

from wink.limits import utc_now
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Run, Try


def _left(wink: Wink) -> list[str]:
    """The paths that are still being tried."""
    return [
        change["path"] for line in wink("tries", "--json").stdout.splitlines() for change in json.loads(line)["changes"]
    ]


def _way_on(wink: Wink, refusal: str) -> subprocess.CompletedProcess[str]:
    """What the refusal's last line says to run."""
    command = refusal.splitlines()[-1].split("`")[1]
    return wink(*command.split()[1:])


def test_the_rest_is_one_call_and_what_is_in_the_way_stays(wink: Wink, place: Path) -> None:
    """A person's file, a call's, a hook: each is named once with its reason, and the status tells scripts."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    hook = "echo 'touch /tmp/owned' > .git/hooks/pre-commit"
    wink("try", "--", "sh", "-c", f"{hook}; echo theirs | tee a.txt src/b.txt new.txt src/c.txt; chmod 700 run.sh")
    with Workspace.open(place) as workspace:
        workspace.filesystem.write("src/b.txt", "by a call\n")
    (place / "a.txt").write_text("mine\n")
    before = tree(place)

    refused = wink("accept")

    assert refused.returncode == 2
    assert refused.stdout == ""
    reasons = [
        "  belongs to what git runs or is told by (only objects, refs, logs, index and HEAD are merged):",
        "    .git/hooks/pre-commit",
        "  was changed in the workspace meanwhile, by somebody outside of wink, in the same lines:",
        "    a.txt",
        "  was changed in the workspace meanwhile, by call c1, in the same lines:",
        "    src/b.txt",
    ]
    said = refused.stderr.splitlines()
    assert said[:7] == ["wink: nothing was accepted, 3 paths cannot be:", *reasons]
    assert said[-3:] == [
        "  `wink diff --conflicts` shows what the workspace has, and what was tried",
        "  `wink accept --conflicts markers` takes both lines, marked; workspace or try, those of one side",
        "  `wink accept --rest` accepts everything else",
    ]
    assert tree(place) == before

    done = _way_on(wink, refused.stderr)

    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "wink: accepted (c2): 3 paths"
    assert done.stderr.splitlines() == ["wink: left out: 3 paths", *reasons]
    assert (place / "src/c.txt").read_text() == (place / "new.txt").read_text() == "theirs\n"
    assert ((place / "a.txt").read_text(), (place / "src/b.txt").read_text()) == ("mine\n", "by a call\n")
    assert not (place / ".git/hooks/pre-commit").exists()
    assert _left(wink) == [".git/hooks/pre-commit", "a.txt", "src/b.txt"]
    assert wink("undo").returncode == 0
    assert tree(place) == before


def test_where_nothing_is_in_the_way_the_rest_is_everything(wink: Wink, place: Path) -> None:
    """And the status is 0."""
    wink("try", "--", "sh", "-c", "echo 2 >> a.txt; rm src/b.txt")

    done = wink("accept", "--rest")

    assert (done.returncode, done.stderr) == (0, "")
    assert (place / "a.txt").read_text() == "one\n2\n"
    assert _left(wink) == []


def test_where_everything_is_in_the_way_nothing_is_accepted_and_the_way_on_is_another(wink: Wink, place: Path) -> None:
    """`--rest` would lead back to the same lines."""
    wink("try", "--", "sh", "-c", "echo theirs > a.txt")
    (place / "a.txt").write_text("mine\n")

    rest = wink("accept", "--rest")
    refused = wink("accept", "a.txt")

    assert (rest.returncode, rest.stdout) == (1, "")
    assert refused.stderr.splitlines()[-1] == "  `wink drop a.txt` forgets what was tried"
    assert _way_on(wink, refused.stderr).returncode == 0
    assert wink("log").stdout == "no calls yet\n"


def test_a_dry_run_of_the_rest_says_what_is_left_out(wink: Wink, place: Path) -> None:
    """And changes nothing."""
    wink("try", "--", "sh", "-c", "echo theirs > a.txt; echo 2 >> src/b.txt")
    (place / "a.txt").write_text("mine\n")

    done = wink("accept", "--rest", "--dry-run")

    assert done.returncode == 1
    assert done.stdout.startswith("would accept 1 path of the try 'default'\n")
    assert "    a.txt\n" in done.stderr
    assert _left(wink) == ["a.txt", "src/b.txt"]
    assert (place / "src/b.txt").read_text() == "b\n"


def test_a_deleted_directory_in_which_somebody_works_stays_whole(wink: Wink, place: Path) -> None:
    """Also where the program has put something else in its place."""
    (place / "gone").mkdir()
    (place / "gone/x").write_text("x\n")
    (place / "src/deep").mkdir()
    (place / "src/deep/y").write_text("y\n")
    wink(
        "try",
        "--",
        "sh",
        "-c",
        "rm -r gone src/deep; echo file > gone; mkdir src/deep; echo z > src/deep/z; echo 2 > a.txt",
    )
    (place / "gone/mine").write_text("mine\n")
    (place / "src/deep/y").write_text("mine\n")

    done = wink("accept", "--rest")

    assert done.returncode == 1, done.stderr
    assert "    gone/mine\n" in done.stderr
    assert "    src/deep/y\n" in done.stderr
    assert {name for name in tree(place) if "/" in name} == {
        "gone/x",
        "gone/mine",
        "src/b.txt",
        "src/deep",
        "src/deep/y",
    }
    assert (place / "a.txt").read_text() == "2\n"
    shown = wink("diff").stdout
    assert "gone" in shown
    assert "+z" in shown


def test_a_repository_that_somebody_else_committed_to_is_left_out_as_a_whole(wink: Wink, place: Path) -> None:
    """A ref without its index, or the reverse, is nobody's commit."""
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@x")

    def run(*words: str) -> str:
        return subprocess.run([*git, *words], cwd=place, check=True, capture_output=True, text=True).stdout

    run("init", "-q")
    run("add", "a.txt", "src")
    run("commit", "-qm", "first")
    wink("try", "--", "sh", "-c", f"echo 2 >> a.txt; echo new > new.txt; {' '.join(git)} commit -qam tried")
    (place / "src/b.txt").write_text("mine\n")
    run("commit", "-qam", "mine")
    (place / ".git/index.lock").touch()

    done = wink("accept", "--rest")
    (place / ".git/index.lock").unlink()

    assert done.returncode == 1
    assert "    .git/index\n" in done.stderr
    assert run("log", "--format=%s").split() == ["mine", "first"]
    assert run("fsck", "--strict") == ""
    assert (place / "new.txt").read_text() == "new\n"
    assert all(path == "src/b.txt" or path.startswith(".git/") for path in _left(wink))


def test_a_refused_repository_in_a_new_directory_does_not_keep_the_directory_out(wink: Wink, place: Path) -> None:
    """The files beside it are accepted, and what is refused can be dropped."""
    wink("try", "--", "sh", "-c", "mkdir -p new; cd new; git init -q .; echo x > x")

    done = wink("accept", "--rest")

    assert done.returncode == 1
    assert "    new/.git\n" in done.stderr
    assert (place / "new/x").read_text() == "x\n"
    assert not (place / "new/.git").exists()
    assert wink("drop").returncode == 0
    assert _left(wink) == []


def test_keeping_on_success_says_the_same_of_what_is_in_the_way(wink: Wink, place: Path) -> None:
    """And leaves the try to be accepted in part."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)

    done = wink("try", "--keep-on-success", "--", "sh", "-c", "echo x > .git/hooks/pre-commit; echo 2 >> a.txt")

    assert "`wink accept --rest` accepts everything else" in done.stderr
    assert (place / "a.txt").read_text() == "one\n"


def test_a_conflict_is_shown_from_both_sides(wink: Wink, place: Path) -> None:
    """The command that the refusal names; what is in nobody's way is not shown."""
    wink("try", "--name", "agent", "--", "sh", "-c", "echo theirs | tee a.txt new.txt run.sh; rm src/b.txt")
    (place / "a.txt").write_text("mine\n")
    (place / "new.txt").write_text("mine too\n")
    (place / "src/b.txt").write_text("still needed\n")

    refused = wink("accept", "a.txt", "run.sh")
    shown = wink(*refused.stderr.splitlines()[-3].split("`")[1].split()[1:])

    assert refused.stderr.splitlines()[-1] == "  `wink accept --name agent --rest a.txt run.sh` accepts everything else"
    assert shown.returncode == 0
    assert shown.stderr == "changed in the workspace (-) and in the try 'agent' (+) since that began\n"
    assert [line for line in shown.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-mine", "+theirs", "-mine too", "+theirs", "-still needed"
    ]  # fmt: skip
    assert "run.sh" not in shown.stdout
    assert json.loads(wink("diff", "--conflicts", "--json").stdout.splitlines()[0])["path"] == "a.txt"
    assert wink("accept", "--rest").returncode == 1
    wink("drop")
    for words, says in (
        (("--conflicts",), "nothing is being tried"),
        (("c1", "--conflicts"), "not both"),
        (("--home", "--conflicts"), "not both"),
    ):
        done = wink("diff", *words)
        assert (done.returncode, len(done.stderr.splitlines()), says in done.stderr) == (2, 1, True)


def test_nothing_in_the_way_is_said_so(wink: Wink) -> None:
    """And is no error."""
    wink("try", "--", "sh", "-c", "echo theirs > a.txt")

    shown = wink("diff", "--conflicts")

    assert (shown.returncode, shown.stdout) == (0, "")
    assert shown.stderr.startswith("nothing was changed in the workspace")


def test_the_log_tells_all_commands_that_ran(wink: Wink, place: Path) -> None:
    """Once each, in their order, and not without bound."""
    wink("try", "--", "sh", "-c", "echo 1 >> a.txt")
    wink("accept")
    for words in (("touch", "made"), ("chmod", "700", "made"), ("touch", "made")):
        wink("try", "--", *words)
    wink("accept")
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        with one.use() as overlay:
            assert Sandbox().run(Command(("/bin/sh", "-c", "echo 2 > a.txt")), overlay).status == 0
            for number in range(25):
                one.note(Run(("step", str(number)), utc_now() + timedelta(seconds=number), 0.0, 0))
        one.accept()

    first, second, third = (json.loads(line)["arguments"] for line in wink("log", "--json").stdout.splitlines()[::-1])

    assert first == {"try": "default", "command": ["sh", "-c", "echo 1 >> a.txt"]}
    assert second == {"try": "default", "commands": [["touch", "made"], ["chmod", "700", "made"]]}
    assert third["commands"] == [["step", str(number)] for number in range(5, 25)]
    assert third["earlier_commands"] == 5
    assert "chmod" in wink("show", "c2").stdout
