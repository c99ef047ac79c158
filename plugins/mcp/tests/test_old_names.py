"""What was imported from wink before it became a plugin goes on working for one release."""

from __future__ import annotations

import importlib

import pytest

import wink_mcp
from wink_mcp import clients


@pytest.mark.parametrize(("old", "new"), [("wink.mcp", wink_mcp), ("wink.mcp.clients", clients)])
def test_the_old_modules_have_the_same_objects(old: str, new: object) -> None:
    """With a warning, once something of them is used."""
    module = importlib.import_module(old)

    for name in vars(new)["__all__"]:
        with pytest.warns(DeprecationWarning, match=f"{old} is called wink_mcp"):
            assert getattr(module, name) is getattr(new, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing
