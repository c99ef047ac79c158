"""Ways for a command to end early: mostly that the input was wrong, with one line and exit status 2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import click

_MOST: Final = 64 * 1024 * 1024
"""Bytes that are read of a file that the user names: the largest are recordings of runs, and images."""


class WrongInput(click.UsageError):
    """What the user typed, or a file that the user named, cannot be used; the message says what to do."""


class ReaderGone(BaseException):
    """Whoever read the output has closed the pipe.

    It is raised between two calls, never inside one, and is no `Exception`: a subscriber's exceptions stop nothing.
    """


def wrong(message: str) -> WrongInput:
    """The error to raise for wrong input."""
    return WrongInput(message)


def nearest(name: str, known: Iterable[str], *, otherwise: str) -> str:
    """What to try instead of a name that is not known.

    >>> nearest("cal", ["call", "run"], otherwise="there are call and run")
    "did you mean 'call'?"
    >>> nearest("x", ["call", "run"], otherwise="there are call and run")
    'there are call and run'
    """
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else otherwise


def named_content(path: str, what: str) -> bytes:
    """What a file has that the user named, which may be a pipe, as in `<(...)`; wrong input where that has no end."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST + 1)
    except (OSError, ValueError) as error:  # a path may have a null in it
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise wrong(f"cannot read {what} {path!r}: {reason}") from error
    if len(data) > _MOST:
        raise wrong(f"cannot read {what} {path!r}: it is longer than {_MOST} bytes; give a smaller one")
    return data


def readable(path: str, what: str) -> str:
    """The text of a file that the user named."""
    try:
        text = named_content(path, what).decode()
    except UnicodeDecodeError as error:
        raise wrong(f"cannot read {what} {path!r}: it is not UTF-8 text") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
