"""The whole matrix, in several processes, with a table at the end: `python -m tests.state.run [--by git] [--user UID] [--part 1/10] [--jobs N]`."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.state.commands import COMMANDS
from tests.state.matrix import Attacked, Case, Report, in_part


def main() -> int:
    """Run, and tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--by", choices=("hand", "git"), default="hand", help="how things come where they are")
    parser.add_argument("--user", type=int, default=None, help="as whom")
    parser.add_argument("--part", default="1/1", help="which part of the names and kinds, and of how many")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    started = time.monotonic()
    total = Report()
    with ThreadPoolExecutor(given.jobs) as pool:
        shares = [pool.submit(_share, given, part - 1 + job * parts, parts * given.jobs) for job in range(given.jobs)]
        for share in shares:
            total += share.result()
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


def _share(given: argparse.Namespace, part: int, parts: int) -> Report:
    attacked = Attacked(given.user, by=given.by)
    try:
        report = Report()
        for name, kind in in_part(attacked, part, parts):
            one = attacked.run([Case(name, kind, command) for command in COMMANDS])
            for line in one.failures:
                print(line[:400], file=sys.stderr, flush=True)
            report += one
        report.failures += [f"put back, and not as it was: {one}" for one in attacked.unusual()]
        return report
    finally:
        attacked.close()


if __name__ == "__main__":
    sys.exit(main())
