"""Replacing text in files: newlines survive, mistakes are explained, and what is known of the lines moves along."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import EditFailed
from wink.filesystem import Filesystem, InMemoryFilesystem


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\nb\n", "b", "c", "a\nc\n"),
        ("a\nb", "b", "c", "a\nc"),
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
def test_newlines_survive_an_edit(files: Filesystem, before: str, old: str, new: str, after: str) -> None:
    """A model sends `\\n` whatever the file has; a file with other newlines than before is a diff of every line."""
    files.write_bytes("a.txt", before.encode())

    files.edit("a.txt", old, new)

    assert files.read_bytes("a.txt").decode() == after


def test_an_edit_tells_where_it_was(memory: InMemoryFilesystem) -> None:
    """So that a tool can show the place."""
    memory.write("a.txt", "x\ny\nx\n")

    result = memory.edit("a.txt", "x", "long", replace_all=True)

    assert (result.replacements, result.lines, result.size) == (2, (1, 3), 12)


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
    files: Filesystem, old: str, new: str, reason: str, lines: tuple[int, ...]
) -> None:
    """The message is all that the model has to mend its call."""
    content = "zero\none\n    two\n\ntwo\n"
    files.write("a.txt", content)

    with pytest.raises(EditFailed, match=reason) as failed:
        files.edit("a.txt", old, new)

    assert failed.value.lines == lines
    assert files.read("a.txt").content == content


def test_other_encodings_are_kept(memory: InMemoryFilesystem) -> None:
    """The file's bytes around the edit stay what they were."""
    memory.write_bytes("a.txt", "café\nthé\n".encode("latin-1"))

    memory.edit("a.txt", "thé", "théière", encoding="latin-1")

    assert memory.read_bytes("a.txt") == "café\nthéière\n".encode("latin-1")


def test_locate_tells_the_lines_and_counts_as_no_reading(memory: InMemoryFilesystem) -> None:
    """A policy looks where an edit would go without making the file known by that."""
    memory.write("a.txt", "a\nb\r\nc\nb\nc\n")
    part = memory.begin()

    assert part.handle.locate("a.txt", "b\nc") == ((1, 3), (3, 5))
    assert part.handle.locate("a.txt", "b\nc\n") == ((1, 3), (3, 5))
    assert part.handle.locate("a.txt", "zzz") == ()
    assert part.noted() == {}


TEXT = st.text(alphabet="ab\n\r ", max_size=30)


@given(before=TEXT, after=TEXT, old=st.text(alphabet="xyz", min_size=1, max_size=3), new=TEXT)
def test_an_edit_is_replace_where_newlines_are_plain(before: str, after: str, old: str, new: str) -> None:
    """The law behind it all, for files without carriage returns."""
    memory = InMemoryFilesystem()
    text = (before + old + after).replace("\r", "")
    memory.write("a.txt", text)

    memory.edit("a.txt", old, new)

    assert memory.read("a.txt").content == text.replace(old, new)


@given(lines=st.lists(st.text(alphabet="ab", max_size=3), min_size=1, max_size=8), data=st.data())
def test_lines_known_after_an_edit_are_lines_known_before_or_written(lines: list[str], data: st.DataObject) -> None:
    """A line that nobody has seen must not become known because another one was edited."""
    memory = InMemoryFilesystem()
    at = data.draw(st.integers(0, len(lines) - 1))
    marked = [*lines[:at], "MARK", *lines[at:]]
    memory.write("a.txt", "".join(f"{line}\n" for line in marked))
    offset = data.draw(st.integers(0, len(marked) - 1))
    limit = data.draw(st.integers(1, len(marked)))
    new = data.draw(st.sampled_from(["", "one", "one\ntwo", "one\ntwo\nthree"]))
    files = memory.begin().handle
    files.read("a.txt", offset, limit)

    files.edit("a.txt", "MARK", new)

    stamp = files.seen("a.txt")
    assert stamp is not None
    assert stamp.digest == files.fingerprint("a.txt")
    seen = marked[offset : offset + limit]
    written = new.split("\n") if "MARK" in seen else []
    after = files.read("a.txt").content.split("\n")
    known = [after[line] for low, high in stamp.ranges for line in range(low, high)]
    expected = [line for line in seen if line != "MARK"] + written
    assert sorted(known) == sorted(expected)
    assert stamp.complete == (len(seen) == len(marked))
