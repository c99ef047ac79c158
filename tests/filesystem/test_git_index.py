"""Two indexes that say the same are the same, whatever git has noted beside it; and no index does harm."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.filesystem import git_index_meaning as meaning

ALONE = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}


def git(root: Path, *arguments: str, **more: str) -> str:
    command = ("git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *arguments)
    return subprocess.run(command, cwd=root, env=ALONE | more, check=True, capture_output=True, text=True).stdout


def said(root: Path) -> str:
    found = meaning((root / ".git/index").read_bytes())
    assert found is not None
    return found


@pytest.fixture(params=["2", "3", "4", "sha256", "skip"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    kind = request.param
    git(tmp_path, "init", "-q", "--object-format", "sha256" if kind == "sha256" else "sha1")
    git(tmp_path, "config", "index.version", kind if kind in "234" else "2")
    git(tmp_path, "config", "index.skipHash", str(kind == "skip"))
    for name in ("a", "d/b", "d/bb", "d/" + "long" * 40, "z"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", ".")
    if kind == "3":
        (tmp_path / "later").write_text("x")
        git(tmp_path, "add", "-N", "later")
    return tmp_path


def test_refreshed_index_says_the_same(repository: Path) -> None:
    """`git status` notes times; `git commit` writes a cache of trees."""
    before, bytes_before = said(repository), (repository / ".git/index").read_bytes()
    for name in ("a", "z"):
        os.utime(repository / name, (1, 1))
    git(repository, "status")
    git(repository, "commit", "-qm", "x")
    assert (repository / ".git/index").read_bytes() != bytes_before
    assert said(repository) == before


@pytest.mark.parametrize(
    "change",
    [
        ("rm", "-q", "--cached", "a"),
        ("update-index", "--chmod=+x", "d/b"),
        ("update-index", "--assume-unchanged", "z"),
        ("update-index", "--skip-worktree", "z"),
        ("mv", "d/b", "d/c"),
        ("add", "-N", "new"),
        ("add", "changed"),
    ],
)
def test_changed_index_says_something_else(repository: Path, change: tuple[str, ...]) -> None:
    """Everything that a person can tell git is told."""
    (repository / "changed").write_text("1")
    git(repository, "add", "changed")
    (repository / "changed").write_text("2")
    (repository / "new").write_text("new")
    before = said(repository)
    git(repository, *change)
    assert said(repository) != before


def test_versions_say_the_same(repository: Path) -> None:
    """Version 4 shortens paths by those before them."""
    before = said(repository)
    for version in "42":
        git(repository, "update-index", "--index-version", version)
        assert said(repository) == before


@given(content=st.binary(max_size=200), count=st.integers(0, 1 << 32 - 1), version=st.sampled_from((2, 3, 4)))
def test_what_is_no_index_says_nothing(content: bytes, count: int, version: int) -> None:
    """Lengths lie, paths never end, numbers go on for ever."""
    text = struct.pack(">4sII", b"DIRC", version, count % (1 << 32)) + content
    assert meaning(text) is None or count == 0
    assert meaning(text + hashlib.sha1(text).digest()) is None or count < 4
    assert meaning(content) is None


def test_paths_that_grow_do_not_fill_the_memory(tmp_path: Path) -> None:
    """In version 4 each path may be all of the one before it and one more."""
    entry = bytes(60) + struct.pack(">H", 0xFFF) + b"\0a\0"
    text = struct.pack(">4sII", b"DIRC", 4, 100_000) + entry * 100_000
    assert meaning(text + hashlib.sha1(text).digest()) is None
