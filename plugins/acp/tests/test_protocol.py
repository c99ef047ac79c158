"""What wink reads of the protocol is what the official package has of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import acp
import pytest
from acp import schema

from wink_acp._delegated import CreateTerminal, Delegation, EnvVariable, OfTerminal, ReadTextFile, WriteTextFile
from wink_acp._person import ASK


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ReadTextFile, schema.ReadTextFileRequest),
        (WriteTextFile, schema.WriteTextFileRequest),
        (CreateTerminal, schema.CreateTerminalRequest),
        (EnvVariable, schema.EnvVariable),
        (OfTerminal, schema.TerminalOutputRequest),
        (OfTerminal, schema.WaitForTerminalExitRequest),
        (OfTerminal, schema.KillTerminalRequest),
        (OfTerminal, schema.ReleaseTerminalRequest),
    ],
)
def test_parameters_have_the_fields_of_the_official_package(ours: Any, theirs: Any) -> None:
    """Each, and which of them has to be there, but for what others may add."""
    found = {
        field.metadata.get("alias", field.name): field.default is dataclasses.MISSING
        for field in dataclasses.fields(ours)
    }

    assert found == {
        field.alias or name: field.is_required() for name, field in theirs.model_fields.items() if name != "field_meta"
    }


def test_every_method_of_files_and_terminals_is_answered() -> None:
    """Those of the official package that are about them."""
    delegated = {name for name in acp.CLIENT_METHODS.values() if name.startswith(("fs/", "terminal/"))}

    assert set(Delegation(None, lambda _: None).methods) == delegated  # type: ignore[arg-type]
    assert ASK in acp.CLIENT_METHODS.values()
