"""What names promise: which are refused by every operation, and which odd ones work."""

from __future__ import annotations

import pytest

from wink.errors import PathRefused
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Promises, contents, needs

REFUSED = [
    "../x", "..", "a/../../x", "/etc/passwd", "/", "//host/share", "~", "~/x", "~root/.ssh", "C:/x", "c:x",
    "file:///etc/passwd", "https://example.org/a", "zip://a::b", "a\\b", "a\0b", "a\nb", "a\x9bb", "a\ud800b",
    "a" * 256, "é" * 128, "a/" * 2048 + "b",
]  # fmt: skip

GIT = [
    ".git/config", ".git/hooks/pre-commit", "sub/.git/x", ".GIT/x", ".Git", "git~1/x", "GIT~1", ".git /x", ".git./x",
    ".git . ./x", ".git::$INDEX_ALLOCATION/x", ".git:stream", ".g\u200cit/x", "\ufeff.git/x", ".g\u0131t/x",
]  # fmt: skip

STATE = [".wink", ".wink/record.db", ".WINK/x", "wink~1/x", ".wink./x", "sub/.wink/x", ".\u2060wink/x", "a/../.wink"]

ODD = [
    " leading", "-rf", "--", ".hidden", "..hidden", "a b/c d", "naïve/文件.txt", "🎉.txt", "~$report.docx", "#x#", "a'b",
    "$HOME", "%TEMP%", "{a,b}", "[ab]", "(x)", "x;y", "a&b", "!x", "@", "=", "a,b", "a" * 255, "deep/" * 60 + "x",
]  # fmt: skip


