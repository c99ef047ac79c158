"""What day it is: a resource, so that tests and templates can bind another one."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


class Clock:
    """Says what day it is in a time zone."""

    def __init__(self, timezone: str = "UTC") -> None:
        """Raises `ZoneInfoNotFoundError` for a zone that the machine does not know."""
        self._zone = UTC if timezone == "UTC" else ZoneInfo(timezone)

    def today(self) -> str:
        """The date, as in 2026-11-22."""
        return datetime.now(self._zone).date().isoformat()
