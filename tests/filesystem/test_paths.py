"""What may name a file of the workspace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import PathRefused
from wink.filesystem import Filesystem, InMemoryFilesystem, is_protected_name, workspace_path


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a.txt", "a.txt"),
        ("./src//pkg/./mod.py", "src/pkg/mod.py"),
        ("src/../README.md", "README.md"),
        ("src/pkg/..", "src"),
        ("", ""),
        (".", ""),
        ("./", ""),
        ("a/..", ""),
        (" a", " a"),
        ("naïve/文件.txt", "naïve/文件.txt"),
        ("...", "..."),
        ("~$report.docx", "~$report.docx"),
    ],
)
def test_a_path_has_one_spelling(text: str, normal: str) -> None:
    """Stamps and policies compare paths as text, so every spelling must become the same one."""
    assert str(workspace_path(text)) == normal


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("../secrets.txt", "outside"),
        ("a/../../b", "outside"),
        ("..", "outside"),
        ("/etc/passwd", "absolute"),
        ("/", "absolute"),
        ("~/x", "home"),
        ("~", "home"),
        ("~root/.ssh", "home"),
        ("C:/Windows", "drive"),
        ("c:x", "drive"),
        ("file:///etc/passwd", "URL"),
        ("https://example.org/a", "URL"),
        ("a\\b", "backslash"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\x9bb", "control"),
        ("a\ud800b", "Unicode"),
        ("a" * 256, "longer"),
        ("é" * 128, "longer"),
        ("a/" * 2048 + "b", "longer"),
    ],
)
def test_what_cannot_be_a_path_is_refused_with_the_reason(text: str, reason: str) -> None:
    """A model mends its call only when it is told what is wrong with it."""
    with pytest.raises(PathRefused, match=reason) as refused:
        workspace_path(text)

    assert isinstance(refused.value, PermissionError)
    assert refused.value.reason


@pytest.mark.parametrize(
    "name",
    [
        ".git", ".GIT", ".Git", "git~1", "GIT~1", "git~2", ".git ", ".git.", ".git . .", ".git::$INDEX_ALLOCATION",
        ".git:stream", ".g\u200cit", "\ufeff.git", ".gi\u200dt", ".g\u0131t", ".wink", ".WINK", "wink~1", ".wink.",
        ".\u2060wink", "\uff0egit",
    ],
)  # fmt: skip
def test_every_spelling_that_some_filesystem_takes_for_git_is_protected(name: str) -> None:
    """A hook planted under another spelling of .git is run by the next git command on NTFS, HFS+ or FAT."""
    assert is_protected_name(name)


@pytest.mark.parametrize(
    "name", [".github", ".gitignore", "git", ".gitattributes", "agit~1", "wink", ".winks", ".git-x"]
)
def test_names_that_only_look_like_git_are_free(name: str) -> None:
    """Refusing .gitignore would keep agents from ordinary work."""
    assert not is_protected_name(name)


@given(st.text(max_size=40))
def test_a_path_that_is_taken_names_nothing_above_the_root(text: str) -> None:
    """The gate must hold for whatever a model writes."""
    try:
        path = workspace_path(text)
    except PathRefused:
        return

    assert not any(part in ("", ".", "..") or "/" in part or "\\" in part for part in path.parts)
    assert workspace_path(str(path)).parts == path.parts


class TestGit:
    """`.git` is read and never written, whatever the operation."""

    @pytest.mark.parametrize("path", [".git/hooks/pre-commit", "vendor/.GIT/config", "git~1/config"])
    def test_nothing_writes_into_git(self, files: Filesystem, path: str) -> None:
        """A planted hook is code that runs later, outside of every sandbox."""
        files.write("a.txt", "a")

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

        assert [entry.name for entry in files.list()] == ["a.txt"]

    def test_wink_state_can_neither_be_read_nor_written(self, files: Filesystem) -> None:
        """The record of what happened is no business of the tools that it is kept about."""
        for use in (
            lambda: files.read(".wink/record.db"),
            lambda: files.write(".wink/x", "x"),
            lambda: files.list(".wink"),
        ):
            with pytest.raises(PathRefused, match="own state"):
                use()


class TestPortableNames:
    """What is made can be checked out on Windows, too, unless told otherwise."""

    @pytest.mark.parametrize(
        "name", ["aux.txt", "NUL", "com1.log", "docs/con", "a.", "b ", "ab:c", "what?.md", "CONIN$"]
    )
    def test_names_that_windows_cannot_hold_are_not_made(self, name: str) -> None:
        """Such a file would break the repository for everybody on Windows."""
        files = InMemoryFilesystem()

        with pytest.raises(PathRefused, match="Windows"):
            files.write(name, "")
        with pytest.raises(PathRefused, match="Windows"):
            files.mkdir(name)

    def test_what_exists_can_be_used(self) -> None:
        """A repository that already has such a file must remain workable."""
        files = InMemoryFilesystem()
        part = files.begin()
        with part.changing("aux.c") as frame:
            frame.put("aux.c", b"old\n")
        part.publish()

        files.edit("aux.c", "old", "new")

        assert files.read("aux.c").content == "new\n"
        InMemoryFilesystem(portable_names=False).write("aux.c", "made with the setting")

    def test_a_directory_that_exists_can_be_filled(self) -> None:
        """Only what is made is looked at, its missing parents too."""
        files = InMemoryFilesystem()
        part = files.begin()
        with part.changing("aux") as frame:
            frame.mkdir("aux")
        part.publish()

        files.write("aux/fine.txt", "x")
        with pytest.raises(PathRefused, match="'aux/nul' has a name that Windows cannot hold"):
            files.write("aux/nul/fine.txt", "x")
