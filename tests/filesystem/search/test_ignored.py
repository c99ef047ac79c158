"""What `.gitignore` files ignore is what git itself says, in every tree and with every pattern."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wink.filesystem import HostFilesystem, IgnoreRules, InMemoryFilesystem

NAMES = ["a", "b", "ab", "a.py", "b.py", "é", "x y", "[a]", "A", "-", "a\\b", "*"]
names = st.sampled_from(NAMES)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)

parts = st.sampled_from(
    [
        *NAMES, "*", "**", "?", "??", "*.py", "a*", "*b", "[ab]", "[!a]", "[^ab]", "[a-c]", "[]a]", "[[:alpha:]]", "\\a",
        "[[:foo:]]", "[a", "\\*", "[\\]]", "[!a-]", "[a-\\c]", "***", "a**", "**b", "\\[a]", "[[:alpha:]-z]", "[é]", "[[a]",
    ],
)  # fmt: skip
ordered = st.builds(
    lambda takes_back, rooted, body, ends, tail: takes_back + rooted + body + ends + tail,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(parts, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "", "/"]),
    st.sampled_from(["", "", "", " ", "\\ ", "\r", "\t"]),
)
wild = st.text(st.sampled_from("ab*?[]!/\\-^:# .é"), max_size=8)
lines = st.one_of(ordered, ordered, wild)
rules = st.lists(lines, min_size=1, max_size=5).map("\n".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository without settings of anybody's."""
    root = tmp_path_factory.mktemp("ignored") / "root"
    subprocess.run(["git", "init", "-q", str(root)], check=True, env=environment())
    return root


def environment() -> dict[str, str]:
    """What git needs, and nothing of whoever runs the tests."""
    return {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def clear(root: Path) -> None:
    """Remove everything but the repository."""
    for entry in root.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def make(root: Path, files: list[str], ignores: dict[str, str], exclude: str) -> None:
    """Make files where no file is in the way, and put rules beside some of them."""
    for path in files:
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    for path, text in ignores.items():
        directory = (root / path).parent
        while not directory.is_dir():
            directory = directory.parent
        (directory / ".gitignore").write_bytes(text.encode())
    (root / ".git/info/exclude").write_bytes(exclude.encode())


def told_by_git(root: Path) -> set[str]:
    """All paths that git does not ignore, directories too."""
    every = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.relative_to(root).parts[0] != ".git"]
    if not every:
        return set()
    told = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(every).encode(), capture_output=True, check=False, env=environment(),
    )  # fmt: skip
    assert told.returncode in (0, 1), told.stderr
    return set(every) - set(told.stdout.decode().split("\0"))


@settings(max_examples=150, deadline=None)
@given(
    files=st.lists(paths, min_size=1, max_size=12),
    ignores=st.dictionaries(paths, rules, max_size=3),
    top=rules,
    exclude=st.one_of(st.just(""), rules),
)
@example(files=["src/a.py", "src/b", "c.py"], ignores={}, top="*\n!*/\n!*.py", exclude="")
@example(files=["a/b/c", "a/d"], ignores={"a/b/c": "!c"}, top="/a/b", exclude="d")
@example(files=["ab", "a/b", "a/x/b", "axb"], ignores={}, top="a**/b\n", exclude="")
@example(files=["a/b/c"], ignores={"a/b/c": "!*"}, top="", exclude="a/\n")
@example(files=["a b", "a"], ignores={}, top="\ufeffa\\ \r\n", exclude="")
def test_git_agrees(repository: Path, files: list[str], ignores: dict[str, str], top: str, exclude: str) -> None:
    """Nested files, negation, anchors, directories, brackets, backslashes, and lines that mean nothing."""
    clear(repository)
    make(repository, files, {**ignores, "top": top}, exclude)
    with HostFilesystem(repository, read_only=True) as view:
        ours = {match.path for match in view.glob("**", limit=10_000, respect_ignore=True)}

        assert ours == told_by_git(repository)
        within = next((path for path in sorted(ours) if "\\" not in path and (repository / path).is_dir()), None)
        if within is not None:
            beneath = view.glob("**", within, limit=10_000, respect_ignore=True)
            assert {match.path for match in beneath} == {path for path in ours if path.startswith(within + "/")}


@settings(max_examples=100, deadline=None)
@given(files=st.lists(paths, min_size=1, max_size=12), lines=st.lists(lines, max_size=5))
@example(files=["src/a.py", "b"], lines=["*", "!*.py"])
def test_git_agrees_with_lines_that_stand_in_no_file(repository: Path, files: list[str], lines: list[str]) -> None:
    """Such as those that say what is brought along from the host."""
    clear(repository)
    make(repository, files, {"top": "\n".join(lines)}, "")
    rules = IgnoreRules(lines)

    found = [path for path in repository.rglob("*") if path.relative_to(repository).parts[0] != ".git"]
    names = {path.relative_to(repository).as_posix(): path.is_dir() for path in found}
    assert {name for name, is_directory in names.items() if not rules.covers(name, is_directory=is_directory)} == (
        told_by_git(repository)
    )


def test_what_is_searched_in_an_ignored_directory_is_ignored(memory: InMemoryFilesystem) -> None:
    """A walk that begins beneath such a directory sees what git would see there: nothing."""
    memory.write(".gitignore", "build/\n")
    memory.write("build/a/b.txt", "word")

    assert memory.glob("**", "build/a", respect_ignore=True) == ()
    assert memory.grep("word", "build", respect_ignore=True) == ()
    assert len(memory.grep("word", "build")) == 1


def test_links_to_ignore_files_are_not_followed(tmp_path: Path) -> None:
    """git does not follow them, and what is in `real` is about other paths."""
    (tmp_path / "real").write_text("a\n")
    (tmp_path / ".gitignore").symlink_to("real")
    (tmp_path / "a").touch()
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / ".gitignore").mkdir()

    with HostFilesystem(tmp_path) as files:
        assert "a" in [match.path for match in files.glob("**", respect_ignore=True)]


def test_names_that_are_no_unicode_are_matched_as_bytes(tmp_path: Path) -> None:
    """As git does, which knows of no encoding."""
    (tmp_path / ".gitignore").write_bytes(b"\xff*\n")
    for name in (b"\xffa", b"\xfea"):
        (tmp_path / os.fsdecode(name)).touch()

    with HostFilesystem(tmp_path) as files:
        assert [os.fsencode(match.path) for match in files.glob("**", respect_ignore=True)] == [b".gitignore", b"\xfea"]


def test_long_and_hostile_files_end(memory: InMemoryFilesystem) -> None:
    """Whoever wrote it: the first lines count, and none takes more than a moment."""
    lines = [
        "*a" * 30 + "b",
        "[a-z]" * 2000,
        "?" * 50_000,
        "**/" * 3000 + "x",
        *(f"name{number}" for number in range(3000)),
    ]
    memory.write(".gitignore", "\n".join(lines))
    memory.write("a" * 250, "")
    memory.write("name1500", "")

    assert [match.path for match in memory.glob("[an]*", respect_ignore=True)] == ["a" * 250]
