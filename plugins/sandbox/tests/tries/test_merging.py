"""What both a try and the workspace have changed is merged by three ways, or is a conflict: each case has one outcome."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree

from wink.errors import NothingTried, TryConflict
from wink.workspace import Workspace
from wink_sandbox import Command, Differences, Sandbox
from wink_sandbox.tries import Accepted, Picked, Try, Unit, bring_back, dropped_tries
from wink_sandbox.tries.merging import Merge, ThreeWay
from wink_sandbox.tries.merging import _three_way as three_way

LINES = [f"{number}\n" for number in range(1, 31)]
TEXT = "".join(LINES)


def _with(**lines: str) -> str:
    """The text, with some lines other ones: l3="three"."""
    return "".join(f"{lines[f'l{number}']}\n" if f"l{number}" in lines else f"{number}\n" for number in range(1, 31))


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    """A project with a text of thirty lines."""
    (place / "text").write_text(TEXT)
    (place / "text").chmod(0o644)
    with Workspace.open(place) as opened:
        yield opened


def _run(one: Try, script: str) -> None:
    with one.use() as overlay:
        assert Sandbox().run(Command(("/bin/sh", "-c", script)), overlay).status == 0


def _tried(workspace: Workspace, script: str, name: str = "t") -> Try:
    one = Try(workspace, name)
    _run(one, script)
    return one


TRIED = "sed -i 's/^3$/three/' text"


def test_lines_that_both_changed_apart_are_merged_in_one_call_that_undo_takes_back(
    workspace: Workspace, place: Path
) -> None:
    """The person's line and the try's are both there; undo gives exactly what the person had."""
    one = _tried(workspace, f"{TRIED}; echo new > new.txt")
    (place / "text").write_text(mine := _with(l28="mine"))

    done = one.accept()

    assert (done.merged, done.is_over) == (("text",), True)
    assert (place / "text").read_text() == _with(l3="three", l28="mine")
    workspace.undo()
    assert (place / "text").read_text() == mine
    assert not (place / "new.txt").exists()
    workspace.redo()
    assert (place / "text").read_text() == _with(l3="three", l28="mine")


@pytest.mark.parametrize(
    ("script", "theirs", "reason"),
    [
        (TRIED, lambda path: path.write_text(_with(l3="drei")), "in the same lines"),
        (TRIED, lambda path: path.write_text(_with(l4="vier")), "in the same lines"),
        (TRIED, Path.unlink, "and was deleted on one side"),
        ("rm text", lambda path: path.write_text(_with(l28="mine")), "and was deleted on one side"),
        (TRIED, lambda path: path.write_bytes(b"x\0y"), "and is no text that could be merged by lines"),
        ("printf 'x\\0' > text", lambda path: path.write_text(_with(l9="nine")), "and is no text that could be merged by lines"),
        ("chmod 755 text", lambda path: path.chmod(0o600), "and both changed its permissions"),
        ("rm text; ln -s a.txt text", lambda path: path.write_text(_with(l9="nine")), "and what is there is no file any more, or was none"),
        ("echo tried > made", lambda path: (path.parent / "made").write_text("mine\n"), "and what it was when the program began is not known"),
    ],
    ids=["same line", "next line", "deleted here", "deleted there", "binary here", "binary there", "modes", "link", "both made"],
)  # fmt: skip
def test_what_cannot_be_merged_is_refused_as_a_whole_and_says_why(
    workspace: Workspace, place: Path, script: str, theirs: object, reason: str
) -> None:
    """Nothing is changed, in the workspace and in the try, and with `rest` all else is accepted."""
    one = _tried(workspace, f"{script}; echo else > else.txt")
    assert callable(theirs)
    theirs(place / "text")
    before = tree(place)

    with pytest.raises(TryConflict):
        one.accept()

    assert tree(place) == before
    (conflict,) = one.accept(rest=True, dry_run=True).conflicts
    assert conflict.reason == reason
    done = one.accept(rest=True)
    assert [change.path for change in done.changes] == ["else.txt"]
    assert [path for path, _ in done.left] == [conflict.path]
    assert one.conflicts() == (conflict.path,)


@pytest.mark.parametrize(
    ("base", "mine", "tried", "merged"),
    [
        (TEXT, _with(l28="m").replace("\n", "\r\n"), _with(l3="t"), _with(l3="t", l28="m").replace("\n", "\r\n")),
        (TEXT.replace("\n", "\r\n"), _with(l28="m"), _with(l3="t").replace("\n", "\r\n"), _with(l3="t", l28="m")),
        (TEXT, _with(l28="m"), _with(l3="t").replace("\n", "\r\n"), _with(l3="t", l28="m")),
        (TEXT, _with(l28="m").rstrip(), _with(l3="t"), _with(l3="t", l28="m").rstrip()),
        (TEXT.rstrip(), _with(l3="m").rstrip(), TEXT, _with(l3="m")),
        (TEXT, _with(l3="x"), _with(l3="x"), _with(l3="x")),
        (TEXT, _with(l3="x", l9="m"), _with(l3="x", l20="t"), _with(l3="x", l9="m", l20="t")),
        ("", "mine\n", "mine\n", "mine\n"),
    ],
    ids=["mine is CRLF", "LF now", "CRLF tried", "no newline", "newline tried", "same", "same and others", "was empty"],
)  # fmt: skip
def test_lines_end_as_in_the_workspace(
    workspace: Workspace, place: Path, base: str, mine: str, tried: str, merged: str
) -> None:
    """Line endings, a last line without one, and what both did the same."""
    (place / "text").write_bytes(base.encode())
    (place / "tried").write_bytes(tried.encode())
    one = _tried(workspace, "cat tried > text")
    (place / "text").write_bytes(mine.encode())

    done = one.accept()

    assert (place / "text").read_bytes() == merged.encode()
    assert done.is_over
    assert (done.call is None) == (mine == merged)


def test_permissions_and_lines_are_merged_apart(workspace: Workspace, place: Path) -> None:
    """One made it executable, the other changed a line, either way round."""
    (place / "other").write_text(TEXT)
    (place / "other").chmod(0o644)
    one = _tried(workspace, f"chmod 755 text; {TRIED.replace('text', 'other')}")
    (place / "text").write_text(_with(l28="mine"))
    (place / "other").chmod(0o755)

    done = one.accept()

    assert (place / "text").read_text() == _with(l28="mine")
    assert (place / "other").read_text() == _with(l3="three")
    assert [(place / name).stat().st_mode & 0o777 for name in ("text", "other")] == [0o755, 0o755]
    assert done.is_over


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("workspace", _with(l3="drei", l20="t20")),
        ("try", _with(l3="three", l20="t20")),
        (
            "markers",
            _with(l20="t20").replace(
                "\n3\n", "\n<<<<<<< workspace\ndrei\n||||||| base\n3\n=======\nthree\n>>>>>>> try\n"
            ),
        ),
    ],
)
def test_a_person_decides_what_is_taken_of_the_same_lines(
    workspace: Workspace, place: Path, choice: str, expected: str
) -> None:
    """What of the try is not taken comes back by `bring_back`; lines that only one side changed are always taken."""
    one = _tried(workspace, f"{TRIED}; sed -i 's/^20$/t20/' text; echo else > else.txt")
    (place / "text").write_text(mine := _with(l3="drei"))

    done = one.accept(choice=choice)  # pyright: ignore[reportArgumentType]

    assert (place / "text").read_text() == expected
    assert done.is_over
    assert done.marked == (("text",) if choice == "markers" else ())
    aside = [found for found, _ in dropped_tries(workspace)]
    assert done.aside == (("text",) if choice == "workspace" else ())
    assert len(aside) == len(done.aside)
    workspace.undo()
    assert (place / "text").read_text() == mine
    for found in aside:
        assert bring_back(workspace, found) == "t"
        assert Try(workspace, "t").accept(choice="try").merged == ("text",)
        assert (place / "text").read_text() == _with(l3="three", l20="t20")


def test_a_whole_file_is_taken_from_the_try_by_a_persons_word_alone(workspace: Workspace, place: Path) -> None:
    """Of what is no text, or deleted, the workspace's stays unless the try is to have its way; undo brings the other back."""
    for name in ("bin", "gone", "kept"):
        (place / name).write_bytes(b"a\0a")
    one = _tried(workspace, "printf 't\\0' > bin; printf 't\\0' > gone; rm kept")
    (place / "bin").write_bytes(b"m\0m")
    (place / "gone").unlink()
    (place / "kept").write_bytes(b"m\0k")
    before = tree(place)

    with pytest.raises(TryConflict):
        one.accept(choice="workspace")
    assert tree(place) == before
    assert one.accept(choice="try").is_over

    assert ((place / "bin").read_bytes(), (place / "gone").read_bytes()) == (b"t\0", b"t\0")
    assert not (place / "kept").exists()
    workspace.undo()
    assert tree(place) == before


