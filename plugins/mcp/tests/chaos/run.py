"""The whole of it: `python -m plugins.mcp.tests.chaos.run [--rounds 500] [--seed 1] [--jobs 2]`.

Every workspace lives through ten rounds, drawn from one seed; `--life SEED` does those of one seed again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path

from plugins.mcp.tests.chaos.rounds import Life, Tally

from wink.testing import fake_distribution

ROUNDS_OF_A_LIFE = 10
ROOT = Path(__file__).parents[4]
TOOLS = Path(__file__).with_name("tools.py")


def live(seed: int, rounds: int, directory: str) -> tuple[int, int, Tally, str]:
    """One life: its seed, the rounds that went well, what happened, and what was wrong."""
    place = os.path.join(directory, "place")
    os.mkdir(place)
    points = {"wink.sections": {"chaos.tools": "chaos_tools:section"}}
    total = Tally()
    with fake_distribution(
        "chaos", entry_points=points, modules={"chaos_tools": TOOLS.read_text()}, directory=f"{directory}/plugin"
    ) as plugin:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("WINK_")}
        path = os.pathsep.join(filter(None, [str(plugin.path), os.environ.get("PYTHONPATH", "")]))
        environment = {
            **kept,
            "PYTHONPATH": f"{path}{os.pathsep}{ROOT}",
            "HOME": f"{directory}/home",
            "XDG_CONFIG_HOME": "",
        }
        life = Life(place, environment, seed)
        with closing(life):
            for number in range(rounds):
                try:
                    tally = life.round()
                    if number == rounds - 1:
                        life.last_look()
                except Exception as error:  # also what the check itself did not expect
                    return seed, number, total, f"life {seed}, round {number + 1}: {type(error).__name__}: {error}"
                total.counts += tally.counts
                total.slowest_end = max(total.slowest_end, tally.slowest_end)
    return seed, rounds, total, ""


def live_somewhere(seed: int, rounds: int, keep: str | None = None) -> tuple[int, int, Tally, str]:
    """One life in a directory of its own, which is kept where asked for."""
    if keep is not None:
        os.makedirs(keep)
        return live(seed, rounds, keep)
    with tempfile.TemporaryDirectory(prefix="wink-chaos-", ignore_cleanup_errors=True) as directory:
        return live(seed, rounds, directory)


def main() -> int:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--life", type=int, help="the seed of one life, to do it again")
    parser.add_argument("--keep", help="with --life: a new directory to keep the workspace in")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wink-chaos-user-") as own:
        os.environ["XDG_STATE_HOME"] = own  # the servers' user, whose home is another, is the one who looks afterwards
        return carry_out(given)


def carry_out(given: argparse.Namespace) -> int:
    """Live the lives, and tell how they ended."""
    began = time.monotonic()
    if given.life is not None:
        seed, good, total, wrong = live_somewhere(given.life, min(given.rounds, ROUNDS_OF_A_LIFE), given.keep)
        print(wrong or f"life {seed}: {good} rounds, all consistent\n{dict(total.counts)}")
        return 1 if wrong else 0
    lives = [
        (given.seed * 100_000 + number, min(ROUNDS_OF_A_LIFE, given.rounds - number * ROUNDS_OF_A_LIFE))
        for number in range(-(-given.rounds // ROUNDS_OF_A_LIFE))
    ]
    counts: Counter[str] = Counter()
    good, slowest, failures = 0, 0.0, list[str]()
    with ProcessPoolExecutor(given.jobs) as pool:
        for ended in as_completed([pool.submit(live_somewhere, *life) for life in lives]):
            _, rounds, total, wrong = ended.result()
            good += rounds
            counts += total.counts
            slowest = max(slowest, total.slowest_end)
            if wrong:
                failures.append(wrong)
                print(wrong, file=sys.stderr, flush=True)
            print(f"{good} rounds are consistent", file=sys.stderr, flush=True)
    print(f"{good} of {given.rounds} rounds ended with a consistent workspace (seed {given.seed})")
    for name, count in sorted(counts.items()):
        print(f"{name:>28}  {count}")
    print(f"{'slowest end':>28}  {slowest:.2f} s")
    print(f"{'took':>28}  {time.monotonic() - began:.0f} s")
    return 1 if failures or good != given.rounds else 0


if __name__ == "__main__":
    sys.exit(main())
