"""Take changed files into wink's git history, beside what git does for the same: look at every file, add and commit."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import TEXT, Calls
from wink.filesystem import FileTransaction, HostFilesystem
from wink.filesystem.disk._syscalls import RENAME_EXCHANGE, renameat2
from wink.workspace import Workspace, apply

Benchmark = Any
_numbers = itertools.count()

HUNDRED = "history: 100 changed files, by the number of files in the workspace"
COUNTS = pytest.mark.parametrize("count", [1, 100], ids=["1-changed", "100-changed"])


def names(count: int) -> list[str]:
    return [f"dir/sub/file{number}.txt" for number in range(count)]


def change(count: int) -> Callable[[FileTransaction], object]:
    number = next(_numbers)
    return lambda part: [part.handle.write(name, f"{TEXT}{number}{name}") for name in names(count)]


@COUNTS
def test_fold(benchmark: Benchmark, tree: Path, count: int) -> None:
    """Both sides of each change, with a commit, a tree of what wink has touched, and a note in the record."""
    benchmark.group = f"history: {count} changed files, by the number of files in the workspace"
    with Workspace.open(tree) as workspace:
        workspace.fold()

        def prepared() -> None:
            apply(workspace, "write", {}, change(count))

        benchmark.pedantic(workspace.fold, setup=prepared, rounds=20, warmup_rounds=2)


@pytest.mark.benchmark(group="history: one edit of many in a row")
def test_edit_in_a_row(benchmark: Benchmark, workspace: Calls) -> None:
    """So many that they were folded beside them; the last should cost as much as the first: look at the largest time too.

    The session keeps an event of each call, and through all that is kept Python goes when it collects garbage.
    """
    full: list[str] = []
    longest = 0.0

    def noted(phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2:
            full.append(phase)

    def run() -> None:
        nonlocal longest
        before, began = len(full), time.perf_counter()
        workspace("write")
        if len(full) == before:
            longest = max(longest, time.perf_counter() - began)

    gc.callbacks.append(noted)
    try:
        benchmark.pedantic(run, rounds=10_000, warmup_rounds=10)
    finally:
        gc.callbacks.remove(noted)
    benchmark.extra_info["longest without a collection"] = longest


@pytest.mark.benchmark(group="history: one edit of many in a row")
def test_save_and_sqlite_commit_in_a_row(benchmark: Benchmark, tree: Path, tmp_path: Path) -> None:
    """The rival: a careful save and a commit with the settings of wink's record, which nobody folds."""
    record = sqlite3.connect(tmp_path / "record.db", isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 4000"):
        record.execute(f"PRAGMA {setting}")
    record.execute("CREATE TABLE calls (id TEXT PRIMARY KEY, session INTEGER, text TEXT)")

    def run() -> None:
        number = next(_numbers)
        (tree / "dir/sub/file.new").write_text(f"{TEXT}{number}")
        os.rename(tree / "dir/sub/file.new", tree / "dir/sub/file.txt")
        record.execute("BEGIN IMMEDIATE")
        record.execute("INSERT INTO calls VALUES (?, 1, ?)", (f"{number:032x}", f"{TEXT}{number}"))
        record.execute("COMMIT")

    benchmark.pedantic(run, rounds=10_000, warmup_rounds=10)
    record.close()


@pytest.mark.benchmark(group="history: one edit of many in a row")
def test_write_and_git_commit_in_a_row(benchmark: Benchmark, tmp_path: Path) -> None:
    """The rival, which has its history at once."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=b", "-c", "user.email=b@b"]
    subprocess.run([*git, "init", "-q"], check=True)

    def run() -> None:
        (tmp_path / "file.txt").write_text(f"{TEXT}{next(_numbers)}")
        subprocess.run([*git, "add", "file.txt"], check=True)
        subprocess.run([*git, "commit", "-qm", "next"], check=True)

    benchmark.pedantic(run, rounds=20)


def test_rollback(benchmark: Benchmark, tree: Path) -> None:
    """Of a transaction that has overwritten a hundred files."""
    benchmark.group = HUNDRED
    files = HostFilesystem(tree)

    def prepared() -> tuple[tuple[()], dict[str, object]]:
        part = files.begin()
        change(100)(part)
        return (), {"part": part}

    def run(part: FileTransaction) -> None:
        part.undo()

    benchmark.pedantic(run, setup=prepared, rounds=20, warmup_rounds=2)
    files.close()


def test_copy_back(benchmark: Benchmark, tree: Path, tmp_path: Path) -> None:
    """The rival: copies of a hundred files, put back."""
    benchmark.group = HUNDRED
    for name in names(100):
        (tmp_path / Path(name).name).write_text(TEXT)

    def run() -> None:
        for name in names(100):
            shutil.copy2(tmp_path / Path(name).name, tree / name)

    benchmark.pedantic(run, rounds=20, warmup_rounds=2)


def test_bare_rollback(benchmark: Benchmark, tree: Path, tmp_path: Path) -> None:
    """The rival of a rollback: its system calls by themselves, with no look at what another program does meanwhile."""
    benchmark.group = HUNDRED
    (tmp_path / "staged").mkdir()
    here, staged = (os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (tree / "dir/sub", tmp_path / "staged"))
    journal = os.open(tmp_path / "journal", os.O_RDWR | os.O_CREAT)
    files = [Path(name).name for name in names(100)]

    def prepared() -> None:
        for name in files:
            (tree / "dir/sub" / name).touch()
            (tmp_path / "staged" / name).write_text(TEXT)

    def run() -> None:
        for number, name in enumerate(files):
            renameat2(staged, name, here, name, RENAME_EXCHANGE)
            os.unlink(name, dir_fd=staged)
            os.pwrite(journal, b"a dozen bytes", number * 13)

    benchmark.pedantic(run, setup=prepared, rounds=20, warmup_rounds=2)
    for fd in (here, staged, journal):
        os.close(fd)


def test_replace(benchmark: Benchmark, tree: Path) -> None:
    """The rival of an undo: a hundred new files, each written under another name and renamed over the one that is there."""
    benchmark.group = HUNDRED

    def run() -> None:
        for name in names(100):
            (tree / f"{name}.new").write_text(TEXT)
            os.rename(tree / f"{name}.new", tree / name)

    benchmark.pedantic(run, rounds=20, warmup_rounds=2)


@COUNTS
def test_undo_of_what_is_folded(benchmark: Benchmark, tree: Path, count: int) -> None:
    """The content comes out of the pack, checked."""
    benchmark.group = f"history: {count} changed files, by the number of files in the workspace"
    with Workspace.open(tree) as workspace:

        def prepared() -> None:
            apply(workspace, "write", {}, change(count))
            workspace.fold()

        benchmark.pedantic(workspace.undo, setup=prepared, rounds=10, warmup_rounds=1)


@COUNTS
def test_git_add_and_commit(benchmark: Benchmark, tree: Path, tmp_path: Path, count: int) -> None:
    """The rival, in a repository of its own."""
    benchmark.group = f"history: {count} changed files, by the number of files in the workspace"
    git = ["git", f"--git-dir={tmp_path / 'git'}", f"--work-tree={tree}", "-c", "user.name=b", "-c", "user.email=b@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "0"], check=True)

    def prepared() -> None:
        number = next(_numbers)
        for name in names(count):
            (tree / name).write_text(f"{TEXT}{number}{name}")

    def run() -> None:
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "next"], check=True)

    benchmark.pedantic(run, setup=prepared, rounds=3)
