"""PATHs of `wink accept` and `wink drop` may be patterns, which mean what they mean to git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree

from wink.errors import NothingTried, PathRefused
from wink.filesystem.search import matching
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Try

FILES = (
    "a.py", "ab", "a*b", "axxb", "src/a.py", "src/deep/er/b.py", "src/b.txt", "src/te.py", "src/test/x.py", "a/x/b",
    "#note", "!bang", "[id].tsx", "i.tsx", "with space ", "new\nline", "dir/x", "dir/y/z", "d\xe9j\xe0",
)  # fmt: skip
PATTERNS = (
    "*.py", "src/*.py", "src/te*.py", "a*b", "a?b", "[ab]*", "[!a]*", "src/*", "#*", "!*", "\\[id].tsx", "?.tsx",
    "with*", "*line", "*z", "d*/z", "*/*", "dir/*", "*e*", "s*c/*p*", "d\xe9*", "./src/*.txt", "[a-s]*.p[y]", "nothing*",
)  # fmt: skip
"""Left out is where a pattern fits a directory, and not by a star: all in that is meant then, as if the shell had named it."""


def test_a_pattern_means_what_it_means_to_git(tmp_path: Path) -> None:
    """Asked of git itself."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    for pattern in PATTERNS:
        words = ["git", "ls-files", "-z", "--others", "--", pattern]
        told = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        rules = matching(pattern)
        assert rules is not None
        assert {name for name in FILES if rules.covers(name)} == set(filter(None, told.split("\0"))), pattern


def test_a_part_is_accepted_and_dropped_by_patterns(wink: Wink, place: Path) -> None:
    """The shell has not seen what is only tried, so that wink must know what fits."""
    wink(
        "try",
        "--",
        "sh",
        "-c",
        "mkdir -p src/deep; for n in a.py src/b.py src/deep/c.py x.log src/y.log; do echo 1 > $n; done",
    )

    accepted = wink("accept", "src/*.py")
    dropped = wink("drop", "*.log")
    nothing = wink("accept", "*.rs")

    assert accepted.returncode == 0, accepted.stderr
    assert {path for path in tree(place) if path.endswith(".py")} == {"src/b.py", "src/deep/c.py"}
    assert "forgotten: 2 paths" in dropped.stdout
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert nothing.stderr.splitlines() == [
        "wink: the try 'default' has changed nothing at '*.rs'; `wink diff` shows what it changed"
    ]
    assert "a.py" in wink("diff").stdout
    assert wink("accept", "*").returncode == 0
    assert wink("tries").stdout == ""


def test_a_name_that_looks_like_a_pattern_means_itself(place: Path) -> None:
    """`pages/[id].tsx` is the name of a page, and of nothing else that was tried."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        with one.use() as overlay:
            words = (
                "mkdir pages 'd[x]'; echo 1 > 'pages/[id].tsx'; echo 1 > pages/i.tsx; echo 1 > 'd[x]/f'; echo 1 > dx"
            )
            assert Sandbox().run(Command(("/bin/sh", "-c", words)), overlay).status == 0

        one.accept("pages/[id].tsx", "d[x]")

        assert (place / "pages/[id].tsx").exists()
        assert (place / "d[x]/f").exists()
        assert {change.path for change in one.differences().changes()} == {"pages/i.tsx", "dx"}
        for path, error in (
            ("pages/*.py", NothingTried),
            ("../*", PathRefused),
            ("/etc/*", PathRefused),
            ("[", NothingTried),
        ):
            with pytest.raises(error):
                one.accept(path)
