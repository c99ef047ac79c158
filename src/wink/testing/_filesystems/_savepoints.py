"""What a call within a call promises: it can be undone alone, and is undone with the outer one."""

from __future__ import annotations

import pytest

from wink.errors import HandleRevoked, TransactionError
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Promises, commit, contents, facts


class Savepoints(Promises):
    """Nested transactions are a stack."""

    @pytest.mark.parametrize("first", [False, True], ids=["outer-clean", "outer-dirty"])
    def test_undoing_the_inner_part_keeps_the_outer_ones_changes(self, files: Filesystem, first: bool) -> None:
        """Whether the outer one had changed something before or not."""
        outer = files.begin()
        if first:
            outer.handle.write("outer.txt", "1")
        inner = outer.savepoint()
        inner.handle.write("inner.txt", "2")
        inner.handle.write("outer.txt", "overwritten")
        inner.undo()
        outer.handle.write("after.txt", "3")

        assert contents(files) == {"after.txt": b"3", **({"outer.txt": b"1"} if first else {})}
        assert facts(outer.changes()) == [*([("created", "outer.txt")] if first else []), ("created", "after.txt")]
        outer.undo()
        assert contents(files) == {}

    def test_publishing_the_inner_part_folds_it_into_the_outer(self, files: Filesystem) -> None:
        """So that the outer one takes it back, too."""
        outer = files.begin()
        inner = outer.handle.begin()
        inner.handle.write("inner.txt", "2")
        assert facts(inner.changes()) == [("created", "inner.txt")]
        commit(inner)

        assert outer.dirty
        assert facts(outer.changes()) == [("created", "inner.txt")]
        assert "inner.txt" in outer.stamps()
        outer.undo()
        assert contents(files) == {}

    def test_an_inner_part_knows_what_the_outer_read(self, files: Filesystem) -> None:
        """A nested call may write what the call around it has read."""
        files.write("a.txt", "x")
        outer = files.begin()
        outer.handle.read("a.txt")

        assert outer.savepoint().handle.seen("a.txt") == outer.stamps()["a.txt"]
        outer.undo()

    def test_the_outer_handle_waits_while_an_inner_part_is_changing_files(self, files: Filesystem) -> None:
        """Otherwise undoing the inner part would take back the outer one's changes as well."""
        outer = files.begin()
        first, second = outer.savepoint(), outer.savepoint()
        first.handle.write("a.txt", "1")

        for handle in (outer.handle, second.handle):
            with pytest.raises(TransactionError, match="nested call"):
                handle.write("b.txt", "2")
        commit(first)
        second.handle.write("b.txt", "2")
        commit(second)
        outer.handle.write("c.txt", "3")

        assert len(outer.changes()) == 3
        outer.undo()

    def test_undoing_the_outer_part_undoes_an_inner_one_that_never_ended(self, files: Filesystem) -> None:
        """A nested call may hang in a thread while the outer one times out."""
        outer = files.begin()
        inner = outer.savepoint()
        handle = inner.handle
        handle.write("a.txt", "1")
        outer.undo()

        assert contents(files) == {}
        with pytest.raises(HandleRevoked):
            handle.write("a.txt", "2")

    def test_an_inner_part_that_changed_nothing_is_not_in_the_way(self, files: Filesystem) -> None:
        """Nothing of it is left, though its first operation had begun and failed."""
        outer = files.begin()
        inner = outer.savepoint()
        with pytest.raises(FileNotFoundError):
            inner.handle.move("missing.txt", "made/on/the/way.txt")
        inner.undo()
        outer.handle.write("a.txt", "one\n")
        commit(outer)

        assert contents(files) == {"a.txt": b"one\n"}
