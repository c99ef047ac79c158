"""Let every call of the workload fail, or be the last, at each system call in turn, and print what that left.

Without options everything is tried, which takes hours; `--every N` tries each N-th point, `--only OPERATION`
just this one. A line tells of each pair of operation and fault that is done; with `--kept FILE` what was found is kept
there, and a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Final

from .library import FAULTS, POWER, build, compiler

PROJECT: Final = Path(__file__).parents[2]
_IN_MEMORY: Final = "/dev/shm"
COLUMNS: Final = ("points", "before", "after", "mixed", "wedged")


@dataclass
class Table:
    """Points by what they left, for each pair of operation and fault."""

    rows: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    left_out: int = 0

    def add(self, result: dict[str, Any]) -> None:
        """Take in what a worker found."""
        row = self.rows.setdefault((result["operation"], result["fault"]), Counter())
        row.update(result["counts"])
        self.problems += result["problems"]

    def total(self, column: str) -> int:
        """The sum of a column."""
        return sum(row[column] for row in self.rows.values())

    def text(self, *, by: int) -> str:
        """A Markdown table, summed up by operation (0) or by fault (1)."""
        sums: dict[str, Counter[str]] = {}
        for key, row in self.rows.items():
            sums.setdefault(key[by], Counter()).update(row)
        sums["all"] = sum(sums.values(), Counter())
        head = ("operation", "fault")[by]
        lines = [f"| {head} | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
        lines += [f"| {name} | {' | '.join(str(row[column]) for column in COLUMNS)} |" for name, row in sums.items()]
        return "\n".join(lines)


def run(
    *,
    every: int = 1,
    only: Sequence[str] = (),
    only_power: bool = False,
    faults: Sequence[str] = (),
    where: str | None = None,
    workers: int | None = None,
    minutes: float | None = None,
    kept: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Table:
    """Try the points, in several processes at once, in a directory made in `where`; begin nothing after so many minutes.

    What each pair left is added to the file `kept`, and pairs that are there already are not tried again.
    """
    table, started = Table(), time.monotonic()
    known: set[tuple[Any, ...]] = set()
    if kept is not None and kept.exists():
        for line in kept.read_text().splitlines():
            task, result = json.loads(line)
            known.add(tuple(task.values()))
            table.add(result)
    if where is None and os.access(_IN_MEMORY, os.W_OK):
        where = _IN_MEMORY
    with tempfile.TemporaryDirectory(prefix="faults-", dir=where) as scratch:
        environment = os.environ | {"LD_PRELOAD": str(build(Path(scratch))), "PYTHONDONTWRITEBYTECODE": "1"}
        tasks: SimpleQueue[str] = SimpleQueue()
        planned = [
            one
            for task in _tasks(only)
            if (not only_power or task["fault"] == POWER)
            and (not faults or task["fault"] in faults)
            and tuple((one := task | {"every": every}).values()) not in known
        ]
        if minutes is not None:
            random.Random(len(planned)).shuffle(planned)  # so that whatever is left out is a sample
        for task in planned:
            tasks.put(json.dumps(task) + "\n")
        count = workers or os.cpu_count() or 1
        lock, done = Lock(), list[str]()

        def work(number: int) -> None:
            place = Path(scratch, str(number))
            place.mkdir()
            command = (sys.executable, "-m", "tests.faults._worker", str(place))
            with subprocess.Popen(
                command, cwd=PROJECT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as worker:
                assert worker.stdin is not None
                assert worker.stdout is not None
                while minutes is None or time.monotonic() - started < minutes * 60:
                    try:
                        task = tasks.get_nowait()
                    except Empty:
                        break
                    worker.stdin.write(task)
                    worker.stdin.flush()
                    line = worker.stdout.readline()
                    if not line:
                        raise RuntimeError(f"a worker died of {task}")
                    result = json.loads(line)
                    with lock:
                        table.add(result)
                        done.append(task)
                        if kept is not None:
                            with kept.open("a") as file:
                                file.write(f"[{task.rstrip()}, {line.rstrip()}]\n")
                        tell(
                            f"{len(done)}/{len(planned)} {result['operation']}, {result['fault']}: "
                            f"{result['counts'].get('points', 0)} points, {len(result['problems'])} problems"
                        )
                worker.stdin.close()

        with ThreadPoolExecutor(count) as threads:
            list(threads.map(work, range(count)))
        table.left_out = tasks.qsize()
    return table


def _tasks(only: Sequence[str]) -> list[dict[str, Any]]:
    from ._workload import OPERATIONS

    chosen = [operation for operation in OPERATIONS if not only or operation.name in only]
    return [
        {"operation": operation.name, "fault": fault.name, "recovery": recovery}
        for operation in chosen
        for recovery in (False, True)
        for fault in FAULTS
    ] + [{"operation": operation.name, "fault": POWER, "recovery": False} for operation in chosen if operation.power]


def main() -> int:
    """Print the tables; fails when anything was mixed or wedged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], metavar="OPERATION")
    parser.add_argument("--only-power", action="store_true", help="only cuts of power")
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT", help="only this fault")
    parser.add_argument("--where", help="a directory of the filesystem to try it on; in memory by default")
    parser.add_argument("--minutes", type=float, help="begin nothing after this time")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep what is found there, and go on from it")
    options = parser.parse_args()
    if compiler() is None:
        print("not run: there is no C compiler")
        return 1
    started = time.monotonic()
    table = run(
        every=options.every,
        only=options.only,
        only_power=options.only_power,
        faults=options.fault,
        where=options.where,
        minutes=options.minutes,
        kept=options.kept,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    print(table.text(by=0), table.text(by=1), sep="\n\n")
    print(f"\n{table.total('points')} points; this run took {time.monotonic() - started:.0f} s")
    if table.left_out:
        print(f"{table.left_out} pairs of operation and fault were not begun in time")
    for problem in table.problems:
        print(problem)
    return 1 if table.problems else 0


if __name__ == "__main__":
    sys.exit(main())