def test_a_part_of_what_is_merged_can_be_picked_and_the_rest_is_merged_later(workspace: Workspace, place: Path) -> None:
    """Hunks are those of the merged text against the workspace's, so that a person's line is in none."""
    one = _tried(workspace, f"{TRIED}; sed -i 's/^15$/t15/' text")
    (place / "text").write_text(_with(l28="mine"))

    one.accept(pick=_first_hunk)

    assert (place / "text").read_text() == _with(l3="three", l28="mine")
    (place / "text").write_text(_with(l3="three", l28="mine", l9="more"))
    assert one.accept().is_over
    assert (place / "text").read_text() == _with(l3="three", l9="more", l15="t15", l28="mine")


def _first_hunk(units: tuple[Unit, ...]) -> list[Picked]:
    (unit,) = units
    assert len(unit.hunks) == 2
    return [Picked(unit, unit.hunks[:1])]


def test_the_base_is_that_of_the_run_in_which_the_try_changed_the_file(workspace: Workspace, place: Path) -> None:
    """A second run sees what a person has saved meanwhile; what an earlier run had changed keeps its base."""
    (place / "late").write_text(TEXT)
    one = _tried(workspace, TRIED)
    (place / "text").write_text(_with(l9="mine"))
    (place / "late").write_text(_with(l9="mine"))
    _run(one, "sed -i 's/^20$/t20/' text; sed -i 's/^20$/t20/' late")
    (place / "late").write_text(_with(l9="mine", l28="more"))

    assert one.accept().is_over

    assert (place / "text").read_text() == _with(l3="three", l9="mine", l20="t20")
    assert (place / "late").read_text() == _with(l9="mine", l20="t20", l28="more")


