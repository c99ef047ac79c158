"""`wink checkpoint`, `wink restore` and `wink gc`, as people type them."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.states import state_of
from tests.workspace.working import call

from wink.workspace import Workspace

Cli = Callable[..., Done]


def test_checkpoint_and_restore(cli: Cli, place: Path) -> None:
    """Name it, work, look at what a restore would do, and do it."""
    assert cli("checkpoint", "start").out == "checkpoint start\n"
    assert cli("checkpoint").out.startswith("start  ")
    cli("call", "write_file", "file_path=b.txt", "content=b\n")

    assert "-b\n" in cli("restore", "start", "--dry-run").out
    assert (place / "b.txt").exists()
    assert cli("restore", "start").out.startswith("restored c1 (c2)\n  - b.txt\n")
    assert not (place / "b.txt").exists()
    assert cli("undo").out.startswith("undone c2 (c3)\n  + b.txt\n")


def test_restore_what_a_call_left(cli: Cli, place: Path) -> None:
    """By the number that `wink log` shows; a checkpoint of that name means what its maker meant."""
    for text in ("one", "two", "three"):
        cli("call", "write_file", "file_path=b.txt", f"content={text}\n")

    assert "+one\n" in cli("restore", "c1", "--dry-run").out
    assert cli("restore", "c1").out.startswith("restored c2, c3 (c4)\n  ~ b.txt\n")
    assert (place / "b.txt").read_text() == "one\n"
    cli("checkpoint", "c2")
    cli("call", "write_file", "file_path=b.txt", "content=four\n")
    cli("restore", "c2")
    assert (place / "b.txt").read_text() == "one\n"
    assert cli("restore", "c99").status == 2


@pytest.mark.parametrize(
    "arguments", [("checkpoint", "start"), ("checkpoint", "NO!"), ("restore", "x"), ("restore", "start", "../x")]
)
def test_wrong_input_is_one_line(cli: Cli, arguments: tuple[str, ...]) -> None:
    """Status 2, and what to do instead."""
    cli("checkpoint", "start")

    done = cli(*arguments)

    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_gc_says_what_it_freed_and_the_disk_agrees(cli: Cli, place: Path) -> None:
    """And with `--dry-run` what it would."""
    (place / "a.txt").write_text("x\n" * 500_000)
    with Workspace.open(place) as workspace:
        call(workspace, lambda files, _: files.write("a.txt", "new"))

    def on_disk() -> int:
        return sum(path.stat().st_blocks * 512 for path in state_of(place).rglob("*") if path.is_file())

    assert cli("gc").out.startswith("freed 0 bytes of 0 calls; 1000000 bytes stay\non the disk ")
    assert cli("gc", "--calls", "0", "--dry-run").out == "would free 1000000 bytes of 1 calls; 0 bytes stay\n"
    before = on_disk()
    told = cli("gc", "--calls", "0").out
    assert told.startswith("freed 1000000 bytes of 1 calls; 0 bytes stay\non the disk ")
    less = re.search(r"disk ([0-9]+) KB less: .*staged 1.0 MB", told)
    assert less is not None, told
    assert abs(before - on_disk() - float(less[1]) * 1000) < 1000
    assert cli("gc", "--calls", "-1").status == 2


def test_full_checkpoint_brings_back_what_a_person_deleted(cli: Cli, place: Path) -> None:
    """And says what it could not take in."""
    os.mkfifo(place / "pipe")

    assert cli("checkpoint", "--full", "all").out == (
        "checkpoint all\n  not restorable: pipe is neither a file, a directory nor a link\n"
    )
    assert cli("checkpoint").out.endswith("  full\n")
    before = (place / "a.txt").read_text()
    (place / "a.txt").unlink()
    assert cli("restore", "all").out == "restored what others changed (c1)\n  + a.txt\n"
    assert (place / "a.txt").read_text() == before
    assert cli("undo").out.startswith("undone c1 (c2)\n  - a.txt\n")
    assert cli("checkpoint", "--full").status == 2


def test_gc_keeps_what_somebody_has_written_to_since(cli: Cli, place: Path) -> None:
    """A program that had the replaced file open goes on writing to it, and only wink knows where that is."""
    cli("call", "read_file", "file_path=a.txt")
    assert cli("call", "write_file", "file_path=a.txt", "content=new\n").status == 0
    (replaced,) = (state_of(place) / "staged").iterdir()
    with replaced.open("a") as theirs:
        theirs.write("three\n")

    told = cli("gc", "--calls", "0").out

    (kept,) = (state_of(place) / "conflicts").iterdir()
    assert kept.read_text() == "one\ntwo\nthree\n"
    assert f"it is kept in {kept.relative_to(place)}\n" in told


def test_names_from_the_record_are_shown_on_one_line(cli: Cli, place: Path) -> None:
    """wink makes no such name, and a record may have been written by others; a terminal would obey it."""
    cli("checkpoint", "start")
    with closing(sqlite3.connect(state_of(place) / "record.db")) as record:
        record.execute("UPDATE checkpoints SET name = ?", ("a\x1b[2J\u202eb\nstart",))
        record.commit()
    shown = cli("checkpoint").out
    assert shown.startswith("a\\x1b[2J\\u202eb\\nstart  ")
    assert shown.count("\n") == 1


def test_marks_that_turn_text_are_shown_or_told_of(cli: Cli, place: Path) -> None:
    """`show` is for people; a piped diff may be applied, so it stays exact, and who looks at it is warned."""
    cli("call", "write_file", "file_path=b.txt", "content=a\u202eb\n")
    assert "a\\u202eb" in cli("show", "c1").out
    assert "\u202e" not in cli("show", "c1").out
    done = cli("diff", "c1")
    assert "+a\u202eb\n" in done.out
    assert "turn the direction of text" in done.err
    cli("call", "write_file", "file_path=c.txt", "content=plain\tand simple\n")
    assert cli("diff", "c2").err == ""


@pytest.mark.parametrize("full", [(), ("--full",)], ids=["plain", "full"])
def test_a_checkpoint_is_moved(cli: Cli, place: Path, full: tuple[str, ...]) -> None:
    """As `git tag -f` does: only when it is asked for."""
    cli("checkpoint", "here", *full)
    cli("call", "write_file", "file_path=b.txt", "content=one\n")

    assert "--force" in cli("checkpoint", "here", *full).err
    assert cli("checkpoint", "here", "--force", *full).out == "checkpoint here\n"

    cli("call", "write_file", "file_path=c.txt", "content=two\n")
    assert cli("restore", "here").status == 0
    assert (place / "b.txt").read_text() == "one\n"
    assert not (place / "c.txt").exists()
    assert len(cli("checkpoint").out.splitlines()) == 1


@pytest.mark.parametrize("full", [(), ("--full",)], ids=["plain", "full"])
def test_a_checkpoint_is_deleted(cli: Cli, place: Path, full: tuple[str, ...]) -> None:
    """What was done stays, git no longer knows the name, and the name can be given anew."""
    cli("call", "write_file", "file_path=b.txt", "content=one\n")
    cli("checkpoint", "here", *full)
    with Workspace.open(place) as opened:
        opened.fold()
        assert list(Path(opened.state).rglob("refs/wink/checkpoints/here"))

    assert cli("checkpoint", "--delete", "here").out == "deleted checkpoint here\n"

    with Workspace.open(place) as opened:
        assert opened.checkpoints() == ()
        assert opened.record.listed() == ()
        state = opened.state
    assert not list(Path(state).rglob("refs/wink/*/here"))
    assert (place / "b.txt").exists()
    assert "there is no checkpoint 'here'" in cli("restore", "here").err
    assert "there is no checkpoint 'here'" in cli("checkpoint", "-d", "here").err
    assert cli("checkpoint", "here", *full).status == 0
    assert cli("undo").status == 0


@pytest.mark.parametrize(
    "arguments", [("--delete",), ("--force",), ("x", "--delete", "--force"), ("x", "--delete", "--full")]
)
def test_options_that_do_not_go_together_are_one_line(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli("checkpoint", *arguments)

    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
