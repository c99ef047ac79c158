"""What may name a file of the workspace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import PathRefused
from wink.filesystem import is_protected_name, workspace_path


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
    """A model fixes its call only when it is told what is wrong with it."""
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
