"""What replacing text in a file promises: `edit` and `locate`."""

from __future__ import annotations

import pytest

from wink.errors import EditFailed
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Promises


class Editing(Promises):
    """Newlines survive, and a mistake is explained."""

    @pytest.mark.parametrize(
        ("before", "old", "new", "after"),
        [
            ("a\nb\n", "b", "c", "a\nc\n"),
            ("a\nb", "b", "c", "a\nc"),
            ("a\nb", "a", "c", "c\nb"),
            ("a\nb\n", "a", "c", "c\nb\n"),
            ("a\r\nb\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\n"),
            ("a\r\nb\r\n", "a\r\n", "", "b\r\n"),
            ("a\r\nb", "\nb", "\nc", "a\r\nc"),
            ("a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"),
            ("a\r\nb\nc\r\n", "a\nb", "x\ny", "x\r\ny\nc\r\n"),
            ("a\r\nb\nc\r\nd", "c\nd", "e\nf", "a\r\nb\ne\r\nf"),
            ("a\nb\n", "a\r\nb", "c", "c\n"),
            ("\ufeffa\nb\n", "a", "c", "\ufeffc\nb\n"),
            ("a\rb\r\n", "b", "c", "a\rc\r\n"),
        ],
    )
    def test_newlines_survive_an_edit(self, files: Filesystem, before: str, old: str, new: str, after: str) -> None:
        r"""A model sends `\n` whatever the file has; a file with other newlines than before is a diff of every line."""
        files.write_bytes("a.txt", before.encode())

        files.edit("a.txt", old, new)

        assert files.read_bytes("a.txt").decode() == after

    def test_an_edit_tells_where_it_was(self, files: Filesystem) -> None:
        """So that a tool can show the place."""
        files.write("a.txt", "x\ny\nx\n")

        result = files.edit("a.txt", "x", "long", replace_all=True)

        assert (result.replacements, result.lines, result.size) == (2, (1, 3), 12)
        assert files.read("a.txt").content == "long\ny\nlong\n"

    @pytest.mark.parametrize(
        ("old", "new", "reason", "lines"),
        [
            ("", "x", "is empty", ()),
            ("one", "one", "are the same", ()),
            ("three", "x", "is not in the file; read it again", ()),
            ("  one\n  two", "x", "line 2 differs only in spaces", (2,)),
            ("two", "x", r"there 2 times \(lines 3, 5\)", (3, 5)),
        ],
    )
    def test_a_failing_edit_says_what_to_do(
        self, files: Filesystem, old: str, new: str, reason: str, lines: tuple[int, ...]
    ) -> None:
        """The message is all that the model has to fix its call: how many matches, or the nearest one."""
        content = "zero\none\n    two\n\ntwo\n"
        files.write("a.txt", content)

        with pytest.raises(EditFailed, match=reason) as failed:
            files.edit("a.txt", old, new)

        assert failed.value.lines == lines
        assert files.read("a.txt").content == content

    def test_other_encodings_are_kept(self, files: Filesystem) -> None:
        """The file's bytes around the edit stay what they were."""
        files.write_bytes("a.txt", "café\nthé\n".encode("latin-1"))

        files.edit("a.txt", "thé", "théière", encoding="latin-1")

        assert files.read_bytes("a.txt") == "café\nthéière\n".encode("latin-1")

    def test_locate_tells_the_lines_and_counts_as_no_reading(self, files: Filesystem) -> None:
        """A policy looks where an edit would go without making the file known by that."""
        files.write("a.txt", "a\nb\r\nc\nb\nc\n")
        part = files.begin()

        assert part.handle.locate("a.txt", "b\nc") == ((1, 3), (3, 5))
        assert part.handle.locate("a.txt", "b\nc\n") == ((1, 3), (3, 5))
        assert part.handle.locate("a.txt", "zzz") == ()
        assert part.stamps() == {}
        part.undo()

    def test_an_edit_of_what_is_no_file_is_an_error(self, files: Filesystem) -> None:
        """It never makes a file."""
        files.mkdir("dir")

        with pytest.raises(FileNotFoundError):
            files.edit("a.txt", "x", "y")
        with pytest.raises(IsADirectoryError):
            files.edit("dir", "x", "y")
        assert [entry.name for entry in files.list()] == ["dir"]
