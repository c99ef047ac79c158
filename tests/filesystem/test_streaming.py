"""Looking for files without a limit: results come while the walk goes on."""

import pytest

from wink.errors import HandleRevoked, PatternError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.filesystem._memory import MemoryStore


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
