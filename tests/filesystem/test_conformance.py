"""What every filesystem does, in memory and on disk alike."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from wink.errors import FileTooLarge, NotText, PathRefused, ReadOnlyFilesystem
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem, Listing

Tree = Callable[[Filesystem], dict[str, bytes | None]]
Make = Callable[..., Filesystem]


class TestReading:
    """`read`, `read_bytes`, `stat`, `list`."""

    def test_a_file_is_read_exactly(self, files: Filesystem) -> None:
        """An edit that is built from what was read must not change newlines or the end of the file."""
        for content in ("", "a", "a\n", "a\r\nb", "\n\n", "\ufeffbom\n", "x\x0cy\u2028z\r"):
            files.write_bytes("a.txt", content.encode())

            assert files.read("a.txt").content == content

    def test_pages_are_lines_and_add_up_to_the_file(self, files: Filesystem) -> None:
        """Reading page after page must show every line once."""
        content = "".join(f"line {number}\n" for number in range(10)) + "the last"
        files.write("a.txt", content)

        pages = [files.read("a.txt", offset=offset, limit=4) for offset in (0, 4, 8)]

        assert "".join(page.content for page in pages) == content
        assert [page.truncated for page in pages] == [True, True, False]
        assert {page.total_lines for page in pages} == {11}

    def test_a_page_beyond_the_end_is_empty(self, files: Filesystem) -> None:
        """Models ask for one page too many; that is no error."""
        files.write("a.txt", "one\n")

        page = files.read("a.txt", offset=5, limit=5)

        assert (page.content, page.truncated, page.total_lines) == ("", False, 1)

    def test_long_lines_are_cut_on_request_and_named(self, files: Filesystem) -> None:
        """One minified file must not fill a model's context."""
        files.write("a.js", "short\n" + "x" * 5000 + "\nend")

        page = files.read("a.js", max_line_chars=10)

        assert page.content == "short\n" + "x" * 10 + "\nend"
        assert page.clipped_lines == (1,)
        assert page.truncated

    @pytest.mark.parametrize(("offset", "limit"), [(-1, None), (0, -1)])
    def test_senseless_pages_are_refused(self, files: Filesystem, offset: int, limit: int | None) -> None:
        """A negative offset is a mistake, not a position from the end."""
        files.write("a.txt", "one\n")

        with pytest.raises(ValueError, match="from 0 on"):
            files.read("a.txt", offset, limit)

    def test_binary_files_are_recognised(self, files: Filesystem) -> None:
        """The model is told the size and what to use instead, not shown mojibake."""
        files.write_bytes("a.png", b"\x89PNG\0\0")
        files.write_bytes("b.txt", b"caf\xe9\n")

        with pytest.raises(NotText, match=r"NUL bytes \(6 bytes\); use read_bytes"):
            files.read("a.png")
        with pytest.raises(NotText, match="byte 3"):
            files.read("b.txt")
        assert files.read("b.txt", encoding="latin-1").content == "café\n"
        assert files.read_bytes("a.png", 1, 3) == b"PNG"

    def test_wide_encodings_are_text(self, files: Filesystem) -> None:
        """UTF-16 is full of NUL bytes and is text all the same."""
        files.write("a.txt", "one\ntwo\nthree", encoding="utf-16")

        assert files.read("a.txt", encoding="utf-16").total_lines == 3
        assert files.read("a.txt", offset=1, limit=1, encoding="utf-16").content == "two\n"

    def test_an_unknown_encoding_is_an_error(self, files: Filesystem) -> None:
        """Guessing would corrupt."""
        files.write("a.txt", "x")

        with pytest.raises(LookupError):
            files.read("a.txt", encoding="klingon")

    def test_large_files_are_read_by_pages(self, files: Filesystem) -> None:
        """A page of a log must not need the whole log in memory, and be the same page as of a small file."""
        lines = [f"{number:07d} é{'.' * (number % 50)}\n" for number in range(300_000)]
        files.write("big.log", "".join(lines))

        for offset in (0, 1, 99_999, 299_998):
            page = files.read("big.log", offset=offset, limit=3)
            assert page.content == "".join(lines[offset : offset + 3])
            assert page.total_lines == 300_000
            assert page.truncated == (offset + 3 < 300_000)
        assert files.read("big.log", offset=300_000, limit=3).content == ""

    def test_a_large_file_with_one_line_is_cut(self, files: Filesystem) -> None:
        """A page of one line may be the whole file."""
        files.write_bytes("one.json", b"[" + b"1," * 5_000_000 + b"1]\nend")

        page = files.read("one.json", limit=10, max_line_chars=20)

        assert page.content == "[1,1,1,1,1,1,1,1,1,1\nend"
        assert page.clipped_lines == (0,)

    def test_large_wide_text_is_read_by_pages(self, files: Filesystem) -> None:
        """Where a newline is more than one byte, lines are counted in the text."""
        lines = [f"{number:06d}{'.' * 40}\n" for number in range(100_000)]
        files.write("big.txt", "".join(lines), encoding="utf-16")

        page = files.read("big.txt", offset=70_000, limit=2, encoding="utf-16")

        assert page.content == "".join(lines[70_000:70_002])
        assert page.total_lines == 100_000

    def test_too_much_at_once_is_refused_with_the_remedy(self, memory: InMemoryFilesystem) -> None:
        """Silently giving half of it would be worse."""
        memory.write_bytes("huge.bin", b"x\n" * (33 * 1024 * 1024))

        with pytest.raises(FileTooLarge, match="offset and limit"):
            memory.read("huge.bin")
        with pytest.raises(FileTooLarge, match="offset and limit"):
            memory.read_bytes("huge.bin")
        assert memory.read("huge.bin", limit=1).content == "x\n"
        assert memory.read_bytes("huge.bin", 10, 2) == b"x\n"

    def test_errors_are_pythons_own(self, files: Filesystem) -> None:
        """Programs catch what they know; the path in it is the workspace's, not the host's."""
        files.write("dir/a.txt", "a")

        with pytest.raises(FileNotFoundError) as missing:
            files.read("nowhere.txt")
        assert missing.value.filename == "nowhere.txt"
        with pytest.raises(IsADirectoryError):
            files.read("dir")
        with pytest.raises(IsADirectoryError):
            files.read("")
        with pytest.raises(NotADirectoryError):
            files.read("dir/a.txt/b")
        with pytest.raises(NotADirectoryError):
            files.read("dir/a.txt/")
        with pytest.raises(NotADirectoryError):
            files.list("dir/a.txt")
        with pytest.raises(FileNotFoundError):
            files.list("nowhere")
        with pytest.raises(FileNotFoundError):
            files.stat("nowhere")

    def test_stat_tells_kind_size_and_time(self, files: Filesystem) -> None:
        """Times are aware, in UTC, so that they can be compared."""
        files.write("dir/a.txt", "é\n")

        stat = files.stat("./dir//a.txt")

        assert (stat.path, stat.is_file, stat.is_directory, stat.size_bytes) == ("dir/a.txt", True, False, 3)
        assert stat.modified_at.tzinfo is not None
        assert files.stat("dir").is_directory
        assert files.stat("").is_directory

    def test_a_slash_at_the_end_asks_for_a_directory(self, files: Filesystem) -> None:
        """As everywhere: `a.txt/` is not `a.txt`."""
        files.write("dir/a.txt", "a")

        assert files.exists("dir/")
        assert not files.exists("dir/a.txt/")
        assert not files.exists("dir/a.txt/b")
        with pytest.raises(IsADirectoryError):
            files.write("new/", "x")
        with pytest.raises(NotADirectoryError):
            files.delete("dir/a.txt/")

    def test_a_listing_is_sorted_and_limited(self, files: Filesystem) -> None:
        """A directory of a million files must not become one reply."""
        for name in ("c", "a", "b"):
            files.write(f"{name}.txt", "")
        files.mkdir("d")

        listing = files.list(limit=2)

        assert [entry.name for entry in listing] == ["a.txt", "b.txt"]
        assert listing.truncated
        assert [(entry.name, entry.is_directory) for entry in files.list()][-1] == ("d", True)
        assert not files.list().truncated
        with pytest.raises(ValueError, match="at least 1"):
            files.list(limit=0)


