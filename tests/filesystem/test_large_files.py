"""Files that are too large to be held: appending and editing, in bounded memory, with all that holds for small ones."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import EditFailed, FileConflict, NotText, WriteTooLarge
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem, _edit_streams
from wink.filesystem._edit_streams import check_places, found_in, replaced
from wink.filesystem._replacing import edited, find_lines

MIB = 1 << 20


def test_streams_are_edited_as_texts_are() -> None:
    """Whatever newlines there are and wherever pieces end: the same bytes, places, lines and refusals."""
    texts = st.text(alphabet="ab\r\n", max_size=40)
    needles = st.text(alphabet="ab\r\n", min_size=1, max_size=4)

    @given(
        text=st.one_of(texts, st.lists(st.sampled_from(["a", "b\r\n", "\n", "é\r\n", "a\nb"])).map("".join)),
        old=needles,
        new=texts,
        replace_all=st.booleans(),
        encoding=st.sampled_from(["utf-8", "utf-16-le"]),
        chunk=st.integers(1, 7),
        ranges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2),
    )
    def check(
        text: str, old: str, new: str, replace_all: bool, encoding: str, chunk: int, ranges: list[tuple[int, int]]
    ) -> None:
        known = tuple((low, high) for low, high in ranges if low < high)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_edit_streams, "CHUNK", chunk)
            assert in_pieces(text, old, new, replace_all, encoding, known) == whole(
                text, old, new, replace_all, encoding, known
            )

    check()


def whole(text: str, old: str, new: str, replace_all: bool, encoding: str, known: Any) -> object:
    """What becomes of a text that is held."""
    places = find_lines("a", text, old)
    try:
        edit = edited("a", text, old, new, replace_all=replace_all)
    except EditFailed as error:
        return error.lines if "times" in str(error) else (), places
    total = edit.text.count("\n") + (edit.text[-1:] not in ("", "\n"))
    return edit.text.encode(encoding), total, edit.places, edit.shifted(known), places


def in_pieces(text: str, old: str, new: str, replace_all: bool, encoding: str, known: Any) -> object:
    """What becomes of it otherwise."""
    stream, made = BytesIO(text.encode(encoding)), BytesIO()
    found = found_in("a", stream, 0, old, encoding)
    places = tuple((place.start, place.end) for place in found.places(old))[::-1]
    if old.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        return (), places
    try:
        check_places("a", found, replace_all=replace_all)
    except EditFailed as error:
        return error.lines, places
    stream.seek(0)
    facts, total = replaced("a", stream, found, new, encoding, made.write)
    assert facts.digest == hashlib.sha256(made.getvalue()).hexdigest()
    assert facts.size == len(made.getvalue()) >= found.size_with(old, new, encoding)
    return made.getvalue(), total, tuple(found.places(new))[::-1], found.shifted(known, new), places


def test_a_stream_that_changes_between_the_passes_is_not_written() -> None:
    """Places of one content would be replaced in another."""
    found = found_in("a", BytesIO(b"one two"), 7, "two", "utf-8")

    with pytest.raises(FileConflict):
        replaced("a", BytesIO(b"two one"), found, "2", "utf-8", BytesIO().write)


@pytest.fixture(params=["memory", "disk", "disk-walk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Where the file lies makes no difference."""
    if request.param == "memory":
        yield InMemoryFilesystem()
        return
    from tests.filesystem import backends

    (tmp_path / "work").mkdir()
    variant = "walk-portable" if request.param == "disk-walk" else "openat2-exchange"
    with backends.disk(variant, tmp_path / "work") as disk:
        yield disk


def large(files: Filesystem, *, end: bytes = b"") -> None:
    """A text of 65 MiB, whose lines have numbers."""
    with files.open_write("big.log") as stream:
        for number in range(65 * 1024):
            stream.write(b"%07d %s\n" % (number, b"x" * 1015))
        stream.write(end)


def test_a_large_file_is_appended_to(files: Filesystem) -> None:
    """It was refused above 64 MiB; and what is known of it adds up as for small ones."""
    large(files)
    part = files.begin()

    result = part.handle.append("big.log", "end\n")

    assert (result.size, result.bytes_written) == (65 * MIB + 4, 4)
    assert part.handle.read_bytes("big.log", 65 * MIB - 2) == b"x\nend\n"
    stamp = part.handle.seen("big.log")
    assert stamp is not None
    assert (stamp.complete, stamp.ranges, stamp.total_lines) == (False, ((65 * 1024, 65 * 1024 + 1),), 65 * 1024 + 1)
    assert stamp.digest == files.fingerprint("big.log")
    part.undo()
    assert files.stat("big.log").size_bytes == 65 * MIB


