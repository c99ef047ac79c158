"""`wink tools`: what a model would be shown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]


def test_it_lists_name_effects_and_description(cli: Cli, place: Path) -> None:
    """One line a tool; looking leaves nothing behind."""
    done = cli("tools")

    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in done.out.splitlines()}
    assert (done.status, done.err) == (0, "")
    assert lines["read_file"][0] == "read"
    assert lines["write_file"] == ["workspace", "wink 0.1.0  Create a file, or replace the whole content of one."]
    assert os.listdir(place) == ["a.txt"]


def test_schemas_are_json_schemas(cli: Cli) -> None:
    """As an API of a model wants them."""
    rows = {row["name"]: row for row in json.loads(cli("tools", "--schema", "--json").out)}

    assert rows["read_file"]["schema"]["required"] == ["file_path"]
    assert "schema" not in json.loads(cli("tools", "--json").out)[0]


def test_a_section_brings_its_tools(cli: Cli) -> None:
    """What `--section` adds is what a run would have."""
    assert "rename_word" not in cli("tools").out
    assert "rename_word" in cli("tools", "--section", "demo.refactor").out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--workspace", "gone"), "'gone' cannot be a workspace, it does not exist; give an existing directory"),
        (("--section", "plannin.plan"), "no plugin offers a section 'plannin.plan'; did you mean 'planning.plan'?"),
        (
            ("--policy", "planning.plan"),
            "no plugin offers a policy 'planning.plan'; there is a section 'planning.plan'",
        ),
    ],
)
def test_wrong_input_is_one_line(cli: Cli, arguments: tuple[str, ...], complaint: str) -> None:
    """Status 2."""
    assert cli("tools", *arguments) == Done(2, "", f"wink: {complaint}\n")
