"""What `wink drop` forgot comes back by `wink drop --undo`, until `wink gc` or a handful of others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree

from wink.errors import RecordCorrupt, TryBusy, TryConflict
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import KEPT, Try, bring_back, dropped_tries, free_dropped, tries

EVERYTHING = """
set -e
echo two >> a.txt
rm src/b.txt
mkdir -p new/empty old/deep
echo x > new/x
ln new/x new/y
ln -s ../a.txt new/link
chmod 751 new
rm -r gone; mkdir gone; echo g > gone/now
chmod 755 run.sh
"""


def _run(workspace: Workspace, name: str, words: str) -> Try:
    one = Try(workspace, name)
    with one.use() as overlay:
        ended = Sandbox().run(Command(("/bin/sh", "-c", words)), overlay)
        assert ended.status == 0, ended
    return one


def _shown(one: Try) -> list[str]:
    return [change.diff() for change in one.differences().changes()]


@pytest.fixture
def filled(place: Path) -> Path:
    """With a directory that programs replace."""
    (place / "gone").mkdir()
    (place / "gone/before").write_text("before\n")
    return place


def test_what_was_dropped_is_listed_and_comes_back(wink: Wink, filled: Path) -> None:
    """With all that ran in it, and its private home; the line that `drop` ends with is what brings it back."""
    wink("try", "--", "sh", "-c", f"{EVERYTHING} echo mine > ~/note")
    before, tried = wink("diff").stdout, wink("tries", "--json").stdout

    dropped = wink("drop")

    assert dropped.stdout.splitlines()[-1] == (
        f"  `wink drop --undo` brings it back, until `wink gc`, or {KEPT} more that are dropped"
    )
    assert wink("tries").stdout == ""
    listed = json.loads(wink("tries", "--dropped", "--json").stdout)
    assert {name: listed[name] for name in json.loads(tried)} == json.loads(tried)
    assert "default  " in wink("tries", "--dropped").stdout
    assert wink("drop", "--undo", "--dry-run").stdout.startswith("would bring back ")
    assert wink("tries").stdout == ""

    back = wink("drop", "--undo")

    assert back.returncode == 0, back.stderr
    assert "tried as 'default' again" in back.stdout
    assert (wink("diff").stdout, wink("tries", "--json").stdout) == (before, tried)
    assert wink("tries", "--dropped").stdout == ""
    assert wink("try", "--", "cat", str(filled.parent / "home/note")).stdout == "mine\n"
    assert wink("accept").returncode == 0
    assert (filled / "new/x").samefile(filled / "new/y")
    assert {name for name in tree(filled) if name.startswith("gone/")} == {"gone/now"}


def test_gc_frees_what_was_dropped_and_says_so(wink: Wink, place: Path) -> None:
    """Not so a dry run; afterwards nothing can come back, and the way on is told."""
    wink("try", "--", "sh", "-c", "echo 2 >> a.txt; echo s > secret-of-the-dropped")
    wink("drop")

    assert "would free 1 try that was dropped" in wink("gc", "--dry-run").stdout
    assert wink("tries", "--dropped").stdout != ""
    done = wink("gc")
    assert (done.returncode, "freed 1 try that was dropped" in done.stdout) == (0, True), done

    assert wink("tries", "--dropped").stdout == ""
    assert list(place.rglob("secret*")) == []
    again = wink("drop", "--undo")
    assert (again.returncode, len(again.stderr.splitlines())) == (2, 1)
    assert "nothing that was dropped" in again.stderr
    assert "no try that was dropped as 'other'" in wink("drop", "--undo", "--name", "other").stderr
    assert "--undo" in wink("drop", "--undo", "a.txt").stderr


def test_another_try_of_that_name_is_left_alone(wink: Wink, place: Path) -> None:
    """The one that comes back gets a number."""
    wink("try", "--", "sh", "-c", "echo first > a.txt")
    wink("drop")
    wink("try", "--", "sh", "-c", "echo second > a.txt")

    back = wink("drop", "--undo")

    assert "tried as 'default-2' again; there is another one called 'default' by now" in back.stdout
    assert "+second" in wink("diff", "--try", "default").stdout
    assert "+first" in wink("diff", "--try", "default-2").stdout


def test_a_part_that_was_dropped_comes_back_as_a_try_of_its_own(filled: Path) -> None:
    """With directories, deletions, links and modes as they were; both can be accepted, one after the other."""
    with Workspace.open(filled) as workspace:
        one = _run(workspace, "t", EVERYTHING)
        before = _shown(one)
        part = [change.diff() for change in one.differences().only(["new", "gone", "src"]).changes()]

        one.drop("new", "gone", "src")

        assert len(before) == len(part) + len(_shown(one))
        ((dropped, aside),) = dropped_tries(workspace)
        assert (dropped.name, _shown(aside), aside.runs) == ("t", part, one.runs)
        assert bring_back(workspace, dropped) == "t-2"
        assert _shown(Try(workspace, "t-2")) == part
        Try(workspace, "t-2").accept()
        one.accept()
        after = tree(filled)
        assert {name for name in after if name.startswith(("gone", "new", "src"))} == {
            "gone", "gone/now", "new", "new/empty", "new/x", "new/y", "new/link", "src"
        }  # fmt: skip
        assert after["new"].startswith("40751")
        assert after["a.txt"].endswith("one\ntwo\n")
        assert (filled / "new/x").samefile(filled / "new/y")


def test_what_changed_in_the_workspace_before_a_part_was_dropped_is_still_in_its_way(place: Path) -> None:
    """A part is as old as the try that it is from."""
    with Workspace.open(place) as workspace:
        one = _run(workspace, "t", "echo theirs > a.txt; echo theirs > src/b.txt")
        (place / "a.txt").write_text("mine\n")
        one.drop("a.txt")
        one.drop()
        (part, _), (rest, _) = dropped_tries(workspace)

        assert [bring_back(workspace, part), bring_back(workspace, rest)] == ["t", "t-2"]

        with pytest.raises(TryConflict):
            Try(workspace, "t").accept()
        assert (place / "a.txt").read_text() == "mine\n"
        Try(workspace, "t-2").accept()
        assert (place / "src/b.txt").read_text() == "theirs\n"


def test_only_the_last_few_are_kept_whatever_the_clock_says(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first."""
    with Workspace.open(place) as workspace:
        for number in range(KEPT + 2):
            monkeypatch.setattr("time.time_ns", lambda number=number: 10**18 - number)
            _run(workspace, f"t{number}", f"echo {number} > a.txt").drop()

        assert [one.name for one, _ in dropped_tries(workspace)] == [f"t{number}" for number in range(2, KEPT + 2)]
        assert len(os.listdir(os.path.join(workspace.state, "tries/.dropped"))) == KEPT
        assert tries(workspace) == ()


