"""Every name goes into a tree and comes back, and git has nothing against it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugins.history.tests.conftest import fsck

from wink_history import Store
from wink_history._names import real_name, tree_name
from wink_history._objects import DIRECTORY, FILE, LINK, Person, commit_content, tree_content

NOBODY = Person("nobody", "nobody@example.invalid", 0)
SPECIAL = [
    ".git",
    ".gitmodules",
    ".gitattributes",
    ".gitignore",
    ".mailmap",
    "git~1",
    "gitmod~1",
    "gi7eba~1",
    "a\\.git",
]
ODD = [
    *(name.encode() for name in SPECIAL),
    *(name.upper().encode() for name in SPECIAL),
    *(name.encode() + ending for name in SPECIAL for ending in (b" ", b".", b" . .", b"::$INDEX_ALLOCATION", b"\\x")),
    ".g\u200cit".encode(), ".git\u200e".encode(), "\ufeff.gitmodules".encode(), b"...", b" ", b"~", b"-", b"\\", b"\xff\xfe",
    "ä".encode(), b"new\nline", b"tab\t", b"x" * 255, b"%wink%2e", b"CON", b"a:b", b"HEAD", b"refs",
]  # fmt: skip

names = st.binary(min_size=1, max_size=20).filter(lambda name: not {0, 47} & set(name) and name not in (b".", b".."))


@given(st.one_of(names, st.sampled_from(ODD)), st.booleans())
def test_quoting_is_undone(name: bytes, is_plain: bool) -> None:
    """The tree is what a checkpoint is restored from."""
    assert real_name(tree_name(name, is_plain=is_plain)) == name


@given(names, names)
def test_two_names_stay_two(one: bytes, other: bytes) -> None:
    """Git refuses a tree in which a name comes twice."""
    assert (tree_name(one) == tree_name(other)) == (one == other)


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_git_takes_every_name(tmp_path: Path, kind: str) -> None:
    """`git fsck --strict` is what people believe."""
    with Store(str(tmp_path), make=True) as store:
        writer = store.writer()
        oid = writer.add("blob", b"[submodule]\n" + b"x" * 5000) if kind != "directory" else writer.add("tree", b"")
        mode = {"file": FILE, "link": LINK, "directory": DIRECTORY}[kind]
        entries = {tree_name(name, is_plain=kind != "link"): (mode, oid) for name in dict.fromkeys(ODD)}
        tree = writer.add("tree", tree_content(entries))
        store.point("HEAD", writer.add("commit", commit_content(tree, None, NOBODY, NOBODY, b"m\n")))
        store.finish(writer)

    fsck(tmp_path / "store.git")


@pytest.mark.parametrize("name", ["src", "notes.txt", ".gitignore", ".github", "~backup~", "digit~1", "legit.py"])
def test_honest_names_stay_as_they_are(name: str) -> None:
    """People look for their files in the history."""
    assert tree_name(name.encode()) == name.encode()
