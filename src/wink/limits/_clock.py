"""Where the time comes from, so that a test can stop it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Gives the present moment, timezone-aware."""


def utc_now() -> datetime:
    """The present moment, timezone-aware, in UTC."""
    return datetime.now(UTC)