def test_a_large_file_is_edited_and_the_edit_taken_back(files: Filesystem) -> None:
    """It was refused above 64 MiB; only the lines that are replaced have to be known."""
    large(files)
    before = files.fingerprint("big.log")
    part = files.begin()
    handle = part.handle
    assert handle.locate("big.log", "0065000 ") == ((65000, 65001),)
    handle.read("big.log", offset=65000, limit=2)

    result = handle.edit("big.log", "0065000 ", "number\n65000 ")

    assert (result.lines, result.replacements, result.size) == ((65001,), 1, 65 * MIB + 5)
    assert handle.read("big.log", offset=65000, limit=2, max_line_chars=8).content == "number\n65000 xx\n"
    stamp = handle.seen("big.log")
    assert stamp is not None
    assert (stamp.ranges, stamp.total_lines, stamp.complete) == (((65000, 65003),), 65 * 1024 + 1, False)
    assert stamp.digest == files.fingerprint("big.log")
    with pytest.raises(EditFailed, match="there 67 times"):
        handle.edit("big.log", "000 x", "y")
    with pytest.raises(EditFailed, match="is not in the file; read it again"):
        handle.edit("big.log", "nowhere", "y")
    with pytest.raises(EditFailed, match="are the same"):
        handle.edit("big.log", "x", "x")
    part.undo()
    assert files.fingerprint("big.log") == before


@pytest.mark.parametrize("end", [b"\xff\n", b"\xc3"])
def test_a_large_file_that_is_no_text_is_not_edited(end: bytes) -> None:
    """However far behind the first piece that shows."""
    files = InMemoryFilesystem()
    large(files, end=end)

    with pytest.raises(NotText):
        files.edit("big.log", "0000000 ", "y")


def test_somebody_who_saves_while_a_large_file_is_copied_keeps_it(tmp_path: Path) -> None:
    """As with a small one: what was not read is not replaced."""
    with HostFilesystem(tmp_path) as files:
        large(files)

        def pieces() -> Any:
            (tmp_path / "big.log").write_bytes(b"somebody's")
            yield b"end\n"

        from wink.filesystem._writing import append

        with pytest.raises(FileConflict):
            files._transaction.run("append", append, "big.log", pieces(), 4)  # type: ignore[attr-defined]

    assert (tmp_path / "big.log").read_bytes() == b"somebody's"


@pytest.mark.parametrize("size", [2_000_002, 70_000_000])
def test_a_text_that_is_there_too_often_is_not_told_to_be_missing(size: int) -> None:
    """Whoever asks where it is would look for a spelling mistake."""
    files = InMemoryFilesystem()
    files.write_bytes("a.txt", b"ab" * (size // 2))

    with pytest.raises(EditFailed, match="more than 1000000 times; give a longer one"):
        files.locate("a.txt", "a")
    assert files.locate("a.txt", "c") == files.locate("a.txt", "") == ()


# -- memory

CHILD = """
import resource, sys
from wink.filesystem import HostFilesystem
with HostFilesystem(sys.argv[1]) as files:
    files.write("warm.txt", "a"); files.edit("warm.txt", "a", "b"); files.append("warm.txt", "c")
    import wink.filesystem._edit_streams, wink.filesystem._streams
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    {act}
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""

ACTS = {
    "append": 'files.append("big.log", "end")',
    "edit": 'files.edit("big.log", "number 2000000\\n", "two million\\n")',
    "replace_all": 'files.edit("big.log", "99999\\n", "one less\\n", replace_all=True)',
    "locate": 'files.locate("big.log", "number 2000000")',
    "stream": 's = files.open_write("big.log", "append"); [s.write(bytes(1 << 20)) for _ in range(100)]; s.close()',
    "call": 'p = files.begin(); p.handle.edit("big.log", "number 7\\n", "x\\n"); p.changes()[0].diff(); p.undo()',
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of 212 MB."""
    path = tmp_path_factory.mktemp("large") / "big.log"
    with path.open("wb") as log:
        for start in range(0, 14_000_000, 100_000):
            log.write(b"".join(b"number %d\n" % number for number in range(start, start + 100_000)))
    return path


@pytest.mark.parametrize("act", ACTS)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, log: Path, act: str) -> None:
    """Of a text of 212 MB less than a fifth may be held beside what the process had."""
    shutil.copyfile(log, tmp_path / "big.log")
    script = CHILD.format(act=ACTS[act])

    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)

    assert int(done.stdout) < 40 * 1024, f"{int(done.stdout) // 1024} MiB more"


# -- the bound on one write