def test_what_a_person_saves_while_the_program_runs_is_merged(
    wink: Wink, place: Path, environment: dict[str, str]
) -> None:
    """The base is kept soon after the program has changed the file, and not when it ends."""
    (place / "text").write_text(TEXT)
    words = ["python3", "-c", "import sys; exec(sys.stdin.readline())"]
    code = f"import os,time; os.system({TRIED!r}); print('done', flush=True); sys.stdin.readline()\n"
    program = subprocess.Popen(
        [sys.executable, "-m", "wink", "try", "--", *words],
        cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(code)
    program.stdin.flush()
    assert program.stdout.readline() == "done\n"
    while not list(place.glob(".wink/*/tries/default/bases/[0-9a-f]*")):
        time.sleep(0.01)  # the test's own limit ends it
    (place / "text").write_text(_with(l28="mine"))
    program.communicate("\n")

    accepted = wink("accept", "--json")

    assert json.loads(accepted.stdout)["merged"] == ["text"]
    assert (place / "text").read_text() == _with(l3="three", l28="mine")


def test_two_tries_that_change_one_file_are_both_accepted(workspace: Workspace, place: Path) -> None:
    """The second is merged with what the first has made, whichever comes first."""
    first, second = _tried(workspace, TRIED, "a"), _tried(workspace, "sed -i 's/^20$/t20/' text", "b")

    second.accept()
    done: Accepted = first.accept()

    assert done.merged == ("text",)
    assert (place / "text").read_text() == _with(l3="three", l20="t20")


def test_a_base_that_was_lost_or_damaged_is_none(workspace: Workspace, place: Path) -> None:
    """A crash, or somebody's hand: the path conflicts, and a person's save stays."""
    one = _tried(workspace, TRIED)
    (base,) = place.glob(".wink/*/tries/t/bases/[0-9a-f]*")
    (place / "text").write_text(_with(l28="mine"))
    whole = base.read_bytes()

    for content in (whole[:-1], b"", b"[]\n", b'{"mode": "x"}\n', whole.replace(b"420", b'"4"')):
        base.write_bytes(content)
        (conflict,) = one.accept(rest=True, dry_run=True).conflicts
        assert conflict.reason == "and what it was when the program began is not known"
    base.unlink()
    base.symlink_to("/etc/passwd")
    assert one.accept(rest=True, dry_run=True).conflicts
    base.unlink()
    base.write_bytes(whole)
    assert one.accept(dry_run=True).merged == ("text",)


def test_what_is_dropped_and_brought_back_merges_as_before(workspace: Workspace, place: Path) -> None:
    """Also where a part of the try alone was dropped."""
    one = _tried(workspace, f"{TRIED}; echo else > else.txt")
    one.drop("text")
    (place / "text").write_text(_with(l28="mine"))
    ((found, _),) = dropped_tries(workspace)
    name = bring_back(workspace, found)
    assert name == "t-2"

    assert Try(workspace, name).accept().merged == ("text",)

    assert (place / "text").read_text() == _with(l3="three", l28="mine")


def test_no_settings_of_anybody_have_a_say_in_how_lines_are_merged(
    workspace: Workspace, place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither the repository's, nor its attributes, nor the variables that git reads."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    (place / ".gitattributes").write_text("* merge=binary\n")
    (tmp_path / "gitconfig").write_text("[merge]\n\tconflictStyle = zdiff3\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_DIR", str(place / ".git"))
    one = _tried(workspace, TRIED)
    (place / "text").write_text(_with(l3="drei", l28="mine"))

    (conflict,) = one.accept(rest=True, dry_run=True).conflicts

    assert conflict.hunks == ("<<<<<<< workspace\ndrei\n||||||| base\n3\n=======\nthree\n>>>>>>> try\n",)


def test_nothing_of_git_is_merged_by_lines(workspace: Workspace, place: Path) -> None:
    """What two sides wrote to one log is no text to be merged: the workspace's stays."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    (place / ".git/logs").mkdir()
    (place / ".git/logs/HEAD").write_text(TEXT)
    one = _tried(workspace, "sed -i 's/^3$/three/' .git/logs/HEAD")
    (place / ".git/logs/HEAD").write_text(_with(l28="mine"))

    assert one.accept().is_over

    assert (place / ".git/logs/HEAD").read_text() == _with(l28="mine")


def test_a_person_who_saves_before_the_turn_is_merged_with_too(workspace: Workspace, place: Path) -> None:
    """What was merged before the call had its turn is looked at again when it has."""
    one = _tried(workspace, TRIED)
    (place / "text").write_text(_with(l28="mine"))

    def save(told: Accepted) -> None:
        assert [change.path for change in told.changes] == ["text"]
        (place / "text").write_text(_with(l28="mine", l9="late"))

    with pytest.raises((TryConflict, Exception)):
        one.accept(confirm=save)
    assert (place / "text").read_text() == _with(l28="mine", l9="late")
    one.accept()
    assert (place / "text").read_text() == _with(l3="three", l9="late", l28="mine")


def test_the_command_shows_the_lines_in_conflict_and_how_to_go_on(wink: Wink, place: Path) -> None:
    """The refusal has the hunk, and the command that decides; that one's status tells of markers."""
    (place / "text").write_text(TEXT)
    wink("try", "--", "sh", "-c", TRIED)
    (place / "text").write_text(_with(l3="drei"))

    refused = wink("accept")

    assert refused.returncode == 2
    assert "    drei\n    ||||||| base\n    3\n    =======\n    three\n" in refused.stderr
    assert "`wink accept --conflicts markers` takes both lines, marked" in refused.stderr
    as_json = json.loads(wink("accept", "--json").stdout)
    assert [one["path"] for one in as_json["conflicts"]] == ["text"]
    done = wink("accept", "--conflicts", "markers")
    assert done.returncode == 1
    assert "has conflict markers: text" in done.stdout


# -- what is kept as a base, and what is none


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rm text", "echo tried > text"),
        ("rm text; ln -s a.txt text", "rm text; echo tried > text"),
        ("sed -i 's/^3$/three/' text && rm text", "echo tried > text"),
    ],
    ids=["deleted", "link", "changed and deleted"],
)
def test_what_was_deleted_in_one_run_and_made_anew_in_the_next_overwrites_no_save(
    workspace: Workspace, place: Path, first: str, second: str
) -> None:
    """What a person has saved between the two is no base: the try had changed the path before."""
    one = _tried(workspace, first)
    (place / "text").write_text("a person's\n")
    _run(one, second)

    with pytest.raises(TryConflict):
        one.accept()
    assert (place / "text").read_text() == "a person's\n"


