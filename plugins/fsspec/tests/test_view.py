"""The same files for libraries that speak fsspec."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from wink.errors import HandleRevoked, PathRefused, ReadOnlyFilesystem
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink_fsspec import FilesystemView


def test_a_view_does_what_fsspec_filesystems_do(files: Filesystem) -> None:
    """Every operation arrives at the files, and shows what they are."""
    view = files.fs
    view.pipe({"a/b.txt": b"one\n", "a/c/d.txt": b"two\n"})
    view.mkdir("empty")
    with view.open("a/e.txt", "w") as text:
        text.write("three\n")
    with view.open("/a/e.txt", "ab") as stream:
        stream.write(b"four\n")

    assert view.ls("", detail=False) == ["a", "empty"]
    assert view.ls("a/b.txt", detail=False) == ["a/b.txt"]
    assert [(entry["name"], entry["type"], entry["size"]) for entry in view.ls("/a")] == [
        ("a/b.txt", "file", 4), ("a/c", "directory", 0), ("a/e.txt", "file", 11),
    ]  # fmt: skip
    assert view.find("") == ["a/b.txt", "a/c/d.txt", "a/e.txt"]
    assert view.glob("**/*.txt") == ["a/b.txt", "a/c/d.txt", "a/e.txt"]
    assert view.cat("a/e.txt") == b"three\nfour\n"
    assert view.cat_file("a/e.txt", 1, -1) == b"hree\nfour"
    assert view.exists("a/b.txt")
    assert not view.exists("nowhere")
    assert view.isdir("a")
    assert view.isfile("a/b.txt")
    assert view.modified("a/b.txt").tzinfo is not None

    view.cp("a/b.txt", "copy.txt")
    view.cp("a", "copies", recursive=True)
    view.mv("a/b.txt", "moved.txt")
    view.makedirs("x/y", exist_ok=True)
    view.rmdir("x/y")
    view.rm("a", recursive=True)
    view.rm(["copy.txt"])
    assert view.find("", withdirs=True) == [
        "copies", "copies/b.txt", "copies/c", "copies/c/d.txt", "copies/e.txt", "empty", "moved.txt", "x",
    ]  # fmt: skip
    with pytest.raises(FileExistsError):
        view.mkdir("x")
    with pytest.raises(FileExistsError):
        view.pipe_file("moved.txt", b"", mode="create")
    with pytest.raises(ValueError, match="mode 'r\\+b'"):
        view.open("moved.txt", "r+b")


def test_a_view_is_fenced(files: Filesystem) -> None:
    """It takes part in the transaction, notes what is read, and ends with the call."""
    files.write("a.txt", "one\n")
    part = files.begin()
    view = part.handle.fs
    assert view.cat("a.txt") == b"one\n"
    view.pipe("b.txt", b"two\n")
    assert set(part.stamps()) == {"a.txt", "b.txt"}
    with pytest.raises(PathRefused):
        view.pipe(".git/config", b"")
    with pytest.raises(PathRefused):
        view.cat("../x")
    part.undo()

    assert files.fs.find("") == ["a.txt"]
    with pytest.raises(HandleRevoked):
        view.cat("a.txt")


def test_fsspecs_transactions_hold_back_writes(memory: InMemoryFilesystem) -> None:
    """A block that raises leaves nothing of what was written in it."""
    view = memory.fs
    with view.transaction, view.open("a.txt", "wb") as stream:
        stream.write(b"x")
        stream.close()
        assert not memory.exists("a.txt")
    assert memory.exists("a.txt")
    with pytest.raises(RuntimeError), view.transaction:
        with view.open("b.txt", "wb") as stream:
            stream.write(b"x")
        raise RuntimeError

    assert not memory.exists("b.txt")


def test_dangling_links_are_listed(files: Filesystem) -> None:
    """A listing must not fail for one of them."""
    part = files.begin()
    with part.changing("link") as change_set:
        change_set.symlink("link", "nowhere")
    part.publish()

    assert files.fs.ls("") == [{"name": "link", "size": 0, "type": "link"}]
    assert files.fs.lexists("link")
    assert not files.fs.exists("link")


@pytest.mark.parametrize("ask", ["exists", "lexists", "isfile", "isdir", "ls", "find", "glob", "du", "walk", "cat"])
def test_nobody_concludes_from_the_end_of_a_call_that_there_is_nothing(files: Filesystem, ask: str) -> None:
    """fsspec's own `exists` answers False to any failure; a stray thread would take a file for missing and write it."""
    files.write("a.txt", "one\n")
    part = files.begin()
    view = part.handle.fs
    part.undo()

    with pytest.raises(HandleRevoked):
        list(getattr(view, ask)("a.txt" if ask == "cat" else "*" if ask == "glob" else ""))


