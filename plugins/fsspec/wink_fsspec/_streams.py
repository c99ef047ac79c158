"""The streams that fsspec's way of opening files needs: held back until a transaction ends, or compressed on the way."""

from __future__ import annotations

import io
import shutil
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, cast

from fsspec.transaction import Transaction  # pyright: ignore[reportMissingTypeStubs]

from wink.errors import WriteTooLarge
from wink.filesystem import Filesystem, FileTransaction, WriteMode

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    from wink_fsspec._looking import Looking

CHUNK: Final = 1024 * 1024
"""Bytes that are copied at once."""


class Deferred(io.BufferedIOBase):
    """New content within fsspec's `with fs.transaction:`, whose end decides what becomes of it."""

    def __init__(self, files: Filesystem, path: str, mode: WriteMode) -> None:
        self._files: Final = files
        self._path: Final = path
        self._mode: Final[WriteMode] = mode
        self._spool: Final = SpooledTemporaryFile(max_size=8 * CHUNK)  # noqa: SIM115 - closed by discard
        self._size = 0
        self._is_whole = True

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Append."""
        if self.closed:
            raise ValueError("the stream is closed")
        size = self._size + memoryview(data).nbytes
        if size > self._files.max_file_bytes:
            self.abandon()
            raise WriteTooLarge(self._path, size, self._files.max_file_bytes)
        count = self._spool.write(data)
        self._size += count
        return count

    def tell(self) -> int:
        """How many bytes were written."""
        return self._size

    def abandon(self) -> None:
        """Close without wanting the content to be published: its writer failed."""
        self._is_whole = False
        self.close()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close() if error is None else self.abandon()

    def publish(self, transaction: FileTransaction) -> None:
        """Write the content as a change of this transaction."""
        if self._is_whole:
            self._spool.seek(0)
            with transaction.handle.open_write(self._path, self._mode) as stream:
                shutil.copyfileobj(cast("IO[bytes]", self._spool), cast("IO[bytes]", stream), CHUNK)

    def commit(self) -> None:
        """Publish the content alone: what fsspec offers to whoever opened a file with `autocommit=False`."""
        try:
            publish(self._files, [self])
        finally:
            self.discard()

    def discard(self) -> None:
        """Forget the content."""
        self.close()
        self._spool.close()

    def __del__(self) -> None:
        self.discard()


class AllOrNothing(Transaction):
    """fsspec's transaction: files that were opened for writing in it appear when it ends, either all or none."""

    files: deque[Deferred]

    def complete(self, commit: bool = True) -> None:
        """Publish all files that were opened in it, or forget them."""
        waiting, view = list(self.files), cast("Looking", self.fs)
        self.files.clear()
        try:
            if commit and waiting:
                publish(view.files, waiting)
        finally:
            for stream in waiting:
                stream.discard()
            super().complete(commit)


def publish(files: Filesystem, waiting: list[Deferred]) -> None:
    """Write the content of all these streams, or of none."""

    with files.transaction("together") as transaction:
        for stream in waiting:
            stream.publish(transaction)


class Compressor(Protocol):
    """What fsspec's compressions give, as far as it is needed here."""

    def read(self, size: int = ..., /) -> bytes:
        """At most `size` bytes."""
        ...

    def write(self, data: bytes, /) -> int:
        """Append."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class Compressed(io.BufferedIOBase):
    """A stream through a compression, whose end is also the end of the stream beneath.

    Most compressions leave that one open, and content that nobody closes is never published.
    """

    def __init__(self, beneath: Any, compress: Callable[..., Compressor], mode: str) -> None:
        self._beneath: Final = beneath
        self._reads: Final = mode == "r"
        self._compressor: Final[Any] = compress(beneath, mode=mode)

    def readable(self) -> bool:
        """Whether it was opened for reading."""
        return self._reads

    def writable(self) -> bool:
        """Whether it was opened for writing."""
        return not self._reads

    def seekable(self) -> bool:
        """Whether one can go to and fro in what is unpacked."""
        return self._reads and self._compressor.seekable()

    def read(self, size: int | None = -1, /) -> bytes:
        """At most `size` bytes of what was packed."""
        return self._compressor.read(-1 if size is None else size)

    def read1(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, or a convenient number."""
        return self._compressor.read(CHUNK if size < 0 else size)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer."""
        view = memoryview(buffer).cast("B")
        data = self._compressor.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position in what is unpacked."""
        return self._compressor.seek(offset, whence)

    def tell(self) -> int:
        """The position in what is not packed."""
        return self._compressor.tell()

    def write(self, data: ReadableBuffer, /) -> int:
        """Pack and append."""
        return self._compressor.write(data)

    def close(self) -> None:
        """Publish the content."""
        if not self.closed:
            super().close()
            try:
                self._compressor.close()
            except BaseException:
                self._drop()
                raise
            self._beneath.close()

    def abandon(self) -> None:
        """Forget the content."""
        if not self.closed:
            super().close()
            self._drop()

    def _drop(self) -> None:
        # A compression that nobody closed would write its end later, to a stream that is closed by then.
        with suppress(Exception):  # foreign code, and of no interest any more
            self._compressor.close()
        self._beneath.close() if self._reads else self._beneath.abandon()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close() if error is None else self.abandon()

    def __del__(self) -> None:
        self.abandon()
