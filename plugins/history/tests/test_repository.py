"""The history as GitPython reads it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plugins.history.tests.conftest import git

from wink.errors import HistoryDamaged
from wink.workspace import Workspace


def test_programs_read_it_as_any_repository(tmp_path: Path) -> None:
    """Log, trees and diffs, with the calls' own words."""
    with Workspace.open(tmp_path) as workspace:
        assert workspace.history() is None
        workspace.filesystem.write("a.txt", "one\n")
        workspace.filesystem.write("a.txt", "two\n")
        workspace.fold()
        found = workspace.history()
        assert found is not None
        with found:
            assert found.bare
            last, first = list(found.iter_commits("refs/wink/history"))[:2]
            assert (last.tree / "a.txt").data_stream.read() == b"two\n"
            (diff,) = first.diff(last, create_patch=True)
            assert b"-one\n+two" in diff.diff  # type: ignore[operator]
            assert "Wink-Call: c2" in str(last.message)


PLANTED = [
    "config",
    "info/attributes",
    "info/grafts",
    "shallow",
    "commondir",
    "config.worktree",
    "hooks/x",
    "objects/info/alternates",
]


@pytest.mark.parametrize("planted", PLANTED)
def test_settings_that_somebody_planted_are_refused(tmp_path: Path, planted: str) -> None:
    """Git would run what they name."""
    with Workspace.open(tmp_path) as workspace:
        workspace.filesystem.write("a.txt", "one\n")
        workspace.fold()
        place = Path(workspace.state) / "store.git" / planted
        place.parent.mkdir(exist_ok=True)
        with open(place, "a") as file:
            file.write("[diff]\n\texternal = touch /tmp/owned\n")
        with pytest.raises(HistoryDamaged, match="settings"):
            workspace.history()


def test_packed_refs_that_are_somebody_elses_file_are_refused(tmp_path: Path) -> None:
    """git prints the lines that it cannot read: with a second name of a file, those of that file."""
    (tmp_path / "root").mkdir()
    (tmp_path / "precious").write_text("a secret\n")
    with Workspace.open(tmp_path / "root") as workspace:
        workspace.filesystem.write("a.txt", "one\n")
        workspace.fold()
        os.link(tmp_path / "precious", Path(workspace.state) / "store.git/packed-refs")
        with pytest.raises(HistoryDamaged, match="packed-refs"):
            workspace.history()


def test_what_is_no_repository_is_one_clear_error(tmp_path: Path) -> None:
    """Whatever lies there; in an empty directory it begins."""
    with Workspace.open(tmp_path) as workspace:
        workspace.filesystem.write("a.txt", "one\n")
        store = Path(workspace.state) / "store.git"
        store.write_text("no directory")
        with pytest.raises(HistoryDamaged):
            workspace.history()
        store.unlink()
        store.mkdir()
        found = workspace.history()
        assert found is not None
        found.close()


def test_what_git_itself_has_tidied_is_no_damage(tmp_path: Path) -> None:
    """It leaves other files than wink, none of which can make it run anything."""
    with Workspace.open(tmp_path) as workspace:
        workspace.filesystem.write("a.txt", "one\n")
        workspace.fold()
        git(Path(workspace.state) / "store.git", "gc", "--quiet")
        found = workspace.history()
        assert found is not None
        with found:
            assert found.head.commit.tree["a.txt"].data_stream.read() == b"one\n"


def test_git_that_it_starts_sees_no_settings_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the program itself runs with variables for another repository."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "diff.external")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "false")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    with Workspace.open(tmp_path) as workspace:
        workspace.filesystem.write("a.txt", "one\n")
        workspace.fold()
        found = workspace.history()
        assert found is not None
        with found:
            assert "+one" in found.git.log("-p", "--ext-diff")
            with found.clone(str(tmp_path / "copy")) as copy:
                assert copy.head.commit == found.head.commit
