"""What durability "power" adds: everything is on the disk before something else relies on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import made_state

from .conftest import State


def test_a_link_that_leads_up_can_be_made(tree: Path, open_store: Any, look: Callable[[Path], State]) -> None:
    """Where a link leads is not a directory to be brought to the disk."""
    made_state(tree)
    store = open_store(tree, durability="power")
    change_set = store.begin("tx")
    change_set.symlink("src/a/up", "../../top.txt")
    change_set.prepare()
    change_set.publish()
    before = look(tree)

    change_set = store.begin("again")
    change_set.symlink("src/b/up", "../../top.txt")
    change_set.undo(0)

    assert os.readlink(tree / "src/a/up") == "../../top.txt"
    assert look(tree) == before


def test_a_step_of_a_rollback_is_on_the_disk_before_its_note(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recovery would otherwise believe a note of something that was lost."""
    done: list[str] = []
    store = open_store(tree, durability="power")
    change_set = store.begin("tx")
    change_set.put("top.txt", b"changed")
    change_set.put("src/a/1.txt", b"changed too")
    change_set.put("tool.sh", b"and this")
    directories = {os.stat(tree / name).st_ino for name in (".", "src/a")}
    real_sync, real_write = os.fsync, os.pwrite

    def sync(fd: int) -> None:
        if os.fstat(fd).st_ino in directories:
            done.append("sync")
        real_sync(fd)

    def write(*arguments: Any) -> int:
        done.append("note")
        return real_write(*arguments)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "pwrite", write)
    change_set.undo(0)

    assert done == ["sync", "note", "sync", "note", "sync", "note"]  # the last wipes the journal
