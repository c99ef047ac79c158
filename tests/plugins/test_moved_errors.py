"""Errors that lie in the packages that raise them, under the names that they had."""

from __future__ import annotations

from importlib import import_module

import pytest

from wink import errors

MOVED = [(package, name) for package, names in vars(errors)["_MOVED"].items() for name in names.split()]


@pytest.mark.parametrize(("package", "name"), MOVED)
def test_an_older_name_is_the_same_class(package: str, name: str) -> None:
    """Until the next release, and with a warning."""
    with pytest.warns(DeprecationWarning, match=f"wink.errors is called {package} now"):
        older = getattr(errors, name)
    newer = getattr(import_module(package), name)
    assert older is newer
    assert issubclass(newer, errors.WinkError)


def test_any_other_name_is_unknown() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchError'"):
        _ = errors.NoSuchError  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
