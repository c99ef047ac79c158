"""Lower layers are foreign code over foreign data: nothing that they say leads out, hangs, or comes through untyped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from wink.errors import PathRefused
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink_overlay import LowerFailed, OverlayFilesystem

MakeZip = Callable[[dict[str, bytes]], Any]


class Claims(AbstractFileSystem):
    """A filesystem that says what it is told to say."""

    protocol = "claims"
    cachable = False

    def __init__(self, entries: dict[str, dict[str, Any]], content: bytes = b"", **options: Any) -> None:
        super().__init__(**options)
        self.entries, self.content = entries, content
        self.asked: list[str] = []

    def info(self, path: str, **_: Any) -> Any:
        self.asked.append(f"info {path}")
        if not path:
            return {"name": "", "type": "directory", "size": 0}
        found = self.entries.get(path)
        if found is None:
            raise FileNotFoundError(path)
        if isinstance(found, Exception):
            raise found
        return found

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        self.asked.append(f"ls {path}")
        return list(self.entries.values())

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        import io

        self.asked.append(f"open {path} {mode}")
        if mode != "rb":
            raise NotImplementedError("only reads")
        return io.BytesIO(self.content)


def entry(name: str, **facts: Any) -> dict[str, Any]:
    """What such a filesystem says of one file."""
    return {"name": name, "type": "file", "size": 3, **facts}


class TestNames:
    """Names that would lead out, or that nothing can name."""

    HOSTILE = ("../evil.txt", "/etc/passwd", "a/../../evil.txt", "back\\slash.txt", "C:\\evil", "bell\a.txt", "..", ".")

    def test_zip_slip_goes_nowhere(self, make_zip: MakeZip, caplog: pytest.LogCaptureFixture) -> None:
        """What cannot be named is hidden, and the log says so; what is fine is there."""
        files = OverlayFilesystem(make_zip({**dict.fromkeys(self.HOSTILE, b"evil"), "fine/a.txt": b"fine"}))

        with caplog.at_level(logging.WARNING, "wink.filesystem"):
            names = {match.path for match in files.glob("**")}

        assert {"fine", "fine/a.txt"} <= names
        assert not {name for name in names if ".." in name or "\\" in name or name.startswith("/") or "\a" in name}
        assert "names that no tool can use are hidden" in caplog.text
        for name in self.HOSTILE[:6]:
            with pytest.raises(PathRefused):
                files.read(name)

    @pytest.mark.parametrize("name", [*HOSTILE, "", "a/b", "x" * 300, "\ud800", None, 7, "/a", "//"])
    def test_listed_names_that_are_none_are_passed_over(self, name: Any) -> None:
        """A listing is no place to trust either."""
        files = OverlayFilesystem(Claims({"bad": entry(name), "good": entry("good"), "twice": entry("good")}, b"abc"))

        assert [found.name for found in files.list()] in (["good"], ["a", "good"])

    def test_protected_names_can_be_read_and_not_written(self, make_zip: MakeZip) -> None:
        """`.git` as everywhere; `.wink` is nobody's business."""
        files = OverlayFilesystem(make_zip({".git/hooks/x": b"x", ".wink/wal/1": b"w", "sub/.GIT/config": b"c"}))

        assert files.read(".git/hooks/x").content == "x"
        assert [entry.name for entry in files.list()] == [".git", "sub"]
        for path in (".git/hooks/x", "sub/.GIT/config", ".git/new"):
            with pytest.raises(PathRefused, match=r"\.git directory"):
                files.write(path, "evil")
        with pytest.raises(PathRefused, match="own state"):
            files.read(".wink/wal/1")

    def test_one_name_twice_is_one_name(self, tmp_path: Path) -> None:
        """Archives may hold a file and a directory of one name, and a file twice."""
        import warnings
        import zipfile

        from fsspec.implementations.zip import ZipFileSystem

        with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, content in (("a.txt", b"one"), ("a.txt", b"two"), ("b", b"file"), ("b/c.txt", b"inside")):
                archive.writestr(name, content)
        fs = ZipFileSystem(str(tmp_path / "twice.zip"))
        files = OverlayFilesystem(fs)

        assert [entry.name for entry in files.list()] == ["a.txt", "b"]
        assert files.read("a.txt").content == "two"
        files.delete("a.txt")
        files.delete("b", recursive=True)
        assert files.list() == ()
        fs.close()


class TestDepth:
    """Trees that are as deep as their maker liked."""

    def test_what_is_too_deep_is_refused_and_goes_with_what_it_is_in(self, make_zip: MakeZip) -> None:
        """Neither a path nor a walk may take minutes."""
        files = OverlayFilesystem(make_zip({"a/" * 500 + "x": b"x", "b/c.txt": b"c"}))

        assert len(files.glob("**", limit=5000)) < 300
        with pytest.raises(PathRefused, match="more than 256 directories"):
            files.read("a/" * 500 + "x")
        with pytest.raises(PathRefused, match="more than 256 directories"):
            files.write("n/" * 1500 + "x", "new")
        files.move("a", "moved")
        files.delete("moved", recursive=True)
        assert [match.path for match in files.glob("**")] == ["b", "b/c.txt"]


