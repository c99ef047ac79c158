"""Replace text in a file that is too large to be held: it is read twice, once to find the places and once to copy.

Newlines, places and what is refused are as in `_replacing`. Only where the text is not in the file nothing like it is looked for.
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from wink.errors import EditFailed, FileConflict, NotText
from wink.filesystem._facts import CHUNK, Facts, Scanner
from wink.filesystem._reading import has_plain_newlines
from wink.filesystem._replacing import MAX_REPLACEMENTS, Place, several, spans_of, too_often
from wink.filesystem._stamps import Ranges, shifted


class Found(NamedTuple):
    """Where a text is in a file; each array has one entry for each place, counted in characters or lines from 0.

    `newlines` says whether new
    lines end in CRLF there, `closed` whether a place ends with its line, and `opened` whether it begins one. `crlf` is how many of the file's newlines are two characters.
    """

    facts: Facts
    total: int
    crlf: int
    starts: array[int]
    ends: array[int]
    lines: array[int]
    last_lines: array[int]
    newlines: bytearray
    closed: bytearray
    opened: bytearray

    def new_texts(self, new: str) -> tuple[str, str]:
        """What to write where newlines are of either kind."""
        if not self.crlf:
            return new, new
        plain = new.replace("\r\n", "\n")
        return plain, plain.replace("\n", "\r\n")

    def size_with(self, old: str, new: str, encoding: str) -> int:
        """How many bytes the file has, at least, when `old` has been replaced."""
        plain, texts = old.replace("\r\n", "\n"), self.new_texts(new)
        gone = len((plain.replace("\n", "\r\n") if self.crlf else plain).encode(encoding))
        wide = sum(self.newlines)
        made = (len(self.newlines) - wide) * len(texts[0].encode(encoding)) + wide * len(texts[1].encode(encoding))
        return self.facts.size + made - len(self.newlines) * gone

    def places(self, new: str) -> Iterator[Place]:
        """Each place with the lines that it will have, the last one first."""
        height, ends_line = new.count("\n"), new.endswith("\n")
        for at in reversed(range(len(self.starts))):
            whole = self.closed[at] and (ends_line or (not new and self.opened[at]))
            start, rest = self.lines[at], not whole
            yield Place(start, min(self.last_lines[at] + rest, self.total), start + height + rest)

    def shifted(self, ranges: Ranges, new: str) -> Ranges:
        """Lines known of the old text as lines known of the new one."""
        for place in self.places(new) if ranges else ():
            ranges = shifted(ranges, place.start, place.end, place.new_end)
        return ranges


def found_in(path: str, stream: BinaryIO, size: int, old: str, encoding: str) -> Found:
    """Look for `old` in a stream at its beginning; raises `NotText`, and `EditFailed` for too many places."""
    search, scanner = _Search(path, old.replace("\r\n", "\n")), Scanner()
    decoder = codecs.getincrementaldecoder(encoding)()
    # A piece is much longer than the text that may begin in one and end in the next.
    step = max(CHUNK, 4 * len(old))
    if has_plain_newlines(encoding) and b"\0" in stream.read(8192):
        raise NotText(path, size, encoding, "has NUL bytes")
    stream.seek(0)
    while True:
        chunk = stream.read(step)
        scanner.add(chunk)
        try:
            search.add(decoder.decode(chunk, not chunk), is_last=not chunk)
        except UnicodeDecodeError:
            raise NotText(path, size, encoding, "cannot be decoded") from None
        if not chunk:
            return search.found(scanner.facts())


def check_places(path: str, found: Found, *, replace_all: bool) -> None:
    """Raise `EditFailed` where `old` is not there, or is there several times and only one was meant."""
    if not found.starts:
        raise EditFailed(path, "the text to replace is not in the file; read it again and copy the text exactly")
    if len(found.starts) > 1 and not replace_all:
        raise several(path, found.lines)


def replaced(
    path: str, stream: BinaryIO, found: Found, new: str, encoding: str, write: Callable[[bytes], int]
) -> tuple[Facts, int]:
    """Copy a stream at its beginning with `new` at the places that were found; gives the facts, and the number of lines.

    Raises `FileConflict` where it changed since.
    """
    before, after = Scanner(), Scanner()
    decoder, encoder = codecs.getincrementaldecoder(encoding)(), codecs.getincrementalencoder(encoding)()
    texts, count = found.new_texts(new), len(found.starts)
    parts: list[str] = []
    held = at = place = 0  # `at` is the next character of the file, `place` the next one to replace
    skip = 0  # characters of a place that goes on in the next piece

    newlines, last = 0, ""

    def flush(*, is_last: bool = False) -> None:
        nonlocal newlines, last
        joined = "".join(parts)
        newlines, last = newlines + joined.count("\n"), joined[-1:] or last
        piece = encoder.encode(joined, is_last)
        write(piece)
        after.add(piece)
        parts.clear()

    while True:
        chunk = stream.read(CHUNK)
        before.add(chunk)
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeDecodeError:
            raise FileConflict(path) from None
        done = min(skip, len(text))
        skip -= done
        while place < count and found.starts[place] < at + len(text):
            start, end = found.starts[place] - at, found.ends[place] - at
            parts += (text[done:start], texts[found.newlines[place]])
            held += start - done + len(parts[-1])
            done, skip, place = min(end, len(text)), max(end - len(text), 0), place + 1
            if held > CHUNK:
                flush()
                held = 0
        parts.append(text[done:])
        flush(is_last=not chunk)
        held, at = 0, at + len(text)
        if not chunk:
            break
    if before.facts().digest != found.facts.digest:
        raise FileConflict(path)
    return after.facts(), newlines + (last not in ("", "\n"))


class _Search:
    """Takes a text in pieces, and finds another in it; holds one piece, and as much before it as a place may begin in."""

    def __init__(self, path: str, old: str) -> None:
        self._path, self._old = path, old
        self._keep = len(old) + old.count("\n")
        self._window, self._before = "", ""
        self._base = self._line = 0  # of the window's first character
        self._held = ""  # a carriage return, of which it is not known whether it begins a newline
        self._newlines = self._crlf = 0
        self._last_kind, self._pending = 0, 0  # places from `_pending` on have no newline after them yet
        self._end = ""
        self._starts, self._ends = array("Q"), array("Q")
        self._lines, self._last_lines = array("Q"), array("Q")
        self._kinds, self._closed, self._opened = bytearray(), bytearray(), bytearray()

    def add(self, text: str, *, is_last: bool) -> None:
        """The next piece."""
        piece = self._held + text
        self._held = "\r" if piece.endswith("\r") and not is_last else ""
        piece = piece[: len(piece) - len(self._held)]
        if not piece:
            return
        self._count(piece)
        self._window += piece
        window, done = self._window, 0
        line, counted, newline = self._line, 0, -1
        for start, end in spans_of(window, self._old):
            if len(self._starts) >= MAX_REPLACEMENTS:
                raise too_often(self._path)
            line += window.count("\n", counted, start)
            counted = start
            if newline < start:  # looked for once for all places of a line
                newline = window.find("\n", start)
                newline = len(window) if newline < 0 else newline
            self._note(window, start, end, line, newline)
            done = end
        self._forget(max(done, len(window) - self._keep))

    def found(self, facts: Facts) -> Found:
        """All that was found, when there are no more pieces."""
        self._resolve(self._last_kind)
        total = self._newlines + (self._end not in ("", "\n"))
        return Found(
            facts, total, self._crlf, self._starts, self._ends, self._lines, self._last_lines, self._kinds, self._closed,
            self._opened,
        )  # fmt: skip

    def _count(self, piece: str) -> None:
        newlines = piece.count("\n")
        if newlines:
            first, last = piece.index("\n"), piece.rindex("\n")
            self._resolve(first > 0 and piece[first - 1] == "\r")
            self._last_kind = last > 0 and piece[last - 1] == "\r"
        self._newlines += newlines
        self._crlf += piece.count("\r\n")
        self._end = piece[-1]

    def _note(self, window: str, start: int, end: int, line: int, newline: int) -> None:
        is_known = newline < len(window)
        self._starts.append(self._base + start)
        self._ends.append(self._base + end)
        self._lines.append(line)
        self._last_lines.append(line + window.count("\n", start, end))
        self._kinds.append(window[newline - 1 : newline] == "\r" if is_known else 0)
        self._pending += is_known
        self._closed.append(window[end - 1] == "\n")
        self._opened.append((window[start - 1] if start else self._before) in ("", "\n"))

    def _resolve(self, kind: int) -> None:
        """A newline has come for the places that had none after them."""
        for at in range(self._pending, len(self._kinds)):
            self._kinds[at] = kind
        self._pending = len(self._kinds)

    def _forget(self, cut: int) -> None:
        """Let go of the window's beginning, but for what a place may begin in, and never of half a newline."""
        window = self._window
        if 0 < cut < len(window) and window[cut - 1] == "\r" and window[cut] == "\n":
            cut -= 1
        if cut > 0:
            self._line += window.count("\n", 0, cut)
            self._base += cut
            self._before, self._window = window[cut - 1], window[cut:]
