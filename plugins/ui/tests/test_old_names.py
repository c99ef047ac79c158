"""What was called otherwise before the page became a plugin goes on working for one release."""

from __future__ import annotations

import importlib

import pytest

import wink_ui


def test_the_old_package_has_the_same_objects() -> None:
    """With a warning, once something of it is used."""
    old = importlib.import_module("wink.ui")

    for name in wink_ui.__all__:
        with pytest.warns(DeprecationWarning, match="wink_ui now"):
            assert getattr(old, name) is getattr(wink_ui, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = old.nothing