def test_trees_are_walked_in_both_directions(files: Filesystem) -> None:
    """As `os.walk` does, also with names taken out on the way."""
    view = files.fs
    view.pipe({"top.txt": b"", "a/x.txt": b"", "a/b/y.txt": b"", "c/z.txt": b""})

    assert list(view.walk("")) == [
        ("", ["a", "c"], ["top.txt"]), ("a", ["b"], ["x.txt"]), ("a/b", [], ["y.txt"]), ("c", [], ["z.txt"]),
    ]  # fmt: skip
    assert [here for here, _, _ in view.walk("", topdown=False)] == ["a/b", "a", "c", ""]
    assert [here for here, _, _ in view.walk("", maxdepth=2)] == ["", "a", "c"]
    assert list(view.walk("top.txt")) == [("top.txt", [], [""])]
    assert list(view.walk("nowhere")) == []
    seen: list[OSError] = []
    assert list(view.walk("nowhere", on_error=seen.append)) == []
    assert [type(error) for error in seen] == [FileNotFoundError]
    with pytest.raises(FileNotFoundError):
        list(view.walk("nowhere", on_error="raise"))
    with pytest.raises(ValueError, match="at least 1"):
        list(view.walk("", maxdepth=0))
    pruned: list[str] = []
    for here, directories, _ in view.walk(""):
        pruned.append(here)
        if "a" in directories:
            directories.remove("a")
    assert pruned == ["", "c"]
    assert view.du("") == 0
    assert view.find("", maxdepth=1) == ["top.txt"]


def test_a_tree_deeper_than_python_recurses_is_walked(memory: InMemoryFilesystem) -> None:
    """fsspec's own walk calls itself for each level."""
    memory.mkdir("/".join("d" * 1100))

    assert sum(1 for _ in memory.fs.walk("")) == 1101


def test_ranges_are_those_of_slices(files: Filesystem) -> None:
    """Negative positions count from the end, and a range that ends before it begins is empty."""
    view = files.fs
    view.pipe("a", b"0123456789")

    assert view.cat_file("a", 2, 5) == b"234"
    assert view.cat_file("a", -3) == b"789"
    assert view.cat_file("a", 5, 2) == b""
    assert view.cat_file("a", 8, 100) == b"89"
    assert view.cat_ranges(["a", "a"], [0, 5], [2, 7]) == [b"01", b"56"]
    assert [type(one) for one in view.cat_ranges(["nowhere"], 0, 1)] == [FileNotFoundError]
    assert view.head("a", 3) == b"012"
    assert view.tail("a", 3) == b"789"
    assert view.read_block("a", 3, 3) == b"345"


def test_names_that_are_there_are_no_patterns(files: Filesystem) -> None:
    """Removing or moving `a[1].txt` must not take `a1.txt` for it."""
    view = files.begin().handle.fs
    view.pipe({"a[1].txt": b"odd", "a1.txt": b"kept"})
    view.mv("a[1].txt", "b[1].txt")
    assert view.find("") == ["a1.txt", "b[1].txt"]
    view.rm("b[1].txt")
    assert view.find("") == ["a1.txt"]
    view.rm("a*.txt")
    assert view.find("") == []


def test_moving_into_a_directory(files: Filesystem) -> None:
    """A directory takes in what is moved to it, as with `mv`; a file is replaced; nowhere is an error."""
    view = files.fs
    view.pipe({"a.txt": b"1", "b.txt": b"2", "dir/old.txt": b"3", "other/x.txt": b"4"})

    view.mv("a.txt", "dir")
    view.mv("b.txt", "dir/old.txt")
    view.mv("other", "dir", recursive=True)
    view.mv("dir/a.txt", "new/")
    view.mv("new/a.txt", "new/a.txt")
    assert view.find("") == ["dir/old.txt", "dir/other/x.txt", "new/a.txt"]
    assert view.cat("dir/old.txt") == b"2"
    with pytest.raises(FileNotFoundError):
        view.mv("nowhere", "b")
    view.mv(["dir/old.txt", "new/a.txt"], "both/")
    assert view.find("both") == ["both/a.txt", "both/old.txt"]


def test_touching_keeps_content_when_told_so(files: Filesystem) -> None:
    """Otherwise it empties the file, as fsspec says."""
    view = files.fs
    view.touch("a")
    view.pipe("a", b"text")
    view.touch("a", truncate=False)
    assert view.cat("a") == b"text"
    assert datetime(2020, 1, 1, tzinfo=UTC) < view.created("a") <= view.modified("a")
    view.touch("a")
    assert view.cat("a") == b""


def test_what_a_filesystem_cannot_do_is_said_in_fsspecs_way(memory: InMemoryFilesystem) -> None:
    """There are no signed links to files of this machine, and paths are strings."""
    with pytest.raises(NotImplementedError):
        memory.fs.sign("a")
    with pytest.raises(TypeError, match="a path is a string"):
        memory.fs.open(None)
    with pytest.raises(ValueError, match="mode 'append'"):
        memory.fs.pipe_file("a", b"", mode="append")


