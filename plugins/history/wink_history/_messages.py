"""Tell in a commit's message which call it was, so that `git log` can be read and searched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from wink.record import Unfolded
from wink_history._objects import Person

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_SECOND: Final = timedelta(seconds=1)
_SUBJECT: Final = 72
_LONGEST: Final = 200
_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def call_message(call: Unfolded, paths: tuple[str, ...], side: bytes | None) -> bytes:
    """The message of a call's commit; the trailers are its facts, one a line."""
    trailers = {
        "Call": _number(call),
        "Tool": call.tool or None,
        "Session": call.session,
        "Position": str(call.position),
        "Transaction": call.transaction_id,
        "Call-Id": call.call_id or None,
        "Attributes": None if side is None else side.hex(),
    }
    return _message(f"{call.tool or 'session'}: {', '.join(paths)}", trailers)


def found_message(call: Unfolded, paths: tuple[str, ...]) -> bytes:
    """The message of a commit of what a call found and no call had left so."""
    return _message(f"found: {', '.join(paths)}", {"Found-By": _number(call), "Position": str(call.position)})


def authors(call: Unfolded) -> tuple[Person, Person]:
    """Who began the call and who ended it, with its times."""
    name = _name(call.session)
    began, ended = seconds(call.started_at), seconds(call.started_at + call.duration)
    return Person(name, f"{name}@wink.invalid", began), Person("wink", "wink@wink.invalid", ended)


def somebody(call: Unfolded) -> Person:
    """Whoever made what a call found."""
    return Person("somebody else", "somebody@wink.invalid", seconds(call.started_at))


def wink_at(moment: datetime) -> Person:
    """wink itself."""
    return Person("wink", "wink@wink.invalid", seconds(moment))


def seconds(moment: datetime) -> int:
    """Whole seconds since 1970."""
    return (moment - _EPOCH) // _SECOND


def plain(text: str, most: int = _LONGEST) -> str:
    """Text from anywhere, on one line and of bounded length.

    >>> plain("two\\nlines")
    'two\\\\nlines'
    """
    shown = text[: most + 1]
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _message(subject: str, trailers: dict[str, str | None]) -> bytes:
    lines = [plain(subject, _SUBJECT), ""]
    lines += [f"Wink-{name}: {plain(value)}" for name, value in trailers.items() if value is not None]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _number(call: Unfolded) -> str | None:
    return None if call.call is None else f"c{call.call}"


def _name(text: str) -> str:
    # A record may come from anywhere, and `<` or a newline would break the commit.
    return "".join(char for char in text[:64] if char in _NAME).strip(".-") or "session"
