"""What people look for comes first, and the rest is told for a whole directory at once."""

from __future__ import annotations

from wink.filesystem import FileChange, FileVersion, InMemoryFilesystem
from wink.filesystem.diffs import grouped, without_filled
from wink.filesystem.search import Ignored


def version(content: bytes) -> FileVersion:
    """A file with this content at hand."""
    return FileVersion("file", len(content), 0o644, load=lambda: content)


def made(*paths: str, size: int = 1) -> list[FileChange]:
    """New files."""
    return [FileChange(path, None, FileVersion("file", size, 0o644)) for path in paths]


def rules(text: str) -> Ignored:
    """What a `.gitignore` with this text ignores."""
    files = InMemoryFilesystem()
    files.write(".gitignore", text)
    return files.ignored()


def test_ignored_and_generated_files_are_a_line_a_directory() -> None:
    """Two thousand of them would hide the one file that was edited."""
    changes = made(*(f".venv/lib/{number}" for number in range(1_719)), size=24_433)
    changes += made("out/a", "out/deep/b", "src/app.py", "notes.log", "deep/node_modules/x/y")

    found = grouped(changes, rules("out/\n*.log\n"))

    assert [change.path for change in found.shown] == ["src/app.py"]
    assert [str(one) for one in found.folded] == [
        ".venv: 1,719 files added, 42 MB (generated)",
        "deep/node_modules: 1 file added, 1 byte (generated)",
        "notes.log: 1 file added, 1 byte (ignored)",
        "out: 2 files added, 2 bytes (ignored)",
    ]


def test_a_gitignore_that_has_changed_hides_nothing() -> None:
    """A program could write one, and edit what it ignores."""
    ignored = rules("*.py\n")

    found = grouped(made("src/.gitignore", "src/evil.py", "other/fine.py"), ignored)
    assert [change.path for change in found.shown] == ["src/.gitignore", "src/evil.py"]
    assert [one.directory for one in found.folded] == ["other/fine.py"]
    assert not grouped(made(".gitignore", "src/evil.py", "other/fine.py"), ignored).folded


def test_what_git_keeps_for_itself_is_told_by_what_it_means() -> None:
    """And hooks and settings are files as any."""
    log = b"0 1 A <a@b> 1 +0000\tcommit (initial): One\n"
    more = log + b"1 2 A <a@b> 2 +0000\tcommit: Two \x1b[2J\n2 3 A <a@b> 3 +0000\tcommit: Three\n"
    changes = [
        FileChange(".git/logs/refs/heads/main", version(log), version(more)),
        FileChange(".git/logs/refs/heads/gone", version(log), None),
        FileChange(".git/index", version(b"a"), version(b"b")),
        *made(".git/refs/tags/v1", ".git/refs/heads/new", ".git/objects/ab/cd", ".git/hooks/pre-commit"),
    ]

    found = grouped(changes)

    assert [change.path for change in found.shown] == [".git/hooks/pre-commit"]
    assert [str(one) for one in found.repositories] == [
        ".git: 6 of git's own (2 commits on main: Three, index, new branch new, tag v1)"
    ]


def test_a_directory_is_left_out_where_something_in_it_is_shown() -> None:
    """An empty one says something, and so does another mode."""
    directory, closed = FileVersion("directory", 0, 0o755), FileVersion("directory", 0, 0o700)
    changes = [
        FileChange("a", None, directory),
        *made("a/b"),
        FileChange("empty", None, directory),
        FileChange("c", directory, closed),
        *made("c/d"),
    ]

    assert [change.path for change in without_filled(changes, changes)] == ["a/b", "empty", "c", "c/d"]