class TestWriting:
    """`write`, `append`, `delete`, `move`, `copy`, `mkdir`."""

    def test_write_makes_parents_and_tells_what_it_did(self, files: Filesystem) -> None:
        """A model writes a new module without making its package first."""
        first, second = files.write("a/b/c.txt", "é"), files.write("a/b/c.txt", "xyz")

        assert (first.path, first.bytes_written, first.created) == ("a/b/c.txt", 2, True)
        assert (second.size, second.created) == (3, False)
        assert files.read("a/b/c.txt").content == "xyz"

    def test_write_without_parents_needs_them(self, files: Filesystem) -> None:
        """`create_parents=False` is for callers that mean an existing directory."""
        with pytest.raises(FileNotFoundError):
            files.write("a/b.txt", "x", create_parents=False)

        assert not files.exists("a")

    def test_create_refuses_what_exists(self, files: Filesystem, tree: Tree) -> None:
        """Nothing is lost by asking for a new file."""
        files.write("a.txt", "old")

        with pytest.raises(FileExistsError):
            files.write("a.txt", "new", mode="create")

        assert tree(files) == {"a.txt": b"old"}

    def test_append_adds_exactly_and_makes_the_file(self, files: Filesystem) -> None:
        """No newline is invented between what was there and what is added."""
        files.append("log.txt", "one")
        result = files.append("log.txt", " two\n")

        assert files.read("log.txt").content == "one two\n"
        assert (result.bytes_written, result.size, result.mode) == (5, 8, "append")
        assert files.write("log.txt", "three", mode="append").size == 13

    def test_an_unknown_mode_is_refused(self, files: Filesystem) -> None:
        """A misspelt mode must not overwrite."""
        with pytest.raises(ValueError, match="mode 'w'"):
            files.write("a.txt", "x", mode="w")  # type: ignore[arg-type]

    def test_large_content_arrives_whole(self, files: Filesystem) -> None:
        """Above a megabyte it goes through staging, in pieces."""
        content = bytes(range(256)) * 20_000

        files.write_bytes("big.bin", content)

        assert files.read_bytes("big.bin") == content

    def test_delete_removes_files_and_asks_before_directories(self, files: Filesystem, tree: Tree) -> None:
        """A directory that is not empty goes only when told."""
        files.write("a/b.txt", "x")
        files.mkdir("empty")

        files.delete("empty")
        with pytest.raises(OSError, match="not empty"):
            files.delete("a")
        files.delete("a", recursive=True)

        assert tree(files) == {}
        with pytest.raises(FileNotFoundError):
            files.delete("a")

    @pytest.mark.parametrize("path", ["", ".", "a/.."])
    def test_the_root_itself_stays(self, files: Filesystem, path: str) -> None:
        """Deleting or moving it would take the ground away."""
        files.write("a/b.txt", "x")

        with pytest.raises(PathRefused, match="root"):
            files.delete(path, recursive=True)
        with pytest.raises(PathRefused, match="root"):
            files.move(path, "elsewhere")
        with pytest.raises(IsADirectoryError):
            files.write(path, "x")

        assert files.exists("a/b.txt")

    def test_move_renames_files_and_directories(self, files: Filesystem, tree: Tree) -> None:
        """Parents of the new name are made, and nothing else moves."""
        files.write("a/x.txt", "x")
        files.write("a/sub/y.txt", "y")

        files.move("a/x.txt", "b/c/z.txt")
        files.move("a", "d")

        assert tree(files) == {
            "b": None, "b/c": None, "b/c/z.txt": b"x", "d": None, "d/sub": None, "d/sub/y.txt": b"y",
        }  # fmt: skip

    def test_move_replaces_only_when_told(self, files: Filesystem) -> None:
        """A typo in a name must not cost a file."""
        files.write("a.txt", "a")
        files.write("b.txt", "b")
        files.mkdir("dir")

        with pytest.raises(FileExistsError):
            files.move("a.txt", "b.txt")
        files.move("a.txt", "b.txt", overwrite=True)
        with pytest.raises(IsADirectoryError):
            files.move("b.txt", "dir", overwrite=True)
        with pytest.raises(NotADirectoryError):
            files.move("dir", "b.txt", overwrite=True)

        assert files.read("b.txt").content == "a"
        assert not files.exists("a.txt")

    def test_a_directory_cannot_move_into_itself(self, files: Filesystem, tree: Tree) -> None:
        """The loop would be unreachable."""
        files.write("a/x.txt", "x")

        with pytest.raises(OSError, match="Invalid argument"):
            files.move("a", "a/b/c")

        assert tree(files) == {"a": None, "a/x.txt": b"x"}

    def test_moving_what_is_not_there_leaves_no_directories_behind(self, files: Filesystem, tree: Tree) -> None:
        """Each operation happens as a whole or not at all, its parents too."""
        with pytest.raises(FileNotFoundError):
            files.move("nowhere.txt", "new/dir/a.txt")

        assert tree(files) == {}

    def test_copy_copies_content(self, files: Filesystem) -> None:
        """The copy is another file."""
        files.write("a.sh", "#!/bin/sh\n")

        result = files.copy("a.sh", "bin/b.sh")
        files.write("a.sh", "changed")

        assert (result.path, result.created) == ("bin/b.sh", True)
        assert files.read("bin/b.sh").content == "#!/bin/sh\n"
        with pytest.raises(FileExistsError):
            files.copy("a.sh", "bin/b.sh")
        assert files.copy("a.sh", "bin/b.sh", overwrite=True).size == 7
        with pytest.raises(IsADirectoryError):
            files.copy("bin", "other")

    def test_mkdir_makes_parents_and_accepts_what_exists(self, files: Filesystem) -> None:
        """Both can be switched off."""
        files.mkdir("a/b/c")
        files.mkdir("a/b/c")
        files.write("f.txt", "")

        with pytest.raises(FileExistsError):
            files.mkdir("a", exist_ok=False)
        with pytest.raises(FileExistsError):
            files.mkdir("f.txt")
        with pytest.raises(FileNotFoundError):
            files.mkdir("x/y", parents=False)
        assert files.stat("a/b/c").is_directory

    def test_a_file_in_the_way_of_a_directory_is_an_error(self, files: Filesystem, tree: Tree) -> None:
        """And nothing is half made."""
        files.write("a", "file")

        with pytest.raises(NotADirectoryError):
            files.write("a/b/c.txt", "x")

        assert tree(files) == {"a": b"file"}

    def test_a_read_only_filesystem_refuses_every_change_and_says_why(self, make: Make) -> None:
        """The model is told that no other path will do either."""
        files = make(read_only=True)

        for change in (
            lambda: files.write("a.txt", "x"),
            lambda: files.append("a.txt", "x"),
            lambda: files.delete("a.txt"),
            lambda: files.mkdir("a"),
            lambda: files.open_write("a.txt"),
        ):
            with pytest.raises(ReadOnlyFilesystem, match="for reading only"):
                change()
        assert files.read_only
        assert files.list() == ()


