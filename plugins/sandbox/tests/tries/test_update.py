"""`wink update`: what the workspace has changed meanwhile comes into the try, as a whole, and can be taken back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree
from plugins.sandbox.tests.tries.test_closed_by_programs import AS_OWNER

from wink.errors import MergeRefused, TryBusy, TryConflict, UnknownTry
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import AcceptRefused, Picked, Try, Unit, Updated
from wink_sandbox.tries.merging import Merge, ThreeWay

LINES = [f"{number}\n" for number in range(1, 31)]
CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"}
"""What changes files, of what Python says it is about to do; `open` for writing is another."""


def _with(**lines: str) -> str:
    """The text, with some lines other ones: l3="three"."""
    return "".join(f"{lines[name]}\n" if (name := f"l{line.strip()}") in lines else line for line in LINES)


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    """A project with texts of thirty lines, and a try that has changed all of them, as the workspace has."""
    for name in ("apart", "together", "alike", "put-back", "deleted"):
        (place / name).write_text("".join(LINES))
    (place / "binary").write_bytes(b"a\0a")
    with Workspace.open(place) as opened:
        _run(
            Try(opened, "t"),
            "sed -i 's/^3$/three/' apart; sed -i 's/^5$/five/' together alike deleted; printf b > binary; echo n > new;"
            "cp 'put-back' was; echo >> 'put-back'; cat was > 'put-back'; rm was",
        )
        (place / "apart").write_text(_with(l28="mine"))
        (place / "together").write_text(_with(l5="fünf", l28="mine"))
        (place / "alike").write_text(_with(l5="five"))
        (place / "put-back").write_text(_with(l9="mine"))
        (place / "binary").write_bytes(b"c\0c")
        (place / "deleted").unlink()
        yield opened


def _run(one: Try, script: str) -> None:
    with one.use() as overlay:
        assert Sandbox().run(Command(("/bin/sh", "-c", script)), overlay).status == 0


def _seen(workspace: Workspace) -> dict[str, object]:
    """All that a person can see of the try: what it has changed, and what would be in whose way."""
    one = Try(workspace, "t")
    return {"diff": [change.diff() for change in one.differences().changes()], "unmerged": one.unmerged()}


def _upper(workspace: Workspace, name: str) -> str:
    return Path(Try(workspace, "t").overlay.upper, name).read_text()


MARKED = _with(l5="<<<<<<< workspace\nfünf\n||||||| base\n5\n=======\nfive\n>>>>>>> try", l28="mine")


def test_both_changes_are_in_the_try_and_what_conflicts_is_marked_there(workspace: Workspace, place: Path) -> None:
    """Nothing of the workspace changes; what cannot be merged is named, and as it was."""
    before = tree(place)

    planned = Try(workspace, "t").update(dry_run=True)
    done = Try(workspace, "t").update()

    assert tree(place) == before
    assert done == planned
    assert set(done.merged) == {"apart", "together"}
    assert done.marked == ("together",)
    assert set(done.same) == {"alike", "put-back"}
    assert {one.path for one in done.conflicts} == {"binary", "deleted"}
    assert _upper(workspace, "apart") == _with(l3="three", l28="mine")
    assert _upper(workspace, "together") == MARKED
    assert {one.path for one in Try(workspace, "t").unmerged()} == {"binary", "deleted"}
    _run(Try(workspace, "t"), f"grep -qx mine 'put-back' && test \"$(sed -n 28p apart)\" = mine && cd {place}")


def test_markers_are_accepted_when_they_are_resolved_or_asked_for(workspace: Workspace, place: Path) -> None:
    """An agent that leaves them must not have them in the workspace by the way."""
    Try(workspace, "t").update()

    with pytest.raises(AcceptRefused, match="still has the conflict markers"):
        Try(workspace, "t").accept("together")
    assert Try(workspace, "t").accept("together", choice="markers", dry_run=True).changes
    _run(Try(workspace, "t"), "sed -i '/^[<>=|]\\{7\\}/d; s/^fünf$/both/; /^five$/d' together")
    assert {path for path, _ in Try(workspace, "t").accept(rest=True).left} == {"binary", "deleted"}

    assert (place / "together").read_text() == _with(l5="both\n5", l28="mine")
    assert (place / "apart").read_text() == _with(l3="three", l28="mine")
    assert (place / "put-back").read_text() == _with(l9="mine")
    workspace.undo()
    assert (place / "together").read_text() == _with(l5="fünf", l28="mine")


def test_what_is_saved_after_the_update_is_merged_with_it(workspace: Workspace, place: Path) -> None:
    """The base is what was brought in: neither is lost, and the same change is not one twice."""
    Try(workspace, "t").update()
    (place / "apart").write_text(_with(l15="later", l28="mine"))

    Try(workspace, "t").accept("apart")

    assert (place / "apart").read_text() == _with(l3="three", l15="later", l28="mine")


def test_a_second_update_brings_what_came_later_and_markers_stay_unresolved(workspace: Workspace, place: Path) -> None:
    """Its undo takes back the second alone."""
    Try(workspace, "t").update()
    first = _seen(workspace)
    (place / "together").write_text(_with(l5="fünf", l15="later", l28="mine"))

    assert Try(workspace, "t").update().merged == ("together",)
    assert "later" in _upper(workspace, "together")
    with pytest.raises(AcceptRefused, match="conflict markers"):
        Try(workspace, "t").accept("together")
    Try(workspace, "t").undo_update()
    (place / "together").write_text(_with(l5="fünf", l28="mine"))

    assert _seen(workspace) == first
    assert Try(workspace, "t").undo_update() is None


def test_permissions_come_into_what_programs_have_only_opened(workspace: Workspace, place: Path) -> None:
    """Such a file is the workspace's in all, and not what it was when it was opened."""
    (place / "opened").write_text("as it was\n")
    (place / "opened").chmod(0o644)
    _run(Try(workspace, "other"), ": >> opened; echo > new")
    (place / "opened").chmod(0o600)

    assert Try(workspace, "other").update().same == ("opened",)

    _run(Try(workspace, "other"), 'test "$(stat -c %a opened)" = 600')


