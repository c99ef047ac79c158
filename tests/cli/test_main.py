"""The command line as a whole: help, unknown commands, and everything that can go wrong around a command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli import _main
from wink.cli._offered import listed_commands

Cli = Callable[..., Done]
WINK = [sys.executable, "-m", "wink"]


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands_without_importing_them(cli: Cli, arguments: tuple[str, ...]) -> None:
    """It is the first thing that anybody sees, so it has to be quick."""
    done = cli(*arguments)

    assert (done.status, done.err) == (0, "")
    known = {*_main.COMMANDS, *(one.name for one in listed_commands(_main.COMMANDS))}
    groups = [group for group, names in _main.GROUPS.items() if known.intersection(names)]
    assert [line.split(":")[0] for line in done.out.splitlines() if line.endswith(":")][1:] == groups
    assert {"Work", "Look", "Go back", "Decide", "Set up"} <= {*groups}


@pytest.mark.parametrize("command", _main.COMMANDS)
def test_each_command_explains_itself(cli: Cli, command: str) -> None:
    """The list of commands names only what can be run."""
    done = cli(command, "--help")

    assert done.status == 0
    assert done.out.startswith(f"Usage: wink {command}")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--xyz",), "no such option '--xyz'; `wink --help` shows what it takes"),
        (("cal",), "there is no command 'cal'; did you mean 'call'?"),
        (("--wrong",), "no such option '--wrong'; did you mean '--version'?"),
        (("tools", "extra"), "got unexpected extra argument (extra); `wink tools --help` shows what it takes"),
        (("plugins", "xyz"), "no such command 'xyz'; `wink plugins --help` shows what it takes"),
    ],
)
def test_a_wrong_command_says_what_to_do(cli: Cli, arguments: tuple[str, ...], complaint: str) -> None:
    """One line, status 2."""
    assert cli(*arguments) == Done(2, "", f"wink: {complaint}\n")


def test_a_word_that_is_like_no_command_gets_them_all(cli: Cli) -> None:
    """Plugins may have added more."""
    done = cli("xyz")

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"wink: there is no command 'xyz'; the commands are: {', '.join(_main.COMMANDS)}")


def test_a_mistake_inside_is_one_line_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback is for whoever asks for it with --debug."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("wink.cli.work._tools.open_workspace", broken)

    done = cli("tools")

    assert (done.status, done.out) == (1, "")
    assert done.err == "wink: ZeroDivisionError: oh; this should not happen, `wink --debug …` shows where\n"
    with pytest.raises(ZeroDivisionError):
        cli("--debug", "tools")


def test_an_interrupted_command_exits_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As shells expect of a program that Ctrl-C ended."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wink.cli.work._tools.open_workspace", interrupted)

    done = cli("tools")

    assert done.status == 130
    assert done.err.startswith("wink: interrupted")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_survives_every_encoding(place: Path, encoding: str) -> None:
    """A terminal that lacks a character gets something else for it, not a traceback."""
    (place / "a.txt").write_text("→ é\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}

    done = subprocess.run(
        [*WINK, "call", "read_file", "file_path=a.txt"], cwd=place, env=environment, capture_output=True
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_an_argument_is_utf_8_whatever_the_locale(place: Path) -> None:
    """Containers and cron jobs have none."""
    (place / "é.txt").write_text("here\n")
    environment = {**os.environ, "LC_ALL": "C"}

    done = subprocess.run(
        [*WINK, "call", "read_file", "file_path=é.txt"], cwd=place, env=environment, capture_output=True
    )

    assert done.returncode == 0
    assert b"here" in done.stdout


@pytest.mark.parametrize("command", [["tools"], ["run", "x", "--model", "scripted:s.toml"], ["plugins"]])
def test_nobody_complains_when_the_reader_has_gone(place: Path, command: list[str]) -> None:
    """`| head` is a normal way to read; exit status 141 as other programs have it."""
    (place / "s.toml").write_text('[[turn]]\n[[turn.call]]\ntool = "ls"\n[[turn]]\ntext = "bye"\n')
    read, write = os.pipe()
    os.close(read)

    done = subprocess.run([*WINK, *command], cwd=place, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has /dev/full")
def test_a_full_disk_is_said_in_one_line(place: Path) -> None:
    """Output that could not be written is work that failed."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([*WINK, "tools"], cwd=place, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
