"""What a batch on Ray costs: `python -m benchmarks.fleet [overhead] [disk] [throughput]`; needs wink[ray], takes minutes.

* overhead: the same work as bare Ray tasks and as a batch, at 1, 100 and 2,000 tasks. A batch adds for each a process of its own,
  an overlay, patch, commit, bundle and record, and two lines in its journal that are on the disk before it goes on.
* disk: what a task takes of the disk while it runs, and what is kept of it, on one shared repository of 20,000 files.
* throughput: tasks in a minute on one worker and on two.

Beside the time on the clock stands the processor's: on a machine that has other things to do only that says something.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import fleet_work
from wink_batch import Driver, Journal, Plan, RayEngine, Source, Task

ROOT = str(Path(__file__).resolve().parents[1])
COUNTS = (1, 100, 2000)
FILES = 20_000


class Took(NamedTuple):
    """Seconds on the clock, and of the processor in all processes of the system that are ours."""

    clock: float
    cpu: float


def batch(
    place: str, number: int, *, parallel: int = 0, workspace: Source | None = None
) -> tuple[Took, dict[str, Any]]:
    """A whole batch on a Ray that runs already warm; what it took, and its records."""
    name = f"b{number}-{parallel}-{time.monotonic_ns()}"
    plan = Plan(name, "benchmarks.fleet_work:assemble", cache=f"{place}/cache", paths=(ROOT,))
    tasks = [Task(f"t{one}", "x", workspace or Source("empty")) for one in range(number)]
    warm = [Task(f"w{one}", "x", workspace or Source("empty")) for one in range(2 * (os.cpu_count() or 1))]
    engine = RayEngine(parallel=parallel)
    try:
        with Journal.begin(f"{place}/{name}-warm", plan, warm) as journal:
            Driver(journal, engine).run()
        with Journal.begin(f"{place}/{name}", plan, tasks) as journal:
            clock, cpu = time.perf_counter(), _cpu()
            Driver(journal, engine).run()
            took = Took(time.perf_counter() - clock, _cpu() - cpu)
            results = dict(journal.results)
            assert all(row["status"] == "done" for row in results.values()), results
        return took, {"rows": results, "place": f"{place}/{name}"}
    finally:
        engine.close()


def bare(number: int) -> Took:
    """As many bare Ray tasks with the same work."""
    import importlib

    engine = RayEngine()
    try:
        ray: Any = importlib.import_module("ray")
        function = ray.remote(max_retries=0)(fleet_work.bare)
        ray.get([function.remote() for _ in range(2 * (os.cpu_count() or 1))])
        clock, cpu = time.perf_counter(), _cpu()
        ray.get([function.remote() for _ in range(number)])
        return Took(time.perf_counter() - clock, _cpu() - cpu)
    finally:
        engine.close()


def _cpu() -> float:
    """Processor seconds of this process and everything beneath it, of whatever is still there and of what is over."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    above: dict[int, int] = {}
    used: dict[int, float] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            above[int(name)] = int(fields[1])
            used[int(name)] = sum(map(int, fields[11:15])) / ticks
    for pid in used:
        one = pid
        while one not in (os.getpid(), 0, 1) and one in above:
            one = above[one]
        if one == os.getpid():
            total += used[pid]
    return total


def overhead(place: str, counts: Sequence[int]) -> None:
    """Print the first table."""
    print("| tasks | bare, ms a task (processor) | batch, ms a task (processor) | overhead, ms (processor) |")
    print("|---|---|---|---|")
    for number in counts:
        one, (two, _) = bare(number), batch(place, number)
        shown = [(took.clock / number * 1000, took.cpu / number * 1000) for took in (one, two)]
        shown.append((shown[1][0] - shown[0][0], shown[1][1] - shown[0][1]))
        print(f"| {number} | " + " | ".join(f"{clock:.0f} ({cpu:.0f})" for clock, cpu in shown) + " |", flush=True)


def disk(place: str) -> None:
    """Print what a task takes of the disk."""
    repository = os.path.join(place, "repository")
    for one in range(FILES):
        above = f"{repository}/d{one // 100}"
        if one % 100 == 0:
            os.makedirs(above)
        Path(above, f"f{one}.py").write_text(f"# {one}\n" + "x = 1\n" * 200)
    _, about = batch(place, 50, workspace=Source("directory", repository))
    rows = about["rows"].values()
    most = max(row["disk_bytes"] for row in rows)
    print(f"repository: {_size(repository) / 1e6:.1f} MB in {FILES} files")
    print(
        f"a task while it runs: {most / 1024:.0f} KiB; kept of it: {_size(about['place']) / len(rows) / 1024:.0f} KiB",
        flush=True,
    )


def throughput(place: str) -> None:
    """Print tasks in a minute."""
    for parallel in (1, 2):
        took, _ = batch(place, 60, parallel=parallel)
        print(f"{parallel} worker{'s' if parallel > 1 else ''}: {60 / took.clock * 60:.0f} tasks a minute", flush=True)


def _size(place: str) -> int:
    return sum(
        os.lstat(os.path.join(above, name)).st_blocks * 512 for above, _, names in os.walk(place) for name in names
    )


def main(arguments: Sequence[str]) -> None:
    """Run what is asked for, or all."""
    numbers = tuple(int(word) for word in arguments if word.isdigit()) or COUNTS
    wanted = [word for word in arguments if not word.isdigit()] or ["overhead", "disk", "throughput"]
    with tempfile.TemporaryDirectory(prefix="wink-fleet-") as place:
        for word in wanted:
            {
                "overhead": lambda: overhead(place, numbers),
                "disk": lambda: disk(place),
                "throughput": lambda: throughput(place),
            }[word]()


if __name__ == "__main__":
    main(sys.argv[1:])
