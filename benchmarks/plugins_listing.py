"""What `wink plugins` costs as a whole process, beside a bare scan by `importlib.metadata`, in one run.

    python -m benchmarks.plugins_listing [--plugins 0 50 200] [--others 150] [--rounds 15]

Every plugin is a distribution of its own with one section, a description of 4 KB and a requirement of wink, as pip would
leave it; `others` are distributions of the same size without anything for wink. `scan` is a Python that asks the standard
library for the entry points of all distributions and, for those that offer something for wink, for name, version, summary
and requirements: what a list needs, without a check, a setting or a table. The processes take turns; figures are medians
of milliseconds of processor time, which a busy machine disturbs less, and in brackets the shortest time on the clock. The
ratio is that of `wink plugins` to `scan` in the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from wink.testing import fake_distribution

AIM: Final = 120
SCAN: Final = """
import importlib.metadata
for dist in importlib.metadata.distributions():
    points = [point for point in dist.entry_points if point.group.startswith("wink.")]
    if points:
        said = dist.metadata
        print(said["Name"], dist.version, said["Summary"], dist.requires, *(point.name for point in points))
"""
WINK: Final = "from wink.cli import main; main()"
"""What the script `wink` does."""

PROGRAMS: Final = {
    "bare Python": ("-c", "pass"),
    "scan": ("-c", SCAN),
    "wink plugins": ("-P", "-c", WINK, "plugins"),
    "wink plugins --json": ("-P", "-c", WINK, "plugins", "--json"),
}


def install(directory: Path, count: int, *, for_wink: bool) -> None:
    """Write distributions as pip would leave them, but for their code, which nobody imports."""
    for number in range(count):
        name = f"{'plugin' if for_wink else 'other'}-{number}"
        group, offer = ("wink.sections", f"p{number}.section") if for_wink else ("console_scripts", f"run-{number}")
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.{number}\nSummary: One of many\n"
        metadata += "Requires-Dist: wink<2,>=0.1\nRequires-Dist: click>=8\n\n" + "A long description.\n" * 200
        with fake_distribution(
            name,
            f"1.{number}",
            entry_points={group: {offer: f"{name.replace('-', '_')}:section"}},
            files={"METADATA": metadata, "RECORD": f"{name}/__init__.py,,\n" * 20},
            directory=directory,
            on_path=False,
        ):
            pass


class Figure(NamedTuple):
    """Of one program: the median of its processor time and its shortest time on the clock, in milliseconds."""

    worked: float
    waited: float

    def __str__(self) -> str:
        return f"{self.worked:.0f} ({self.waited:.0f})"


def measured(site: Path, cwd: Path, rounds: int) -> dict[str, Figure]:
    """Each program's whole process."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": str(site)}
    worked: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    waited: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for turn in range(rounds + 2):
        for name, arguments in PROGRAMS.items():
            begun = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, *arguments], stdout=subprocess.DEVNULL, cwd=cwd, env=environment
            )
            _, process.returncode, used = os.wait4(process.pid, 0)
            assert process.returncode == 0
            if turn >= 2:  # the first two fill the caches
                waited[name].append((time.perf_counter() - begun) * 1000)
                worked[name].append((used.ru_utime + used.ru_stime) * 1000)
    return {name: Figure(statistics.median(worked[name]), min(waited[name])) for name in PROGRAMS}


def listed(site: Path, cwd: Path) -> int:
    """How many of the plugins `wink plugins` lists, so that nothing else is measured."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, *PROGRAMS["wink plugins"]],
        check=True,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
    )
    return sum(line.startswith("p") and " section section" in line for line in done.stdout.splitlines())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugins", type=int, nargs="+", default=[0, 50, 200])
    parser.add_argument("--others", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    print(f"| plugins | {' | '.join(PROGRAMS)} | x scan |")
    print(f"|---:|{'---:|' * (len(PROGRAMS) + 1)}")
    missed = False
    for count in options.plugins:
        with tempfile.TemporaryDirectory() as place:
            site, cwd = Path(place, "site"), Path(place, "work")
            cwd.mkdir()
            install(site, count, for_wink=True)
            install(site, options.others, for_wink=False)
            assert listed(site, cwd) == count
            found = measured(site, cwd, options.rounds)
        ratio = found["wink plugins"].worked / found["scan"].worked
        print(f"| {count} | {' | '.join(map(str, found.values()))} | {ratio:.2f} |")
        missed = missed or found["wink plugins"].worked > AIM
    print(f"\naim: {AIM} ms for the whole process; {'missed' if missed else 'reached'}")


if __name__ == "__main__":
    main()
