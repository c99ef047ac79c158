"""Whole processes: what a person at a shell waits for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from wink.testing import fake_distribution

Benchmark = Any


def process(benchmark: Benchmark, command: Sequence[str], **options: Any) -> None:
    def run() -> None:
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, **options)

    benchmark.pedantic(run, rounds=15, warmup_rounds=2)


@pytest.mark.benchmark(group="process: import")
def test_bare_python(benchmark: Benchmark) -> None:
    process(benchmark, ["-c", "pass"])


@pytest.mark.benchmark(group="process: import")
def test_import_wink(benchmark: Benchmark) -> None:
    process(benchmark, ["-c", "import wink"])


@pytest.mark.benchmark(group="process: import")
def test_import_everything(benchmark: Benchmark) -> None:
    process(benchmark, ["-c", "from wink import Workspace, ToolExecutor, Catalog"])


def test_wink_call(benchmark: Benchmark, tree: Path) -> None:
    benchmark.group = "process: wink call, by the number of files in the workspace"
    process(benchmark, ["-m", "wink", "call", "read_file", "file_path=dir/sub/file.txt"], cwd=tree)


WRITERS = {
    "wink": """
from benchmarks.conftest import Calls
from wink.workspace import Workspace
workspace = Workspace.open(place)
calls = Calls(workspace.filesystem, workspace.session(name))
write = lambda: calls("write")
""",
    "sqlite": """
import sqlite3
connection = sqlite3.connect(place + "/rival.db", timeout=60, isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA synchronous = OFF")
connection.execute("CREATE TABLE IF NOT EXISTS written (text)")
write = lambda: connection.execute("INSERT INTO written VALUES (?)", ("x" * 1500,))
""",
}

WRITE = """
import time
longest = 0.0
for _ in range({count}):
    began = time.perf_counter()
    write()
    longest = max(longest, time.perf_counter() - began)
print(longest, flush=True)
os._exit(0)  # what closing costs is no part of it
"""


@pytest.mark.benchmark(group="process: 1,000 writes, by one process or by four at once")
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("rival", list(WRITERS))
def test_writers(benchmark: Benchmark, tmp_path: Path, rival: str, count: int) -> None:
    """All of them want to write all the time."""
    (tmp_path / "dir/sub").mkdir(parents=True)
    code = f"import os, sys; place, name = sys.argv[1:]{WRITERS[rival]}write(); print(flush=True); input()\n"
    code += WRITE.format(count=1_000 // count)
    started: list[subprocess.Popen[str]] = []
    waits: list[float] = []

    def start() -> None:
        started.clear()
        for number in range(count):
            command = [sys.executable, "-c", code, str(tmp_path), f"s{number}"]
            pipe = subprocess.PIPE
            started.append(
                subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parent.parent)
            )
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()

    def run() -> None:
        for process in started:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        waits.extend(float(process.communicate()[0]) for process in started)
        assert [process.returncode for process in started] == [0] * count

    benchmark.pedantic(run, setup=start, rounds=3)
    benchmark.extra_info["longest wait"] = max(waits)


COMMANDS = [
    "--help",
    "log",
    "call --help",
    "undo --dry-run",
    "undo --help",
    "try -- true",
    "tries",
    "diff",
    "serve --help",
]


OTHERS = {
    "bare python": [sys.executable, "-c", "pass"],
    "git log": ["git", "log"],
    "bubblewrap": ["bwrap", "--dev-bind", "/", "/", "true"],
}


@pytest.mark.parametrize("command", [*OTHERS, *COMMANDS])
def test_commands(benchmark: Benchmark, tmp_path: Path, command: str) -> None:
    """In a workspace with a call, which is a repository with a commit."""
    benchmark.group = "process: commands"
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], cwd=tmp_path, check=True)
    call = [sys.executable, "-m", "wink", "call", "write_file", "file_path=a.txt", "content=a"]
    subprocess.run(call, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    words = OTHERS.get(command, [sys.executable, "-m", "wink", *command.split()])

    def run() -> None:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)

    benchmark.pedantic(run, rounds=15, warmup_rounds=2)


@pytest.mark.benchmark(group="process: wink plugins")
@pytest.mark.parametrize("count", [0, 200])
def test_wink_plugins(benchmark: Benchmark, tmp_path: Path, count: int) -> None:
    """With 0 and with 200 plugins beside those that ship with wink."""
    for number in range(count):
        offers = {"wink.sections": {f"p{number}.section": f"wink_p{number}:section"}}
        with fake_distribution(f"wink-p{number}", entry_points=offers, directory=tmp_path / "site", on_path=False):
            pass
    (tmp_path / "work").mkdir()  # what lies inside the current directory would be ignored
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"}
    process(benchmark, ["-m", "wink", "plugins"], env=environment, cwd=tmp_path / "work")