def test_an_undo_gives_the_try_as_it_was(workspace: Workspace, place: Path) -> None:
    """And the same update can be had again."""
    before = _seen(workspace)
    done = Try(workspace, "t").update()
    after = _seen(workspace)

    back = Try(workspace, "t").undo_update()

    assert back == Updated(done.merged, done.marked, done.same)
    assert _seen(workspace) == before
    Try(workspace, "t").update()
    assert _seen(workspace) == after
    Try(workspace, "t").undo_update()
    with pytest.raises(TryConflict):
        Try(workspace, "t").accept()


@pytest.mark.parametrize(
    "script",
    ["echo more >> apart", "rm apart", "chmod 600 apart", "cp apart b && mv b apart", "echo mine > alike", "rm together; mkdir together"],
)  # fmt: skip
def test_what_programs_have_built_on_is_not_taken_back(workspace: Workspace, script: str) -> None:
    """Nothing is, and the paths are named."""
    Try(workspace, "t").update()
    _run(Try(workspace, "t"), script)
    before = _seen(workspace)

    with pytest.raises(MergeRefused, match="has changed in the try since the update"):
        Try(workspace, "t").undo_update()

    assert _seen(workspace) == before


def test_a_save_while_it_merges_stays_the_persons(
    workspace: Workspace, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is left as it is in the try, and the next update has it."""
    merged = ThreeWay.of

    def saved(self: ThreeWay, *given: Any) -> Merge:
        done = merged(self, *given)
        (place / "apart").write_text(_with(l20="saved"))
        return done

    with monkeypatch.context() as patched:
        patched.setattr(ThreeWay, "of", saved)
        done = Try(workspace, "t").update()

    assert "apart" not in done.merged
    assert [one.reason for one in done.conflicts if one.path == "apart"] == [
        "was saved by somebody in this very moment; run the update again"
    ]
    assert (place / "apart").read_text() == _with(l20="saved")
    assert "apart" in Try(workspace, "t").update().merged
    assert _upper(workspace, "apart") == _with(l3="three", l20="saved")


def _killed(act: Callable[[], object], step: int) -> bool:
    """Do something in a process that is killed before it changes a file for the so manieth time; whether it came so far."""
    pid = os.fork()
    if not pid:
        done = 0

        def hook(event: str, given: tuple[Any, ...]) -> None:
            nonlocal done
            is_open = (
                event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            if event in CHANGES or is_open:
                done += 1
                if done == step:
                    os._exit(9)

        try:
            sys.addaudithook(hook)
            act()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, 9)
    return status == 9


def test_killed_at_any_step_it_is_as_before_or_as_after(workspace: Workspace, place: Path) -> None:
    """Whoever opens the try next goes on; an update and its undo."""
    before, was = _seen(workspace), tree(place)
    Try(workspace, "t").update()
    after = _seen(workspace)
    Try(workspace, "t").undo_update()
    assert _seen(workspace) == before
    kills, step = [0, 0], 0
    while True:
        step += 1
        if not _killed(lambda: Try(workspace, "t").update(), step):
            break
        kills[0] += 1
        found = _seen(workspace)
        assert found in (before, after), step
        if found == after:
            Try(workspace, "t").undo_update()
            assert _seen(workspace) == before, step
    step = 0
    while True:
        step += 1
        Try(workspace, "t").update()
        if not _killed(lambda: Try(workspace, "t").undo_update(), step):
            break
        kills[1] += 1
        assert _seen(workspace) in (before, after), step
    assert _seen(workspace) == before
    assert tree(place) == was
    assert min(kills) > 15, kills


# -- what somebody else found who tried to lose a save


def _pick(*numbers: int) -> Callable[[tuple[Unit, ...]], Iterator[Picked]]:
    def pick(units: tuple[Unit, ...]) -> Iterator[Picked]:
        for unit in units:
            yield Picked(unit, tuple(unit.hunks[number] for number in numbers))

    return pick


@pytest.fixture
def fresh(place: Path) -> Iterator[Workspace]:
    """A project with a text, of which a try has changed two places."""
    (place / "text").write_text("".join(LINES))
    with Workspace.open(place) as opened:
        _run(Try(opened, "t"), "sed -i 's/^3$/three/; s/^15$/fifteen/' text")
        yield opened


def test_an_update_is_not_taken_back_under_a_part_that_was_accepted(fresh: Workspace, place: Path) -> None:
    """What the part was accepted over is known by content, and was no text of the layer before the update."""
    (place / "text").write_text(_with(l28="PERSON"))
    Try(fresh, "t").update()
    Try(fresh, "t").accept(pick=_pick(0))
    fresh.undo()

    with pytest.raises(MergeRefused, match="has changed in the try since the update, or was accepted"):
        Try(fresh, "t").undo_update()
    Try(fresh, "t").accept()

    assert (place / "text").read_text() == _with(l3="three", l15="fifteen", l28="PERSON")


def test_what_a_person_takes_back_after_an_update_stays_so(fresh: Workspace, place: Path) -> None:
    """A text that was accepted in part before is not the one that the try has seen last."""
    Try(fresh, "t").accept(pick=_pick(0))
    (place / "text").write_text(_with(l3="three", l28="EXPERIMENT"))
    assert Try(fresh, "t").update().merged == ("text",)
    (place / "text").write_text(_with(l3="three"))

    assert Try(fresh, "t").update().merged == ("text",)
    Try(fresh, "t").accept()

    assert (place / "text").read_text() == _with(l3="three", l15="fifteen")


@pytest.mark.parametrize(
    "script",
    [
        "mv d d2; ln -s {outside} d",
        "mv d d2; ln -s . d",
        "mkdir e; mv d/f e/f; rm -r d; ln -s e d",
        "rm -r d; mkdir d",
        "rm -r d; mkdir d; seq 30 > d/f",
        "rm -r d; echo > d",
    ],
)
def test_no_link_is_followed_and_no_other_directory_is_taken_for_the_one_that_was(
    workspace: Workspace, place: Path, tmp_path: Path, script: str
) -> None:
    """Whatever a program has put where the files of the update were, its undo is refused, and writes nowhere."""
    outside = tmp_path / "outside"
    (place / "d").mkdir()
    outside.mkdir()
    for path in (place / "d/f", place / "d/same", outside / "f"):
        path.write_text("".join(LINES))
    _run(Try(workspace, "t"), "sed -i 's/^3$/three/' d/f; sed -i 's/^5$/five/' d/same")
    (place / "d/f").write_text(_with(l28="mine"))
    (place / "d/same").write_text(_with(l5="five"))
    done = Try(workspace, "t").update()
    assert ("d/f" in done.merged, "d/same" in done.same) == (True, True)
    _run(Try(workspace, "t"), script.format(outside=outside))
    before, was = _seen(workspace), tree(place)

    with pytest.raises(MergeRefused):
        Try(workspace, "t").undo_update()

    assert (_seen(workspace), tree(place)) == (before, was)
    assert sorted(path.name for path in outside.iterdir()) == ["f"]


def test_directories_that_were_there_for_their_files_alone_go_with_them(workspace: Workspace, place: Path) -> None:
    """A directory that the person then deletes is not made again by an accept; an undo has it back."""
    for name in ("one", "two"):
        (place / name / "deep").mkdir(parents=True)
        (place / name / "deep/same").write_text("".join(LINES))
    (place / "one/deep").chmod(0o750)
    _run(Try(workspace, "t"), "sed -i 's/^5$/five/' */deep/same")
    for name in ("one", "two"):
        (place / name / "deep/same").write_text(_with(l5="five"))
    before = _seen(workspace)
    Try(workspace, "t").update()
    after = _seen(workspace)
    Try(workspace, "t").undo_update()
    assert _seen(workspace) == before
    Try(workspace, "t").update()
    assert _seen(workspace) == after

    shutil.rmtree(place / "one")
    assert not any(change.path.startswith("one") for change in Try(workspace, "t").differences().changes())
    Try(workspace, "t").undo_update()
    mode = Path(Try(workspace, "t").overlay.upper, "one/deep").stat().st_mode
    assert mode & 0o777 == 0o750


@pytest.mark.parametrize("mode", ["000", "500", "555"])
def test_what_lies_in_a_directory_that_a_program_closed_is_left_as_it_is(
    place: Path, environment: dict[str, str], mode: str
) -> None:
    """An ordinary user's wink would have to open it, and a kill would leave it open."""
    (place / "d").mkdir()
    for name in ("d/f", "d/same", "free"):
        (place / name).write_text("".join(LINES))

    def wink(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [*AS_OWNER, sys.executable, "-m", "wink", *arguments]
        return subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=False)

    script = f"sed -i 's/^3$/three/' d/f d/same free; chmod {mode} d"
    assert wink("try", "-q", "--", "sh", "-c", script).returncode == 0
    (place / "d/f").write_text(_with(l28="mine"))
    (place / "d/same").write_text(_with(l3="three"))
    (place / "free").write_text(_with(l28="mine"))
    before = wink("diff").stdout

    done = json.loads(wink("update", "--json").stdout)

    closed = "and lies in a directory that a program closed in the try; open it there: chmod u+rwx"
    assert done["merged"] == ["free"]
    assert [(one["path"], one["reason"]) for one in done["conflicts"]] == [("d/f", closed), ("d/same", closed)]
    assert wink("update", "--undo").returncode == 0
    assert wink("diff").stdout == before
    assert wink("try", "-q", "--", "chmod", "755", "d").returncode == 0
    assert closed not in [one["reason"] for one in json.loads(wink("update", "--json").stdout)["conflicts"]]


def test_a_marked_file_that_is_moved_or_picked_is_not_accepted_either(workspace: Workspace, place: Path) -> None:
    """Markers must be asked for; then it is said that they are there."""
    Try(workspace, "t").update()
    with pytest.raises(AcceptRefused, match="still has the conflict markers"):
        Try(workspace, "t").accept("together", pick=_pick(0))
    assert Try(workspace, "t").accept("together", choice="markers", dry_run=True).marked == ("together",)
    (place / "together").write_text(_with(l5="cinq", l28="mine"))  # which gets markers around those of the update
    assert Try(workspace, "t").accept("together", choice="markers", dry_run=True).marked == ("together",)
    _run(Try(workspace, "t"), "mv together moved")
    with pytest.raises(AcceptRefused, match="'moved' still has the conflict markers"):
        Try(workspace, "t").accept("moved")
    assert "<<<<" not in (place / "together").read_text()


def test_files_that_programs_closed_to_themselves_are_merged(workspace: Workspace, place: Path) -> None:
    """By content; what it may be read by stays as they left it."""
    _run(Try(workspace, "t"), "chmod 200 apart")

    assert "apart" in Try(workspace, "t").update().merged

    upper = Path(Try(workspace, "t").overlay.upper, "apart")
    assert upper.stat().st_mode & 0o777 == 0o200
    assert Try(workspace, "t").undo_update() is not None


def test_a_try_with_an_update_that_cannot_be_gone_on_with_can_be_dropped(workspace: Workspace, wink: Wink) -> None:
    """A file of it is missing, as after a disk was full."""
    Try(workspace, "t").update()
    directory = Path(Try(workspace, "t").overlay.directory)
    Try(workspace, "t").undo_update()
    assert _killed_before_it_is_done(workspace)
    (directory / "update.pending/0.new").unlink()

    assert wink("diff", "--try", "t").returncode != 0
    assert wink("drop", "--name", "t").returncode == 0


def _killed_before_it_is_done(workspace: Workspace) -> bool:
    directory, step = Path(Try(workspace, "t").overlay.directory), 0
    while not (directory / "update.pending/0.new").exists():
        step += 1
        if not _killed(lambda: Try(workspace, "t").update(), step):
            return False
    return True


def test_a_try_in_use_and_one_that_is_none(workspace: Workspace) -> None:
    """Said as of every command."""
    with pytest.raises(UnknownTry):
        Try(workspace, "other").update()
    with Try(workspace, "t").use(), pytest.raises(TryBusy):
        Try(workspace, "t").update()


def test_a_plan_that_cannot_be_read_is_said_and_the_try_can_be_dropped(workspace: Workspace, wink: Wink) -> None:
    """Nobody goes on with half of it."""
    directory = Path(Try(workspace, "t").overlay.directory)
    (directory / "update.pending").mkdir()
    (directory / "update.pending/plan.json").write_text('[["../../a", 1, 1, "", null, null, true, false, false]]')

    said = wink("diff", "--try", "t")

    assert said.returncode == 2
    assert "the plan of an update, cannot be read" in said.stderr
    assert "cannot be read" in wink("tries").stdout
    assert wink("drop", "--name", "t").returncode == 0
    assert wink("tries").stdout == ""


def test_the_command(workspace: Workspace, wink: Wink) -> None:
    """Its lines, its exit status, and its JSON."""
    done = wink("update", "t")
    assert (done.returncode, done.stdout) == (
        1,
        """updated: 4 paths of the try 't'
  merged with what the workspace has changed: apart, together
  as in the workspace: alike, put-back
  has conflict markers, to be resolved in the try: together
  `wink update t --undo` takes it back
""",
    )
    assert done.stderr.splitlines() == [
        "wink: left as they are: 2 paths",
        "  was changed in the workspace meanwhile, and is no text that could be merged by lines:",
        "    binary",
        "  was changed in the workspace meanwhile, and was deleted on one side:",
        "    deleted",
    ]
    back = wink("update", "--undo")
    assert (
        back.stdout == "taken back: 4 paths of the try 't'\n  as before the update: apart, together, alike, put-back\n"
    )
    assert wink("update", "--name", "t", "--undo").stderr == "wink: the try 't' has no update to take back\n"
    told = json.loads(wink("update", "--json", "--dry-run").stdout)
    assert (told["marked"], told["dry_run"], len(told["conflicts"])) == (["together"], True, 2)
    assert wink("update", "t", "--name", "u").returncode == 2
    assert "there is no try 'u'" in wink("update", "u").stderr


def test_a_copy_shows_it_too(place: Path, wink: Wink) -> None:
    """Where programs work on a copy of the workspace."""
    (place / "apart").write_text("".join(LINES))
    assert wink("try", "-q", "--unconfined", "--", "sed", "-i", "s/^3$/three/", "apart").returncode == 0
    (place / "apart").write_text(_with(l28="mine"))

    assert wink("update").returncode == 0

    shown = wink("try", "-q", "--unconfined", "--", "cat", "apart")
    assert shown.stdout == _with(l3="three", l28="mine"), shown.stderr
    assert wink("accept").returncode == 0
    assert (place / "apart").read_text() == _with(l3="three", l28="mine")
