"""Search the lines of text files for a regular expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final, Protocol

from wink.errors import HandleRevoked, PatternError, WinkError
from wink.filesystem._facts import CHUNK
from wink.filesystem._paths import located
from wink.filesystem._store import Store
from wink.filesystem._transaction import FileTransaction
from wink.filesystem.search._listing import GrepMatch, Listing
from wink.filesystem.search._pattern import Pattern
from wink.filesystem.search._regex import Literal, Search, compiled
from wink.filesystem.search._walk import check_limit, walk

MAX_LINE_CHARS: Final = 500
"""How much of a line is shown."""

_LOOKED_AT: Final = 8192
"""How many bytes tell whether a file is text."""
_PIECE: Final = 4 * CHUNK
_MAX_LINE: Final = 16 * CHUNK


def grep(
    files: FileTransaction,
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
    found: list[GrepMatch] = []
    for match in igrep(files, pattern, path, glob, ignore_case, include_git, respect_ignore):
        if len(found) == max_matches:
            return Listing(found, truncated=True)
        found.append(match)
    return Listing(found)


def igrep(
    files: FileTransaction,
    pattern: str,
    path: str,
    glob: str | None,
    ignore_case: bool,
    include_git: bool,
    respect_ignore: bool,
) -> Iterator[GrepMatch]:
    """All lines that match, each when it is found; what is wrong with a pattern is said at once."""
    search = compiled(pattern, ignore_case=ignore_case)
    chosen = None if glob is None else Pattern(glob if "/" in glob else f"**/{glob}")
    top, _ = located(path)
    found = walk(files, path, chosen, include_git=include_git, respect_ignore=respect_ignore)
    return _in_files(files, (at.path for at in found if at.kind == "file"), search, top)


def _in_files(files: FileTransaction, paths: Iterable[str], search: Search, top: str) -> Iterator[GrepMatch]:
    store = files.reading()
    reader = _reader(store)
    try:
        for path in paths:
            now = files.reading()
            if now is not store:
                reader.close()
                store, reader = now, _reader(now)
            try:
                yield from _matches(store, reader, path, search)
            except (HandleRevoked, PatternError):
                raise
            except (OSError, WinkError):
                if path == top:
                    raise
                # gone in this moment, or not ours to read: grep goes on, as everybody's does
    finally:
        reader.close()


class _Reader(Protocol):
    def read(self, path: str, limit: int) -> bytes | None:
        """A file's content; None for more than `limit` bytes, and for what is to be opened by itself."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class _PlainReader:
    """For stores that have no faster way."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, path: str, limit: int) -> bytes | None:
        return self._store.read(path, limit)[0]

    def close(self) -> None:
        pass


def _reader(store: Store) -> _Reader:
    faster: Callable[[], _Reader] | None = getattr(store, "reader", None)
    return _PlainReader(store) if faster is None else faster()


def _matches(store: Store, reader: _Reader, path: str, search: Search) -> Iterable[GrepMatch]:
    """The matches in one file; nothing for a binary one."""
    content = reader.read(path, _PIECE)
    if content is None:
        stream, _ = store.open(path)
        return _in_stream(path, stream, search)
    if isinstance(search, Literal) and search.needle not in content:
        return ()  # so it is with most files, and whatever they hold besides is of no interest
    content = _plain(content)
    if content.find(b"\0", 0, _LOOKED_AT) >= 0 or search(content, 0) is None:
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
    return content.replace(b"\r\n", b"\n") if b"\r" in content else content


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """A large text file in pieces of whole lines."""
    content = stream.read(_PIECE)
    if content.find(b"\0", 0, _LOOKED_AT) >= 0:
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
