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
