"""The settings and commands that the page about rules shows do what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.docs.console import Reader, fits, steps

from wink.cli.settings._rules import rule_settings

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "rules.md").read_text()
SETTINGS = [text for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "[[test]]" not in text]
CONSOLE = re.findall(r"```console\n\$ wink (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", SETTINGS)
def test_the_settings_are_valid(tmp_path: Path, text: str) -> None:
    """Somebody will copy them."""
    (tmp_path / "wink.toml").write_text(text)

    (policy,) = rule_settings(str(tmp_path), {"HOME": str(tmp_path / "home")}).policies

    assert policy.rules


def test_the_explanation_is_what_is_printed(cli: Callable[..., Done], place: Path) -> None:
    """Word for word, under the settings at the top of the page."""
    (place / "wink.toml").write_text(SETTINGS[0])
    command, shown = CONSOLE[0]

    assert cli(*command.split()).out == shown


def test_what_a_program_sees_is_what_is_printed(place: Path) -> None:
    """Word for word, both streams in their order, under the settings at the top of the page."""
    (place / "wink.toml").write_text(SETTINGS[0])
    for name, text in ((".env", "KEY=1\n"), ("src/.env", "KEY=2\n"), ("secrets/key", "3\n"), ("public", "hello\n")):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    command, shown = CONSOLE[1]

    done = subprocess.run(
        [sys.executable, "-m", "wink", *shlex.split(command)], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=True, env=os.environ | {"HOME": str(place.parent / "home")},
    )  # fmt: skip

    assert done.stdout == shown


def test_the_trust_dialogue_is_what_is_printed(cli: Callable[..., Done], place: Path) -> None:
    """But for the question, which is asked of a person at a terminal."""
    config = Path(place.parent / "home" / ".config" / "wink")
    config.mkdir(parents=True)
    (config / "wink.toml").write_text('rules_default = "deny"\n')
    (place / "wink.toml").write_text('[[rules]]\naction = "allow"\ntools = "run_command"\n')
    command, shown = CONSOLE[-1]

    assert cli(*command.split()).out == re.sub(r"Trust .*\n", "", shown)


def test_a_teams_rules_do_what_is_printed(tmp_path: Path) -> None:
    """The section that goes from beginning to end, each step of it, word for word."""
    _, _, part = PAGE.partition("## A team's rules")
    home, place = tmp_path / "home", tmp_path / "place"
    home.mkdir()
    place.mkdir()
    reader, done = Reader(home, place), 0
    for step in steps(part.partition("\n## ")[0]):
        printed = reader.do(step)
        assert fits(step.printed, printed), f"$ {step.command}\nshown:\n{step.printed}\nprinted:\n{printed}"
        done += 1
    assert done == 8