class Paths(Promises):
    """The gate holds for whatever a model writes, and honest names go through."""

    @pytest.mark.parametrize("path", REFUSED, ids=ascii)
    def test_what_leads_out_or_cannot_be_a_name_is_refused_everywhere(self, files: Filesystem, path: str) -> None:
        """A path that one operation lets through is a way out."""
        files.write("a.txt", "x")

        for use in (
            lambda: files.read(path),
            lambda: files.read_bytes(path),
            lambda: files.open_read(path),
            lambda: files.open_text(path),
            lambda: files.exists(path),
            lambda: files.stat(path),
            lambda: files.list(path),
            lambda: files.glob("*", path),
            lambda: files.grep("x", path),
            lambda: files.write(path, "x"),
            lambda: files.write_bytes(path, b"x"),
            lambda: files.append(path, "x"),
            lambda: files.edit(path, "x", "y"),
            lambda: files.locate(path, "x"),
            lambda: files.delete(path, recursive=True),
            lambda: files.move(path, "b.txt"),
            lambda: files.move("a.txt", path),
            lambda: files.copy(path, "b.txt"),
            lambda: files.copy("a.txt", path),
            lambda: files.mkdir(path),
            lambda: files.open_write(path),
            lambda: files.seen(path),
            lambda: files.fingerprint(path),
            lambda: files.normalize(path),
        ):
            with pytest.raises(PathRefused) as refused:
                use()
            assert isinstance(refused.value, PermissionError)
            assert refused.value.reason
        assert contents(files) == {"a.txt": b"x"}

    @pytest.mark.parametrize("path", GIT, ids=ascii)
    def test_git_is_never_written_in_any_spelling(self, files: Filesystem, path: str) -> None:
        """A planted hook is code that runs later, outside of every sandbox."""
        files.write("a.txt", "x")

        for change in (
            lambda: files.write(path, "x"),
            lambda: files.append(path, "x"),
            lambda: files.move("a.txt", path),
            lambda: files.copy("a.txt", path),
            lambda: files.mkdir(path),
            lambda: files.open_write(path).close(),
        ):
            with pytest.raises(PathRefused, match=r"\.git"):
                change()
        assert contents(files) == {"a.txt": b"x"}

    @pytest.mark.parametrize("path", STATE, ids=ascii)
    def test_wink_state_can_neither_be_read_nor_written(self, files: Filesystem, path: str) -> None:
        """The record of what happened is no business of the tools that it is kept about."""
        files.write("a.txt", "x")

        for use in (
            lambda: files.read(path),
            lambda: files.list(path),
            lambda: files.stat(path),
            lambda: files.glob("*", path),
            lambda: files.write(path, "x"),
            lambda: files.move("a.txt", path),
            lambda: files.delete(path, recursive=True),
        ):
            with pytest.raises(PathRefused, match="own state"):
                use()
        assert ".wink" not in [entry.name for entry in files.list()]

    @pytest.mark.parametrize("path", ODD, ids=ascii)
    def test_odd_names_are_names(self, files: Filesystem, path: str) -> None:
        """Nothing is expanded, quoted or cut."""
        files.write(path, "one\n")
        files.edit(path, "one", "two")
        files.copy(path, "copy")
        files.move("copy", f"moved/{path[-200:].strip('/')}")

        assert files.read(path).content == "two\n"
        assert files.stat(path).path == files.normalize(path)
        assert contents(files)[path] == b"two\n"
        assert path in [match.path for match in files.glob("**") if match.is_file]
        assert path in [match.path for match in files.grep("two")]
        files.delete(path)
        assert not files.exists(path)

    def test_names_that_differ_are_different_files(self, files: Filesystem) -> None:
        """Neither a trailing dash nor an accent is folded; what only Windows or macOS take for one is another matter."""
        files.write("a-.txt", "1")
        files.write("a.txt", "2")
        files.write("e.txt", "3")
        files.write("\u00e9.txt", "4")

        assert [files.read(path).content for path in ("a-.txt", "a.txt", "e.txt", "\u00e9.txt")] == ["1", "2", "3", "4"]

    @needs("has_portable_names")
    @pytest.mark.parametrize(("path", "twin"), [("docs/README.md", "docs/readme.md"), ("\u00e9.txt", "e\u0301.txt")])
    def test_names_that_windows_or_macos_take_for_one_are_not_made(
        self, files: Filesystem, path: str, twin: str
    ) -> None:
        """One of the two would be lost in the next checkout there; a file that is there can be renamed to its twin."""
        files.write(path, "x")
        files.write("a.txt", "")

        for change in (
            lambda: files.write(twin, ""),
            lambda: files.open_write(twin),
            lambda: files.mkdir(twin),
            lambda: files.mkdir(f"{twin}/deeper"),
            lambda: files.copy(path, twin),
            lambda: files.move("a.txt", twin),
        ):
            with pytest.raises(PathRefused, match="which is there, only in"):
                change()
        files.move(path, twin)
        files.move(twin, path)
        files.delete(path)
        files.write(twin, "y")
        assert files.read(twin).content == "y"
        assert not files.exists(path)

    @pytest.mark.parametrize(("path", "normal"), [("./src//a/../b.py", "src/b.py"), ("a/..", ""), (".", ""), ("", "")])
    def test_a_path_has_one_spelling(self, files: Filesystem, path: str, normal: str) -> None:
        """Stamps and policies compare paths as text."""
        assert files.normalize(path) == normal

    @needs("has_portable_names")
    @pytest.mark.parametrize(
        "path", ["aux.txt", "NUL", "com1.log", "docs/con", "a.", "b ", "ab:c", "what?.md", "CONIN$", "aux/b.txt"]
    )
    def test_names_that_windows_cannot_hold_are_not_made(self, files: Filesystem, path: str) -> None:
        """Such a file would break the repository for everybody on Windows."""
        files.write("a.txt", "x")

        for change in (
            lambda: files.write(path, ""),
            lambda: files.mkdir(path),
            lambda: files.copy("a.txt", path),
            lambda: files.move("a.txt", path),
        ):
            with pytest.raises(PathRefused, match="Windows"):
                change()
        assert contents(files) == {"a.txt": b"x"}

    @needs("has_portable_names")
    def test_what_exists_under_an_odd_name_can_be_used(self, files: Filesystem) -> None:
        """A repository that already has such a file must remain workable."""
        part = files.begin()
        with part.changing("aux.c") as change_set:
            change_set.put("aux.c", b"old\n")
            change_set.mkdir("nul")
        part.publish()

        files.edit("aux.c", "old", "new")
        files.write("nul/fine.txt", "x")

        assert files.read("aux.c").content == "new\n"
        with pytest.raises(PathRefused, match="'nul/con' has a name that Windows cannot hold"):
            files.write("nul/con/fine.txt", "x")
