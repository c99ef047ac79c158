"""Calls on a real directory, beside what others do to be able to go back: copy the file, or commit to git."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import TEXT, Calls
from wink.filesystem import HostFilesystem, InMemoryFilesystem

Benchmark = Any


@pytest.mark.parametrize("work", ["noop", "write", "fail"])
def test_call(benchmark: Benchmark, workspace: Calls, work: str) -> None:
    """With record, session and two policies."""
    benchmark.group = "disk: a call, by the number of files in the workspace"
    benchmark(workspace, work)


def test_create_write_and_rename(benchmark: Benchmark, tree: Path) -> None:
    """The rival: how a careful editor saves, which no one can take back."""
    benchmark.group = "disk: a call, by the number of files in the workspace"
    count = iter(range(10**9))

    def run() -> None:
        (tree / "dir/sub/file.new").write_text(f"{TEXT}{next(count)}")
        os.rename(tree / "dir/sub/file.new", tree / "dir/sub/file.txt")

    benchmark(run)


FILLED = "a new file in each of 100 directories, a thousand times"


@pytest.mark.benchmark(group=FILLED)
@pytest.mark.parametrize("place", ["disk", "memory"])
def test_new_files_in_many_directories(benchmark: Benchmark, tmp_path: Path, place: str) -> None:
    """Each is compared with all names in its directory: the last round should take as long as the first."""
    files = HostFilesystem(tmp_path) if place == "disk" else InMemoryFilesystem()
    fill(benchmark, files.mkdir, lambda path: files.write(path, TEXT))


@pytest.mark.benchmark(group=FILLED)
def test_new_plain_files_in_many_directories(benchmark: Benchmark, tmp_path: Path) -> None:
    """The rival compares nothing, and has no way back."""
    fill(benchmark, lambda path: (tmp_path / path).mkdir(), lambda path: (tmp_path / path).write_text(TEXT))


def fill(benchmark: Benchmark, mkdir: Callable[[str], object], write: Callable[[str], object]) -> None:
    count = iter(range(10**9))
    for directory in range(100):
        mkdir(f"d{directory}")

    def run() -> None:
        number = next(count)
        for directory in range(100):
            write(f"d{directory}/{number}.txt")

    benchmark.pedantic(run, rounds=1_000)


@pytest.mark.benchmark(group="disk: a way back from one changed file")
def test_git_add_and_commit(benchmark: Benchmark, tree: Path, tmp_path: Path) -> None:
    """The rival: a commit in a repository of its own before each call."""
    git = ["git", f"--git-dir={tmp_path / 'git'}", f"--work-tree={tree}", "-c", "user.name=b", "-c", "user.email=b@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "0"], check=True)
    count = iter(range(10**9))

    def run() -> None:
        (tree / "dir/sub/file.txt").write_text(f"{TEXT}{next(count)}")
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "next"], check=True)

    benchmark.pedantic(run, rounds=3)


@pytest.mark.benchmark(group="disk: a way back from one changed file")
def test_undoable_overwrite(benchmark: Benchmark, tree: Path) -> None:
    files, count = HostFilesystem(tree), iter(range(10**9))

    def run() -> None:
        part = files.begin()
        part.handle.write("dir/sub/file.txt", f"{TEXT}{next(count)}")
        part.prepare()
        part.publish()

    benchmark(run)
    files.close()


@pytest.mark.benchmark(group="disk: a way back from one changed file")
def test_overwrite_and_rollback(benchmark: Benchmark, tree: Path) -> None:
    files = HostFilesystem(tree)

    def run() -> None:
        part = files.begin()
        part.handle.write("dir/sub/file.txt", TEXT)
        part.undo()

    benchmark(run)
    files.close()


@pytest.mark.benchmark(group="disk: a way back from one changed file")
def test_copy_and_overwrite(benchmark: Benchmark, tree: Path, tmp_path: Path) -> None:
    """The rival: a copy of the one file, then truncate and write."""
    path = tree / "dir/sub/file.txt"

    def run() -> None:
        shutil.copy2(path, tmp_path / "kept")
        path.write_text(TEXT)

    benchmark(run)


@pytest.mark.benchmark(group="disk: read a whole small file, four directories down")
def test_sandboxed_read(benchmark: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/f").write_text(TEXT)
    files = HostFilesystem(tmp_path)
    benchmark(files.read_bytes, "a/b/c/f")
    files.close()


@pytest.mark.benchmark(group="disk: read a whole small file, four directories down")
def test_plain_read(benchmark: Benchmark, tmp_path: Path) -> None:
    """The rival: `open`, which goes wherever a link leads."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/f").write_text(TEXT)

    def run() -> bytes:
        with open(tmp_path / "a/b/c/f", "rb") as file:
            return file.read()

    benchmark(run)


@pytest.mark.benchmark(group="disk: read a whole small file, four directories down")
def test_realpath_checked_read(benchmark: Benchmark, tmp_path: Path) -> None:
    """The rival: what most agent tools do, and what a link that is swapped in between gets past."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/f").write_text(TEXT)
    root = os.path.realpath(tmp_path)

    def run() -> bytes:
        path = Path(os.path.realpath(os.path.join(root, "a/b/c/f")))
        if not path.is_relative_to(root):
            raise PermissionError
        with open(path, "rb") as file:
            return file.read()

    benchmark(run)
