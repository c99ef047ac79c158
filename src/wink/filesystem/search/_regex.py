"""Turn a regular expression that a model wrote into a search that ends, whatever it is.

RE2 searches in time that is linear in the size of the lines. What it cannot express goes to an engine that can try for
hours, in a process that is killed (`_backtracking`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from wink.errors import PatternError

_MAX_PATTERN: Final = 1000
_SLICE: Final = 4 * 1024
_GRACE: Final = 2e-5
_SLOW: Final = 1e-6
"""Seconds for a byte: good expressions take a hundredth of that, and the worst that RE2 accepts fifty times as much."""
_PATIENCE: Final = 0.5

_BEYOND_RE2: Final = (
    "invalid perl operator",  # look-around, atomic groups, conditions, comments
    "invalid named capture group",  # (?P=name)
    "invalid escape sequence",  # back-references, \\Z, \\u00e9
    "bad repetition operator",  # a++, and more than 1000 of something
    "invalid repetition size",
    "too large",
)

Search = Callable[[bytes, int], tuple[int, int] | None]
"""The first match from a position on, as a span; an empty match is one, too."""


def compiled(pattern: str, *, ignore_case: bool = False) -> Search:
    """A search for `pattern` within single lines; raises `PatternError`."""
    if not pattern or len(pattern) > _MAX_PATTERN:
        raise PatternError(pattern, f"is empty or longer than {_MAX_PATTERN} characters")
    try:
        needle = pattern.encode()
    except UnicodeEncodeError:
        raise PatternError(pattern, "is not valid Unicode") from None
    if "\n" in pattern:
        raise PatternError(pattern, "has a newline in it; lines are searched one by one")
    if not ignore_case and not set(pattern) & set("\\^$.|?*+()[]{}"):
        return Literal(needle)
    from importlib import import_module

    re2: Any = import_module("re2")  # has no types
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True  # no match goes beyond its line
    options.case_sensitive = not ignore_case
    try:
        re2.compile(needle, options=options)  # alone, so that an odd parenthesis cannot pair with ours
        expression = re2.compile(b"(?m)(?:" + needle + b")", options=options)
    except re2.error as wrong:
        return _backtracking(pattern, ignore_case, wrong.args[0])
    return _Patient(pattern, expression)


def _backtracking(pattern: str, ignore_case: bool, complaint: object) -> Search:
    """A search for what RE2 complained about, unless that is no regular expression for anybody."""
    text = complaint.decode(errors="replace") if isinstance(complaint, bytes) else str(complaint)
    if not any(reason in text for reason in _BEYOND_RE2):
        raise PatternError(pattern, f"is not a regular expression ({text}); escape what is meant literally")
    from wink.filesystem.search._backtracking import Backtracking

    try:
        return Backtracking(pattern, ignore_case=ignore_case)
    except PatternError:
        if "too large" not in text:
            raise
        raise PatternError(pattern, f"is too large ({text}); repeat at most 1000 times") from None


class Literal:
    """Searches for some bytes."""

    __slots__ = ("needle",)

    def __init__(self, needle: bytes) -> None:
        self.needle = needle

    def __call__(self, content: bytes, start: int) -> tuple[int, int] | None:
        at = content.find(self.needle, start)
        return (at, at + len(self.needle)) if at >= 0 else None


class _Patient:
    """Searches slice by slice, so that an expression which RE2 can only try in thousands of ways at once is given up.

    Its time is linear, too, but 64 MiB may take half an hour, in which nothing could interrupt it.
    """

    __slots__ = ("_expression", "_pattern", "_wasted")

    def __init__(self, pattern: str, expression: Any) -> None:
        self._pattern, self._expression, self._wasted = pattern, expression, 0.0

    def __call__(self, content: bytes, start: int) -> tuple[int, int] | None:
        while True:
            # No match goes beyond its line, so that nothing is missed between slices that end with one.
            end = content.find(b"\n", start + _SLICE)
            end = len(content) if end < 0 else end
            if end - start > 4 * _SLICE:
                for at in range(start, end, _SLICE):  # a long line: whether it takes too long is tried with its parts
                    self._search(content, at, min(at + _SLICE, end))
            match = self._search(content, start, end)
            if match is not None or end + 1 >= len(content):
                return match
            start = end + 1

    def _search(self, content: bytes, start: int, end: int) -> tuple[int, int] | None:
        began = time.thread_time()
        match: Any = self._expression.search(content, start, end)
        took = time.thread_time() - began
        if took > _GRACE + (end - start) * _SLOW:
            self._wasted += took
            if self._wasted > _PATIENCE:
                raise PatternError(self._pattern, "takes too long; write it with fewer and smaller repetitions")
        return None if match is None else match.span()
