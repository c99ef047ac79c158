"""The token of a workspace, in the user's own directory."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wink_http import TokenUnusable, kept_token


@pytest.fixture
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directory of its own."""
    made = tmp_path / "states"
    monkeypatch.setenv("XDG_STATE_HOME", str(made))
    return made


def test_those_that_start_at_once_agree_on_one(states: Path, tmp_path: Path) -> None:
    """A server and the command that prints a client's snippet may be started together."""
    with ThreadPoolExecutor(16) as pool:
        tokens = set(pool.map(lambda _: kept_token(str(tmp_path)), range(64)))
    assert len(tokens) == 1


def test_deleting_the_file_makes_another(states: Path, tmp_path: Path) -> None:
    """That is how somebody takes a token back that others have seen."""
    token, file = kept_token(str(tmp_path))
    os.unlink(file)
    assert kept_token(str(tmp_path))[0] != token


def test_a_link_to_a_workspace_is_that_workspace(states: Path, tmp_path: Path) -> None:
    """And a snippet that was printed from there works."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert kept_token(str(tmp_path / "real")) == kept_token(str(tmp_path / "link"))


@pytest.mark.parametrize("kind", ["link", "fifo", "hard link", "empty", "long", "directory"])
def test_what_is_no_file_of_wink_is_no_token(states: Path, tmp_path: Path, kind: str) -> None:
    """Nor is it followed, waited for or read without end; the error names it."""
    _, file = kept_token(str(tmp_path))
    other = tmp_path / "other"
    other.write_text("0123456789abcdef")
    os.unlink(file)
    makes = {
        "link": lambda: os.symlink(other, file),
        "fifo": lambda: os.mkfifo(file),
        "hard link": lambda: os.link(other, file),
        "empty": lambda: Path(file).touch(),
        "long": lambda: Path(file).write_text("a" * 10_000),
        "directory": lambda: os.mkdir(file),
    }
    makes[kind]()

    with pytest.raises(TokenUnusable) as refused:
        kept_token(str(tmp_path))

    assert refused.value.source == file


def test_a_directory_that_others_write_to_keeps_no_token(states: Path, tmp_path: Path) -> None:
    """They could put theirs in its place."""
    (states / "wink").mkdir(parents=True)
    (states / "wink").chmod(0o777)
    with pytest.raises(TokenUnusable, match="others than you"):
        kept_token(str(tmp_path))
