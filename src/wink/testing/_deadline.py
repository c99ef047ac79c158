"""A deadline whose time passes only when the test says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, cast

from wink.limits import Deadline

_BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)


class FrozenDeadline(Deadline):
    """The deadline that is `seconds` away from now, and stays so until `advance` is called.

    >>> deadline = FrozenDeadline(30)
    >>> deadline.expired
    False
    >>> deadline.advance(31)
    >>> deadline.expired
    True
    """

    def __init__(self, seconds: float = 60.0) -> None:
        super().__init__(_BEGINNING + timedelta(seconds=seconds), _Stopped())

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        clock = cast("_Stopped", self.clock)
        clock.now += timedelta(seconds=seconds)


class _Stopped:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = _BEGINNING

    def __call__(self) -> datetime:
        return self.now
