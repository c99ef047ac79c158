"""Finding paths by patterns."""

import re
from fnmatch import translate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import PatternError
from wink.filesystem import Filesystem, InMemoryFilesystem

PATHS = [
    "README.md", "setup.py", ".env", "src/a.py", "src/pkg/b.py", "src/pkg/deep/c.py", "src/pkg/data.json",
    "tests/test_a.py", "web/app.ts", "web/app.tsx", "[odd]/x.py", "docs/{a}.md",
]  # fmt: skip


@pytest.fixture
def project(files: Filesystem) -> Filesystem:
    """A small project."""
    for path in PATHS:
        files.write(path, "")
    return files


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.py", ["[odd]/x.py", "setup.py", "src/a.py", "src/pkg/b.py", "src/pkg/deep/c.py", "tests/test_a.py"]),
        ("*.py", ["setup.py"]),
        ("*", [".env", "README.md", "[odd]", "docs", "setup.py", "src", "tests", "web"]),
        ("src/*", ["src/a.py", "src/pkg"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**", ["src/a.py", "src/pkg", "src/pkg/b.py", "src/pkg/data.json", "src/pkg/deep", "src/pkg/deep/c.py"]),
        ("src/**/b.py", ["src/pkg/b.py"]),
        ("src/**/a.py", ["src/a.py"]),
        ("**/pkg/**/*.py", ["src/pkg/b.py", "src/pkg/deep/c.py"]),
        ("**/", ["[odd]", "docs", "src", "src/pkg", "src/pkg/deep", "tests", "web"]),
        ("*.{ts,md}", ["README.md"]),
        ("web/*.{ts,tsx}", ["web/app.ts", "web/app.tsx"]),
        ("**/{test_,}a.py", ["src/a.py", "tests/test_a.py"]),
        ("docs/{a}.md", ["docs/{a}.md"]),
        ("[[]odd]/*", ["[odd]/x.py"]),
        ("src/[!b]*", ["src/a.py", "src/pkg"]),
        ("we?/app.ts", ["web/app.ts"]),
        ("./setup.py", ["setup.py"]),
        ("SRC/*", []),
        ("nowhere/**", []),
    ],
)
def test_patterns_find_what_programmers_expect(project: Filesystem, pattern: str, found: list[str]) -> None:
    """`**` spans directories, none too; `*` stays within a name; hidden files are files."""
    assert sorted(match.path for match in project.glob(pattern)) == sorted(found)


def test_a_pattern_is_relative_to_the_path(project: Filesystem) -> None:
    """Results are not: they can be given to `read`."""
    assert [match.path for match in project.glob("*.py", "src/pkg")] == ["src/pkg/b.py"]
    assert [match.path for match in project.glob("**/*.py", "./src/pkg/")] == ["src/pkg/b.py", "src/pkg/deep/c.py"]
    with pytest.raises(FileNotFoundError):
        project.glob("*", "nowhere")


def test_matches_are_limited(project: Filesystem) -> None:
    """And say so."""
    found = project.glob("**/*.py", limit=2)

    assert len(found) == 2
    assert found.truncated
    assert not project.glob("setup.py", limit=1).truncated
    assert [match.is_file for match in project.glob("s*")] == [True, False]


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a/../*", "a\\*", "*" * 1001, "{a,b}" * 7])
def test_patterns_that_cannot_be_are_refused(memory: InMemoryFilesystem, pattern: str) -> None:
    """Absolute ones, ones that lead out, and ones that would take the machine."""
    with pytest.raises(PatternError):
        memory.glob(pattern)


def test_a_pattern_of_many_stars_ends(memory: InMemoryFilesystem) -> None:
    """A backtracking matcher would be busy for years."""
    memory.write("/".join(["a" * 100] * 20), "")

    assert memory.glob("**/" * 30 + "b") == ()
    assert memory.glob("/".join(["*a*a*a*a*a*a*a*a*b"] * 20)) == ()


def test_git_is_left_out_unless_asked_for(tmp_path: object) -> None:
    """Objects and packs are no part of the project."""
    from pathlib import Path

    from wink.filesystem import HostFilesystem

    root = Path(str(tmp_path))
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".git/config").write_text("[core]\n")
    (root / "sub/.git").mkdir(parents=True)
    (root / "sub/.git/config").write_text("[core]\n")
    with HostFilesystem(root) as files:
        assert [match.path for match in files.glob("**/config")] == []
        assert [match.path for match in files.glob("**/config", include_git=True)] == [".git/config", "sub/.git/config"]
        assert files.grep("core") == ()
        assert len(files.grep("core", include_git=True)) == 2
        assert files.read(".git/config").content == "[core]\n"
        assert files.list()[0].name == ".git"


def test_ignored_files_are_left_out_on_request(files: Filesystem) -> None:
    """As git does: the deepest file that speaks decides, and nothing is taken back beneath an ignored directory."""
    files.write(".gitignore", "*.log\nbuild/\n!keep.log\n[\n")
    files.write("sub/.gitignore", "!debug.log\n/local.txt\n")
    for path in (
        "a.log",
        "keep.log",
        "build/keep.log",
        "sub/debug.log",
        "sub/b.log",
        "sub/local.txt",
        "sub/x/local.txt",
    ):
        files.write(path, "word\n")

    found = [match.path for match in files.glob("**/*.*", respect_ignore=True) if ".gitignore" not in match.path]

    assert found == ["keep.log", "sub/debug.log", "sub/x/local.txt"]
    assert [match.path for match in files.grep("word", respect_ignore=True)] == found
    assert len(files.grep("word")) == 7


NAMES = st.text(alphabet="ab.", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
PIECES = st.lists(st.sampled_from(["**", "*", "a", "*.b", "?", "a*", "[ab]"]), min_size=1, max_size=4)


@given(paths=st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=6), pieces=PIECES)
def test_glob_finds_exactly_what_the_pattern_says(paths: list[list[str]], pieces: list[str]) -> None:
    """Cutting directories off must never lose a match; compared with one regular expression over whole paths."""
    memory = InMemoryFilesystem(portable_names=False)
    for path in paths:
        try:
            memory.write("/".join(path), "")
        except (NotADirectoryError, IsADirectoryError):
            continue
    everything = [match.path for match in memory.glob("**")]

    found = [match.path for match in memory.glob("/".join(pieces))]

    last = len(pieces) - 1
    parts = [
        ("(?:[^/]+/)*[^/]+" if at == last else "(?:[^/]+/)*") if piece == "**"
        else translate(piece)[4:-3].replace(".*", "[^/]*") + ("" if at == last else "/")
        for at, piece in enumerate(pieces)
    ]  # fmt: skip
    expression = re.compile("".join(parts))
    assert found == [path for path in everything if expression.fullmatch(path)]
