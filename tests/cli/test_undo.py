"""`wink undo` and `wink redo`, as people type them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.workspace.working import call

from wink.workspace import Workspace

Cli = Callable[..., Done]


@pytest.fixture
def worked(cli: Cli) -> Cli:
    """c1 reads a.txt, c2 writes it, c3 makes d/b.txt."""
    assert cli("call", "read_file", "file_path=a.txt").status == 0
    assert cli("call", "write_file", "file_path=a.txt", "content=new\n").status == 0
    assert cli("call", "write_file", "file_path=d/b.txt", "content=b\n").status == 0
    return cli


def test_undo_and_redo_say_what_they_did(worked: Cli, place: Path) -> None:
    """The calls, the paths, and the session state."""
    assert worked("undo", "2").out == (
        "undone c2, c3 (c4)\n  ~ a.txt\n  - d\n  - d/b.txt\n  session state: Stamp, PolicyState, WrittenFile\n"
    )
    assert (place / "a.txt").read_text() == "one\ntwo\n"
    assert not (place / "d").exists()
    assert worked("redo").out.startswith("redone c4 (c5)\n")
    assert (place / "d/b.txt").read_text() == "b\n"


def test_log_shows_what_is_undone(worked: Cli) -> None:
    """An undo is a call like any other."""
    worked("undo", "c2")

    assert [line.split()[2:4] for line in worked("log").out.splitlines()] == [
        ["ok", "undo"],
        ["ok", "write_file"],
        ["undone", "write_file"],
        ["ok", "read_file"],
    ]


def test_policies_know_what_was_undone(worked: Cli) -> None:
    """After an undo the session knows the file as it was read then, and may write it again."""
    worked("undo", "2")

    assert worked("call", "write_file", "file_path=a.txt", "content=again\n").status == 0


def test_dry_run_prints_the_diff(worked: Cli, place: Path) -> None:
    """To be read before it is done."""
    out = worked("undo", "c2", "--dry-run").out

    assert out.startswith("would undo c2\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n")
    assert "-new\n+one\n+two\n" in out
    assert (place / "a.txt").read_text() == "new\n"


def test_conflict_is_one_line_and_status_1(worked: Cli, place: Path) -> None:
    """The work could not be done; nothing was changed."""
    (place / "a.txt").write_text("mine\n")

    done = worked("undo", "2")

    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "wink: nothing was taken back: a.txt was changed since by somebody else; "
        "with --force it is taken back all the same, and `wink redo` brings back what is there now\n"
    )
    assert (place / "d/b.txt").exists()


def test_force_is_named_only_where_it_helps(worked: Cli, place: Path) -> None:
    """No undo could bring a FIFO back, so that it is not put out of the way; what was said of it stands alone."""
    (place / "a.txt").unlink()
    os.mkfifo(place / "a.txt")

    done = worked("undo", "c2")

    assert (done.status, done.err.count("\n"), "--force" in done.err) == (1, 1, False)
    assert worked("undo", "c2", "--force").err == done.err


@pytest.mark.parametrize("arguments", [("undo", "x"), ("undo", "0"), ("undo", "c99"), ("undo", "9"), ("redo",)])
def test_wrong_input_is_one_line(worked: Cli, arguments: tuple[str, ...]) -> None:
    """Status 2, and what to do instead."""
    done = worked(*arguments)

    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_no_more_paths_are_listed_than_can_be_read(cli: Cli, place: Path) -> None:
    """A call that changed thousands of files fits a screen when it is undone; the rest is counted."""
    with Workspace.open(str(place)) as workspace:
        call(workspace, lambda files, _: [files.write(f"{number:02}.txt", "x") for number in range(25)])

    lines = cli("undo").out.splitlines()

    assert lines[1] == "  - 00.txt"
    assert lines[20:22] == ["  - 19.txt", "  … 5 more"]
    assert not (place / "24.txt").exists()


def test_session_is_that_of_the_log(worked: Cli, place: Path) -> None:
    """What `wink log --session` shows is what is taken back, all of it or the last of it."""
    assert worked("call", "--session", "other", "write_file", "file_path=other.txt", "content=x").status == 0

    assert worked("undo", "1", "--session", "default").out.startswith("undone c3 (c5)\n")
    assert (place / "other.txt").exists()
    assert worked("redo", "--session", "other").status == 2
    assert worked("redo", "--session", "default").out.startswith("redone c5 (c6)\n")
    assert worked("undo", "--session", "other").out.startswith("undone c4 (c7)\n")
    assert worked("undo", "--session", "default").out.startswith("undone c2, c3 (c8)\n")
    assert (place / "a.txt").read_text() == "one\ntwo\n"
    refused = worked("undo", "c3", "--session", "default")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert worked("undo", "--session", "no such").status == 2


def test_one_of_several_is_named_in_one_way(worked: Cli, place: Path) -> None:
    """Options that leave calls out could be taken for options that add some."""
    call = ("--session", "other", "write_file", "file_path=d/b.txt", "content=theirs\n")
    assert worked("call", "--session", "other", "read_file", "file_path=d/b.txt").status == 0
    assert worked("call", *call).status == 0

    refused = worked("undo", "--session", "default", "--json")
    assert (refused.status, refused.out) == (1, "")
    assert "d/b.txt was changed since by c5 of session 'other', which is to stay; `wink undo c5` first" in refused.err
    told = worked("undo", "--run", "r1")
    assert (told.status, told.err.count("\n")) == (2, 1)
    assert "in run 'r1'; the runs here are none" in told.err
    for wrong in (
        ("c3", "--agent", "x"),
        ("--run", "r1", "--agent", "x"),
        ("--turn", "1", "--session", "x"),
        ("--turn", "--run", "x"),
    ):
        assert (worked("undo", *wrong).status, worked("undo", *wrong).out) == (2, "")
    done = worked("undo", "--session", "other", "--dry-run", "--json")
    assert json.loads(done.out)["calls"] == ["c5"]
    assert worked("log", "--agent", "claude-code").out == "no call fits\n"


def test_with_force_what_is_in_the_way_goes_is_named_and_comes_back(worked: Cli, place: Path) -> None:
    """A person who insists loses nothing."""
    (place / "a.txt").write_text("mine\n")
    refused = worked("undo", "c2")
    assert (refused.status, "a.txt" in refused.err) == (1, True)

    assert "  a.txt had been changed since\n" in worked("undo", "c2", "--force", "--dry-run").out
    assert (place / "a.txt").read_text() == "mine\n"
    out = worked("undo", "c2", "--force").out
    assert "  a.txt had been changed since; what was there is kept in c4, and `wink redo` brings it back\n" in out
    assert (place / "a.txt").read_text() == "one\ntwo\n"

    assert worked("redo").status == 0
    assert (place / "a.txt").read_text() == "mine\n"
