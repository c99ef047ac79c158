"""What a handle promises to know: which content was seen, and how much of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wink.filesystem import Filesystem, ReadStream, Stamp
from wink.testing._filesystems._promises import Promises

READS: list[Callable[[Filesystem], object]] = [
    lambda call: call.read("./a.txt"),
    lambda call: call.read_bytes("a.txt"),
]

USES: list[tuple[Callable[[ReadStream], object], bool]] = [
    (lambda stream: stream.read(), True),
    (lambda stream: stream.readlines(), True),
    (lambda stream: [stream.read(3) for _ in range(4)], True),
    (lambda stream: stream.read(9), False),
    (lambda stream: stream.readline(), False),
    (lambda stream: (stream.seek(3), stream.read()), False),
    (lambda stream: stream.tell(), False),
]


class Stamps(Promises):
    """Policies decide by what was seen of a content, so nothing may count as seen that was not."""

    @pytest.mark.parametrize("read", READS)
    def test_a_whole_read_is_complete(self, files: Filesystem, read: Callable[[Filesystem], object]) -> None:
        """Text or bytes."""
        files.write("a.txt", "one\ntwo\n")
        part = files.begin()
        read(part.handle)

        stamp = part.stamps()["a.txt"]
        assert stamp == part.handle.seen("x/../a.txt")
        assert stamp is not None
        assert (stamp.complete, stamp.ranges, stamp.total_lines, stamp.size) == (True, ((0, 2),), 2, 8)
        assert stamp.digest == files.fingerprint("a.txt")
        part.undo()

    def test_seen_pages_add_up(self, files: Filesystem) -> None:
        """Over several calls as well, as long as the content is the same."""
        files.write("a.txt", "1\n2\n3\n4\n")
        first = files.begin()
        first.handle.read("a.txt", 0, 2)
        session = dict(first.stamps())
        second = files.begin(seen=session.get)
        second.handle.read("a.txt", 2, 1)
        third = files.begin(seen=second.stamps().get)
        third.handle.read("a.txt", 3, 5)

        stamps = [part.stamps()["a.txt"] for part in (first, second, third)]
        assert [stamp and (stamp.ranges, stamp.complete) for stamp in stamps] == [
            (((0, 2),), False), (((0, 3),), False), (((0, 4),), True),
        ]  # fmt: skip

    def test_pages_of_different_contents_do_not_add_up(self, files: Filesystem) -> None:
        """Lines known of another content say nothing."""
        files.write("a.txt", "1\n2\n")
        part = files.begin()
        part.handle.read("a.txt", 0, 1)
        seen = dict(part.stamps())
        part.undo()
        files.write("a.txt", "one\ntwo\n")
        later = files.begin(seen=seen.get)
        later.handle.read("a.txt", 1, 1)

        stamp = later.stamps()["a.txt"]
        assert stamp is not None
        assert stamp.ranges == ((1, 2),)

    def test_a_line_that_was_cut_is_not_known(self, files: Filesystem) -> None:
        """Nobody saw its end."""
        files.write("a.txt", "1\n" + "x" * 50 + "\n3\n")
        part = files.begin()
        part.handle.read("a.txt", max_line_chars=10)

        stamp = part.stamps()["a.txt"]
        assert stamp is not None
        assert (stamp.ranges, stamp.complete) == (((0, 1), (2, 3)), False)

    @pytest.mark.parametrize("before", ["", "x\n" * 5_000_000])
    def test_a_long_line_is_known_once_its_end_was_shown(self, files: Filesystem, before: str) -> None:
        """And a line of which nothing was shown is not, as it is shorter than what was left out."""
        files.write("a.txt", f"{before}1\n{'x' * 50}\n3\n")
        first, part = before.count("\n"), files.begin()

        part.handle.read("a.txt", first, 3, max_line_chars=10, column=30)
        stamp = part.stamps()["a.txt"]
        assert stamp is not None
        assert stamp.ranges == ()

        part.handle.read("a.txt", first, 3, max_line_chars=10, column=40)
        stamp = part.stamps()["a.txt"]
        assert stamp is not None
        assert stamp.ranges == ((first + 1, first + 2),)

    def test_an_empty_file_is_known_once_read(self, files: Filesystem) -> None:
        """There are no lines to miss."""
        files.write("a.txt", "")
        part = files.begin()
        part.handle.read("a.txt", 5, 5)

        stamp = part.stamps()["a.txt"]
        assert stamp is not None
        assert stamp.complete

    def test_a_file_is_seen_through_a_stream_when_its_end_was_reached(self, files: Filesystem) -> None:
        """Opening a file, or reading its first line, is not having read it; nor is what a buffer read ahead."""
        files.write("a.txt", "one\ntwo\n3")
        for use, is_complete in USES:
            part = files.begin()
            with part.handle.open_read("a.txt") as stream:
                use(stream)
            assert (part.handle.seen("a.txt") is not None) == is_complete
        part = files.begin()
        with part.handle.open_text("a.txt") as text:
            text.readline()
        assert part.handle.seen("a.txt") is None

    def test_own_writes_are_known(self, files: Filesystem) -> None:
        """Whoever wrote a file knows it."""
        part = files.begin()
        call = part.handle
        call.write("a.txt", "one\n")
        call.append("a.txt", "two")
        with call.open_write("b.txt") as stream:
            stream.write(b"b")
        call.copy("a.txt", "c.txt")

        for path in ("a.txt", "b.txt", "c.txt"):
            stamp = call.seen(path)
            assert stamp is not None
            assert (stamp.path, stamp.complete, stamp.origin) == (path, True, "write")
            assert stamp.digest == call.fingerprint(path)
        part.undo()

    def test_knowledge_moves_along_and_goes_away(self, files: Filesystem) -> None:
        """With files and with the directories that they are in."""
        files.write("d/a.txt", "a\n")
        files.write("d/unseen.txt", "u\n")
        part = files.begin()
        call = part.handle
        call.read("d/a.txt")
        call.move("d", "e")
        call.copy("e/unseen.txt", "copy.txt")

        moved = call.seen("e/a.txt")
        assert moved is not None
        assert (moved.path, moved.digest) == ("e/a.txt", call.fingerprint("e/a.txt"))
        assert [call.seen(path) for path in ("d/a.txt", "e/unseen.txt", "copy.txt")] == [None] * 3
        call.delete("e", recursive=True)
        assert call.seen("e/a.txt") is None
        assert call.fingerprint("e/a.txt") is None
        part.undo()

    def test_an_unread_file_stays_unread_when_it_is_changed(self, files: Filesystem) -> None:
        """An edit or an append shows nothing of the rest."""
        files.write("a.txt", "1\n2\n")
        part = files.begin()
        part.handle.edit("a.txt", "2", "two")
        assert part.handle.seen("a.txt") is None
        part.handle.append("a.txt", "3\n4\n")

        stamp = part.handle.seen("a.txt")
        assert stamp is not None
        assert (stamp.ranges, stamp.complete) == (((2, 4),), False)
        part.undo()

    def test_what_was_known_before_the_call_is_asked_for_last(self, files: Filesystem) -> None:
        """The call's own notes are newer."""
        files.write("a.txt", "x")
        old = Stamp("a.txt", "digest", 1, (), complete=False)
        part = files.begin(seen={"a.txt": old, "b.txt": old}.get)

        assert part.handle.seen("b.txt") is old
        part.handle.read("a.txt")
        assert part.handle.seen("a.txt") != old

    def test_fingerprints_tell_contents_apart(self, files: Filesystem) -> None:
        """Also of files that were rewritten within the clock's grain; what is equal has the same."""
        prints: set[str | None] = set()
        for number in range(50):
            files.write_bytes("a.txt", b"%02d" % number)
            prints.add(files.fingerprint("a.txt"))
        files.copy("a.txt", "b.txt")

        assert len(prints) == 50
        assert None not in prints
        assert files.fingerprint("b.txt") == files.fingerprint("a.txt")
        assert files.fingerprint("nowhere") is None
        files.mkdir("dir")
        assert files.fingerprint("dir") is None

    def test_a_rollback_is_seen_by_fingerprints(self, files: Filesystem) -> None:
        """What was remembered of a content that is gone must not be believed."""
        files.write("a.txt", "one")
        before = files.fingerprint("a.txt")
        part = files.begin()
        part.handle.write("a.txt", "two")
        during = part.handle.fingerprint("a.txt")
        part.undo()

        assert files.fingerprint("a.txt") == before != during
