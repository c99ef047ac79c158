"""Random histories of a workspace and two tries, held against a model: `python -m plugins.sandbox.tests.tries_laws.run`.

Each program is drawn from `--seed` and its number; `--only NUMBER` does one again, and `--replay` one as it was printed.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from plugins.sandbox.tests.tries_laws.programs import program, smaller, wrong_with

OF_A_JOB = 20
"""So many programs are done in a row by one process."""


def some(seed: int, numbers: Sequence[int]) -> tuple[int, Counter[str], list[str]]:
    """How many programs were done, what was done in them, and what differs, as it can be replayed."""
    seen, wrong = Counter[str](), list[str]()
    for number in numbers:
        operations = program(seed, number)
        seen["operations"] += len(operations)
        if difference := wrong_with(operations, seen):
            fewer, again = smaller(operations)
            shown = "\n  ".join(f"{operation!r}," for operation in fewer)
            wrong.append(f"program {number} of seed {seed}: {difference}\nmade small: {again}\n(\n  {shown}\n)")
    return len(numbers), seen, wrong


def main() -> int:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one program, by its number")
    parser.add_argument("--replay", metavar="FILE", help="a program as it was printed; - for what comes in")
    given = parser.parse_args()
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="wink-laws-user-") as own:
        os.environ["XDG_STATE_HOME"] = own
        if given.replay is not None:
            with open(0 if given.replay == "-" else given.replay, encoding="utf-8") as file:
                wrong = wrong_with(ast.literal_eval(file.read()), Counter())
            print(wrong or "no difference")
            return 1 if wrong else 0
        return carry_out_all(given)


def carry_out_all(given: argparse.Namespace) -> int:
    """Do all programs, and tell of those that differ as soon as one does."""
    began = time.monotonic()
    numbers = range(given.programs) if given.only is None else range(given.only, given.only + 1)
    parts = [numbers[at : at + OF_A_JOB] for at in range(0, len(numbers), OF_A_JOB)]
    seen, done, differing, told = Counter[str](), 0, 0, 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for ended in as_completed([pool.submit(some, given.seed, part) for part in parts]):
            count, counted, wrong = ended.result()
            seen, done, differing = seen + counted, done + count, differing + len(wrong)
            for one in wrong:
                print(one, file=sys.stderr, flush=True)
            if done - told >= 100 or done == len(numbers):
                told = done
                print(f"{done} programs, {differing} differ", file=sys.stderr, flush=True)
    print(f"{done} programs, seed {given.seed}: {differing} differ from the model")
    for name, count in sorted(seen.items()):
        print(f"{count:>8,}  {name}")
    print(f"{time.monotonic() - began:>8.0f}  seconds")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
