"""A full disk is told as what it is, and what to do about it."""

from __future__ import annotations

import errno
import os
import sqlite3

import click
import pytest

from wink.cli import _main


@click.command()
def fills_a_record() -> None:
    """Write to a database that can grow no more: SQLite says the same of a disk that is full."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript("PRAGMA max_page_count = 2; CREATE TABLE t (x);")
        database.execute("INSERT INTO t VALUES (zeroblob(100000))")
    finally:
        database.close()


@click.command()
def fills_a_file() -> None:
    """What a write to a file raises."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some.txt")


@pytest.mark.parametrize("command", ["fills_a_record", "fills_a_file"])
def test_full_disk_is_one_line_with_a_remedy(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no mistake of wink's, so that nobody has to look where it happened."""
    monkeypatch.setitem(_main.COMMANDS, command, (__name__, command, "Fill."))

    assert _main.run([command]) == _main.FAILED
    told = capsys.readouterr().err
    assert told.endswith("; make room on the disk and try again\n")
    assert "should not happen" not in told
    assert told.count("\n") == 1


def test_other_errors_of_a_database_are_still_told_as_mistakes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody could help themselves."""

    @click.command()
    def breaks() -> None:
        raise sqlite3.OperationalError("no such table: t")

    monkeypatch.setattr(_main.LazyGroup, "get_command", lambda self, ctx, name: breaks)
    monkeypatch.setitem(_main.COMMANDS, "breaks", (__name__, "breaks", "Break."))
    assert _main.run(["breaks"]) == _main.FAILED
    assert "this should not happen" in capsys.readouterr().err