def test_a_file_in_a_directory_that_was_made_anew_overwrites_no_save(workspace: Workspace, place: Path) -> None:
    """Also where that file alone is accepted."""
    (place / "d").mkdir()
    (place / "d/a").write_text("one\n")
    one = _tried(workspace, "rm -r d")
    (place / "d/a").write_text("a person's\n")
    _run(one, "mkdir d; echo tried > d/a")

    for paths in ((), ("d/a",)):
        with pytest.raises(TryConflict):
            one.accept(*paths)
    assert (place / "d/a").read_text() == "a person's\n"


def test_a_directory_that_is_built_anew_is_in_nobodys_way(workspace: Workspace, place: Path) -> None:
    """As of `rm -rf dist` and a build, in one run and in several."""
    (place / "dist").mkdir()
    (place / "dist/a").write_text("old\n")
    one = _tried(workspace, "rm -r dist; mkdir dist; echo new > dist/a")
    assert one.accept().is_over
    assert (place / "dist/a").read_text() == "new\n"
    other = _tried(workspace, "echo more >> dist/a; echo k > k", "other")
    _run(other, "rm -r dist")
    other.accept("dist")
    _run(other, "mkdir dist; echo again > dist/a")
    assert other.accept().is_over
    assert (place / "dist/a").read_text() == "again\n"