def test_a_failed_block_publishes_nothing(files: Filesystem) -> None:
    """Neither half a text nor half an archive; Python's own text streams publish what they have when they are closed."""
    view = files.fs
    for options in ({"mode": "w"}, {"mode": "wb"}, {"mode": "wt", "compression": "gzip"}, {"mode": "w", "newline": ""}):
        with pytest.raises(RuntimeError), view.open("a", **options) as stream:
            stream.write("half" if "b" not in options["mode"] else b"half")
            raise RuntimeError

    assert not files.exists("a")


@pytest.mark.parametrize("compression", ["gzip", "bz2", "xz", "zip", "infer"])
def test_compressed_files_are_whole_when_their_stream_is_closed(files: Filesystem, compression: str) -> None:
    """Compressions leave the stream beneath open, and what nobody closes is never published."""
    view = files.fs
    with view.open("a.gz", "wt", compression=compression, encoding="utf-8") as text:
        text.write("one\ntwo\n")
    with view.open("a.gz", "rt", compression=compression) as text:
        assert list(text) == ["one\n", "two\n"]
    with view.open("a.gz", "rb", compression=compression) as packed:
        assert packed.read(3) == b"one"

    assert b"one" not in view.cat("a.gz")[:3]


def test_files_come_from_and_go_to_the_host(files: Filesystem, tmp_path: Path) -> None:
    """`put` and `get` are the caller's, with the paths of the host that the caller names."""
    view = files.fs
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(b"\0" * 100_000)

    view.put(str(tmp_path / "in"), "got", recursive=True)
    view.get("got", str(tmp_path / "out"), recursive=True)

    assert (tmp_path / "out" / "a.bin").read_bytes() == b"\0" * 100_000
    with pytest.raises(FileExistsError):
        view.put_file(str(tmp_path / "in" / "a.bin"), "got/a.bin", mode="create")


def test_a_filesystem_for_reading_changes_nothing(memory: InMemoryFilesystem) -> None:
    """The view of a call that may only read refuses what the call refuses."""
    view = memory.begin(writable=False).handle.fs

    for change in (lambda: view.pipe("a", b""), lambda: view.mkdir("a"), lambda: view.open("a", "w")):
        with pytest.raises(ReadOnlyFilesystem):
            change()


class TestTransactions:
    """fsspec's `with fs.transaction:`, which here is all or nothing."""

    @pytest.fixture(params=["root", "call"])
    def view(self, files: Filesystem, request: pytest.FixtureRequest) -> FilesystemView:
        """On a root, and within a call."""
        return files.fs if request.param == "root" else files.begin().handle.fs

    def test_everything_that_opens_a_file_is_held_back(self, view: FilesystemView) -> None:
        """`pipe`, `touch`, `put` and text streams too; it can be read when the block has ended."""
        with view.transaction:
            view.pipe({"a": b"1", "b": b"2"})
            view.touch("c")
            with view.open("d", "w") as text:
                text.write("3")
            with view.open("a", "ab") as stream:
                stream.write(b"+")
            assert view.find("") == []

        assert view.cat(["a", "b", "c", "d"]) == {"a": b"1+", "b": b"2", "c": b"", "d": b"3"}

    def test_one_that_cannot_be_published_takes_the_others_back(self, view: FilesystemView) -> None:
        """Half of what belongs together is worse than nothing."""
        with pytest.raises(FileExistsError), view.transaction:
            view.pipe("a", b"1")
            with view.open("b", "xb") as stream:
                stream.write(b"mine")
            view.mkdir("c")
            view.files.write("b", "somebody's")

        assert view.find("") == ["b"]
        assert view.cat("b") == b"somebody's"
        view.pipe("after", b"")  # and the next write is not held back for ever
        assert view.exists("after")

    def test_a_stream_whose_writer_failed_is_left_out(self, view: FilesystemView) -> None:
        """As outside of transactions."""
        with view.transaction:
            with pytest.raises(RuntimeError), view.open("a", "wb") as stream:
                stream.write(b"half")
                raise RuntimeError
            view.pipe("b", b"whole")

        assert view.find("") == ["b"]

    def test_a_file_opened_without_autocommit_is_committed_by_hand(self, view: FilesystemView) -> None:
        """What fsspec offers to those who have their own transactions."""
        stream = view.open("a", "wb", autocommit=False)
        stream.write(b"x")
        stream.close()
        assert not view.exists("a")
        stream.commit()
        assert view.cat("a") == b"x"

    def test_begin_and_end_by_hand(self, view: FilesystemView) -> None:
        """The way without a `with` block."""
        view.start_transaction()
        view.pipe("a", b"x")
        assert not view.exists("a")
        view.end_transaction()
        assert view.cat("a") == b"x"

    def test_what_cannot_be_written_is_said_at_once(self, view: FilesystemView) -> None:
        """Not when the block ends and nobody knows which line it was."""
        view.mkdir("dir")
        with view.transaction:
            with pytest.raises(IsADirectoryError):
                view.open("dir", "wb")
            with pytest.raises(PathRefused):
                view.open("../x", "wb")

        assert view.find("") == []
