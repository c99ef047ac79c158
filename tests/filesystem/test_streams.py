"""Streams: all or nothing when writing, no way around the handle."""

import csv
import gc
import io

import pytest

from wink.errors import FileTooLarge, NotText
from wink.filesystem import Filesystem, InMemoryFilesystem


def test_content_appears_when_the_stream_is_closed(files: Filesystem) -> None:
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
def test_a_block_that_raises_leaves_the_file_alone(files: Filesystem, mode: str) -> None:
    """Half a file is worse than none, whether bytes or text were written."""
    path = "new.txt" if mode == "x" else "a.txt"
    files.write("a.txt", "old")

    with pytest.raises(RuntimeError), files.open_text(path, mode) as text:  # type: ignore[arg-type]
        text.write("half")
        raise RuntimeError
    with pytest.raises(RuntimeError), files.open_write("b.txt") as stream:
        stream.write(b"half")
        raise RuntimeError

    assert files.read("a.txt").content == "old"
    assert [entry.name for entry in files.list()] == ["a.txt"]


def test_a_forgotten_stream_writes_nothing(files: Filesystem) -> None:
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


def test_modes_say_what_must_be_there(files: Filesystem) -> None:
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


def test_streams_have_no_descriptor(files: Filesystem) -> None:
    """It would outlive the call, and lead around every check."""
    files.write("a.txt", "x")
    with files.open_read("a.txt") as reading, files.open_text("a.txt") as text, files.open_write("b.txt") as writing:
        for stream in (reading, text, writing):
            with pytest.raises(io.UnsupportedOperation):
                stream.fileno()
        with pytest.raises(io.UnsupportedOperation):
            reading.detach()
        assert not hasattr(reading, "raw")


def test_streams_work_with_the_standard_library(files: Filesystem) -> None:
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
        assert io.BufferedReader(stream).read() == b'1,"two\nlines"\r\n'  # type: ignore[arg-type]

    assert rows == [["a", "b"], ["1", "two\nlines"]]


@pytest.mark.parametrize(
    ("use", "is_complete"),
    [
        (lambda stream: stream.read(), True),
        (lambda stream: stream.readlines(), True),
        (lambda stream: list(stream), True),
        (lambda stream: [stream.read(3) for _ in range(4)], True),
        (lambda stream: stream.read(9), False),
        (lambda stream: stream.readline(), False),
        (lambda stream: (stream.seek(3), stream.read()), False),
        (lambda stream: (stream.seek(0), stream.read()), True),
        (lambda stream: None, False),
    ],
)
def test_a_file_is_known_when_its_end_was_reached(memory: InMemoryFilesystem, use: object, is_complete: bool) -> None:
    """Opening a file, or reading its first line, is not having read it."""
    memory.write("a.txt", "one\ntwo\n3")
    part = memory.begin()
    with part.handle.open_read("a.txt") as stream:
        use(stream)  # type: ignore[operator]

    assert (part.handle.seen("a.txt") is not None) == is_complete


def test_a_text_stream_that_read_ahead_has_not_read_the_file(memory: InMemoryFilesystem) -> None:
    """Its buffer takes more than its reader looked at."""
    memory.write("a.txt", "one\ntwo\n")
    part = memory.begin()
    with part.handle.open_text("a.txt") as text:
        text.readline()
    assert part.handle.seen("a.txt") is None
    with part.handle.open_text("a.txt") as text:
        assert text.readlines() == ["one\n", "two\n"]

    stamp = part.handle.seen("a.txt")
    assert stamp is not None
    assert (stamp.complete, stamp.digest) == (True, memory.fingerprint("a.txt"))


def test_written_streams_are_known(files: Filesystem) -> None:
    """Their writer saw every byte."""
    part = files.begin()
    with part.handle.open_text("a.txt", "w") as text:
        text.writelines(f"{number}\n" for number in range(100_000))

    stamp = part.handle.seen("a.txt")
    assert stamp is not None
    assert (stamp.complete, stamp.total_lines) == (True, 100_000)
    assert stamp.digest == part.handle.fingerprint("a.txt")
    part.undo()


def test_facts_that_are_too_large_to_decode_are_still_errors(memory: InMemoryFilesystem) -> None:
    """A large binary file is recognised from its beginning, a long line is refused without a limit."""
    memory.write_bytes("a.bin", b"\0" * 9_000_000)
    memory.write_bytes("b.txt", b"x" * 70_000_000)

    with pytest.raises(NotText):
        memory.read("a.bin", limit=1)
    with pytest.raises(FileTooLarge, match="max_line_chars"):
        memory.read("b.txt", limit=1)