class TestLinks:
    """Relative links that stay inside work; what leads out is refused, lexically or through a link."""

    @pytest.fixture
    def linked(self, files: Filesystem) -> Filesystem:
        """A tree with links of every kind."""
        files.write("dir/a.txt", "a\n")
        part = files.begin()
        with part.changing("links") as frame:
            frame.symlink("to_file", "dir/a.txt")
            frame.symlink("to_dir", "dir")
            frame.symlink("dir/up", "..")
            frame.symlink("loop", "loop")
            frame.symlink("dangling", "nowhere")
        part.prepare()
        part.publish()
        return files

    def test_links_inside_are_followed(self, linked: Filesystem) -> None:
        """Repositories have them."""
        linked.write("to_dir/b.txt", "b\n")
        linked.edit("to_file", "a", "A")

        assert linked.read("dir/b.txt").content == "b\n"
        assert linked.read("dir/up/dir/a.txt").content == "A\n"
        assert linked.stat("to_file").is_link
        assert linked.stat("to_file").is_file
        assert [(entry.name, entry.is_directory) for entry in linked.list() if entry.is_link] == [
            ("dangling", False), ("loop", False), ("to_dir", True), ("to_file", False),
        ]  # fmt: skip

    def test_deleting_a_link_deletes_the_link(self, linked: Filesystem) -> None:
        """Not what it leads to."""
        linked.delete("to_dir", recursive=True)

        assert not linked.exists("to_dir")
        assert linked.exists("dir/a.txt")

    def test_loops_and_dangling_links_are_refused(self, linked: Filesystem) -> None:
        """Writing through a dangling link would make a file that the caller did not name."""
        with pytest.raises(PathRefused):
            linked.read("loop")
        with pytest.raises(FileNotFoundError):
            linked.read("dangling")
        with pytest.raises(PathRefused):
            linked.write("dangling", "x")
        with pytest.raises(FileExistsError):
            linked.write("dangling", "x", mode="create")
        assert not linked.exists("nowhere")

    @pytest.mark.parametrize("target", ["../outside", "/etc/passwd", "a/../../x"])
    def test_links_that_lead_out_are_not_made(self, files: Filesystem, target: str) -> None:
        """Whoever follows it would be outside."""
        with pytest.raises(PathRefused), files.begin().changing("link") as frame:
            frame.symlink("link", target)

    def test_a_link_moved_to_where_it_leads_out_is_not_followed(self, linked: Filesystem) -> None:
        """The same body means another place after a move."""
        linked.move("dir/up", "up")

        with pytest.raises(PathRefused):
            linked.read("up/dir/a.txt")

    def test_walks_do_not_follow_links(self, linked: Filesystem) -> None:
        """A link to the directory above would never end."""
        assert [match.path for match in linked.glob("**/*.txt")] == ["dir/a.txt"]


