"""The line at the start of `wink try`, which says what the program sees, and what `--quiet` leaves of all that is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

_SEEN = "home and /tmp private, machine read-only; hidden: .wink, socket files"
_CLOSED = "hidden: .wink, socket files, the rest of the machine"


def _without_hidden(said: str) -> list[str]:
    """The lines but for that which names what this machine has of its user's credentials."""
    return [line for line in said.splitlines() if not line.startswith("wink: also hidden: ")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), f"profile agent: network on, {_SEEN}"),
        (("--no-network",), f"profile agent: network off, {_SEEN}"),
        (("--profile", "build"), f"profile build: network off, {_SEEN}"),
        (("--profile", "closed"), f"profile closed: network off, home and /tmp empty, system read-only; {_CLOSED}"),
        (
            ("--profile", "closed", "--network", "--read", "/var/lib"),
            f"profile closed: network on, home and /tmp empty, system and /var/lib read-only; {_CLOSED}",
        ),
    ],
)
def test_the_first_line_says_what_the_program_sees(wink: Wink, options: tuple[str, ...], says: str) -> None:
    """On standard error alone: the other stream is the program's."""
    done = wink("try", *options, "--", "echo", "out")

    assert (done.returncode, done.stdout) == (0, "out\n")
    assert _without_hidden(done.stderr) == [f"wink: workspace ., {says}", "wink: it changed nothing"]


def test_the_files_of_the_home_that_are_kept_are_named(wink: Wink, place: Path) -> None:
    """Those of the profile, and those of the user's own settings, not too many; nothing where nothing is."""
    claude = "~/.claude/.credentials.json, ~/.claude/projects/**/*.jsonl"
    begun = wink("try", "--profile", "claude", "--", "true").stderr.splitlines()[0]
    assert f"home and /tmp private (kept in your home: {claude}), machine read-only" in begun

    settings = place.parent / "home/.config/wink/wink.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('persist = ["~/.one", "~/.two"]')

    begun = wink("try", "--profile", "claude", "--", "true").stderr.splitlines()[0]
    assert f"(kept in your home: {claude}, ~/.one and 1 more)" in begun
    assert "(kept in your home: ~/.one, ~/.two)" in wink("try", "--", "true").stderr.splitlines()[0]
    assert "kept in your home" not in wink("try", "--profile", "build", "--", "true").stderr


def test_where_no_home_is_shown_none_of_its_files_are_named(wink: Wink, environment: dict[str, str]) -> None:
    """As for a user whose home is the root directory: it is never shown, and nothing is kept there, on a copy neither."""
    environment["HOME"] = "/"

    overlaid = wink("try", "--profile", "claude", "--", "true").stderr
    wink("try", "--unconfined", "--", "mkdir", "begun")
    copied = wink("try", "--profile", "claude", "--", "true").stderr

    assert "home none, /tmp private, machine" in overlaid.splitlines()[0] or "home none, /tmp empty" in overlaid
    assert "home none, /tmp empty, machine" in copied.splitlines()[0]
    assert "kept in your home:" not in overlaid.splitlines()[0]


def test_what_the_line_says_is_so(wink: Wink, place: Path) -> None:
    """In each of the two kinds of profile."""
    look = (
        "ls -A .wink ~ | tr '\\n' ' '; test $(grep -c : /proc/net/dev) -gt 1 && echo on || echo off; touch /usr/x 2>&1"
    )
    for profile, home, network in (("build", ".profile ", "off"), ("closed", "", "off")):
        done = wink("try", "--profile", profile, "--", "sh", "-c", look)
        assert done.stdout.splitlines()[0] == f".wink: {place.parent / 'home'}: {home}{network}".replace(
            ": /", ":  /"
        ), done
        assert "Read-only file system" in done.stdout


def test_the_workspace_is_named_as_one_sees_it(wink: Wink, place: Path) -> None:
    """From within by a path that leads there, from elsewhere in full, and on one line whatever it is called."""
    (place / "src/deep").mkdir()
    odd = place.parent / "new\nline"
    odd.mkdir()

    deep = wink("try", "--workspace", "../..", "--", "true", cwd=place / "src/deep")
    away = wink("try", "--workspace", str(odd), "--", "true", cwd=place)

    assert deep.stderr.startswith("wink: workspace ../.., profile")
    assert away.stderr.splitlines()[0].startswith(f'wink: workspace "{place.parent}/new\\nline", profile')
    assert len(_without_hidden(away.stderr)) == 2


def test_nobody_has_to_read_the_line(place: Path, environment: dict[str, str]) -> None:
    """The program runs all the same where the reader of standard error is gone."""
    script = 'exec "$0" -m wink try -- echo ran 2>/dev/full'

    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=place, env=environment, capture_output=True, text=True, check=False
    )

    assert done.stdout == "ran\n", done.stderr


def test_quiet_is_silent_where_nothing_is_lost(wink: Wink, place: Path) -> None:
    """What was changed is in the try, and what is in the home with it."""
    (place / "src/keep").touch()
    done = wink("try", "--quiet", "--", "sh", "-c", "echo x > new.txt; echo x > ~/.token; echo out; exit 3", cwd=place)

    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "")
    assert "new.txt" in wink("diff").stdout
    kept = wink("try", "-q", "--keep-on-success", "--", "true")
    assert (kept.returncode, (place / "new.txt").read_text()) == (0, "x\n")
    assert kept.stderr.splitlines() == [
        "wink: in the home, which stays with the try: 1 path (~/.token); see it: wink diff --home"
    ]


@pytest.mark.parametrize("keep", [(), ("--keep-on-success",)], ids=["tried", "kept"])
def test_quiet_says_what_is_left_out(wink: Wink, keep: tuple[str, ...]) -> None:
    """Nothing of the program's doings goes without a word."""
    done = wink("try", "-q", *keep, "--", "sh", "-c", "echo x > new.txt; mkfifo pipe")

    assert done.stderr.splitlines() == ["wink: left out: 1 path", "  is a FIFO, which is not kept:", "    pipe"]


def test_quiet_says_what_is_refused(wink: Wink, place: Path) -> None:
    """What was to be kept on success and is not."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)

    done = wink("try", "-q", "--keep-on-success", "--", "sh", "-c", "echo x > .git/hooks/pre-commit; echo 2 > a.txt")

    assert done.stderr.splitlines()[0] == "wink: nothing was accepted, 1 path cannot be:"
    assert done.stderr.splitlines()[-1] == "  `wink accept --rest` accepts everything else"
    assert (place / "a.txt").read_text() == "one\n"
