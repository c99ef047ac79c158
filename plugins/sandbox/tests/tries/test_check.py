"""`wink accept --check`: what would become of the workspace is tried first, and where that fails nothing has happened."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import GIT, Wink, tree
from plugins.sandbox.tests.tries.test_closed_by_programs import AS_OWNER

from wink.errors import TryConflict
from wink.workspace import Workspace
from wink_sandbox import Command, Overlay, Sandbox
from wink_sandbox.tries import CheckFailed, Ran, Try

LINES = [f"{number}\n" for number in range(1, 31)]


def _with(**lines: str) -> str:
    """The text, with some lines other ones: l3="three"."""
    return "".join(f"{lines[name]}\n" if (name := f"l{line.strip()}") in lines else line for line in LINES)


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    """A project of which a try has changed, made, replaced and deleted something, and a person another line."""
    (place / "text").write_text("".join(LINES))
    (place / "gone").write_text("g\n")
    (place / "old").mkdir()
    (place / "old/in").write_text("i\n")
    with Workspace.open(place) as opened:
        _run(
            Try(opened, "t"),
            "sed -i 's/^3$/three/' text; rm gone; rm -r old; mkdir old; echo n > old/new; ln -s text link; chmod 755 run.sh",
        )
        (place / "text").write_text(_with(l28="mine"))
        yield opened


def _run(one: Try, script: str) -> None:
    with one.use() as overlay:
        assert Sandbox().run(Command(("/bin/sh", "-c", script)), overlay).status == 0


SEES = """
set -e
grep -qx three text; grep -qx mine text
test ! -e gone; test ! -e old/in; grep -q n old/new; test "$(readlink link)" = text; test -x run.sh
echo changed > text; rm -r old; echo made > made; echo seen
"""


def test_it_sees_what_would_be_and_what_it_writes_is_dropped(workspace: Workspace, place: Path) -> None:
    """Merged, deleted, replaced and made; and one call, which undo takes back."""
    before = tree(place)

    done = Try(workspace, "t").accept(check=("sh", "-c", SEES))

    assert (done.merged, done.is_over) == (("text",), True)
    assert (place / "text").read_text() == _with(l3="three", l28="mine")
    assert not (place / "made").exists()
    assert (place / "old/new").read_text() == "n\n"
    workspace.undo()
    assert tree(place) == before


def test_where_it_fails_nothing_has_happened_and_the_output_is_told(workspace: Workspace, place: Path) -> None:
    """Neither in the workspace nor in the try."""
    before, one = tree(place), Try(workspace, "t")
    tried = [change.diff() for change in one.differences().changes()]

    with pytest.raises(CheckFailed, match="ended with status 3: nothing of the try 't' was accepted") as caught:
        one.accept(check=("sh", "-c", f"{SEES} exit 3"))

    assert (caught.value.status, caught.value.output) == (3, "seen\n")
    assert tree(place) == before
    assert [change.diff() for change in Try(workspace, "t").differences().changes()] == tried
    assert not Path(one.overlay.directory, "check").exists()


def test_a_part_is_checked_alone(workspace: Workspace, place: Path) -> None:
    """As it would be: without what stays in the try."""
    Try(workspace, "t").accept("link", check=("sh", "-c", "test -e link && test -e gone && ! grep three text"))

    assert (place / "link").is_symlink()
    assert (place / "gone").exists()


def test_a_conflict_is_told_before_anything_is_run(workspace: Workspace, place: Path) -> None:
    """And a try that has become empty by now needs no check."""
    (place / "text").write_text(_with(l3="drei"))
    ran = list[str]()

    def check(one: Try, overlay: Overlay) -> Ran:
        ran.append(f"{one.name} {overlay.upper}")
        return Ran(0)

    with pytest.raises(TryConflict):
        Try(workspace, "t").accept(check=check)
    assert ran == []
    (place / "text").write_text(_with(l3="three"))
    assert Try(workspace, "t").accept("text", check=check).call is None
    assert ran == []


@pytest.mark.parametrize(("saves", "checks"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_what_somebody_saves_meanwhile_is_checked_again_and_never_lost(
    workspace: Workspace, place: Path, saves: int, checks: int
) -> None:
    """Other files are nobody's concern; where it never ends it is said."""
    ran = list[int]()

    def check(one: Try, overlay: Overlay) -> Ran:
        ran.append(1)
        (place / "a.txt").write_text(f"other {len(ran)}\n")
        if len(ran) <= saves:
            (place / "text").write_text(_with(l28="mine", l20=f"saved {len(ran)}"))
        return Ran(0)

    if saves < 3:
        Try(workspace, "t").accept(check=check)
        saved = {"l20": f"saved {saves}"} if saves else {}
        assert (place / "text").read_text() == _with(l3="three", l28="mine", **saved)
    else:
        with pytest.raises(CheckFailed, match="somebody has changed the same files while the check ran, 3 times"):
            Try(workspace, "t").accept(check=check)
        assert (place / "text").read_text() == _with(l28="mine", l20="saved 3")
    assert len(ran) == checks


def test_one_check_runs_at_a_time_and_sees_what_the_one_before_accepted(workspace: Workspace, place: Path) -> None:
    """A queue of what is to be merged, on one machine."""
    _run(Try(workspace, "u"), "echo u > u")
    began, waits, order = threading.Event(), threading.Event(), list[str]()

    def first(one: Try, overlay: Overlay) -> Ran:
        began.set()
        assert waits.wait(60)
        order.append(one.name)
        return Ran(0)

    def second(one: Try, overlay: Overlay) -> Ran:
        order.append(one.name)
        assert (place / "link").is_symlink()
        return Ran(0)

    with Workspace.open(place) as other:
        other_one = threading.Thread(target=lambda: Try(other, "t").accept(check=first))
        other_one.start()
        assert began.wait(60)
        Try(workspace, "u").accept(check=second, on_wait=waits.set)
        other_one.join()

    assert order == ["t", "u"]
    assert (place / "u").read_text() == "u\n"


