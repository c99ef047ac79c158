"""Overlays over real lower layers: an archive, a bucket, a directory, and wink's own filesystems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from wink.errors import ReadOnlyFilesystem
from wink.filesystem import Filesystem
from wink_overlay import OverlayCommitFailed, OverlayFilesystem

MakeLower = Callable[[dict[str, bytes]], tuple[Any, str]]

PROJECT = {
    "README.md": b"# Project\n",
    "src/app.py": b"import lib\n\nlib.run()\n",
    "src/lib/__init__.py": b"def run():\r\n    pass\r\n",
    "data/table.csv": b"a,b\n1,2\n" * 200_000,
}


def tree(files: Filesystem) -> dict[str, bytes | None]:
    """Every path with its content; None for directories."""
    found = files.glob("**", include_git=True)
    return {match.path: files.read_bytes(match.path) if match.is_file else None for match in found}


@pytest.fixture
def lower(make_lower: MakeLower) -> tuple[Any, str]:
    """A small project in a lower layer of each kind."""
    return make_lower(PROJECT)


@pytest.fixture
def files(lower: tuple[Any, str]) -> OverlayFilesystem:
    """An overlay over it."""
    return OverlayFilesystem(*lower)


class TestReading:
    """What the lower layer has is seen as it is."""

    def test_files_are_read_exactly(self, files: OverlayFilesystem) -> None:
        """Bytes, lines, sizes and kinds."""
        expected: dict[str, bytes | None] = {**PROJECT, "src": None, "src/lib": None, "data": None}

        assert tree(files) == expected
        assert files.read("src/lib/__init__.py").content == "def run():\r\n    pass\r\n"
        assert files.stat("README.md").size_bytes == 10
        assert files.stat("src").is_directory
        assert [entry.name for entry in files.list("src")] == ["app.py", "lib"]
        assert files.read_bytes("data/table.csv", 800_000, 8) == b"a,b\n1,2\n"
        assert not files.exists("src/nowhere")
        with pytest.raises(NotADirectoryError):
            files.read("README.md/x")
        with pytest.raises(IsADirectoryError):
            files.read("src")
        with pytest.raises(FileNotFoundError):
            files.list("nowhere")

    def test_searches_go_through_both_layers(self, files: OverlayFilesystem) -> None:
        """What is new and what is below are one tree."""
        files.write("src/new.py", "lib.run()\n")

        assert [match.path for match in files.glob("**/*.py")] == ["src/app.py", "src/lib/__init__.py", "src/new.py"]
        assert [match.path for match in files.grep(r"lib\.run", glob="*.py")] == ["src/app.py", "src/new.py"]

    def test_threads_read_side_by_side(self, files: OverlayFilesystem) -> None:
        """Streams that share a position would mix their files up."""

        def read(number: int) -> bytes:
            path = list(PROJECT)[number % len(PROJECT)]
            with files.open_read(path) as stream:
                pieces = b"".join(iter(lambda: stream.read(10_007), b""))
            return pieces if pieces == PROJECT[path] else b"mixed up: " + path.encode()

        with ThreadPoolExecutor(4) as pool:
            found = set(pool.map(read, range(16)))

        assert found == set(PROJECT.values())

    def test_it_works_while_an_event_loop_runs(self, files: OverlayFilesystem) -> None:
        """Handlers are often coroutines, and some filesystems have a loop of their own."""

        async def work() -> str:
            files.edit("src/app.py", "lib.run()", "lib.go()")
            return await asyncio.to_thread(lambda: files.read("src/app.py").content)

        assert asyncio.run(work()) == "import lib\n\nlib.go()\n"


class TestChanging:
    """Changes are in the upper layer only."""

    def test_the_lower_layer_stays_as_it_is(self, lower: tuple[Any, str], files: OverlayFilesystem) -> None:
        """Whatever is done."""
        files.write("README.md", "new\n")
        files.append("src/app.py", "# end\n")
        files.edit("src/lib/__init__.py", "pass", "return 1")
        files.move("data", "tables/old")
        files.delete("src/app.py")
        files.mkdir("src/app.py")

        assert tree(files) == {
            "README.md": b"new\n", "src": None, "src/app.py": None, "src/lib": None,
            "src/lib/__init__.py": b"def run():\r\n    return 1\r\n", "tables": None, "tables/old": None,
            "tables/old/table.csv": PROJECT["data/table.csv"],
        }  # fmt: skip
        assert {path for path, content in tree(OverlayFilesystem(*lower)).items() if content is not None} == set(
            PROJECT
        )

    def test_a_call_that_fails_leaves_nothing(self, files: OverlayFilesystem) -> None:
        """A transaction over an overlay is undone as any other."""
        before = tree(files)
        part = files.begin()
        part.handle.delete("src", recursive=True)
        part.handle.write("src/app.py", "other\n")
        part.handle.move("README.md", "docs/README.md")
        assert {change.path for change in part.changes()} == {
            "src/app.py", "src/lib", "src/lib/__init__.py", "README.md", "docs", "docs/README.md",
        }  # fmt: skip
        part.undo()

        assert tree(files) == before
        assert files.diff() == ()

    def test_what_was_deleted_and_made_again_is_empty(self, files: OverlayFilesystem) -> None:
        """A new directory must not bring back what the deleted one held."""
        files.delete("src", recursive=True)
        files.mkdir("src")

        assert files.list("src") == ()
        assert {change.path for change in files.diff()} == {"src/app.py", "src/lib", "src/lib/__init__.py"}

    def test_files_and_directories_change_places(self, files: OverlayFilesystem) -> None:
        """Either may take the other's name, and go again."""
        files.delete("data", recursive=True)
        files.write("data", "a file\n")
        files.delete("README.md")
        files.write("README.md/part.md", "a part\n")

        assert files.stat("data").is_file
        assert files.list("README.md")[0].name == "part.md"
        files.delete("data")
        files.delete("README.md", recursive=True)
        assert [entry.name for entry in files.list()] == ["src"]

    def test_moves_go_on_from_where_they_went(self, files: OverlayFilesystem) -> None:
        """A moved directory is moved again, changed inside, and one of its files moved out."""
        files.move("src", "one")
        files.write("one/lib/more.py", "x\n")
        files.move("one", "two/three")
        files.move("two/three/lib/__init__.py", "init.py")
        files.delete("two/three/app.py")

        shown = tree(files)
        assert shown["init.py"] == PROJECT["src/lib/__init__.py"]
        assert {path for path in shown if path.startswith("two")} == {
            "two", "two/three", "two/three/lib", "two/three/lib/more.py",
        }  # fmt: skip
        assert next(change for change in files.diff() if change.path == "init.py").moved_from == "src/lib/__init__.py"

    def test_snapshots_come_back(self, files: OverlayFilesystem) -> None:
        """The past of an overlay is that of its upper layer."""
        files.write("README.md", "one\n")
        before = files.snapshot()
        files.move("src", "lib")
        files.write("README.md", "two\n")

        assert {change.path for change in files.diff(before)} >= {"README.md", "src", "lib", "lib/app.py"}
        files.restore(before)
        assert [change.path for change in files.diff()] == ["README.md"]
        assert files.read("README.md").content == "one\n"


