"""Streams over files that end with the call they were opened in, and never give a descriptor away."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, cast

from wink.errors import WriteTooLarge
from wink.filesystem._facts import CHUNK, Facts, Scanner
from wink.filesystem._reading import opened
from wink.filesystem._results import WriteMode
from wink.filesystem._stamps import whole
from wink.filesystem._store import Node, failure
from wink.filesystem._transaction import FileTransaction
from wink.filesystem._writing import append, begin_staging, check_names, check_size, exists, file_path, put, staging

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

TextMode = Literal["r", "w", "x", "a"]


class ReadStream(io.BufferedIOBase):
    """A file's bytes. A stream that was read from its beginning until it said that there is no more has read the file."""

    def __init__(self, files: FileTransaction, path: str, stream: BinaryIO, node: Node) -> None:
        self._transaction, self._path, self._stream, self._node = files, path, stream, node
        self._scanner: Scanner | None = Scanner()
        self.size = node.size

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """At most `size` bytes, or all that is left."""
        stream = self._checked()
        wanted = -1 if size is None else size
        data = stream.read(wanted)
        self._passed(data, at_end=wanted < 0 or len(data) < wanted)
        return data

    def read1(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, or a convenient number."""
        data = self._checked().read(CHUNK if size < 0 else size)
        # A text stream asks for more than its reader may ever look at; only an empty answer tells it where the end is.
        self._passed(data, at_end=not data and size != 0)
        return data

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line with its newline."""
        wanted = -1 if size is None else size
        data = self._checked().readline(wanted)
        self._passed(data, at_end=data[-1:] != b"\n" and (wanted < 0 or len(data) < wanted))
        return data

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill `buffer`."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to another place; what is read from there on is not noted."""
        stream = self._checked()
        before = stream.tell()
        after = stream.seek(offset, whence)
        if after != before:
            self._scanner = None
        return after

    def tell(self) -> int:
        """The place in bytes."""
        return self._checked().tell()

    def close(self) -> None:
        """Let go of the file."""
        if not self.closed:
            self._stream.close()
            super().close()

    def abandon(self) -> None:
        """The same as `close`."""
        self.close()

    def _checked(self) -> BinaryIO:
        if self.closed:
            raise ValueError("the stream is closed")
        self._transaction.reading()
        return self._stream

    def _passed(self, data: bytes, *, at_end: bool) -> None:
        scanner = self._scanner
        if scanner is None:
            return
        scanner.add(data)
        if at_end:
            self._scanner = None
            facts = scanner.facts()
            self._transaction.tree.facts.learn(self._node, facts)
            self._transaction.observe(self._path, whole(self._path, facts.digest, facts.size, facts.lines, "read"))


class Sink(Protocol):
    """Where a `WriteStream`'s bytes wait."""

    def write(self, data: bytes, /) -> int:
        """Append."""
        ...

    def discard(self) -> None:
        """Forget."""
        ...


class WriteStream(io.BufferedIOBase):
    """New content, which becomes the file's when the stream is closed; a `with` block that raises leaves the file alone.

    A stream that nobody closes is forgotten.
    """

    def __init__(self, files: FileTransaction, path: str, sink: Sink, finish: Callable[[Facts], None]) -> None:
        self._transaction, self._path, self._sink, self._finish = files, path, sink, finish
        self._scanner = Scanner()
        self._size = 0

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Append."""
        if self.closed:
            raise ValueError("the stream is closed")
        self._transaction.reading()
        piece = bytes(data)
        try:
            check_size(self._transaction, self._path, self._size + len(piece))
        except WriteTooLarge:
            self.abandon()  # so that nothing of it is published when a `with` block ends all the same
            raise
        self._sink.write(piece)
        self._scanner.add(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        """How many bytes were written."""
        return self._size

    def close(self) -> None:
        """Publish the content."""
        if not self.closed:
            super().close()
            try:
                self._finish(self._scanner.facts())
            finally:
                self._sink.discard()

    def abandon(self) -> None:
        """Forget the content."""
        if not self.closed:
            super().close()
            self._sink.discard()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close() if error is None else self.abandon()

    def __del__(self) -> None:
        self.abandon()


class TextStream(io.TextIOWrapper):
    """Text over one of the streams above, with newlines as they are in the file."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close() if error is None else self._abandon()

    def __del__(self) -> None:
        self._abandon()

    def _abandon(self) -> None:
        # Closing a text stream closes what is beneath, which would publish half a file.
        if not self.buffer.closed:
            cast("ReadStream | WriteStream", self.buffer).abandon()


class _Spool:
    """Content of unknown size that waits for a turn: in memory while it is small, then in a temporary file."""

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile

        self._file = SpooledTemporaryFile(max_size=8 * CHUNK)  # noqa: SIM115 - closed by discard

    def write(self, data: bytes, /) -> int:
        return self._file.write(data)

    def discard(self) -> None:
        self._file.close()

    def pieces(self) -> Iterator[bytes]:
        self._file.seek(0)
        while chunk := self._file.read(CHUNK):
            yield chunk


def open_read(files: FileTransaction, text: str) -> ReadStream:
    """A stream to read a file's bytes."""
    return ReadStream(files, *opened(files, text))


def open_write(files: FileTransaction, text: str, mode: WriteMode, create_parents: bool) -> WriteStream:
    """A stream to write a file's bytes."""
    path = file_path(text)
    files.run("write", _check_target, path, mode)
    if mode == "append":
        spool = _Spool()
        return WriteStream(
            files, path, spool, lambda facts: files.run("append", _append, path, spool, create_parents, facts)
        )
    if not files.autocommit:
        staged = begin_staging(files, path)
        return WriteStream(
            files, path, staged, lambda facts: _publish(files, path, staged, mode, create_parents, facts)
        )
    # The root's own transaction begins with the turn, which is not held while somebody writes.
    spool = _Spool()
    return WriteStream(
        files, path, spool, lambda facts: files.run("write", _pour, path, spool, mode, create_parents, facts)
    )


def open_text(files: FileTransaction, text: str, mode: TextMode, encoding: str) -> TextStream:
    """A stream to read or write text."""
    if mode == "r":
        buffer: ReadStream | WriteStream = open_read(files, text)
    else:
        modes: dict[TextMode, WriteMode] = {"w": "overwrite", "x": "create", "a": "append"}
        if mode not in modes:
            raise ValueError(f"mode {mode!r} is none of 'r', 'w', 'x' and 'a'")
        buffer = open_write(files, text, modes[mode], True)
    return TextStream(cast("BinaryIO", buffer), encoding, newline="\n")


def _check_target(files: FileTransaction, path: str, mode: WriteMode) -> None:
    if mode not in ("overwrite", "create", "append"):
        raise ValueError(f"mode {mode!r} is none of 'overwrite', 'create' and 'append'")
    with files.changing(path):
        try:
            node = files.tree.store.node(path)
        except FileNotFoundError:
            check_names(files, path)
            return
        if node.kind == "directory":
            raise failure(errno.EISDIR, path)
        if mode == "create":
            raise failure(errno.EEXIST, path)


def _publish(
    files: FileTransaction, path: str, staged: Sink, mode: WriteMode, create_parents: bool, facts: Facts
) -> None:
    _, node = put(files, path, staged, exclusive=mode == "create", create_parents=create_parents)
    files.tree.facts.learn(node, facts)
    files.observe(path, whole(path, facts.digest, facts.size, facts.lines, "write"))


def _pour(
    files: FileTransaction, path: str, spool: _Spool, mode: WriteMode, create_parents: bool, facts: Facts
) -> None:
    with staging(files, path) as staged:
        for piece in spool.pieces():
            staged.write(piece)
    _publish(files, path, staged, mode, create_parents, facts)


def _append(files: FileTransaction, path: str, spool: _Spool, create_parents: bool, facts: Facts) -> None:
    if exists(files.reading(), path):
        append(files, path, spool.pieces(), facts.size)
    else:
        _pour(files, path, spool, "create", create_parents, facts)