def test_a_save_into_a_directory_that_is_about_to_go_is_in_the_way(
    workspace: Workspace, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after what both have changed was looked at, and beside a path that the try has accepted before."""
    (place / "k").write_text("k\n")
    one = _tried(workspace, "echo 1 >> k; echo left > left")
    one.accept("k")
    _run(one, "echo 2 >> k; rm -r src")
    merge = ThreeWay.of
    looks = iter((False, True))

    def of(self: ThreeWay, found: Differences, changed: Iterable[str]) -> Merge:
        done = merge(self, found, changed)
        if next(looks, False):
            (place / "src/b.txt").write_text("a person's\n")
        return done

    monkeypatch.setattr(ThreeWay, "of", of)

    with pytest.raises(TryConflict):
        one.accept()
    assert (place / "src/b.txt").read_text() == "a person's\n"


def test_a_later_base_counts_more_than_what_was_accepted_before(workspace: Workspace, place: Path) -> None:
    """A person goes back to a content that the try has accepted once, after a later run had begun with another one."""
    one = _tried(workspace, f"{TRIED}; sed -i 's/^15$/t15/' text; echo x > other")
    one.accept(pick=lambda units: [Picked(unit, unit.hunks[:1]) for unit in units if unit.path == "text"])
    one.accept("text")
    (place / "text").write_text(_with(l3="three", l15="t15", l20="mine"))
    _run(one, "sed -i 's/^28$/t28/' text")
    (place / "text").write_text(TEXT)

    assert one.accept("text").merged == ("text",)
    assert (place / "text").read_text() == _with(l28="t28")


def test_a_directory_that_is_renamed_into_the_place_of_another_is_seen(workspace: Workspace, place: Path) -> None:
    """The files in it have older times than the try."""
    for name, content in (("s", "one\n"), ("s.new", "a person's\n")):
        (place / name).mkdir()
        (place / name / "a").write_text(content)
    one = _tried(workspace, "echo tried > s/a")
    (place / "s").rename(place / "s.old")
    (place / "s.new").rename(place / "s")

    with pytest.raises(TryConflict):
        one.accept()
    assert (place / "s/a").read_text() == "a person's\n"


def test_a_file_that_goes_or_is_swapped_while_it_is_read_is_a_conflict(
    workspace: Workspace, place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing from elsewhere is merged, and no error but the conflict's is raised."""
    (place / "s").mkdir()
    (place / "s/a").write_text(TEXT)
    one = _tried(workspace, f"{TRIED}; sed -i 's/^3$/three/' s/a")
    (place / "text").write_text(_with(l28="mine"))
    (place / "s/a").write_text(_with(l28="mine"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_text(f"secret\n{TEXT}")
    read = three_way.content_of

    def swapped(fd: int, path: str, most: int) -> bytes:
        if path.endswith("/text"):
            (place / "text").unlink()
        content = read(fd, path, most)
        if path.endswith("/s/a"):
            (place / "s").rename(place / "s.old")
            (place / "s").symlink_to(tmp_path / "outside")
        return content

    monkeypatch.setattr(three_way, "content_of", swapped)
    with pytest.raises(TryConflict):
        one.accept()
    assert (tmp_path / "outside/a").read_text() == f"secret\n{TEXT}"
    assert (place / "s.old/a").read_text() == _with(l28="mine")


# -- what is told


def test_a_dry_run_shows_what_would_be_merged(workspace: Workspace, place: Path) -> None:
    """The content, although its file is gone by then, and the markers."""
    one = _tried(workspace, TRIED)
    (place / "text").write_text(_with(l3="drei"))

    done = one.accept(dry_run=True, choice="markers")

    assert (done.merged, done.marked) == (("text",), ("text",))
    (change,) = done.changes
    assert change.after is not None
    assert "||||||| base" in (change.after.content() or b"").decode()
    assert (place / "text").read_text() == _with(l3="drei")


def test_what_the_workspace_overrules_as_a_whole_is_told_too(workspace: Workspace, place: Path, wink: Wink) -> None:
    """Where nothing is left to be accepted, and where only permissions differ."""
    _tried(workspace, TRIED)
    modes = _tried(workspace, "chmod 755 run.sh", "modes")
    (place / "text").write_text(_with(l3="drei"))
    (place / "run.sh").chmod(0o600)

    assert modes.accept(choice="workspace").aside == ("run.sh",)
    said = wink("accept", "--name", "t", "--conflicts", "workspace").stdout

    assert "has the workspace's lines; `wink drop --undo` brings back what was tried: text" in said
    assert len(dropped_tries(workspace)) == 2


def test_what_stays_in_the_try_is_not_laid_aside(workspace: Workspace, place: Path) -> None:
    """A file that is refused for another reason has not been overruled."""
    (place / "pyproject.toml").write_text(TEXT)
    one = _tried(workspace, "sed -i 's/^3$/three/;s/^20$/t20/' pyproject.toml; echo o > o")
    (place / "pyproject.toml").write_text(_with(l3="drei"))

    done = one.accept(rest=True, choice="workspace", settings=lambda name, data: "wrong")

    assert (done.aside, [path for path, _ in done.left]) == ((), ["pyproject.toml"])
    assert dropped_tries(workspace) == ()


def test_what_the_try_has_left_as_it_was_stays_the_workspaces(workspace: Workspace, place: Path) -> None:
    """Also what is no text: a program that has opened a database for writing has changed nothing."""
    (place / "db").write_bytes(b"a\0a")
    one = _tried(workspace, "cp db db2; cat db2 > db; rm db2; echo z > z")
    (place / "db").write_bytes(b"m\0m")

    assert one.accept().is_over
    assert (place / "db").read_bytes() == b"m\0m"


# -- what would conflict


def test_tries_tell_what_would_conflict_with_the_workspace_and_with_each_other(
    workspace: Workspace, place: Path, wink: Wink
) -> None:
    """As the accepts would: the lines of one that began later, and lines apart, are in nobody's way."""
    (place / "gone").write_text(TEXT)
    _tried(workspace, f"{TRIED}; echo a > made; rm gone; ln -s x to; echo s > same", "a")
    _tried(workspace, "sed -i 's/^3$/drei/' text; echo b > made; echo >> gone; ln -s y to; echo s > same", "b")
    _tried(workspace, "sed -i 's/^20$/t20/' text", "c")
    (place / "text").write_text(_with(l20="mine"))
    _tried(workspace, "sed -i 's/^9$/t9/' text", "d")

    told = {one["try"]: one for one in map(json.loads, wink("tries", "--json").stdout.splitlines())}

    def paths(name: str) -> dict[str, list[str]]:
        found = told[name]["conflicts"]
        both = {"": found["workspace"], **found["tries"]}
        return {other: sorted(one["path"] for one in those) for other, those in both.items() if those}

    apart = ["gone", "made", "text", "to"]
    assert {name: paths(name) for name in told} == {"a": {"b": apart}, "b": {"a": apart}, "c": {"": ["text"]}, "d": {}}
    assert all(one["begun_at"] and not one["running"] for one in told.values())
    assert "  conflicts with the try 'b': gone, made, text, to\n" in wink("tries").stdout
    assert "  conflicts with the workspace: text\n" in wink("tries").stdout
    Try(workspace, "a").accept()
    assert {one.path for one in Try(workspace, "b").unmerged()} == set(apart)
    assert Try(workspace, "d").accept().merged == ("text",)


def test_an_unrelated_new_file_beside_a_renamed_and_edited_one_is_no_conflict(
    workspace: Workspace, place: Path
) -> None:
    """The kernel says of both alike that they come from the workspace: that nothing was there before tells them apart."""
    one = _tried(workspace, "mv text src/moved; echo more >> src/moved")
    (place / "src/other").write_text("a person's\n")

    one.accept()

    assert (place / "src/moved").read_text() == f"{TEXT}more\n"
    assert not (place / "text").exists()


def test_a_file_that_a_person_deleted_is_in_the_way_of_what_was_tried_there(workspace: Workspace, place: Path) -> None:
    """It was there when the program began, so it was not moved to that path."""
    one = _tried(workspace, "echo more >> text")
    (place / "text").unlink()

    with pytest.raises(TryConflict) as refused:
        one.accept()

    assert refused.value.paths == ("text",)


@pytest.mark.parametrize("script", ["rm text", "mv text moved", "rm text; mkdir text; rmdir text"])
def test_what_was_saved_before_the_run_that_deletes_it_is_deleted(
    workspace: Workspace, place: Path, script: str
) -> None:
    """A deletion has the base that any other change has: the file as the run found it."""
    one = _tried(workspace, "echo > new.txt")
    (place / "text").write_text(_with(l28="mine"))
    _run(one, script)

    assert one.unmerged() == ()
    one.accept()

    assert not (place / "text").exists()
    workspace.undo()
    assert (place / "text").read_text() == _with(l28="mine")


def test_what_is_saved_after_it_was_deleted_is_a_conflict(workspace: Workspace, place: Path) -> None:
    """Also when it is made again, and when only its permissions are others."""
    one = _tried(workspace, "rm text a.txt")
    (place / "text").write_text(_with(l28="mine"))
    (place / "a.txt").chmod(0o600)

    with pytest.raises(TryConflict) as refused:
        one.accept()

    assert set(refused.value.paths) == {"text", "a.txt"}


def test_what_was_deleted_and_is_written_anew_in_another_run_is_merged(workspace: Workspace, place: Path) -> None:
    """Its base is the file that was deleted."""
    one = _tried(workspace, "rm text")
    _run(one, "seq 30 | sed 's/^3$/three/' > text")
    (place / "text").write_text(_with(l28="mine"))

    one.accept()

    assert (place / "text").read_text() == _with(l3="three", l28="mine")


def test_what_replaces_a_file_of_the_trys_own_was_moved_there_too(workspace: Workspace, place: Path) -> None:
    """Nothing was there in the workspace, neither when the file was made nor when the other one came."""
    one = _tried(workspace, "echo > src/moved")
    _run(one, "mv text src/moved; echo more >> src/moved")
    (place / "src/other").write_text("a person's\n")

    one.accept()

    assert (place / "src/moved").read_text() == f"{TEXT}more\n"


def test_what_was_overruled_comes_back_with_its_own_permissions(workspace: Workspace, place: Path) -> None:
    """Not with those that the workspace's file had and kept."""
    one = _tried(workspace, f"{TRIED}; chmod 640 text")
    (place / "text").chmod(0o600)
    one.accept(choice="workspace")

    assert bring_back(workspace, dropped_tries(workspace)[-1][0]) == "t"

    _run(Try(workspace, "t"), 'test "$(stat -c %a text)" = 640')


def test_what_lies_outside_of_the_chosen_paths_may_be_left_out_of_them(workspace: Workspace) -> None:
    """It was tried, so no error says that it was not; what was not tried is one as ever."""
    one = _tried(workspace, "echo > src/new; echo > a.txt")

    with pytest.raises(NothingTried):
        one.accept("src", without=["text"])
    done = one.accept("src", without=["a.txt"])

    assert [change.path for change in done.changes] == ["src/new"]
    assert [step.path for step in one.differences().steps] == ["a.txt"]
