"""Ways for a command to end early: mostly that the input was wrong, with one line and exit status 2."""

from __future__ import annotations

from collections.abc import Iterable

import click


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


def readable(path: str, what: str) -> str:
    """The text of a file that the user named."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise wrong(f"cannot read {what} {path!r}: {error.strerror or error}") from error
    except ValueError as error:  # bytes that are no text, or a path with a null in it
        raise wrong(f"cannot read {what} {path!r}: it is not UTF-8 text") from error
