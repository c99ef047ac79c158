"""What it costs to run a program so that it can be taken back, beside running it bare and in bare bubblewrap.

    python -m benchmarks.programs [--files 1000 100000]

Each line is one kind of run, each figure the median of many in milliseconds, taken in turns in one process so that all of
them meet the same machine. `call` is a whole tool call of `run_command` with session, record and commit; `overlay` is the
guard alone, dropped afterwards; `copy` the guard for hosts without overlays, after its first run. `try` is what `wink try`
does from its start to a drop, in this process; `wink try` the whole command with `wink drop`, beside a bare Python.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare import say
from benchmarks.conftest import make_tree
from wink.filesystem import Filesystem
from wink.plugins import Catalog
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.workspace import Workspace
from wink_sandbox import Command, CopyGuard, Limits, OverlayGuard, Profile, Sandbox, bubblewrap
from wink_sandbox.tries import Try, run_here

NOTHING = "true"
HUNDRED = "for i in $(seq 100 199); do echo $i > d000/s00000/made$i; done"
BARE = (
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--unshare-all",
    "--die-with-parent",
)
SANDBOX = Sandbox(Profile(limits=Limits(memory_bytes=None)))


class Bench:
    """One tree, and every way to run a command in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = Workspace.open(root)
        session = self.workspace.session()
        catalog = Catalog.installed()
        section = catalog.use("section", "shell.commands")
        prompt = Prompt(PromptTemplate(ns="b", key="b", sections=[section])).bind(
            resources={Filesystem: self.workspace.filesystem}
        )
        self.executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)

    def bare(self, words: str) -> None:
        subprocess.run(["/bin/sh", "-c", words], cwd=self.root, check=True)

    def bubblewrap(self, words: str) -> None:
        bound = ("--bind", str(self.root), str(self.root), "--chdir", str(self.root))
        subprocess.run([bubblewrap(), *BARE, *bound, "/bin/sh", "-c", words], check=True)

    def overlay(self, words: str) -> None:
        self._guarded(OverlayGuard(), words)

    def copy(self, words: str) -> None:
        self._guarded(CopyGuard(), words)

    def call(self, words: str) -> None:
        reply = self.executor.execute(ToolCall("run_command", {"command": words}))
        assert reply.success, reply.text

    def attempt(self, words: str) -> None:
        tried = Try(self.workspace, "bench")
        with tried.use() as overlay:
            assert run_here(SANDBOX, Command(("/bin/sh", "-c", words)), overlay) == 0
        tried.drop()

    def python(self, words: str) -> None:
        subprocess.run([sys.executable, "-c", ""], check=True)

    def command(self, words: str) -> None:
        for arguments in (("try", "--", "/bin/sh", "-c", words), ("drop",)):
            subprocess.run([sys.executable, "-m", "wink", *arguments], cwd=self.root, capture_output=True, check=False)

    def _guarded(self, guard: OverlayGuard | CopyGuard, words: str) -> None:
        part = self.workspace.filesystem.begin()
        with guard.open(part, SANDBOX) as guarded:
            assert guarded.run(Command(("/bin/sh", "-c", words))).status == 0
            guarded.changes()
        part.undo()

    def ways(self, *, slow: bool) -> Iterator[tuple[str, Callable[[str], None], int]]:
        """Name, the way, and how many rounds it takes."""
        few = 3 if slow else 15
        yield "a bare process", self.bare, 40
        yield "bare bubblewrap", self.bubblewrap, 40
        yield "overlay", self.overlay, 40
        yield "call", self.call, 40
        yield "try", self.attempt, 40
        yield "copy", self.copy, few
        yield "a bare Python", self.python, 15
        yield "wink try and wink drop", self.command, 5


@contextmanager
def bench(base: Path, size: int) -> Iterator[Bench]:
    """A tree of `size` files, removed afterwards."""
    with tempfile.TemporaryDirectory(dir=base, prefix="programs-") as scratch:
        root = Path(scratch) / "tree"
        make_tree(root, size)
        made = Bench(root)
        yield made
        made.workspace.close()


def run(sizes: list[int], base: Path) -> Iterator[tuple[str, str, dict[int, float]]]:
    """Kind of command, way, and the median by size."""
    times: dict[tuple[str, str], dict[int, float]] = {}
    for size in sizes:
        with bench(base, size) as one:
            for kind, words in (("nothing", NOTHING), ("100 files", HUNDRED)):
                for name, way, rounds in one.ways(slow=size > 10_000):
                    say(f"{size:,} files, {kind}: {name}")
                    way(words)
                    taken: list[float] = []
                    for number in range(rounds):
                        text = words.replace("echo $i", f"echo {number}-$i")
                        started = time.perf_counter()
                        way(text)
                        taken.append(time.perf_counter() - started)
                    times.setdefault((kind, name), {})[size] = statistics.median(taken) * 1000
    say("")
    for (kind, name), found in times.items():
        yield kind, name, found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument(
        "--in", dest="base", type=Path, default=Path(tempfile.gettempdir()), help="where to make the trees"
    )
    options = parser.parse_args()
    os.environ.setdefault("HOME", "/nonexistent")
    rows = list(run(options.files, options.base))
    print("| command | way | " + " | ".join(f"{size:,} files, ms | x bubblewrap" for size in options.files) + " |")
    print("|---|---|" + "---:|---:|" * len(options.files))
    rival = {kind: found for kind, name, found in rows if name == "bare bubblewrap"}
    for kind, name, found in rows:
        cells = [f"{found[size]:.1f} | {found[size] / rival[kind][size]:.1f}" for size in options.files]
        print(f"| {kind} | {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