class TestLinks:
    """Links of a lower layer are followed by the overlay, or not at all."""

    def test_links_of_the_disk_cannot_lead_out(self, tmp_path: Path) -> None:
        """Neither in the middle of a path nor at its end, and whatever fsspec itself would do."""
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        inside.mkdir()
        outside.mkdir()
        (outside / "secret.txt").write_text("secret")
        (inside / "a.txt").write_text("a")
        (inside / "out").symlink_to(outside)
        (inside / "up").symlink_to("../outside/secret.txt")
        (inside / "in").symlink_to("a.txt")
        for lower, path in (
            (LocalFileSystem(), str(inside)),
            (DirFileSystem(str(inside), LocalFileSystem()), ""),
            (_Unknown(), str(inside)),
        ):
            with OverlayFilesystem(lower, path) as files:
                for name in ("out/secret.txt", "up"):
                    with pytest.raises(PathRefused):
                        files.read(name)
                    with pytest.raises(PathRefused):
                        files.write(name, "changed")
                assert files.read("in").content == "a"
                files.write("in", "through the link")
                assert files.read("a.txt").content == "through the link"
        assert (outside / "secret.txt").read_text() == "secret"
        assert (inside / "a.txt").read_text() == "a"

    def test_links_cross_the_layers(self) -> None:
        """A link below may lead to what is new, and a new one to what is below."""
        lower = InMemoryFilesystem()
        lower.write("dir/a.txt", "below\n")
        _link(lower, "link", "dir")
        files = OverlayFilesystem(lower)
        files.write("link/b.txt", "new\n")
        _link(files, "dir/other", "../link/a.txt")

        assert [entry.name for entry in files.list("link")] == ["a.txt", "b.txt", "other"]
        assert files.read("link/other").content == "below\n"
        files.delete("link")
        assert files.exists("dir/b.txt")
        assert lower.exists("link")


class TestLies:
    """Sizes, kinds and contents that are not what was said."""

    def test_a_file_that_is_longer_than_it_says_is_read_in_full(self) -> None:
        """The content counts."""
        files = OverlayFilesystem(Claims({"a": entry("a", size=1)}, b"abcdef"))

        assert files.read("a").content == "abcdef"
        assert files.read_bytes("a") == b"abcdef"

    def test_a_file_that_ends_too_early_is_an_error(self) -> None:
        """Half a file must not pass for all of it."""
        files = OverlayFilesystem(Claims({"a": entry("a", size=9)}, b"abc"))

        with pytest.raises(LowerFailed, match="ends after 3 of 9 bytes"):
            files.read("a")
        with pytest.raises(LowerFailed):
            files.append("a", "x")
        assert files.diff() == ()

    def test_a_file_of_unknown_size_is_measured(self) -> None:
        """Some servers do not tell."""
        files = OverlayFilesystem(Claims({"a": entry("a", size=None)}, b"abc\n" * 3))

        assert files.stat("a").size_bytes == 12
        assert files.read_bytes("a", 4, 4) == b"abc\n"

    def test_more_than_fits_is_refused_not_held(self) -> None:
        """A file that says it is small and never ends must not fill the memory."""

        class Endless:
            def __init__(self) -> None:
                self.given = 0

            def read(self, size: int) -> bytes:
                self.given += size
                assert self.given < 200 << 20
                return b"x" * size

            def seekable(self) -> bool:
                return False

            def close(self) -> None:
                pass

        class Flood(Claims):
            def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
                return Endless()

        files = OverlayFilesystem(Flood({"a": entry("a")}))

        with pytest.raises(OSError, match="more than"):
            files.read("a")

    @pytest.mark.parametrize("answer", [None, [], "file"])
    def test_nonsense_for_info_is_an_error(self, answer: Any) -> None:
        """Of one type, naming the path."""

        class Nonsense(Claims):
            def info(self, path: str, **_: Any) -> Any:
                return answer if path else super().info(path)

        with pytest.raises(LowerFailed) as failed:
            OverlayFilesystem(Nonsense({})).read("a/b")
        assert failed.value.filename == "a"

    @pytest.mark.parametrize(
        ("raised", "expected"),
        [
            (KeyError("a"), LowerFailed),
            (RuntimeError("File 'a' is encrypted, password required"), LowerFailed),
            (ValueError(), LowerFailed),
            (OSError("some text"), LowerFailed),
            (PermissionError("denied"), PermissionError),
            (OSError(5, "at /home/somebody/secret"), OSError),
            (TimeoutError(), TimeoutError),
            (NotADirectoryError(), NotADirectoryError),
        ],
    )
    def test_errors_are_pythons_own_or_ours(self, raised: Exception, expected: type[Exception]) -> None:
        """Whatever foreign code raises, with the overlay's path and nothing of the host."""

        class Fails(Claims):
            def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
                raise raised

        files = OverlayFilesystem(Fails({"a": entry("a")}))
        with pytest.raises(expected) as failed:
            files.read("a")
        assert isinstance(failed.value, OSError)
        assert failed.value.filename == "a"
        assert "/home" not in str(failed.value)
        files.write("a", "new")
        assert files.read("a").content == "new"

    def test_content_that_changes_without_a_trace_is_digested_anew(self) -> None:
        """Where neither time nor version is told, what was known of a file is not known the next time."""
        fs = Claims({"a": entry("a")}, b"one")
        files = OverlayFilesystem(fs)
        before = files.fingerprint("a")
        fs.content = b"two"

        assert files.fingerprint("a") != before


