"""Eight agents at once on one repository, each in a try, beside a git worktree for each with a copy of what git ignores.

    python -m benchmarks.several_agents [--agents 8] [--files 20000] [--ignored-mb 1024] [--place DIRECTORY]

The repository has so many files, and a `node_modules` of that size which git ignores and the agents' work needs, as real ones do. All
agents are started at once. `start` is from the command to the first line of the agent's own program, set-up included. Each changes files of
its own and one line of a file that all share; the last two change the same line. Then one after the other is merged, if a check passes
on the result: by `wink accept --check`, and by `git merge --no-commit`, the check, and a commit. What conflicts is updated (`wink update`, `git merge` in the
worktree), resolved there by the same program, and merged. In the end both repositories hold the same.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

IDENTITY = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ENVIRONMENT = {**os.environ, **IDENTITY, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
MIB = 1 << 20
IN_ONE_DIRECTORY = 100
AGENT = """
import pathlib, sys, time
print(time.time_ns(), flush=True)
number, agents = int(sys.argv[1]), int(sys.argv[2])
assert sum(len(path.read_bytes()) for path in pathlib.Path("node_modules/d0").iterdir()) > 0
for path in sorted(pathlib.Path("src", f"d{number}").iterdir())[:20]:
    path.write_text(path.read_text() + f"# agent {number}\\n")
shared, line = pathlib.Path("shared.txt"), min(number, agents - 2) * 4
lines = shared.read_text().splitlines()
lines[line] += f" and agent {number}"
shared.write_text("\\n".join(lines) + "\\n")
"""
CHECK = """
import pathlib, sys
assert pathlib.Path("node_modules/d0").is_dir()
text = pathlib.Path("shared.txt").read_text()
sys.exit("<<<<" in text or len(text.splitlines()) < 40)
"""
RESOLVE = """
import pathlib, re
shared = pathlib.Path("shared.txt")
text = re.sub(r"<<<<<<< .*?\\n(.*?)\\n(?:\\|\\|\\|\\|\\|\\|\\| .*?\\n.*?\\n)?=======\\n.*?( and agent \\d+)\\n>>>>>>> .*?\\n", r"\\1\\2\\n", shared.read_text(), flags=re.DOTALL)
shared.write_text(text)
"""


class Figures(NamedTuple):
    """Seconds from the command to each agent's first line, bytes on the disk for all, seconds of all merges, and what conflicted."""

    starts: list[float]
    disk: int
    merges: float
    conflicts: int


