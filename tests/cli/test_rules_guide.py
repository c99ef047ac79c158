"""The settings and commands that the page about rules shows do what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli.settings._rules import rule_settings

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "rules.md").read_text()
SETTINGS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
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


def test_the_trust_dialogue_is_what_is_printed(cli: Callable[..., Done], place: Path) -> None:
    """But for the question, which is asked of a person at a terminal."""
    config = Path(place.parent / "home" / ".config" / "wink")
    config.mkdir(parents=True)
    (config / "wink.toml").write_text('rules_default = "deny"\n')
    (place / "wink.toml").write_text('[[rules]]\naction = "allow"\ntools = "run_command"\n')
    command, shown = CONSOLE[1]

    assert cli(*command.split()).out == re.sub(r"Trust .*\n", "", shown)
