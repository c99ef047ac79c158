"""What was called otherwise before the sandbox became a plugin goes on working for one release."""

from __future__ import annotations

import importlib

import pytest

import wink_sandbox
import wink_sandbox.tries


@pytest.mark.parametrize(
    ("older", "newer"), [("wink.sandbox", wink_sandbox), ("wink.tries", wink_sandbox.tries)], ids=["sandbox", "tries"]
)
def test_the_old_packages_have_the_same_objects(older: str, newer: object) -> None:
    """With a warning, once something of them is used; so an `isinstance` holds whichever name was imported."""
    old = importlib.import_module(older)

    for name in newer.__all__:
        with pytest.warns(DeprecationWarning, match="wink_sandbox.*now"):
            assert getattr(old, name) is getattr(newer, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = old.nothing
    assert not hasattr(old, "__wrapped__")
