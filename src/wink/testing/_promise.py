"""Tests that are promises: inherited by a class of the author's own, chosen by what it declares, told when they are broken."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, Final, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., object])

_NEEDS: Final = "wink_needs"
_TESTS: Final = "wink_tests"
"""A class' own tests, also those that it leaves out itself."""
_TOLD: Final = "The promise: "


class Promised:
    """Tests whose failure ends with the promise that was broken, from its docstring.

    A capability that a class declares is always tested; the tests of one that it does not are not collected.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own: dict[str, Callable[..., object]] = {}
        for name, value in list(vars(cls).items()):
            if name.startswith("test_") and isinstance(value, FunctionType):
                own[name] = _telling(value)
                setattr(cls, name, own[name])
        setattr(cls, _TESTS, own)
        tests: dict[str, Callable[..., object]] = {}
        for owner in reversed(cls.__mro__):
            tests |= vars(owner).get(_TESTS, {})
        for name, test in tests.items():
            wanted: tuple[str, ...] = getattr(test, _NEEDS, ())
            if not all(getattr(cls, capability) for capability in wanted):
                setattr(cls, name, None)
            elif wanted and getattr(cls, name) is None:
                setattr(cls, name, test)


def needs(*capabilities: str) -> Callable[[Test], Test]:
    """Mark a test of something that not every subject can do."""

    def mark(test: Test) -> Test:
        setattr(test, _NEEDS, capabilities)
        return test

    return mark


def _telling(test: FunctionType) -> Callable[..., object]:
    """The test, whose failure says what was promised."""

    @wraps(test)
    def run(*args: Any, **fixtures: Any) -> object:
        __tracebackhide__ = True
        try:
            return test(*args, **fixtures)
        except (Exception, pytest.fail.Exception) as error:
            notes: list[str] = getattr(error, "__notes__", [])
            if test.__doc__ and not any(note.startswith(_TOLD) for note in notes):
                name = test.__name__.removeprefix("test_").replace("_", " ")
                error.add_note(f"{_TOLD}{name}. {' '.join(test.__doc__.split())}")
            raise

    return run
