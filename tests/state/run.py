"""The whole matrix, in several processes, with a table at the end: `python -m tests.state.run [--user UID] [--part 1/10] [--jobs N]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.state.commands import COMMANDS
from tests.state.kinds import KINDS
from tests.state.matrix import Attacked, Case, Report


def main() -> int:
    """Run, and tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", type=int, default=None, help="as whom")
    parser.add_argument("--part", default="1/1", help="which part of the names and kinds, and of how many")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    started = time.monotonic()
    with ThreadPoolExecutor(given.jobs) as pool:
        reports = list(pool.map(lambda job: _share(given.user, part - 1, parts, job, given.jobs), range(given.jobs)))
    total = Report()
    for one in reports:
        total.cases += one.cases
        total.statuses += one.statuses
        total.failures += one.failures
        total.left_out += one.left_out
        total.names |= one.names
        total.kinds |= one.kinds
        total.commands |= one.commands
    for line in total.failures:
        print(f"FAILED {line}")
    seconds = time.monotonic() - started
    print(
        f"{len(total.names)} names x {len(total.kinds)} kinds x {len(total.commands)} commands: {total.cases} cases in {seconds:.0f} s"
    )
    print("statuses:", ", ".join(f"{status}: {count}" for status, count in sorted(total.statuses.items(), key=str)))
    print("left out, since it cannot be there:", dict(total.left_out) or "nothing")
    print(f"failures: {len(total.failures)}")
    return 1 if total.failures else 0


def _share(user: int | None, part: int, parts: int, job: int, jobs: int) -> Report:
    attacked = Attacked(user)
    try:
        cells = [(name, kind) for name in attacked.names for kind in KINDS][part::parts][job::jobs]
        report = Report(left_out=Counter())
        for name, kind in cells:
            one = attacked.run([Case(name, kind, command) for command in COMMANDS])
            for line in one.failures:
                print(line[:400], file=sys.stderr, flush=True)
            report.cases += one.cases
            report.statuses += one.statuses
            report.failures += one.failures
            report.left_out += one.left_out
            report.names |= one.names
            report.kinds |= one.kinds
            report.commands |= one.commands
        return report
    finally:
        attacked.close()


if __name__ == "__main__":
    sys.exit(main())
