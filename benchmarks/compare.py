"""What a way back costs: wink, a commit of everything to git, and a copy of the tree, side by side in one run.

    python -m benchmarks.compare [--files 1000 10000 100000]

For trees of small files and for no change, 1 and 100 changed files, this measures what each of the three pays to be able
to go back (`keep`: a call that changes the files and can be undone; write and commit; write and copy), to go back at once
when the work failed (`roll back`), to put what was kept into a history (`fold`), and to go back later (`undo`). Each
figure is the median of several rounds (one for the copy), in milliseconds; the ratio is the rival's time over wink's. Both
rivals work on a tree of their own; git has a repository of its own beside it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conftest import make_tree
from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace

CHANGES = (0, 1, 100)
WORK = ("keep", "roll back", "fold", "undo")


@dataclass(frozen=True, slots=True)
class Edit:
    """Parameters of the one tool: how many files to overwrite, with what, and whether to fail then."""

    count: int
    text: str
    fail: bool = False


def paths(count: int) -> list[str]:
    """The files that are changed: spread over directories, as an edit of a project is."""
    return [f"d000/s{number % 10:05}/f{number // 10:02}.txt" for number in range(count)]


def edit(params: Edit, *, context: ToolContext) -> ToolResult[None]:
    for path in paths(params.count):
        context.filesystem.write(path, params.text)
    return ToolResult[None].error("failed") if params.fail else ToolResult[None].ok(None)


class Wink:
    """A workspace, and calls of one tool on it."""

    name = "wink"

    def __init__(self, tree: Path, scratch: Path) -> None:
        self.workspace = Workspace.open(tree)
        session = self.workspace.session()
        section = MarkdownSection(
            title="T", key="t", template="t", tools=[Tool[Edit, None](name="edit", description="d", handler=edit)]
        )
        resources = {Filesystem: self.workspace.filesystem}
        prompt = Prompt(PromptTemplate(ns="b", key="b", sections=[section])).bind(resources=resources)
        self.executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)

    def keep(self, count: int, text: str) -> None:
        assert self.executor.execute(ToolCall("edit", {"count": count, "text": text})).success

    def roll_back(self, count: int, text: str) -> None:
        assert not self.executor.execute(ToolCall("edit", {"count": count, "text": text, "fail": True})).success

    def fold(self) -> None:
        self.workspace.fold()

    def undo(self, count: int) -> None:
        if count:
            self.workspace.undo()

    def close(self) -> None:
        self.workspace.close()


class Git:
    """A repository beside the tree; nothing of the tree's own settings is used."""

    name = "git"

    def __init__(self, tree: Path, scratch: Path) -> None:
        self.tree = tree
        self.git = [
            "git",
            f"--git-dir={scratch / 'git'}",
            f"--work-tree={tree}",
            "-c",
            "user.name=b",
            "-c",
            "user.email=b@b",
        ]
        self.run("init", "-q")
        self.run("config", "gc.auto", "0")
        self.commit()

    def run(self, *arguments: str) -> None:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run([*self.git, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)

    def commit(self) -> None:
        self.run("add", "-A")
        self.run("commit", "-q", "--allow-empty", "-m", "next")

    def keep(self, count: int, text: str) -> None:
        overwrite(self.tree, count, text)
        self.commit()

    def roll_back(self, count: int, text: str) -> None:
        overwrite(self.tree, count, text)
        self.run("reset", "-q", "--hard", "HEAD")

    def undo(self, count: int) -> None:
        self.run("reset", "-q", "--hard", "HEAD~1")

    def close(self) -> None:
        """Nothing is open."""


class Copy:
    """A whole copy of the tree before each change."""

    name = "copy"

    def __init__(self, tree: Path, scratch: Path) -> None:
        self.tree, self.kept = tree, scratch / "kept"

    def keep(self, count: int, text: str) -> None:
        shutil.rmtree(self.kept, ignore_errors=True)
        subprocess.run(["cp", "-a", self.tree, self.kept], check=True)
        overwrite(self.tree, count, text)

    def roll_back(self, count: int, text: str) -> None:
        self.keep(count, text)
        self.undo(count)

    def undo(self, count: int) -> None:
        shutil.rmtree(self.tree)
        subprocess.run(["cp", "-a", self.kept, self.tree], check=True)

    def close(self) -> None:
        """Nothing is open."""


def overwrite(tree: Path, count: int, text: str) -> None:
    for path in paths(count):
        (tree / path).write_text(text)


Rival = Wink | Git | Copy


def measured(rival: Rival, count: int, rounds: int) -> Iterator[tuple[str, float]]:
    """The median time of each kind of work, in milliseconds; a kind that the rival does not have is left out."""
    times: dict[str, list[float]] = {}
    for number in range(rounds):
        text = f"{rival.name} {number}\n" * 20
        for work, step in steps(rival, count, text):
            started = time.perf_counter()
            step()
            times.setdefault(work, []).append(time.perf_counter() - started)
    for work, taken in times.items():
        yield work, statistics.median(taken) * 1000


def steps(rival: Rival, count: int, text: str) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "roll back", lambda: rival.roll_back(count, text)
    yield "keep", lambda: rival.keep(count, text)
    if isinstance(rival, Wink):
        yield "fold", rival.fold
    yield "undo", lambda: rival.undo(count)


@contextmanager
def tree_of(base: Path, count: int) -> Iterator[Path]:
    """A directory with a tree in it, for one rival, which is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=base, prefix="compare-") as scratch:
        tree = Path(scratch) / "tree"
        make_tree(tree, count)
        yield tree


def run(sizes: list[int], base: Path) -> dict[tuple[int, int, str, str], float]:
    """Medians by number of files, number of changes, work and rival."""
    figures: dict[tuple[int, int, str, str], float] = {}
    for size in sizes:
        for kind in (Wink, Git, Copy):
            say(f"{size:,} files: {kind.name}")
            with tree_of(base, size) as tree:
                rival = kind(tree, tree.parent)
                # A copy costs the same whatever changes, and minutes where the tree is large: it is made for one change.
                rounds = {Wink: 25, Git: 5 if size <= 10_000 else 3, Copy: 1}[kind]
                for count in (1,) if kind is Copy else CHANGES:
                    for work, taken in measured(rival, count, rounds):
                        figures[size, count, work, kind.name] = taken
                rival.close()
    say("")
    return figures


def say(text: str) -> None:
    """Where the run is, for people who wait for it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def table(figures: dict[tuple[int, int, str, str], float], sizes: list[int]) -> Iterator[str]:
    """One row for each work and number of changes, in Markdown."""
    yield "| work | files | changed | wink, ms | git, ms | copy, ms | git / wink | copy / wink |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for work in WORK:
        for size in sizes:
            for count in CHANGES:
                own = figures.get((size, count, work, "wink"))
                if own is None or (work == "undo" and not count):
                    continue
                # Git's history is the commit that it has made to be able to go back at all.
                rival = "keep" if work == "fold" else work
                theirs = [figures.get((size, count, rival, "git")), figures.get((size, 1, rival, "copy"))]
                cells = [f"{own:.2f}", *("" if time is None else f"{time:.1f}" for time in theirs)]
                ratios = ["" if time is None else f"{time / own:,.{0 if time >= 10 * own else 1}f}" for time in theirs]
                yield f"| {work} | {size:,} | {count} | {' | '.join((*cells, *ratios))} |"


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument(
        "--in", dest="base", type=Path, default=Path(tempfile.gettempdir()), help="where to make the trees"
    )
    options = parser.parse_args()
    if any(size < 1000 for size in options.files):
        parser.error("trees have 1,000 files or more; fewer are not what is compared here")
    figures = run(options.files, options.base)
    print("\n".join(table(figures, options.files)))


if __name__ == "__main__":
    main()
