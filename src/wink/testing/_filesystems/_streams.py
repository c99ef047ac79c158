"""What streams promise: all or nothing when writing, no way around the handle."""

from __future__ import annotations

import csv
import gc
import io
from typing import IO, Any, cast

import pytest

from wink.filesystem import Filesystem, WriteStream
from wink.testing._filesystems._promises import Promises, contents


class Streams(Promises):
    """`open_read`, `open_write`, `open_text`."""

    def test_content_appears_when_the_stream_is_closed(self, files: Filesystem) -> None:
        """Readers never see half a file."""
        files.write("a.txt", "old")
        stream = files.open_write("a.txt")
        stream.write(b"new ")
        assert files.read("a.txt").content == "old"
        stream.write(b"content")
        assert stream.tell() == 11
        stream.close()
        stream.close()

        assert files.read("a.txt").content == "new content"
        with pytest.raises(ValueError, match="closed"):
            stream.write(b"more")

    @pytest.mark.parametrize("mode", ["w", "a", "x"])
    def test_a_block_that_raises_leaves_the_file_alone(self, files: Filesystem, mode: str) -> None:
        """Half a file is worse than none, whether bytes or text were written."""
        path = "new.txt" if mode == "x" else "a.txt"
        files.write("a.txt", "old")

        with pytest.raises(RuntimeError):
            self._break_off(files.open_text(path, mode), "half")  # type: ignore[arg-type]
        with pytest.raises(RuntimeError):
            self._break_off(files.open_write("b.txt"), b"half")

        assert contents(files) == {"a.txt": b"old"}

    def test_a_forgotten_stream_writes_nothing(self, files: Filesystem) -> None:
        """Whenever the garbage collector comes by."""
        part = files.begin()
        text = part.handle.open_text("a.txt", "w")
        text.write("x" * 100_000)
        stream = part.handle.open_write("b.txt")
        stream.write(b"x")
        del text, stream
        gc.collect()

        assert not part.dirty
        assert files.list() == ()
        part.undo()

    def test_modes_say_what_must_be_there(self, files: Filesystem) -> None:
        """Before anything is written."""
        files.write("a.txt", "old\n")
        files.mkdir("dir")

        with pytest.raises(FileExistsError):
            files.open_write("a.txt", "create")
        with pytest.raises(FileExistsError):
            files.open_text("a.txt", "x")
        with pytest.raises(IsADirectoryError):
            files.open_write("dir")
        with pytest.raises(FileNotFoundError):
            files.open_text("nowhere.txt")
        with pytest.raises(ValueError, match="mode 'rw'"):
            files.open_text("a.txt", "rw")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="mode 'w'"):
            files.open_write("a.txt", "w")  # type: ignore[arg-type]
        with files.open_text("a.txt", "a") as text:
            text.write("new\n")
        with files.open_text("log/b.txt", "a") as text:
            text.write("first\n")

        assert files.read("a.txt").content == "old\nnew\n"
        assert files.read("log/b.txt").content == "first\n"

    def test_streams_have_no_descriptor(self, files: Filesystem) -> None:
        """It would outlive the call, and lead around every check."""
        files.write("a.txt", "x")
        with (
            files.open_read("a.txt") as reading,
            files.open_text("a.txt") as text,
            files.open_write("b.txt") as writing,
        ):
            for stream in (reading, text, writing):
                with pytest.raises(io.UnsupportedOperation):
                    stream.fileno()
            with pytest.raises(io.UnsupportedOperation):
                reading.detach()
            assert not hasattr(reading, "raw")

    def test_streams_work_with_the_standard_library(self, files: Filesystem) -> None:
        """What takes a file takes these."""
        with files.open_text("a.csv", "w") as text:
            csv.writer(text).writerows([["a", "b"], ["1", "two\nlines"]])
        with files.open_text("a.csv") as text:
            rows = list(csv.reader(text))
        with files.open_read("a.csv") as stream:
            assert stream.read(3) == b"a,b"
            assert stream.seek(0) == 0
            assert stream.readline() == b"a,b\r\n"
            assert stream.tell() == 5
            assert io.BufferedReader(cast("io.RawIOBase", stream)).read() == b'1,"two\nlines"\r\n'

        assert rows == [["a", "b"], ["1", "two\nlines"]]

    def test_a_stream_reads_what_it_was_opened_on(self, files: Filesystem) -> None:
        """Whoever replaces the file replaces it for those who open it later."""
        files.write("a.txt", "old content")
        with files.open_read("a.txt") as stream:
            first = stream.read(4)
            files.write("a.txt", "NEW")

            assert first + stream.read() == b"old content"
        assert files.read("a.txt").content == "NEW"

    def test_written_streams_are_known(self, files: Filesystem) -> None:
        """Their writer saw every byte."""
        part = files.begin()
        with part.handle.open_text("a.txt", "w") as text:
            text.writelines(f"{number}\n" for number in range(100_000))

        stamp = part.handle.seen("a.txt")
        assert stamp is not None
        assert (stamp.complete, stamp.total_lines) == (True, 100_000)
        assert stamp.digest == part.handle.fingerprint("a.txt")
        part.undo()

    def _break_off(self, stream: IO[Any] | WriteStream, half: object) -> None:
        with stream:
            stream.write(cast("Any", half))
            raise RuntimeError
