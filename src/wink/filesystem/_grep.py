"""Search the lines of text files for a regular expression, in time that is linear in their size.

The expressions are RE2's: a pattern that a model wrote must not be able to take a backtracking engine for hours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Final

from wink.errors import HandleRevoked, PatternError, WinkError
from wink.filesystem._access import Access
from wink.filesystem._facts import CHUNK
from wink.filesystem._listing import GrepMatch, Listing
from wink.filesystem._paths import located
from wink.filesystem._pattern import Pattern
from wink.filesystem._store import Store
from wink.filesystem._walk import check_limit, walk

MAX_LINE_CHARS: Final = 500
"""How much of a line is shown."""

_MAX_PATTERN: Final = 1000
_PIECE: Final = 4 * CHUNK
_MAX_LINE: Final = 16 * CHUNK
_SLICE: Final = 4 * 1024
_SLOW: Final = 1e-6
"""Seconds for a byte: good expressions take a hundredth of that, and the worst that RE2 accepts fifty times as much."""
_PATIENCE: Final = 0.5

Search = Callable[[bytes, int], tuple[int, int] | None]
"""The first match from a position on, as a span; an empty match is one, too."""


def grep(
    access: Access,
    pattern: str,
    path: str,
    glob: str | None,
    max_matches: int,
    ignore_case: bool,
    include_git: bool,
    respect_ignore: bool,
) -> Listing[GrepMatch]:
    """The first `max_matches` lines that match."""
    check_limit(max_matches)
    search = compiled(pattern, ignore_case=ignore_case)
    chosen = None if glob is None else Pattern(glob if "/" in glob else f"**/{glob}")
    top, _ = located(path)
    found: list[GrepMatch] = []
    for at in walk(access, path, chosen, include_git=include_git, respect_ignore=respect_ignore):
        if at.kind != "file":
            continue
        try:
            matches = _matches(access.reading(), at.path, search)
        except (HandleRevoked, PatternError):
            raise
        except (OSError, WinkError):
            if at.path == top:
                raise
            continue  # gone in this moment, or not ours to read: grep goes on, as everybody's does
        for match in matches:
            if len(found) == max_matches:
                return Listing(found, truncated=True)
            found.append(match)
    return Listing(found)


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
        return lambda content, start: (at, at + len(needle)) if (at := content.find(needle, start)) >= 0 else None
    from importlib import import_module

    re2: Any = import_module("re2")  # has no types
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True  # no match goes beyond its line
    options.case_sensitive = not ignore_case
    try:
        expression = re2.compile(b"(?m)(?:" + needle + b")", options=options)
        re2.compile(needle, options=options)  # so that an odd parenthesis cannot pair with ours
    except re2.error as wrong:
        raise PatternError(pattern, _explain(wrong.args[0])) from None

    return _Patient(pattern, expression)


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
        if took > (end - start) * _SLOW:
            self._wasted += took
            if self._wasted > _PATIENCE:
                raise PatternError(self._pattern, "takes too long; write it with fewer and smaller repetitions")
        return None if match is None else match.span()


def _explain(reason: object) -> str:
    text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    if "invalid perl operator" in text or "bad repetition operator" in text or "named capture" in text:
        return (
            f"uses what is not supported ({text}); write it without look-around, atomic groups and possessive repeats"
        )
    if "invalid escape sequence: \\" in text and text[-1].isdigit():
        return f"uses what is not supported ({text}); write it without back-references"
    if "repetition size" in text or "too large" in text:
        return f"is too large ({text}); repeat at most 1000 times"
    return f"is not a regular expression of RE2 ({text}); escape what is meant literally with a backslash"


def _matches(store: Store, path: str, search: Search) -> Iterable[GrepMatch]:
    """The matches in one file; nothing for a binary one."""
    content, _ = store.read(path, _PIECE)
    if content is None:
        stream, _ = store.open(path)
        return _in_stream(path, stream, search)
    content = _plain(content)
    # Most files have no match, and whether they are text is then of no interest.
    if search(content, 0) is None or b"\0" in content[:8192]:
        return ()
    return _in_block(path, content, 1, search)


def _in_stream(path: str, stream: BinaryIO, search: Search) -> Iterator[GrepMatch]:
    number = 1
    with stream:
        for block in _blocks(stream):
            content = _plain(block)
            yield from _in_block(path, content, number, search)
            number += content.count(b"\n")


def _in_block(path: str, content: bytes, number: int, search: Search) -> Iterator[GrepMatch]:
    """The matches in some lines, of which the first has this number."""
    counted = at = 0
    while at < len(content) and (span := search(content, at)) is not None:
        start, end = span
        if start == len(content) and content[-1:] == b"\n":
            break  # after the last newline there is no line
        begin = content.rfind(b"\n", 0, start) + 1
        stop = content.find(b"\n", end)
        stop = len(content) if stop < 0 else stop
        number += content.count(b"\n", counted, begin)
        counted = begin
        yield _shown(path, number, content[begin:stop], start - begin, end - begin)
        at = stop + 1


def _plain(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n") if b"\r\n" in content else content


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """A large text file in pieces of whole lines."""
    content = stream.read(_PIECE)
    if b"\0" in content[:8192]:
        return
    rest = b""
    while content:
        more = stream.read(_PIECE)
        content = rest + content
        cut = content.rfind(b"\n") + 1 if more else len(content)
        if not cut and len(content) > _MAX_LINE:
            cut = len(content)  # such a line is searched in parts
        if cut:
            yield content[:cut]
        rest, content = content[cut:], more
    if rest:
        yield rest


def _shown(path: str, number: int, line: bytes, start: int, end: int) -> GrepMatch:
    """A match with as much of its line as is shown, the match in it."""
    first = max(0, start - 2 * MAX_LINE_CHARS)
    before = line[first:start].decode(errors="replace")
    match = line[start : min(end, start + 4 * MAX_LINE_CHARS)].decode(errors="replace")
    after = line[end : end + 4 * MAX_LINE_CHARS].decode(errors="replace")
    if first == 0 and len(line) <= 4 * MAX_LINE_CHARS and len(before) + len(match) + len(after) <= MAX_LINE_CHARS:
        return GrepMatch(path, number, before + match + after, len(before), len(before) + len(match))
    before = before[-(MAX_LINE_CHARS // 4) :]
    match = match[: MAX_LINE_CHARS - len(before)]
    after = after[: MAX_LINE_CHARS - len(before) - len(match)]
    return GrepMatch(path, number, before + match + after, len(before), len(before) + len(match), clipped=True)
