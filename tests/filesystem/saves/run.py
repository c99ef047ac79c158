"""Let a person save at every step of everything that wink does to their file, and count where the saves are afterwards.

`python -m tests.filesystem.saves.run` tries them all; `--every N` one step in N, `--only OPERATION` and `--way WAY` some of them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from ._trial import PLACES, Case, Laboratory, cases

COLUMNS: Final = ("saves", *PLACES)
_IN_MEMORY: Final = "/dev/shm"


@dataclass
class Table:
    """Saves by where they were found, for each way of saving and each operation."""

    rows: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    trials: int = 0

    def add(self, case: Case, trials: int, places: Counter[str], problems: Sequence[str]) -> None:
        """Take in what became of one case."""
        row = self.rows.setdefault((case.way, case.title), Counter())
        row.update(places)
        row["saves"] += sum(places.values())
        self.trials += trials
        self.problems += problems

    def total(self, column: str) -> int:
        """The sum of a column."""
        return sum(row[column] for row in self.rows.values())

    def text(self, *, by: int | None = None) -> str:
        """A Markdown table, by way of saving (0), by operation (1), or of all pairs."""
        sums: dict[tuple[str, ...], Counter[str]] = {}
        for key, row in self.rows.items():
            sums.setdefault(key if by is None else (key[by],), Counter()).update(row)
        heads = ("way of saving", "operation")
        head = heads if by is None else (heads[by],)
        total = sum(sums.values(), Counter())
        lines = [f"| {' | '.join((*head, *COLUMNS))} |", f"|{'---|' * len(head)}{'---:|' * len(COLUMNS)}"]
        for key, row in [*sums.items(), (("all",) + ("",) * (len(head) - 1), total)]:
            lines.append(f"| {' | '.join((*key, *(str(row[column]) for column in COLUMNS)))} |")
        return "\n".join(lines)


def run(
    *,
    every: int = 1,
    only: Sequence[str] = (),
    ways: Sequence[str] = (),
    where: str | None = None,
    workers: int | None = None,
) -> Table:
    """Try them, in several processes at once, in a directory made in `where`."""
    if where is None and os.access(_IN_MEMORY, os.W_OK):
        where = _IN_MEMORY
    chosen = [case for case in cases() if (not only or case.operation in only) and (not ways or case.way in ways)]
    table, count = Table(), workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="saves-", dir=where) as scratch:
        groups = [chosen[at : at + 5] for at in range(0, len(chosen), 5)]
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(count, mp_context=spawned) as pool:
            for results in pool.map(partial(tried, every=every, scratch=scratch), groups):
                for result in results:
                    table.add(*result)
    return table


def tried(group: Sequence[Case], *, every: int, scratch: str) -> list[tuple[Case, int, Counter[str], list[str]]]:
    """What became of some cases, each at every step, or one in so many."""
    results: list[tuple[Case, int, Counter[str], list[str]]] = []
    place = Path(scratch, str(os.getpid()))
    place.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        laboratory = Laboratory(place, patch)
        for case in group:
            places, problems, trials = Counter[str](), list[str](), 0
            # Another offset for each, so that a slice meets all steps of something.
            at = zlib.crc32(repr(case).encode()) % every
            while True:
                found = laboratory.attempt(case, at)
                problems += found.problems
                if found.is_over:
                    break  # nobody saved at a step of it
                trials += 1
                places.update(found.places)
                at += every
            results.append((case, trials, places, problems))
    return results


def main() -> int:
    """Print the tables; fails when anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], metavar="OPERATION")
    parser.add_argument("--way", action="append", default=[], metavar="WAY")
    parser.add_argument("--where", help="a directory of the filesystem to try it on; in memory by default")
    parser.add_argument("--pairs", action="store_true", help="also a table of every way with every operation")
    options = parser.parse_args()
    started = time.monotonic()
    table = run(every=options.every, only=options.only, ways=options.way, where=options.where)
    tables = [table.text(by=0), table.text(by=1), *([table.text()] if options.pairs else [])]
    print("\n\n".join(tables))
    print(f"\n{table.total('saves')} saves in {table.trials} trials, in {time.monotonic() - started:.0f} s")
    for problem in table.problems:
        print(problem)
    return 1 if table.problems else 0


if __name__ == "__main__":
    sys.exit(main())
