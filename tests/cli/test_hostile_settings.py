"""What lies in a workspace where settings are looked for, and is none, neither hangs nor fills the memory nor is followed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wink.cli.settings._sources import sources

Cli = Callable[..., Any]
SECRET = '[plugins]\ndisable = ["secret"]\n'


def fifo(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"# wink\n")
        file.truncate(8 << 30)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(path))


def leading_out(path: Path) -> None:
    (path.parent.parent / "outside.toml").write_text(SECRET)
    path.symlink_to("../outside.toml")


def absolute(path: Path) -> None:
    (path.parent / "inside.toml").write_text(SECRET)
    path.symlink_to(path.parent / "inside.toml")


def through_a_directory(path: Path) -> None:
    (path.parent.parent / "outside.toml").write_text(SECRET)
    (path.parent / "way").symlink_to("..")
    path.symlink_to("way/outside.toml")


def circular(path: Path) -> None:
    path.symlink_to(path.name)


PLANTED: dict[str, Callable[[Path], object]] = {
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a link to a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a FIFO": fifo,
    "a sparse file": sparse,
    "a socket": listening,
    "a directory": lambda path: path.mkdir(),
    "a link that leads out": leading_out,
    "an absolute link": absolute,
    "a link through a link that leads out": through_a_directory,
    "a link to itself": circular,
    "deep arrays": lambda path: path.write_text("wink = " + "[" * 100_000),
    "deep tables": lambda path: path.write_text(f"[plugins.x]\n{'a.' * 200}a = 1 # wink"),
    "a key of many names": lambda path: path.write_text(f"{'a.' * 400_000}a = 1 # wink"),
}
READING = {
    "tools": ["tools"],
    "call": ["call", "list_directory"],
    "plugins": ["plugins"],
    "lint": ["lint"],
    "explain": ["explain", "list_directory"],
    "trust": ["trust"],
    "events": ["events"],
    "prompts": ["prompts", "list"],
}


@pytest.mark.parametrize("name", ["wink.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_is_one_line_that_names_it(cli: Cli, place: Path, kind: str, name: str) -> None:
    """`git clone` and `wink tools` must come to an end; going on without the file could leave out what restricts."""
    PLANTED[kind](place / name)

    done = cli("tools")

    assert done.status == 2
    assert done.err.startswith(f"wink: {name}: ")
    assert done.err.count("\n") == 1
    assert "secret" not in done.err


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("kind", ["a link to /dev/zero", "a FIFO", "a link that leads out"])
def test_every_command_that_reads_settings_refuses(cli: Cli, place: Path, command: str, kind: str) -> None:
    """They read them at one place, and have to go on doing so."""
    cli("call", "list_directory")
    PLANTED[kind](place / "wink.toml")

    done = cli(*READING[command])

    assert done.status == 2
    assert done.err.splitlines()[-1].startswith("wink: wink.toml: cannot be read: it is ")


@pytest.mark.parametrize("command", ["log", "diff"])
@pytest.mark.parametrize("kind", PLANTED)
def test_commands_that_look_go_on_and_tell(cli: Cli, place: Path, command: str, kind: str) -> None:
    """Whoever plants such a file must not keep a person from seeing what was done."""
    cli("call", "ls")
    PLANTED[kind](place / "wink.toml")

    done = cli(command)

    assert done.status == 0
    assert done.err.startswith("wink: wink.toml: ")
    assert "secret" not in done.err


def test_doctor_goes_on_and_tells(cli: Cli, place: Path) -> None:
    """It is asked when something is wrong, so this is one finding of many."""
    fifo(place / "wink.toml")

    assert "settings: wink.toml: cannot be read: it is no regular file" in cli("doctor").out


def test_the_limit_is_named(cli: Cli, place: Path) -> None:
    """Somebody with long settings has to know how long they may be."""
    sparse(place / "wink.toml")

    assert "longer than 1048576 bytes" in cli("tools").err


@pytest.mark.parametrize("target", ["settings/own.toml", "./settings/../settings/own.toml", "settings/next.toml"])
def test_a_link_that_stays_inside_is_followed(cli: Cli, place: Path, target: str) -> None:
    """Nothing is gained by refusing it: whoever can make it can write the file."""
    (place / "settings").mkdir()
    (place / "settings" / "own.toml").write_text('[plugins]\ndisable = ["shell"]\n')
    (place / "settings" / "next.toml").symlink_to("../settings/own.toml")
    (place / "wink.toml").symlink_to(target)

    assert "wink.toml" in cli("plugins", "why", "shell").out


def test_the_users_own_settings_may_be_a_link(cli: Cli, place: Path, tmp_path: Path) -> None:
    """Many keep them in a repository of their own."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "wink.toml").write_text("[plugins]\nallow = 1\n")
    (tmp_path / "home" / ".config").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "wink").symlink_to(tmp_path / "dotfiles")

    assert "~/.config/wink/wink.toml: $.plugins.allow: must be a list" in cli("tools").err


