"""Try the points that are asked for, one line of JSON after the other, in a process under the injector."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from ._trial import Laboratory, Verdict
from ._workload import OPERATIONS
from .library import FAULTS, POWER

SEEDS: Final = 16
"""How many outcomes of a cut of power are tried after each change."""

Point = tuple[str, Callable[[], Verdict]]


def points(laboratory: Laboratory, task: dict[str, Any]) -> Iterator[Point]:
    """What to try: where it is, and how."""
    operation = next(operation for operation in OPERATIONS if operation.name == task["operation"])
    if task["fault"] == POWER:
        recording = laboratory.recording(operation)
        for at in range(len(recording[2]) + 1):
            for seed in range(SEEDS):
                where = f"{operation.name}, {task['fault']} after {at} changes, {seed}"
                yield where, lambda at=at, seed=seed: laboratory.try_cut(operation, recording, at, seed)
        return
    fault = next(fault for fault in FAULTS if fault.name == task["fault"])
    if not task["recovery"]:
        for at in laboratory.points(operation, fault):
            where = f"{operation.name}, {fault.name} at {at} ({laboratory.reference(operation).trace[at][1]})"
            yield where, lambda at=at: laboratory.try_call(operation, fault, at)
        return
    for killed_at in laboratory.recoveries(operation, min(task["every"], 12)):
        for at in laboratory.recovery_points(operation, killed_at, fault):
            where = f"recovery of {operation.name} killed at {killed_at}, {fault.name} at {at}"
            yield where, lambda at=at, killed=killed_at: laboratory.try_recovery(operation, killed, fault, at)


def obey_permissions() -> None:
    """Make root obey permission bits like anybody else, by giving up all capabilities."""
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert os.getuid() or ctypes.CDLL(None).capset(header, none) == 0


def main(scratch: Path) -> None:
    """Answer every task with a line."""
    obey_permissions()
    laboratory = Laboratory(scratch)
    seen = 0
    for line in sys.stdin:
        task = json.loads(line)
        counts: Counter[str] = Counter()
        problems: list[str] = []
        for where, try_it in points(laboratory, task):
            seen += 1
            if seen % task["every"] != task["every"] // 2:
                continue
            verdict = try_it()
            counts.update(("points", verdict.state, *(("wedged",) if verdict.wedged else ())))
            problems += [f"{where}: {problem}" for problem in (*verdict.mixed, *verdict.wedged)]
        prefix = "recovery of " if task["recovery"] else ""
        result = {
            "operation": prefix + task["operation"],
            "fault": task["fault"],
            "counts": counts,
            "problems": problems,
        }
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