class TestCommitting:
    """`commit` brings changes into the lower layer."""

    def test_everything_is_written(self, lower: tuple[Any, str], files: OverlayFilesystem) -> None:
        """Then the overlay has nothing of its own any more."""
        files.write("README.md", "new\n")
        files.move("src/lib", "library")
        files.delete("data", recursive=True)
        files.write("docs/guide/a.md", "a\n")
        files.delete("src/app.py")
        files.write("src/app.py/inner.py", "i\n")
        expected = tree(files)
        if type(lower[0]).__name__ == "ZipFileSystem":
            with pytest.raises(ReadOnlyFilesystem, match="the lower layer 'zip:' cannot be written"):
                files.commit()
            assert tree(files) == expected
            return

        changes = files.commit()

        assert {change.path for change in changes if change.after is None} >= {"data", "src/lib", "data/table.csv"}
        assert "+new" in next(change for change in changes if change.path == "README.md").diff()
        assert tree(files) == expected
        assert files.diff() == ()
        assert tree(OverlayFilesystem(*lower)) == expected

    def test_one_path_is_written_alone(self, lower: tuple[Any, str], files: OverlayFilesystem) -> None:
        """The rest waits."""
        files.write("docs/a.md", "a\n")
        files.write("README.md", "new\n")
        if type(lower[0]).__name__ == "ZipFileSystem":
            return

        files.commit("docs/a.md")

        assert [change.path for change in files.diff()] == ["README.md"]
        again = OverlayFilesystem(*lower)
        assert again.read("docs/a.md").content == "a\n"
        assert again.read("README.md").content == "# Project\n"

    def test_what_somebody_else_changed_is_not_overwritten(
        self, lower: tuple[Any, str], files: OverlayFilesystem, tmp_path: Path
    ) -> None:
        """Neither a file that was changed there, nor one that was made where the overlay has one, too."""
        if type(lower[0]).__name__ == "ZipFileSystem":
            return
        files.write("README.md", "mine\n")
        files.write("new.txt", "mine\n")
        files.write("fine.txt", "mine\n")
        theirs = OverlayFilesystem(*lower)
        theirs.write("README.md", "theirs, longer\n")
        theirs.write("new.txt", "theirs\n")
        theirs.commit()

        with pytest.raises(OverlayCommitFailed, match="somebody else") as failed:
            files.commit()

        assert failed.value.paths == ("README.md", "new.txt")
        again = OverlayFilesystem(*lower)
        assert again.read("README.md").content == "theirs, longer\n"
        assert not again.exists("fine.txt")
        files.commit("fine.txt")
        files.discard("README.md", "new.txt")
        assert files.read("README.md").content == "theirs, longer\n"
        assert files.diff() == ()

    def test_discarding_shows_the_lower_layer_again(self, files: OverlayFilesystem) -> None:
        """One path, a directory, or all."""
        before = tree(files)
        files.write("README.md", "new\n")
        files.delete("src/lib", recursive=True)
        files.write("docs/a.md", "a\n")

        assert [change.path for change in files.discard("README.md")] == ["README.md"]
        assert files.read("README.md").content == "# Project\n"
        files.discard("src")
        assert files.read("src/lib/__init__.py").total_lines == 2
        files.discard()
        assert tree(files) == before