def test_the_users_own_settings_are_bounded_too(cli: Cli, place: Path, tmp_path: Path) -> None:
    """A mistake in one's own files should be told as well."""
    (tmp_path / "home" / ".config" / "wink").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "wink" / "wink.toml").symlink_to("/dev/zero")

    assert cli("tools").err.startswith("wink: ~/.config/wink/wink.toml: cannot be read: it is no regular file")


@pytest.mark.parametrize("name", [".config/wink/wink.toml", ".config/wink", ".config"])
def test_own_settings_that_a_workspace_leads_elsewhere_are_the_workspaces(
    place: Path, tmp_path: Path, name: str
) -> None:
    """In a workspace that is one's home, an agent could make them a link to what it wrote to /tmp."""
    elsewhere = tmp_path / "elsewhere" / ".config" / "wink"
    elsewhere.mkdir(parents=True)
    (elsewhere / "wink.toml").write_text(SECRET)
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).symlink_to(tmp_path / "elsewhere" / name)

    (own,) = sources(str(place), {"HOME": str(place)})

    assert not own.may_loosen


def test_a_trusted_file_that_became_a_device_has_changed(cli: Cli, place: Path) -> None:
    """`wink trust --list` goes through the files of every workspace."""
    (place / "wink.toml").write_text('rules_default = "deny"\n[[rules]]\naction = "allow"\ntools = ["*"]\n')
    (Path(os.environ["HOME"]) / ".config" / "wink").mkdir(parents=True)
    (Path(os.environ["HOME"]) / ".config" / "wink" / "wink.toml").write_text('rules_default = "ask"\n')
    assert cli("trust", "--yes").status == 0
    (place / "wink.toml").unlink()
    (place / "wink.toml").symlink_to("/dev/zero")

    assert "changed since" in cli("trust", "--list").out


def test_a_script_without_end_is_refused(cli: Cli, place: Path) -> None:
    """It is named by the user, and may lie in what was cloned."""
    sparse(place / "turns.toml")

    assert "it is longer than" in cli("run", "x", "--model", "scripted:turns.toml").err


def test_it_takes_no_memory(place: Path) -> None:
    """Reading first and judging then would be killed where memory is short."""
    (place / "wink.toml").symlink_to("/dev/zero")
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); from wink.cli import main; main(['tools'])"

    done = subprocess.run(
        [sys.executable, "-P", "-c", limited], capture_output=True, text=True, timeout=30, check=False
    )

    assert done.returncode == 2
    assert "wink.toml: cannot be read" in done.stderr


def test_the_commands_above_exist(cli: Cli) -> None:
    """A command that is renamed is still to be tried."""
    listed = {line.split()[0] for line in cli("--help").out.splitlines() if line.startswith("  ")}
    assert READING.keys() <= listed


def test_settings_with_thousands_of_tables_are_read_once(tmp_path: Path) -> None:
    """Looked through for each of its tables, 800 kB took a quarter of an hour; the place of each is still told."""
    from wink.cli.settings._sources import sources

    text = "".join(f"[plugins.p{number}]\na = 1\n" for number in range(30_000))
    (tmp_path / "wink.toml").write_text(text)

    (source,) = sources(str(tmp_path), {}, trusting=False)

    assert [source.place(f"plugins.p{number}", is_table=True) for number in (0, 7, 29_999)] == [
        "wink.toml:1", "wink.toml:15", "wink.toml:59999",
    ]  # fmt: skip
    assert source.place("plugins.p7.a") == "wink.toml:16"
    assert source.place("plugins", is_table=True) == "wink.toml:2"


def test_keys_that_are_no_settings_are_told_in_one_line_that_no_terminal_obeys(cli: Cli, place: Path) -> None:
    """However many there are, however long, and whatever is in their names."""
    names = [f"\\u001b[2J\\u202e{number}{'x' * 500}" for number in range(1000)]
    (place / "wink.toml").write_text("".join(f'"{name}" = 1\n' for name in names))

    done = cli("call", "ls")

    assert done.status == 2
    assert done.err.startswith("wink: wink.toml: $.\\x1b[2J\\u202e0x")
    assert "; and 995 more that are no settings" in done.err
    assert "\x1b" not in done.err
    assert (done.err.count("\n"), len(done.err) < 2000) == (1, True)


def test_what_is_wrong_in_a_table_is_told_in_a_line_that_no_terminal_obeys(cli: Cli, place: Path) -> None:
    """The key stands in the workspace's file, which anybody may have written."""
    for table in ("mask", "history", "plugins"):
        (place / "wink.toml").write_text(f'[{table}]\n"\\u001b[2J" = 3\n')
        done = cli("gc" if table == "history" else "tools")

        assert (done.status, "\\x1b[2J" in done.err, "\x1b" in done.err) == (2, True, False), table
