"""`--json` of the commands that change something: one object on standard output, and nothing else there."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from tests.cli.conftest import Done

from wink.cli import wink

Cli = Callable[..., Done]

KILLED = """
import os, signal
from wink import ToolContext, tool

@tool
def killed(context: ToolContext) -> str:
    \"\"\"Be killed after half of the work.\"\"\"
    context.filesystem.write("b.txt", "half")
    os.kill(os.getpid(), signal.SIGKILL)
    return ""
"""
WITHOUT = {
    "acp": "it speaks a protocol until it is ended",
    "call": "it prints the tool's reply; its --json takes the arguments",
    "completion": "it prints what a shell reads",
    "events": "it prints JSON anyway",
    "help": "it prints help",
    "history": "it is git's output",
    "plugins export-schema": "it prints JSON anyway",
    "serve": "it speaks a protocol until it is ended",
    "ui": "it serves a page until it is ended",
}


def commands(name: str, command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its whole name."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    for word in command.list_commands(context):
        found = command.get_command(context, word)
        assert found is not None
        yield from commands(f"{name} {word}".strip(), found, context)


def test_every_command_has_it_or_a_reason() -> None:
    """A command that somebody adds is found here."""
    flags = {
        name: any(isinstance(one, click.Option) and "--json" in one.opts and one.is_flag for one in command.params)
        for name, command in commands("", wink, click.Context(wink))
    }

    assert len(flags) > 30
    assert sorted(name for name, has in flags.items() if not has and name not in WITHOUT) == []
    assert sorted(name for name, has in flags.items() if has and name in WITHOUT) == []


def one(done: Done) -> dict[str, Any]:
    """The only object that was printed."""
    assert done.status == 0, done.err
    (found,) = done.rows
    return found


def test_undo_redo_and_restore_tell_the_calls_and_what_changed(cli: Cli, place: Path) -> None:
    assert one(cli("checkpoint", "first", "--json")) == {"checkpoint": "first", "full": False, "not_restorable": []}
    assert cli("call", "write_file", "file_path=b.txt", "content=b\n").status == 0
    created, deleted = {"path": "b.txt", "kind": "created"}, {"path": "b.txt", "kind": "deleted"}

    would = one(cli("undo", "--dry-run", "--json"))
    assert (would["call"], would["calls"], would["changes"]) == (None, ["c1"], [deleted])
    assert (place / "b.txt").exists()

    undone = one(cli("undo", "--json"))
    assert (undone["call"], undone["calls"], undone["changes"]) == ("c2", ["c1"], [deleted])
    assert [undone[key] for key in ("kept", "lost", "forced", "notes")] == [[], [], [], []]

    redone = one(cli("redo", "--json"))
    assert (redone["call"], redone["calls"], redone["changes"]) == ("c3", ["c2"], [created])

    restored = one(cli("restore", "first", "--json"))
    assert (restored["call"], restored["changes"]) == ("c4", [deleted])


def test_checkpoints_are_listed_and_forgotten(cli: Cli) -> None:
    cli("checkpoint", "first")
    cli("checkpoint", "second", "--full")

    listed = one(cli("checkpoint", "--json"))["checkpoints"]
    assert isinstance(listed, list)
    assert [(found["checkpoint"], found["full"]) for found in listed] == [("first", False), ("second", True)]
    assert one(cli("checkpoint", "first", "--delete", "--json")) == {"checkpoint": "first", "deleted": True}


def test_gc_and_recover_tell_what_they_did(cli: Cli) -> None:
    cli("call", "write_file", "file_path=b.txt", "content=b\n")

    freed = one(cli("gc", "--calls", "0", "--json"))
    assert (freed["dry_run"], freed["bytes_left"], freed["conflicts"]) == (False, 0, [])
    assert one(cli("gc", "--dry-run", "--json"))["disk"] is None
    assert one(cli("recover", "--json")) == {"recovered": [], "set_aside": [], "new_record": False}


def test_recover_tells_what_it_took_back_of_a_call_that_was_killed(cli: Cli, place: Path) -> None:
    (place.parent / "tools.py").write_text(KILLED)
    command = [sys.executable, "-m", "wink", "call", "--tools", "../tools.py", "killed"]
    assert subprocess.run(command, cwd=place, check=False).returncode == -signal.SIGKILL
    assert (place / "b.txt").read_text() == "half"

    (found,) = one(cli("recover", "--json"))["recovered"]

    assert (found["outcome"], found["paths"], found["conflicts"]) == ("undone", ["b.txt"], [])
    assert not (place / "b.txt").exists()


def test_recover_tells_what_it_set_aside(cli: Cli, place: Path) -> None:
    (place / ".wink").write_text("no directory")

    told = one(cli("recover", "--set-aside", "--json"))

    (aside,) = told["set_aside"]
    assert (told["recovered"], told["new_record"], aside["names"]) == ([], True, [".wink"])
    assert "no directory" in aside["reason"]
    assert Path(aside["place"]).read_text() == "no directory"


def test_wrong_input_prints_nothing_there(cli: Cli) -> None:
    """So what reads the output cannot take half an answer for a whole one."""
    done = cli("undo", "c99", "--json")

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("wink: ")
