"""The laws of replacing text: what becomes of the rest of the file, and of what is known of its lines."""

from hypothesis import given
from hypothesis import strategies as st

from wink.filesystem import InMemoryFilesystem

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