WRITES: dict[str, Callable[[Filesystem], object]] = {
    "write": lambda files: files.write("a.txt", "x" * 101),
    "write wide": lambda files: files.write("a.txt", "é" * 51),
    "write_bytes": lambda files: files.write_bytes("a.txt", bytes(101)),
    "new": lambda files: files.write_bytes("new.txt", bytes(101), "create"),
    "append": lambda files: files.append("a.txt", "x" * 100),
    "append mode": lambda files: files.write_bytes("a.txt", bytes(100), "append"),
    "append to new": lambda files: files.append("new.txt", "x" * 101),
    "edit": lambda files: files.edit("a.txt", "a", "x" * 101),
    "edit many": lambda files: files.edit("many.txt", "a", "xxx", replace_all=True),
    "copy": lambda files: files.copy("huge.txt", "new.txt"),
    "open_write": lambda files: stream(files.open_write("a.txt")),
    "open_write append": lambda files: stream(files.open_write("a.txt", "append"), 100),
    "open_text": lambda files: files.open_text("new.txt", "x").write("x" * 10_000_000),
    "fsspec": lambda files: files.fs.pipe_file("a.txt", bytes(101)),
    "fsspec open": lambda files: stream(files.fs.open("a.txt", "wb")),
    "fsspec deferred": lambda files: stream(files.fs.open("a.txt", "wb", autocommit=False)),
}


def stream(opened: Any, size: int = 101) -> None:
    """Write in pieces, and publish."""
    with opened:
        for _ in range(size):
            opened.write(b"x")


@pytest.fixture(params=["memory", "disk", "overlay"])
def bounded(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Files that were made without a bound, and are now opened with one."""
    from wink_overlay import OverlayFilesystem

    lower = InMemoryFilesystem()
    with HostFilesystem(tmp_path) as disk:
        for files in (lower, disk):
            files.write("a.txt", "a")
            files.write("many.txt", "a" * 50)
            files.write("huge.txt", "x" * 101)
    if request.param == "overlay":
        yield OverlayFilesystem(lower, max_file_bytes=100)
    elif request.param == "disk":
        with HostFilesystem(tmp_path, max_file_bytes=100) as disk:
            yield disk
    else:
        files = InMemoryFilesystem(max_file_bytes=100)
        for path in ("a.txt", "many.txt"):
            files.write(path, lower.read(path).content)
        part = files.begin()
        with part.changing("huge.txt") as change_set:
            change_set.put("huge.txt", b"x" * 101)
        part.publish()
        yield files


@pytest.mark.parametrize("how", WRITES)
def test_no_way_of_writing_makes_a_file_beyond_the_bound(bounded: Filesystem, how: str) -> None:
    """One way around it would be enough; and nothing is left of what was begun."""
    with pytest.raises(WriteTooLarge, match=r"more than the 100 that a file may have; .* or raise max_file_bytes$"):
        WRITES[how](bounded)

    assert bounded.max_file_bytes == 100
    assert bounded.read("a.txt").content == "a"
    assert bounded.read("many.txt").content == "a" * 50
    assert not bounded.exists("new.txt")


def test_what_has_the_size_of_the_bound_is_written(bounded: Filesystem) -> None:
    """And a file that is larger already can be moved, deleted and made smaller."""
    assert bounded.write("a.txt", "x" * 100).size == 100
    assert bounded.append("many.txt", "a" * 50).size == 100
    bounded.move("huge.txt", "moved.txt")
    assert bounded.edit("moved.txt", "x" * 101, "y").size == 1


def test_a_commit_does_not_write_what_its_lower_layer_refuses() -> None:
    """The bound of the files that are written holds, whoever writes them."""
    from wink_overlay import OverlayCommitFailed, OverlayFilesystem

    lower = InMemoryFilesystem(max_file_bytes=100)
    files = OverlayFilesystem(lower)
    files.write("small.txt", "x")
    files.write("large.txt", "x" * 101)

    with pytest.raises(OverlayCommitFailed, match=r"'large\.txt' would have 101 bytes, more than the 100"):
        files.commit()

    assert [entry.name for entry in lower.list()] == []


def test_an_edit_that_would_multiply_a_file_is_refused_before_memory_is_filled(tmp_path: Path) -> None:
    """6 MiB in which a hundred thousand places would become 600 KiB each are 60 GB; the child has little more than its own."""
    script = """
import resource, sys
from wink.errors import WriteTooLarge
from wink.filesystem import HostFilesystem, InMemoryFilesystem
resource.setrlimit(resource.RLIMIT_AS, (1500 << 20, 1500 << 20))
for files in (InMemoryFilesystem(), HostFilesystem(sys.argv[1])):
    for newline in ("\\n", "\\r\\n", "\\n\\r\\n"):
        files.write_bytes("a.txt", (("x" * 56 + newline) * 100_000).encode())
        try:
            files.edit("a.txt", "x" * 56, "y\\n" * 300_000, replace_all=True)
        except WriteTooLarge as error:
            print(error.limit, error.size > 50 << 30)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{1 << 30} True"] * 6
