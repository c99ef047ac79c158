"""Read files, whole or by pages, and note what was seen of them."""

from __future__ import annotations

import errno
from bisect import bisect_left
from functools import lru_cache
from io import TextIOWrapper
from itertools import pairwise
from typing import BinaryIO, Final, NamedTuple

from wink.errors import FileTooLarge, NotText
from wink.filesystem._facts import CHUNK, Facts
from wink.filesystem._paths import located
from wink.filesystem._results import ReadResult
from wink.filesystem._stamps import Ranges, Stamp, added, joined, whole
from wink.filesystem._store import Node, failure
from wink.filesystem._transaction import FileTransaction

MAX_HELD: Final = 64 * CHUNK
"""The most that one read or edit holds in memory, in bytes."""

_WHOLE: Final = 8 * CHUNK
"""Below this size a page is cut from the whole content; above it the file is streamed."""


def read(files: FileTransaction, text: str, page: Page, encoding: str) -> ReadResult:
    """The lines of a page."""
    offset, limit, max_line_chars, column = page
    if min(offset, column, limit or 0) < 0 or (max_line_chars is not None and max_line_chars < 1):
        raise ValueError("offset, limit and column are from 0 on, and max_line_chars is at least 1")
    if limit is None:
        path, content, node = held(files, text, "give offset and limit to read it by pages")
    else:
        path = existing(files, text)
        content, node = files.tree.store.read(path, _WHOLE)
        if content is None:
            stream, node = files.tree.store.open(path)
            with stream:
                return _streamed(files, path, stream, node, page, encoding)
    facts = files.tree.facts.of(node, content)
    decoded = decode(path, content, facts.has_nul, encoding)
    total = facts.lines if has_plain_newlines(encoding) else decoded.count("\n") + (decoded[-1:] not in ("", "\n"))
    if offset == column == 0 and (limit is None or limit >= total) and max_line_chars is None:
        files.observe(path, whole(path, facts.digest, facts.size, total, "read"))
        return ReadResult(decoded, path, total, 0, limit)
    return page.result(files, path, facts, total, page.of_text(decoded, total))


def read_bytes(files: FileTransaction, text: str, offset: int, limit: int | None) -> bytes:
    """Bytes `offset` up to `offset + limit`."""
    if offset < 0 or (limit is not None and limit < 0):
        raise ValueError("offset and limit are bytes from 0 on")
    if offset == 0 and limit is None:
        path, content, node = held(files, text, "give offset and limit to read it in parts")
    else:
        path, stream, node = opened(files, text)
        with stream:
            left = max(node.size - offset, 0)
            wanted = left if limit is None else min(left, limit)
            if wanted > MAX_HELD:
                raise FileTooLarge(path, node.size, MAX_HELD, "give offset and limit to read it in parts")
            stream.seek(offset)
            content = stream.read(wanted)
            if len(content) != node.size:
                if content and not files.autocommit:
                    stream.seek(0)
                    _note_bytes(files, path, files.tree.facts.scan(node, stream), offset, len(content))
                return content
    facts = files.tree.facts.of(node, content)
    files.observe(path, whole(path, facts.digest, facts.size, facts.lines, "read"))
    return content


def _note_bytes(files: FileTransaction, path: str, facts: Facts, offset: int, count: int) -> None:
    """Note that some bytes were seen, along with what was seen of the same content before."""
    seen = ((offset, offset + count),)
    stamp = Stamp(path, facts.digest, facts.size, (), False, facts.lines, byte_ranges=seen)
    files.observe(path, added(stamp, files.observed(path)))


def existing(files: FileTransaction, text: str) -> str:
    """The normalised path of a file that is to be read."""
    store = files.reading()
    path, is_directory = located(text)
    if is_directory:
        raise failure(errno.EISDIR if store.node(path).kind == "directory" else errno.ENOTDIR, text)
    return path


def opened(files: FileTransaction, text: str) -> tuple[str, BinaryIO, Node]:
    """An existing file's normalised path, a stream over it, and its node."""
    path = existing(files, text)
    return path, *files.tree.store.open(path)


def held(files: FileTransaction, text: str, remedy: str) -> tuple[str, bytes, Node]:
    """An existing file's normalised path, its whole content, and its node; `remedy` is for a file that is too large."""
    path = existing(files, text)
    content, node = files.tree.store.read(path, MAX_HELD)
    if content is None:
        raise FileTooLarge(path, node.size, MAX_HELD, remedy)
    return path, content, node


def decode(path: str, content: bytes, has_nul: bool, encoding: str) -> str:
    """Content as text, or `NotText`."""
    if has_nul and has_plain_newlines(encoding):
        raise NotText(path, len(content), encoding, "has NUL bytes")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as wrong:
        raise NotText(path, len(content), encoding, f"cannot be decoded at byte {wrong.start}") from None


@lru_cache(maxsize=64)
def has_plain_newlines(encoding: str) -> bool:
    """Whether a newline is the one byte 10, and NUL no part of other characters; raises `LookupError` for an unknown name."""
    return "\n".encode(encoding) == b"\n"


def note_lines(files: FileTransaction, path: str, facts: Facts, total: int, ranges: Ranges) -> None:
    """Note that some lines were seen, along with what was seen of the same content before."""
    ranges = joined(ranges)
    stamp = Stamp(path, facts.digest, facts.size, ranges, not total or ranges == ((0, total),), total)
    files.observe(path, added(stamp, files.observed(path)))


