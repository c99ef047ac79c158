"""What was called otherwise before the overlay became a plugin goes on working for one release."""

from __future__ import annotations

import importlib

import pytest

import wink.filesystem
import wink_overlay


def test_the_old_package_has_the_same_objects() -> None:
    """With a warning, once something of it is used."""
    old = importlib.import_module("wink.filesystem.overlay")

    for name in wink_overlay.__all__:
        with pytest.warns(DeprecationWarning, match="wink_overlay now"):
            assert getattr(old, name) is getattr(wink_overlay, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = old.nothing


def test_the_filesystem_is_found_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where programs have imported it from."""
    monkeypatch.delitem(vars(wink.filesystem), "OverlayFilesystem", raising=False)

    with pytest.warns(DeprecationWarning, match="wink_overlay now"):
        from wink.filesystem import OverlayFilesystem

    assert OverlayFilesystem is wink_overlay.OverlayFilesystem