class TestNeed:
    """Nothing is asked of the lower layer before it is needed."""

    def test_making_an_overlay_asks_nothing(self) -> None:
        """Nor does writing a file read the one that it replaces."""
        fs = Claims({"a": entry("a"), "b": entry("b")}, b"abc")
        files = OverlayFilesystem(fs, portable_names=False)
        assert fs.asked == []

        files.write("a", "new")
        files.write("sub/new.txt", "new")
        files.move("b", "c")
        files.delete("c")

        assert not [asked for asked in fs.asked if asked.startswith(("open", "ls"))]

    def test_a_whole_directory_is_deleted_and_moved_without_looking_into_it(self) -> None:
        """One mark, whatever is in it."""
        lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
        for number in range(50):
            lower.pipe_file(f"/big/{number}.txt", b"x")
        opened: list[str] = []
        lower._open = lambda path, *_, **__: opened.append(path)
        lower.cat_file = lambda path, *_, **__: opened.append(path)
        files = OverlayFilesystem(lower)

        files.move("big", "bigger")
        assert len(files.list("bigger")) == 50
        files.delete("bigger", recursive=True)

        assert files.list() == ()
        assert opened == []

    def test_a_part_of_a_large_file_is_fetched_by_range(self) -> None:
        """A page out of many gigabytes needs that page."""
        ranges: list[tuple[int, int]] = []

        class Large(Claims):
            def _open(self, path: str, mode: str = "rb", block_size: Any = None, **options: Any) -> Any:
                from fsspec.spec import AbstractBufferedFile

                class Ranged(AbstractBufferedFile):
                    def _fetch_range(self, start: int, end: int) -> bytes:
                        ranges.append((start, end))
                        return b"x" * (end - start)

                return Ranged(self, path, mode, block_size, size=5 << 40)

        fs = Large({"a": entry("a", size=5 << 40)})

        assert OverlayFilesystem(fs).read_bytes("a", 4 << 40, 10) == b"x" * 10
        assert sum(end - start for start, end in ranges) < 20 << 20

    def test_what_others_change_is_seen(self) -> None:
        """What is not changed here is live; listings that are kept are forgotten on request."""
        lower = MemoryFileSystem(global_store=False, skip_instance_cache=True)
        lower.pipe_file("/a.txt", b"one")
        files = OverlayFilesystem(lower)
        assert files.read("a.txt").content == "one"
        lower.pipe_file("/a.txt", b"two")
        lower.pipe_file("/b.txt", b"new")

        assert files.read("a.txt").content == "two"
        files.refresh()
        assert files.exists("b.txt")


class TestMaking:
    """What cannot be a lower or an upper layer is refused with a word on why."""

    def test_what_is_no_filesystem_is_refused(self, tmp_path: Path) -> None:
        """A path is not a filesystem; nor is an overlay's directory any directory."""
        with pytest.raises(TypeError, match="fsspec filesystem or one of wink's, not str"):
            OverlayFilesystem(str(tmp_path))
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(ValueError, match=r"'notes\.txt' in it"):
            OverlayFilesystem(InMemoryFilesystem(), upper=tmp_path)
        with pytest.raises(ValueError, match="lies in the lower layer"):
            OverlayFilesystem(LocalFileSystem(), str(tmp_path), upper=tmp_path / "upper")
        with pytest.raises(ValueError, match="asynchronous=True"):
            OverlayFilesystem(_asynchronous())


def _asynchronous() -> Claims:
    fs = Claims({})
    fs.asynchronous = True
    return fs


class _Unknown(LocalFileSystem):
    """Files of the disk behind a filesystem that nobody knows."""

    protocol = "unknown"
    cachable = False


def _link(files: Filesystem, path: str, target: str) -> None:
    part = files.begin()
    with part.changing(path) as change_set:
        change_set.symlink(path, target)
    part.prepare()
    part.publish()