def test_a_try_that_is_moved_while_somebody_opens_it_is_busy(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock is then that of what was dropped, and whoever has it would write into that."""
    import fcntl

    with Workspace.open(place) as workspace:
        one = _run(workspace, "t", "echo 2 > a.txt")
        other, flock = Try(workspace, "t"), fcntl.flock

        def late(*arguments: Any) -> None:
            monkeypatch.setattr(fcntl, "flock", flock)
            one.drop()
            flock(*arguments)

        monkeypatch.setattr(fcntl, "flock", late)
        with pytest.raises(TryBusy):
            other.accept()
        assert [found.name for found, _ in dropped_tries(workspace)] == ["t"]


def test_what_is_used_just_now_is_neither_freed_nor_brought_back(place: Path) -> None:
    """Whoever has its lock is about to do one of the two."""
    with Workspace.open(place) as workspace:
        _run(workspace, "t", "echo 2 > a.txt").drop()
        ((dropped, aside),) = dropped_tries(workspace)
        aside.overlay.open()
        try:
            assert free_dropped(workspace) == 0
            assert bring_back(workspace, dropped) is None
        finally:
            aside.overlay.close()
        assert free_dropped(workspace) == 1
        assert bring_back(workspace, dropped) is None
        assert dropped_tries(workspace) == ()


def test_what_lies_there_and_was_never_dropped_is_left_alone(place: Path, tmp_path: Path) -> None:
    """Links are not followed, and names that nobody gave are no tries."""
    outside = tmp_path / "outside"
    (outside / "upper").mkdir(parents=True)
    (outside / "upper/file").write_text("outside\n")
    with Workspace.open(place) as workspace:
        _run(workspace, "t", "echo 2 > a.txt").drop()
        aside = Path(workspace.state) / "tries/.dropped"
        (aside / "1.link").symlink_to(outside)
        (aside / "2.linked").mkdir()
        (aside / "2.linked/upper").symlink_to(outside / "upper")
        for name in ("3.Not A Name", "x.t", "4.empty", "-5.t", "9" * 30 + ".t"):
            (aside / name / ("" if name == "4.empty" else "upper")).mkdir(parents=True)
        (aside / "6.locked/upper").mkdir(parents=True)
        (aside / "6.locked/lock").symlink_to(outside / "upper/file")

        assert [one.name for one, _ in dropped_tries(workspace)] == ["locked", "t"]
        assert free_dropped(workspace) == 1
        assert (outside / "upper/file").read_text() == "outside\n"
        assert (aside / "6.locked/upper").is_dir()

        aside.rename(tmp_path / "kept")
        aside.symlink_to(tmp_path / "kept")
        one = _run(workspace, "t", "echo 2 > a.txt")
        with pytest.raises(RecordCorrupt):
            one.drop()
        assert [found.name for found in tries(workspace)] == ["t"]


def test_a_program_of_another_try_never_sees_what_was_dropped(wink: Wink, place: Path) -> None:
    """It may have held what the person did not want to exist."""
    wink("try", "--", "sh", "-c", "echo s > secret-of-the-dropped")
    wink("drop")

    done = wink("try", "--name", "other", "--", "sh", "-c", "ls -laR . 2>/dev/null; grep -r '^s$' . ; true")

    assert "a.txt" in done.stdout
    assert "secret" not in done.stdout
    assert "dropped" not in done.stdout
