"""How much of the past is kept is the user's to say, never the workspace's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli.settings._keep_settings import keep_settings
from wink.record import Keep

Cli = Callable[..., Done]


def own(place: Path, text: str) -> None:
    settings = place.parent / "home/.config/wink/wink.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(text)


def test_the_users_own_settings_say_how_much_is_kept(place: Path) -> None:
    """What is left out is as it is without settings."""
    own(place, "[history]\nkeep = { calls = 500, bytes = 1000 }\n")

    assert keep_settings(place).keep == Keep(calls=500, bytes=1000)
    assert keep_settings(place).notes == ()


def test_a_workspace_cannot_have_its_history_removed(cli: Cli, place: Path) -> None:
    """An agent that keeps 0 calls would have removed what it did."""
    cli("call", "write_file", "file_path=b.txt", "content=b\n")
    cli("call", "rm", "path=b.txt")
    (place / "pyproject.toml").write_text("[tool.wink.history]\nkeep = { calls = 0 }\n")

    done = cli("gc")

    assert done.out.startswith("freed 0 bytes of 0 calls; 2 bytes stay\n")
    assert done.err.startswith("wink: pyproject.toml:1: [tool.wink.history] is not heeded, since an agent could have ")
    assert done.err.count("\n") == 1
    assert cli("trust", "--yes").status == 0
    assert cli("gc").out.startswith("freed 2 bytes of 1 calls; 0 bytes stay\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("history = 3", "must be a table"),
        ("[history]\nkeep = 3", "must be a table, such as"),
        ("[keep]\ncalls = 3", "$.keep: there is no such setting; did you mean 'keep' in [history]?"),
        ("calls = 3", "$.calls: there is no such setting; did you mean 'calls' in [history.keep]?"),
        ("[tool.wink]\nkeep = {}", "did you mean 'keep' in [tool.wink.history]?"),
        ("[history]\nkept = {}", "there is no such setting; there is keep"),
        ("[history]\nkeep = { cals = 3 }", "there is no such setting; did you mean 'calls'?"),
        ("[history]\nkeep = { months = 3 }", "there is no such setting; there are calls, days, bytes"),
        ("[history]\nkeep = { calls = -1 }", "must be a whole number from 0"),
        ("[history]\nkeep = { days = true }", "must be a whole number from 0"),
        ("[history]\nkeep = { bytes = '1 GB' }", "must be a whole number from 0"),
    ],
)
def test_wrong_settings_are_one_error_and_nothing_is_given_up(cli: Cli, place: Path, text: str, problem: str) -> None:
    """A misspelt bound must not pass for the usual one, or for none."""
    cli("call", "write_file", "file_path=b.txt", "content=b\n")
    own(place, text)

    done = cli("gc", "--calls", "0")

    assert (done.status, done.out) == (2, "")
    assert problem in done.err
