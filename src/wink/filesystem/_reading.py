"""Read files, whole or by pages, and note what was seen of them."""

from __future__ import annotations

import errno
from bisect import bisect_left
from functools import lru_cache
from io import TextIOWrapper
from itertools import pairwise
from typing import BinaryIO, Final, NamedTuple

from wink.errors import FileTooLarge, NotText
from wink.filesystem._access import Access
from wink.filesystem._facts import CHUNK, Facts
from wink.filesystem._memory import error
from wink.filesystem._paths import located
from wink.filesystem._results import ReadResult
from wink.filesystem._stamps import Ranges, Stamp, added, joined, whole
from wink.filesystem._store import Node

MAX_HELD: Final = 64 * CHUNK
"""The most that one read or edit holds in memory, in bytes."""

_WHOLE: Final = 8 * CHUNK
"""Below this size a page is cut from the whole content; above it the file is streamed."""


def read(
    access: Access, text: str, offset: int, limit: int | None, encoding: str, max_line_chars: int | None
) -> ReadResult:
    """Lines `offset` up to `offset + limit`."""
    if offset < 0 or (limit is not None and limit < 0) or (max_line_chars is not None and max_line_chars < 1):
        raise ValueError("offset and limit are lines from 0 on, and max_line_chars is at least 1")
    if limit is None:
        path, content, node = held(access, text, "give offset and limit to read it by pages")
    else:
        path = existing(access, text)
        content, node = access.tree.store.read(path, _WHOLE)
        if content is None:
            stream, node = access.tree.store.open(path)
            with stream:
                return _streamed(access, path, stream, node, _Page(offset, limit, max_line_chars), encoding)
    facts = access.tree.facts.of(node, content)
    decoded = decode(path, content, facts.has_nul, encoding)
    total = facts.lines if has_plain_newlines(encoding) else decoded.count("\n") + (decoded[-1:] not in ("", "\n"))
    if offset == 0 and (limit is None or limit >= total) and max_line_chars is None:
        access.note(path, whole(path, facts.digest, facts.size, total, "read"))
        return ReadResult(decoded, path, total, 0, limit)
    page = _Page(offset, limit, max_line_chars)
    return page.result(access, path, facts, total, *page.of_text(decoded, total))


def read_bytes(access: Access, text: str, offset: int, limit: int | None) -> bytes:
    """Bytes `offset` up to `offset + limit`."""
    if offset < 0 or (limit is not None and limit < 0):
        raise ValueError("offset and limit are bytes from 0 on")
    if offset == 0 and limit is None:
        path, content, node = held(access, text, "give offset and limit to read it in parts")
    else:
        path, stream, node = opened(access, text)
        with stream:
            left = max(node.size - offset, 0)
            wanted = left if limit is None else min(left, limit)
            if wanted > MAX_HELD:
                raise FileTooLarge(path, node.size, MAX_HELD, "give offset and limit to read it in parts")
            stream.seek(offset)
            content = stream.read(wanted)
        if len(content) != node.size:
            return content
    facts = access.tree.facts.of(node, content)
    access.note(path, whole(path, facts.digest, facts.size, facts.lines, "read"))
    return content


def existing(access: Access, text: str) -> str:
    """The normalised path of a file that is to be read."""
    store = access.reading()
    path, is_directory = located(text)
    if is_directory:
        raise error(errno.EISDIR if store.node(path).kind == "directory" else errno.ENOTDIR, text)
    return path


def opened(access: Access, text: str) -> tuple[str, BinaryIO, Node]:
    """An existing file's normalised path, a stream over it, and its node."""
    path = existing(access, text)
    return path, *access.tree.store.open(path)


def held(access: Access, text: str, remedy: str) -> tuple[str, bytes, Node]:
    """An existing file's normalised path, its whole content, and its node; `remedy` is for a file that is too large."""
    path = existing(access, text)
    content, node = access.tree.store.read(path, MAX_HELD)
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