def test_killed_while_it_runs_nothing_has_happened(
    workspace: Workspace, place: Path, environment: dict[str, str], wink: Wink
) -> None:
    """The next accept finds the try as it was, and the place in the queue free."""
    before = tree(place)
    words = [sys.executable, "-m", "wink", "accept", "--name", "t", "--check", "echo; read _; sleep 60"]
    with subprocess.Popen(words, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdin is not None
        assert running.stdout.readline() == b"\n"
        running.kill()
        running.wait()
        running.stdin.close()
        assert running.stdout.read() == b""

    assert tree(place) == before
    for _ in range(100):
        done = wink("accept", "--name", "t", "--check", "grep -qx three text")
        if "still running" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    assert (place / "text").read_text() == _with(l3="three", l28="mine")


def test_the_command(workspace: Workspace, wink: Wink, place: Path) -> None:
    """Its output is the check's and its own, and machines get JSON alone on standard output."""
    failed = wink("accept", "--check", "echo told; cat text > ~/mine; exit 7")
    assert (failed.returncode, failed.stdout) == (2, "told\n")
    assert failed.stderr == "wink: the check ended with status 7: nothing of the try 't' was accepted\n"
    assert not (place.parent / "home/mine").exists()
    machine = wink("accept", "--json", "--check", "echo told; exit 7")
    told = json.loads(machine.stdout)
    assert (machine.returncode, told["check"], told["call"], machine.stderr) == (2, {"status": 7}, None, "told\n")
    for option in ("--patch", "--dry-run"):
        assert "--check is run when" in wink("accept", "--check", "true", option).stderr
    passed = wink("accept", "--json", "--check", "echo told; ! curl -s -m 2 http://127.0.0.1:1")
    assert (passed.returncode, json.loads(passed.stdout)["check"]) == (0, {"status": 0})


def test_a_try_on_a_copy_is_checked_on_one(place: Path, wink: Wink) -> None:
    """Where programs work on a copy of the workspace."""
    (place / "gone").write_text("g\n")
    assert wink("try", "-q", "--unconfined", "--", "sh", "-c", "echo two >> a.txt; rm gone").returncode == 0

    failed = wink("accept", "--check", "cat a.txt; test -e gone")
    passed = wink("accept", "--check", "test ! -e gone; echo more >> a.txt")

    assert (failed.returncode, failed.stdout) == (2, "one\ntwo\n"), failed.stderr
    assert passed.returncode == 0, passed.stderr
    assert (place / "a.txt").read_text() == "one\ntwo\n"


def test_it_goes_with_all_that_was_chosen_alone(workspace: Workspace) -> None:
    """What is picked is not known beforehand."""
    with pytest.raises(ValueError, match="a check is run when"):
        Try(workspace, "t").accept(check=("true",), dry_run=True)


def test_what_no_check_sees_is_refused_and_where_it_runs_is_the_workspace(
    place: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """A commit in a worktree goes to another repository; and the directory that wink is called from may be gone in the try."""
    kept = {**environment, **GIT}

    def run(*words: str, where: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=where, env=kept, capture_output=True, text=True, check=False)

    tree_at = tmp_path / "tree"
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one"), ("worktree", "add", "-q", str(tree_at))):
        assert run("git", *words, where=place).returncode == 0
    wink = (sys.executable, "-m", "wink")
    script = "echo two >> a.txt; git commit -qam two"
    assert run(*wink, "try", "-q", "--", "sh", "-c", script, where=tree_at).returncode == 0

    refused = run(*wink, "accept", "--check", "true", where=tree_at)

    assert refused.returncode == 2
    assert "which no check sees; accept it without --check" in refused.stderr, refused.stderr
    assert run(*wink, "accept", where=tree_at).returncode == 0
    assert run("git", "log", "-1", "--format=%s", where=tree_at).stdout == "two\n"
    assert run(*wink, "try", "-q", "--", "rm", "-r", "src", where=tree_at).returncode == 0
    checked = run(*wink, "accept", "--workspace", "..", "--check", "pwd", where=tree_at / "src")
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, str(tree_at)), checked.stderr


def test_a_check_that_is_killed_leaves_closed_directories_closed(place: Path, environment: dict[str, str]) -> None:
    """As an ordinary user, who would have to open them."""
    (place / "d").mkdir()
    (place / "d/f").write_text("f\n")
    words = [*AS_OWNER, sys.executable, "-m", "wink"]

    def wink(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False
        )

    assert wink("try", "-q", "--", "sh", "-c", "echo x >> d/f; chmod 555 d").returncode == 0
    before = json.loads(wink("tries", "--json").stdout)["changes"]
    check = ["accept", "--check", "echo; read _"]
    with subprocess.Popen(
        [*words, *check], cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stdin is not None
        assert running.stdout.readline() == b"\n"
        running.kill()
        running.wait()
        running.stdin.close()
        assert running.stdout.read() == b""

    assert json.loads(wink("tries", "--json").stdout)["changes"] == before
    assert {"path": "d", "kind": "modified"} in before
    assert wink("accept", "--check", "grep -q x d/f").returncode == 0
    assert (place / "d").stat().st_mode & 0o777 == 0o555
