"""Print what was measured as one table, with rivals of the same run and with aims: `python -m benchmarks.table FILE`.

FILE is what `pytest benchmarks --benchmark-json=FILE` wrote. What was not measured is left out, and counted at the end.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Benchmarks = Mapping[str, Any]
"""By name, what pytest-benchmark says of each."""


def median(found: Any) -> float:
    """Seconds, of the usual time."""
    return float(found["stats"]["median"])


def longest(found: Any) -> float:
    """Seconds, of the slowest time."""
    return float(found["stats"]["max"])


def wait(found: Any) -> float:
    """Seconds, of the longest that a writer of several has waited for one write."""
    return float(found["extra_info"]["longest wait"])


def uncollected(found: Any) -> float:
    """Seconds, of the slowest time in which Python did not collect all its garbage."""
    return float(found["extra_info"].get("longest without a collection", longest(found)))


def growth(found: Any) -> float:
    """How much longer each of the last hundred times took than each of the first."""
    times = found["stats"]["data"]
    return statistics.median(times[-100:]) / statistics.median(times[:100])


@dataclass(frozen=True, slots=True)
class Row:
    """Some work and what it is held against: `aim` is in what `figure` gives, or times the rival where `over` says so."""

    work: str
    names: tuple[str, ...]
    aim: float
    beside: str = ""
    rivals: tuple[str, ...] = ()
    figure: Callable[[Any], float] = median
    over: bool = False


def both(name: str) -> tuple[str, str]:
    """The names of a benchmark in a tree of 1,000 and in one of 100,000 files."""
    return name.format("1k-files"), name.format("100k-files")


def command(words: str) -> tuple[str]:
    """The name of the benchmark of a command."""
    return (f"test_processes.py::test_commands[{words}]",)


FILES = "1,000 / 100,000 files"
BARE, SAVED = ("test_memory.py::test_bare",), both("test_disk.py::test_create_write_and_rename[{}]")
PYTHON, GIT_LOG = command("bare python"), command("git log")
COMMITTED = both("test_history.py::test_save_and_sqlite_commit_in_a_row[{}]")
NEW = "test_disk.py::test_new_files_in_many_directories"
ROWS = [
    Row("in memory: a call that does nothing, two policies", ("test_memory.py::test_call_two_policies",), 25e-6, "its handler alone", BARE),
    Row("the same, after 10,000 calls", ("test_memory.py::test_call_after_10_000",), 25e-6, "its handler alone", BARE),
    Row(f"on disk: a call that does nothing, {FILES}", both("test_disk.py::test_call[{}-noop]"), 70e-6),
    Row("a call that overwrites a file", both("test_disk.py::test_call[{}-write]"), 2, "create, write, rename", SAVED, over=True),
    Row("the same, in time", both("test_disk.py::test_call[{}-write]"), 0.3e-3),
    Row("the same, failing and rolled back", both("test_disk.py::test_call[{}-fail]"), 0.3e-3, "create, write, rename", SAVED),
    Row("10,000 in a row: the last over the first", both("test_history.py::test_edit_in_a_row[{}]"), 1.1, figure=growth),
    Row("the slowest of them", both("test_history.py::test_edit_in_a_row[{}]"), 20e-3, "saves, committed to SQLite", COMMITTED, figure=longest),
    Row("the same, when Python did not collect garbage", both("test_history.py::test_edit_in_a_row[{}]"), 20e-3, "saves, committed to SQLite", COMMITTED, figure=uncollected),
    Row("roll back 100 files", both("test_history.py::test_rollback[{}]"), 2e-3, "its system calls alone", both("test_history.py::test_bare_rollback[{}]")),
    Row("undo 100 files", both("test_history.py::test_undo_of_what_is_folded[{}-100-changed]"), 10e-3, "copies put back", both("test_history.py::test_copy_back[{}]")),
    Row("the same", both("test_history.py::test_undo_of_what_is_folded[{}-100-changed]"), 10e-3, "a hundred create, write, rename", both("test_history.py::test_replace[{}]")),
    Row("checkpoint of 1 change", both("test_history.py::test_fold[{}-1-changed]"), 2e-3, "git add, commit", both("test_history.py::test_git_add_and_commit[{}-1-changed]")),
    Row("checkpoint of 100 changes", both("test_history.py::test_fold[{}-100-changed]"), 15e-3, "git add, commit", both("test_history.py::test_git_add_and_commit[{}-100-changed]")),
    Row("100,000 files created, on disk: the last over the first", (f"{NEW}[disk]",), 1.1, figure=growth),
    Row("the same in memory", (f"{NEW}[memory]",), 1.1, figure=growth),
    Row("four writers over one, 1,000 writes", ("test_processes.py::test_writers[wink-4]",), 1.11, "one", ("test_processes.py::test_writers[wink-1]",), over=True),
    Row("the longest wait of one of the four", ("test_processes.py::test_writers[wink-4]",), 50e-3, "four of SQLite", ("test_processes.py::test_writers[sqlite-4]",), figure=wait),
    Row(f"process: wink call read_file, {FILES}", both("test_processes.py::test_wink_call[{}]"), 150e-3, "bare Python", PYTHON),
    Row("process: wink log", command("log"), 150e-3, "git log", GIT_LOG),
    Row("process: wink undo --dry-run", command("undo --dry-run"), 150e-3, "bare Python", PYTHON),
    Row("process: wink try -- true", command("try -- true"), 200e-3, "bubblewrap", command("bubblewrap")),
    *(Row(f"process: wink {words}", command(words), 80e-3, "bare Python", PYTHON) for words in ("--help", "call --help", "undo --help", "serve --help")),
    Row("serve: start to the list of tools", ("test_serving.py::test_first_list[wink]",), 1.1, "the SDK alone", ("test_serving.py::test_first_list[the SDK alone]",), over=True),
    Row("serve: a call that reads", ("test_serving.py::test_read[wink]",), 1.3, "the SDK alone", ("test_serving.py::test_read[the SDK alone]",), over=True),
    Row("serve: a call that overwrites", ("test_serving.py::test_write[wink]",), 1.8, "the SDK alone", ("test_serving.py::test_write[the SDK alone]",), over=True),
]  # fmt: skip


def time(seconds: float) -> str:
    """A time with its unit.

    >>> time(0.000_123_4), time(0.0123), time(1.5)
    ('123 µs', '12.3 ms', '1.5 s')
    """
    for size, unit in ((1, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def line(row: Row, run: Benchmarks) -> str:
    """The row as Markdown; raises KeyError if it was not measured."""
    figures = [row.figure(run[name]) for name in row.names]
    rivals = [row.figure(run[name]) for name in row.rivals]
    ratios = [figure / rivals[min(index, len(rivals) - 1)] for index, figure in enumerate(figures)] if rivals else []
    is_time = row.figure is not growth
    shown = " / ".join(time(figure) if is_time else f"{figure:.2f} x" for figure in figures)
    held = " / ".join(time(rival) for rival in rivals)
    times = " / ".join(f"{ratio:.2f} x" for ratio in ratios)
    aim = f"{row.aim:g} x" if row.over or not is_time else time(row.aim)
    reached = "reached" if max(ratios if row.over else figures) <= row.aim else "missed"
    return f"| {row.work} | {shown} | {f'{row.beside}: {held}' if held else ''} | {times} | {aim} | {reached} |"


def main(path: str) -> None:
    """Print the table."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))["benchmarks"]
    run = {one["fullname"].removeprefix("benchmarks/"): one for one in found}
    print("| work | median | beside | times | aim | |\n|---|---:|---:|---:|---:|---|")
    missing = 0
    for row in ROWS:
        try:
            print(line(row, run))
        except KeyError:
            missing += 1
    if missing:
        print(f"{missing} rows were not measured in this run")


if __name__ == "__main__":
    main(*sys.argv[1:])
