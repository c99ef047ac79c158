"""Streams: all or nothing when writing, no way around the handle."""

import pytest

from wink.errors import FileTooLarge, NotText
from wink.filesystem import InMemoryFilesystem


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


def test_facts_that_are_too_large_to_decode_are_still_errors(memory: InMemoryFilesystem) -> None:
    """A large binary file is recognised from its beginning, a long line is refused without a limit."""
    memory.write_bytes("a.bin", b"\0" * 9_000_000)
    memory.write_bytes("b.txt", b"x" * 70_000_000)

    with pytest.raises(NotText):
        memory.read("a.bin", limit=1)
    with pytest.raises(FileTooLarge, match="max_line_chars"):
        memory.read("b.txt", limit=1)