class Page(NamedTuple):
    """Lines from `offset` on, at most `limit`; of each at most `max_line_chars` characters from `column` on. All from 0."""

    offset: int = 0
    limit: int | None = None
    max_line_chars: int | None = None
    column: int = 0

    def of_text(self, text: str, total: int) -> _Shown:
        """What of a whole text is on the page."""
        end = total if self.limit is None else min(self.offset + self.limit, total)
        lines = text.split("\n", end)
        shown = _Shown([line + "\n" for line in lines[self.offset : end]], [], [])
        if shown.lines and end == total and text[-1] != "\n":
            shown.lines[-1] = shown.lines[-1][:-1]
        if self.max_line_chars is not None or self.column:
            for at, line in enumerate(shown.lines):
                body = line.removesuffix("\n")
                last = len(body) if self.max_line_chars is None else self.column + self.max_line_chars
                shown.lines[at] = body[self.column : last] + line[len(body) :]
                self._mark(shown, self.offset + at, is_clipped=last < len(body), is_short=len(body) <= self.column)
        return shown

    def of_stream(self, lines: TextIOWrapper, path: str, size: int) -> _Shown:
        """Like `of_text`, from a stream that stands at the first line."""
        shown = _Shown([], [], [])
        bound, held = self.max_line_chars or MAX_HELD, 0
        while self.limit is None or len(shown.lines) < self.limit:
            before = _skip_characters(lines, self.column)
            line = "\n" if before[-1:] == "\n" else lines.readline(bound + 1)
            if not line and not before:
                break
            is_clipped = len(line) > bound and line[-1] != "\n"
            if is_clipped:
                if self.max_line_chars is None:
                    raise FileTooLarge(path, size, MAX_HELD, "give max_line_chars, as it has very long lines")
                rest = line
                while rest and rest[-1] != "\n":
                    rest = lines.readline(CHUNK)
                line = line[:bound] + rest[-1:]
            self._mark(shown, self.offset + len(shown.lines), is_clipped=is_clipped, is_short=line in ("", "\n"))
            held += len(line)
            if held > MAX_HELD:
                raise FileTooLarge(path, size, MAX_HELD, "give a smaller limit")
            shown.lines.append(line)
        return shown

    def result(self, files: FileTransaction, path: str, facts: Facts, total: int, shown: _Shown) -> ReadResult:
        """Note the lines that are shown to their ends, and put the page together."""
        end = self.offset + len(shown.lines)
        edges = [self.offset - 1, *sorted((*shown.clipped, *shown.passed)), end]
        note_lines(files, path, facts, total, tuple((low + 1, high) for low, high in pairwise(edges)))
        truncated = (end < total and self.offset < total) or bool(shown.clipped)
        content, clipped = "".join(shown.lines), tuple(shown.clipped)
        return ReadResult(content, path, total, self.offset, self.limit, truncated, clipped)

    def _mark(self, shown: _Shown, number: int, *, is_clipped: bool, is_short: bool) -> None:
        if is_clipped:
            shown.clipped.append(number)
        elif self.column and is_short:
            shown.passed.append(number)


class _Shown(NamedTuple):
    """A page's lines; those that go on after what is shown, and those that end before it."""

    lines: list[str]
    clipped: list[int]
    passed: list[int]


def _streamed(files: FileTransaction, path: str, stream: BinaryIO, node: Node, page: Page, encoding: str) -> ReadResult:
    """A page of a large file, of which no more than the page is held."""
    plain = has_plain_newlines(encoding)
    if plain and b"\0" in stream.read(8192):  # before many gigabytes of a disk image are digested
        raise NotText(path, node.size, encoding, "has NUL bytes")
    stream.seek(0)
    facts = files.tree.facts.scan(node, stream)
    if plain:
        _seek_line(stream, facts, page.offset)
    else:
        stream.seek(0)
    lines = TextIOWrapper(stream, encoding, newline="\n")
    try:
        before = 0 if plain else _skip(lines, page.offset)
        shown = page.of_stream(lines, path, facts.size)
        total = facts.lines if plain else before + len(shown.lines) + _skip(lines, None)
    except UnicodeDecodeError:
        raise NotText(path, facts.size, encoding, "cannot be decoded") from None
    finally:
        lines.detach()
    return page.result(files, path, facts, total, shown)


def _seek_line(stream: BinaryIO, facts: Facts, number: int) -> None:
    """Bring the stream to the beginning of a line, counted from 0, or to the end where there are not so many."""
    if number == 0 or number >= facts.lines:
        stream.seek(facts.size if number else 0)
        return
    mark = max(bisect_left(facts.marks, number) - 1, 0)
    at, missing = mark * CHUNK, number - (facts.marks[mark] if facts.marks else 0)
    stream.seek(at)
    while chunk := stream.read(CHUNK):
        newlines = chunk.count(b"\n")
        if newlines >= missing:
            stream.seek(at + len(chunk) - len(chunk.split(b"\n", missing)[-1]))
            return
        missing -= newlines
        at += len(chunk)


def _skip_characters(lines: TextIOWrapper, count: int) -> str:
    """Pass over characters of one line, at most to its end; the last few of them."""
    piece = ""
    while count and piece[-1:] != "\n" and (following := lines.readline(min(count, CHUNK))):
        piece = following
        count -= len(piece)
    return piece


def _skip(lines: TextIOWrapper, count: int | None) -> int:
    """Pass over `count` lines, or all; gives the number of lines that there were."""
    passed, is_open = 0, False
    while (count is None or passed < count) and (piece := lines.readline(CHUNK)):
        is_open = piece[-1] != "\n"
        passed += not is_open
    return passed + is_open