def run(*words: str, place: Path, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; with a `status` it must end so."""
    done = subprocess.run(words, cwd=place, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if status is not None and done.returncode != status:
        raise SystemExit(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


def make(place: Path, files: int, ignored: int) -> None:
    """The repository."""
    for number in range(files):
        path = place / f"src/d{number // IN_ONE_DIRECTORY}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n" * 20)
    content = os.urandom(50 << 10)
    for number in range(max(ignored // len(content), 1)):
        path = place / f"node_modules/d{number // IN_ONE_DIRECTORY}/f{number}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (place / ".env").write_text("KEY=hunter2\n")
    (place / ".gitignore").write_text("node_modules\n.env\n.wink\n")
    (place / "shared.txt").write_text("".join(f"line {number}\n" for number in range(60)))
    for words in (("git", "init", "-q", "-b", "main"), ("git", "add", "."), ("git", "commit", "-qm", "Begin")):
        run(*words, place=place)


def used(*places: Path) -> int:
    """Bytes on the disk of all that lies in some directories, each file once however many names it has."""
    found: dict[tuple[int, int], int] = {}
    for place in places:
        for directory, _, names in os.walk(place):
            for status in [os.lstat(directory), *(os.lstat(os.path.join(directory, name)) for name in names)]:
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(found.values())


def at_once(agents: int, place: Path, words: Callable[[int], list[str]]) -> list[float]:
    """Start a command for each agent, and give how long each took to its agent's first line; all end well."""
    began: list[int] = []
    running: list[subprocess.Popen[str]] = []
    for number in range(agents):
        began.append(time.time_ns())
        running.append(subprocess.Popen(words(number), cwd=place, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True))
    said = [one.communicate()[0] for one in running]
    if any(one.returncode for one in running):
        raise SystemExit(f"an agent failed: {[one.returncode for one in running]}")
    return [(int(text.split()[0]) - start) / 1e9 for text, start in zip(said, began, strict=True)]


def with_tries(place: Path, agents: int, programs: Path) -> Figures:
    """A try for each."""
    wink = [sys.executable, "-m", "wink"]

    def words(number: int) -> list[str]:
        agent = [sys.executable, str(programs / "agent.py"), str(number), str(agents)]
        return [*wink, "try", "-q", "--name", f"a{number}", "--", *agent]

    starts = at_once(agents, place, words)
    disk, conflicts, began = used(place / ".wink"), 0, time.perf_counter()
    check = ["--check", f"{sys.executable} {programs}/check.py"]
    for number in range(agents):
        name = f"a{number}"
        done = run(*wink, "accept", "--name", name, *check, place=place, status=None)
        if done.returncode:
            conflicts += 1
            run(*wink, "update", name, place=place, status=1)
            run(*wink, "try", "-q", "--name", name, "--", sys.executable, f"{programs}/resolve.py", place=place)
            run(*wink, "accept", "--name", name, *check, place=place)
    return Figures(starts, disk, time.perf_counter() - began, conflicts)


def with_worktrees(place: Path, agents: int, programs: Path) -> Figures:
    """A worktree for each, with copies of what git ignores."""

    def words(number: int) -> list[str]:
        tree = f"../tree{number}"
        script = (
            # Two at once can fail: "failed to read .git/worktrees/tree3/commondir".
            f"flock ../lock git worktree add -q {tree} -b a{number} && cp -a node_modules .env {tree}/ && cd {tree} && "
            f"{sys.executable} {programs}/agent.py {number} {agents} && git commit -qam 'agent {number}'"
        )
        return ["sh", "-c", script]

    starts = at_once(agents, place, words)
    disk, conflicts, began = used(*place.parent.glob("tree*")), 0, time.perf_counter()
    check = (sys.executable, f"{programs}/check.py")
    for number in range(agents):
        tree = place.parent / f"tree{number}"
        if run("git", "merge", "-q", "--no-commit", "--no-ff", f"a{number}", place=place, status=None).returncode:
            conflicts += 1
            run("git", "merge", "--abort", place=place)
            run("git", "merge", "-q", "main", place=tree, status=1)
            run(sys.executable, f"{programs}/resolve.py", place=tree)
            run("git", "commit", "-qam", "Resolve", place=tree)
            run("git", "merge", "-q", "--no-commit", "--no-ff", f"a{number}", place=place)
        run(*check, place=place)
        run("git", "commit", "-qm", f"Merge {number}", place=place)
    return Figures(starts, disk, time.perf_counter() - began, conflicts)


@contextmanager
def repository(at: str | None, files: int, ignored: int) -> Generator[tuple[Path, Path]]:
    """A fresh one, and where the programs are."""
    with tempfile.TemporaryDirectory(prefix="wink-agents-", dir=at) as outer:
        place, programs = Path(outer, "project"), Path(outer, "programs")
        place.mkdir()
        programs.mkdir()
        for name, text in (("agent", AGENT), ("check", CHECK), ("resolve", RESOLVE)):
            (programs / f"{name}.py").write_text(text)
        make(place, files, ignored)
        yield place, programs


def content(place: Path) -> dict[str, str]:
    """What both must come to, without who was first where two changed the same line."""
    texts = {str(path.relative_to(place)): path.read_text() for path in place.glob("src/**/*.py")}
    return texts | {"shared.txt": re.sub(r" and agent \d+", " and an agent", (place / "shared.txt").read_text())}


def main() -> None:
    """Measure both ways, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--ignored-mb", type=int, default=1024)
    parser.add_argument("--place", help="a directory for the repositories; they need so many times what is ignored")
    asked = parser.parse_args()
    if shutil.which("bwrap") is None:
        raise SystemExit("tries need bubblewrap: apt-get install bubblewrap")
    found: list[Figures] = []
    left: list[dict[str, str]] = []
    for way in (with_tries, with_worktrees):
        with repository(asked.place, asked.files, asked.ignored_mb * MIB) as (place, programs):
            os.sync()
            found.append(way(place, asked.agents, programs))
            left.append(content(place))
    if left[0] != left[1]:
        raise SystemExit("the two ways have not come to the same files")
    ours, theirs = found
    rows = (
        ("start of an agent, median", statistics.median(ours.starts), statistics.median(theirs.starts), "s"),
        ("start of an agent, the last one", max(ours.starts), max(theirs.starts), "s"),
        ("disk for all of them", ours.disk / MIB, theirs.disk / MIB, "MiB"),
        ("all merged, each checked", ours.merges, theirs.merges, "s"),
    )
    print(
        f"| {asked.agents} agents, {asked.files:,} files, {asked.ignored_mb:,} MiB ignored | tries | worktrees | ratio |"
    )
    print("|---|--:|--:|--:|")
    for what, mine, other, unit in rows:
        print(f"| {what} | {mine:.2f} {unit} | {other:.2f} {unit} | {other / mine if mine else float('inf'):.1f} |")
    print(f"| conflicts, resolved where they were made | {ours.conflicts} | {theirs.conflicts} | |")


if __name__ == "__main__":
    main()