def note_lines(access: Access, path: str, facts: Facts, total: int, ranges: Ranges) -> None:
    """Note that some lines were seen, along with what was seen of the same content before."""
    ranges = joined(ranges)
    stamp = Stamp(path, facts.digest, facts.size, ranges, not total or ranges == ((0, total),), total)
    access.note(path, added(stamp, access.seen(path)))


class _Page(NamedTuple):
    """What was asked for: lines, from `offset` on, at most `limit`, each cut after `max_line_chars`."""

    offset: int
    limit: int | None
    max_line_chars: int | None

    def of_text(self, text: str, total: int) -> tuple[list[str], tuple[int, ...]]:
        """The page's lines, and which of them were cut."""
        end = total if self.limit is None else min(self.offset + self.limit, total)
        lines = text.split("\n", end)
        page = [line + "\n" for line in lines[self.offset : end]]
        if page and end == total and text[-1] != "\n":
            page[-1] = page[-1][:-1]
        clipped: list[int] = []
        if self.max_line_chars is not None:
            for at, line in enumerate(page):
                if len(line) - line.endswith("\n") > self.max_line_chars:
                    page[at] = line[: self.max_line_chars] + ("\n" if line[-1] == "\n" else "")
                    clipped.append(self.offset + at)
        return page, tuple(clipped)

    def of_stream(self, lines: TextIOWrapper, path: str, size: int) -> tuple[list[str], tuple[int, ...]]:
        """Like `of_text`, from a stream that stands at the first line."""
        page: list[str] = []
        clipped: list[int] = []
        bound, held = self.max_line_chars or MAX_HELD, 0
        while self.limit is None or len(page) < self.limit:
            line = lines.readline(bound + 1)
            if not line:
                break
            if len(line) > bound and line[-1] != "\n":
                if self.max_line_chars is None:
                    raise FileTooLarge(path, size, MAX_HELD, "give max_line_chars, as it has very long lines")
                rest = line
                while rest and rest[-1] != "\n":
                    rest = lines.readline(CHUNK)
                line = line[:bound] + rest[-1:]
                clipped.append(self.offset + len(page))
            held += len(line)
            if held > MAX_HELD:
                raise FileTooLarge(path, size, MAX_HELD, "give a smaller limit")
            page.append(line)
        return page, tuple(clipped)

    def result(
        self, access: Access, path: str, facts: Facts, total: int, page: list[str], clipped: tuple[int, ...]
    ) -> ReadResult:
        """Note the lines that are shown in full, and put the page together."""
        end = self.offset + len(page)
        edges = [self.offset - 1, *clipped, end]
        shown = tuple((low + 1, high) for low, high in pairwise(edges))
        note_lines(access, path, facts, total, shown)
        truncated = (end < total and self.offset < total) or bool(clipped)
        return ReadResult("".join(page), path, total, self.offset, self.limit, truncated, clipped)


def _streamed(access: Access, path: str, stream: BinaryIO, node: Node, page: _Page, encoding: str) -> ReadResult:
    """A page of a large file, of which no more than the page is held."""
    plain = has_plain_newlines(encoding)
    if plain and b"\0" in stream.read(8192):  # before many gigabytes of a disk image are digested
        raise NotText(path, node.size, encoding, "has NUL bytes")
    stream.seek(0)
    facts = access.tree.facts.scan(node, stream)
    if plain:
        _seek_line(stream, facts, page.offset)
    else:
        stream.seek(0)
    lines = TextIOWrapper(stream, encoding, newline="\n")
    try:
        before = 0 if plain else _skip(lines, page.offset)
        found, clipped = page.of_stream(lines, path, facts.size)
        total = facts.lines if plain else before + len(found) + _skip(lines, None)
    except UnicodeDecodeError:
        raise NotText(path, facts.size, encoding, "cannot be decoded") from None
    finally:
        lines.detach()
    return page.result(access, path, facts, total, found, clipped)


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


def _skip(lines: TextIOWrapper, count: int | None) -> int:
    """Pass over `count` lines, or all; gives the number of lines that there were."""
    passed, is_open = 0, False
    while (count is None or passed < count) and (piece := lines.readline(CHUNK)):
        is_open = piece[-1] != "\n"
        passed += not is_open
    return passed + is_open
