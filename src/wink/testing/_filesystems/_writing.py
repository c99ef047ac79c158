"""What changing files promises: `write`, `append`, `delete`, `move`, `copy`, `mkdir`."""

from __future__ import annotations

import pytest

from wink.errors import PathRefused, ReadOnlyFilesystem
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Make, Promises, contents, exactly, needs


class Writing(Promises):
    """Each operation happens as a whole or not at all, and nothing is replaced that nobody named."""

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

    def test_create_refuses_what_exists(self, files: Filesystem) -> None:
        """Nothing is lost by asking for a new file."""
        files.write("a.txt", "old")

        with pytest.raises(FileExistsError):
            files.write("a.txt", "new", mode="create")

        assert contents(files) == {"a.txt": b"old"}

    def test_append_adds_exactly_and_makes_the_file(self, files: Filesystem) -> None:
        """No newline is invented between what was there and what is added."""
        files.append("log.txt", "one")
        result = files.append("log.txt", " two\n")

        assert files.read("log.txt").content == "one two\n"
        assert (result.bytes_written, result.size, result.mode) == (5, 8, "append")
        assert files.write("log.txt", "three", mode="append").size == 13

    def test_an_unknown_write_mode_is_refused(self, files: Filesystem) -> None:
        """A misspelt mode must not overwrite."""
        with pytest.raises(ValueError, match="mode 'w'"):
            files.write("a.txt", "x", mode="w")  # type: ignore[arg-type]

        assert not files.exists("a.txt")

    def test_large_content_arrives_whole(self, files: Filesystem) -> None:
        """However it is staged on its way."""
        content = bytes(range(256)) * 20_000

        files.write_bytes("big.bin", content)

        assert files.read_bytes("big.bin") == content

    def test_delete_removes_files_and_asks_before_directories(self, files: Filesystem) -> None:
        """A directory that is not empty goes only when told."""
        files.write("a/b.txt", "x")
        files.mkdir("empty")

        files.delete("empty")
        with pytest.raises(OSError, match="not empty"):
            files.delete("a")
        assert files.exists("a/b.txt")
        files.delete("a", recursive=True)

        assert contents(files) == {}
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

        assert contents(files) == {"a": None, "a/b.txt": b"x"}

    def test_move_renames_files_and_directories(self, files: Filesystem) -> None:
        """Parents of the new name are made, and nothing else moves."""
        files.write("a/x.txt", "x")
        files.write("a/sub/y.txt", "y")

        files.move("a/x.txt", "b/c/z.txt")
        files.move("a", "d")

        assert contents(files) == {
            "b": None, "b/c": None, "b/c/z.txt": b"x", "d": None, "d/sub": None, "d/sub/y.txt": b"y",
        }  # fmt: skip

    def test_move_replaces_only_when_told(self, files: Filesystem) -> None:
        """A typo in a name must not cost a file; a directory is never replaced."""
        files.write("a.txt", "a")
        files.write("b.txt", "b")
        files.write("dir/c.txt", "c")

        with pytest.raises(FileExistsError) as exists:
            files.move("a.txt", "b.txt")
        assert exists.value.filename == "b.txt"
        files.move("a.txt", "b.txt", overwrite=True)
        with pytest.raises(IsADirectoryError):
            files.move("b.txt", "dir", overwrite=True)
        with pytest.raises(NotADirectoryError):
            files.move("dir", "b.txt", overwrite=True)

        assert contents(files) == {"b.txt": b"a", "dir": None, "dir/c.txt": b"c"}

    def test_moving_something_onto_itself(self, files: Filesystem) -> None:
        """Changes nothing when replacing is allowed, and is refused otherwise."""
        files.write("a.txt", "a")

        files.move("a.txt", "./a.txt", overwrite=True)
        with pytest.raises(FileExistsError):
            files.move("a.txt", "a.txt")

        assert contents(files) == {"a.txt": b"a"}

    def test_a_directory_cannot_move_into_itself(self, files: Filesystem) -> None:
        """The loop would be unreachable."""
        files.write("a/x.txt", "x")

        with pytest.raises(OSError, match="Invalid argument"):
            files.move("a", "a/b/c")

        assert contents(files) == {"a": None, "a/x.txt": b"x"}

    def test_moving_what_is_not_there_leaves_no_directories_behind(self, files: Filesystem) -> None:
        """Each operation happens as a whole or not at all, its parents too."""
        with pytest.raises(FileNotFoundError):
            files.move("nowhere.txt", "new/dir/a.txt")

        assert contents(files) == {}

    def test_copy_makes_another_file(self, files: Filesystem) -> None:
        """What becomes of one does not touch the other."""
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
        with pytest.raises(FileNotFoundError):
            files.copy("nowhere", "new/x")
        assert not files.exists("new")

    @needs("has_modes")
    def test_modes_survive_writing_copying_and_moving(self, files: Filesystem) -> None:
        """A script that was edited is still a script."""
        files.write("run.sh", "one\n")
        part = files.begin()
        with part.changing("run.sh") as change_set:
            change_set.chmod("run.sh", 0o751)
        part.publish()

        files.write("run.sh", "two\n")
        files.edit("run.sh", "two", "three")
        files.append("run.sh", "four\n")
        with files.open_write("run.sh") as stream:
            stream.write(b"five\n")
        files.copy("run.sh", "copy.sh")
        files.move("run.sh", "bin/moved.sh")

        assert [files.stat(path).mode for path in ("copy.sh", "bin/moved.sh")] == [0o751, 0o751]

    @needs("has_modes")
    def test_chmod_sets_permission_bits_and_is_taken_back(self, files: Filesystem) -> None:
        """Of files and directories, and through links; the content is not touched."""
        files.write("bin/run.sh", "one\n")
        before = exactly(files)
        part = files.begin()
        part.handle.chmod("bin/run.sh", 0o755)
        part.handle.chmod("bin", 0o700)
        assert [part.handle.stat(path).mode for path in ("bin/run.sh", "bin")] == [0o755, 0o700]
        assert sorted((change.path, change.kind) for change in part.changes()) == [
            ("bin", "modified"), ("bin/run.sh", "modified"),
        ]  # fmt: skip
        part.undo()

        assert exactly(files) == before

    @needs("has_modes")
    @pytest.mark.parametrize(
        ("path", "mode", "wrong"),
        [
            ("bin/run.sh", 0o4755, ValueError),
            ("bin", 0o2755, ValueError),
            ("bin", 0o1755, ValueError),
            ("bin/run.sh", -1, ValueError),
            ("bin/run.sh", 0o244, PathRefused),
            ("bin", 0o655, PathRefused),
            ("nowhere", 0o644, FileNotFoundError),
            ("bin/run.sh/", 0o644, NotADirectoryError),
            (".", 0o755, PathRefused),
            (".git/config", 0o755, (PathRefused, FileNotFoundError)),
        ],
    )
    def test_chmod_refuses_what_would_lock_the_owner_out(
        self, files: Filesystem, path: str, mode: int, wrong: type[Exception]
    ) -> None:
        """And bits that let others act as the owner."""
        files.write("bin/run.sh", "one\n")
        before = exactly(files)

        with pytest.raises(wrong):
            files.chmod(path, mode)

        assert exactly(files) == before

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
        assert not files.exists("x")

    def test_a_file_in_the_way_of_a_directory_is_an_error(self, files: Filesystem) -> None:
        """And nothing is half made."""
        files.write("a", "file")

        for change in (
            lambda: files.write("a/b/c.txt", "x"),
            lambda: files.mkdir("a/b"),
            lambda: files.copy("a", "a/b"),
        ):
            with pytest.raises(NotADirectoryError):
                change()

        assert contents(files) == {"a": b"file"}

    def test_a_read_only_filesystem_refuses_every_change_and_says_why(self, make: Make) -> None:
        """The model is told that no other path will do either."""
        files = make(read_only=True)

        for change in (
            lambda: files.write("a.txt", "x"),
            lambda: files.append("a.txt", "x"),
            lambda: files.delete("a.txt"),
            lambda: files.mkdir("a"),
            lambda: files.open_write("a.txt"),
            lambda: files.begin().handle.write("a.txt", "x"),
        ):
            with pytest.raises(ReadOnlyFilesystem, match="for reading only"):
                change()
        assert files.read_only
        assert files.list() == ()

    def test_filesystems_share_nothing(self, make: Make) -> None:
        """A name in one says nothing about another."""
        first, second = make(), make()
        first.write("a.txt", "x")

        assert not second.exists("a.txt")

    def test_threads_take_turns(self, files: Filesystem) -> None:
        """Each operation on a root is a transaction, and one waits for another."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(4) as pool:
            done = [pool.submit(files.append, "a.txt", f"{number}\n") for number in range(40)]
        for future in done:
            future.result()

        assert sorted(map(int, files.read("a.txt").content.split())) == list(range(40))