def test_each_in_memory_filesystem_has_its_own_files() -> None:
    """Nothing is shared through the process, as it is in fsspec's own."""
    first, second = InMemoryFilesystem(), InMemoryFilesystem()
    first.write("a.txt", "x")

    assert not second.exists("a.txt")


def test_a_host_filesystem_shows_the_directory_and_hides_its_state(tmp_path: Path) -> None:
    """What wink keeps in `.wink` is not a part of the project."""
    with HostFilesystem(tmp_path) as files:
        files.write("a.txt", "x\n")

        assert [entry.name for entry in files.list()] == ["a.txt"]
        assert files.root == str(tmp_path)
        assert files.level in ("openat2", "walk")
        assert files.recovered == ()
    files.close()


def test_a_closed_filesystem_is_of_no_use(tmp_path: Path) -> None:
    """Its descriptors may be another file's by now."""
    files = HostFilesystem(tmp_path)
    files.write("a.txt", "x\n")
    handle = files.begin().handle
    files.close()

    for use in (lambda: files.read("a.txt"), lambda: files.write("a.txt", "y"), lambda: handle.write("a.txt", "y")):
        with pytest.raises(ValueError, match="has been closed"):
            use()
    assert files.root == str(tmp_path)


def test_what_direct_changes_replaced_does_not_pile_up(tmp_path: Path) -> None:
    """Nobody recorded them, so nobody will ask for it."""
    with HostFilesystem(tmp_path) as files:
        for number in range(200):
            files.write("a.txt", str(number))
        assert len(list((tmp_path / ".wink/staged").iterdir())) < 100

    assert list((tmp_path / ".wink/staged").iterdir()) == []


def test_threads_take_turns(files: Filesystem) -> None:
    """Each operation on a root is a transaction, and one waits for another."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: files.append("a.txt", f"{number}\n"), range(40)))

    assert sorted(map(int, files.read("a.txt").content.split())) == list(range(40))


def test_results_can_be_copied_and_pickled(memory: InMemoryFilesystem) -> None:
    """They travel in events and over process boundaries."""
    memory.write("a.txt", "word\n")
    for found in (
        memory.list(),
        memory.glob("*", limit=1),
        memory.grep("word"),
        memory.read("a.txt"),
        memory.stat("a.txt"),
    ):
        assert pickle.loads(pickle.dumps(found)) == found
    listing = pickle.loads(pickle.dumps(Listing(["a"], truncated=True)))
    assert listing == ("a",)
    assert listing.truncated
