"""Looking for files without a limit: results come while the walk goes on."""

import os
from pathlib import Path

import pytest

from wink.errors import HandleRevoked, PatternError
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.filesystem.memory._store import MemoryStore


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories that were looked into, as it goes on."""
    seen: list[str] = []
    scan = MemoryStore.scan
    monkeypatch.setattr(MemoryStore, "scan", lambda self, path: (seen.append(path), scan(self, path))[1])
    return seen


@pytest.fixture
def project(files: Filesystem) -> Filesystem:
    """A hundred directories with a file in each, some of them ignored."""
    for number in range(100):
        files.write(f"d{number:02d}/a.txt", f"word {number}\n")
    files.write(".gitignore", "d1?/\n")
    return files


def test_everything_is_found_in_the_same_order(project: Filesystem) -> None:
    """With no limit, and otherwise as `glob` and `grep` say it."""
    for options in ({}, {"respect_ignore": True}):
        assert list(project.iglob("**/*.txt", **options)) == list(project.glob("**/*.txt", **options))
        assert list(project.igrep("w[o]rd", **options)) == list(project.grep("w[o]rd", **options))
    assert len(list(project.igrep("word", "d05"))) == 1
    assert [match.path for match in project.igrep("WORD 7$", glob="*.txt", ignore_case=True)] == ["d07/a.txt"]


@pytest.mark.parametrize("look", ["iglob", "igrep"])
def test_the_first_result_comes_before_the_walk_ends(memory: InMemoryFilesystem, scanned: list[str], look: str) -> None:
    """A tree of a million files must not be gone through before anything is shown, nor held."""
    for number in range(100):
        memory.write(f"d{number:02d}/a.txt", "word\n")
    scanned.clear()
    found = memory.iglob("**/*.txt") if look == "iglob" else memory.igrep("word")

    assert next(found).path == "d00/a.txt"
    assert scanned == ["", "d00"]
    assert next(found).path == "d01/a.txt"
    assert scanned == ["", "d00", "d01"]


def test_what_is_wrong_is_said_at_once(files: Filesystem) -> None:
    """Not when somebody asks for the first result."""
    with pytest.raises(PatternError):
        files.iglob("/etc/*")
    with pytest.raises(PatternError):
        files.igrep("(")
    with pytest.raises(FileNotFoundError):
        next(files.iglob("*", "nowhere"))


@pytest.mark.parametrize("look", ["iglob", "igrep"])
def test_a_walk_ends_with_its_call(project: Filesystem, look: str) -> None:
    """What a tool leaves running sees nothing of what comes after it."""
    part = project.begin()
    found = part.handle.iglob("**/*.txt") if look == "iglob" else part.handle.igrep("word")
    next(found)
    part.undo()

    with pytest.raises(HandleRevoked):
        list(found)


def test_what_is_swapped_for_a_link_during_a_search_is_not_followed(tmp_path: Path) -> None:
    """Between the walk that came by and the reading of it, for a file and for a directory."""
    root = tmp_path / "root"
    for name in ("a/1.txt", "a/2.txt", "b/c/3.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("inside\n")
    (tmp_path / "secret.txt").write_text("inside? no: secret\n")
    with HostFilesystem(root) as files:
        found = files.igrep("inside")
        assert next(found).path == "a/1.txt"
        (root / "a" / "2.txt").unlink()
        (root / "a" / "2.txt").symlink_to(tmp_path / "secret.txt")
        (root / "b").rename(tmp_path / "b")
        (root / "b").symlink_to(tmp_path / "b")
        assert list(found) == []


def test_an_abandoned_search_holds_nothing_open(tmp_path: Path) -> None:
    """And one whose filesystem was closed meanwhile ends with an error."""
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "a.txt").write_text("word\n")
    files = HostFilesystem(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    found = files.igrep("word")
    next(found)
    found.close()
    assert len(os.listdir("/proc/self/fd")) == before
    found = files.igrep("word")
    next(found)
    files.close()
    with pytest.raises(ValueError, match="has been closed"):
        next(found)
