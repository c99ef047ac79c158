"""How long `blame` takes after many changes of one file, beside `git blame` over the same history.

`python -m benchmarks.blame` prints a line for each size; `python -m benchmarks.blame 1000 3000` one, of so many changes of a file
of so many lines. Each change replaces up to three lines somewhere by up to three others.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from wink.workspace import Workspace, apply
from wink_history import blame

SIZES = ((1_000, 1_000), (1_000, 3_000), (1_000, 10_000))
_ROUNDS = 5


def change(workspace: Workspace, changes: int, lines: int) -> None:
    """So many calls, each of which writes the file anew."""
    chance = random.Random(1)
    text = [f"    line {number} of the file, with some text in it\n" for number in range(lines)]
    (Path(workspace.root) / "a").write_text("".join(text))
    for number in range(changes):
        at = chance.randrange(len(text))
        text[at : at + chance.randrange(4)] = [f"    change {number}\n"] * chance.randrange(4)
        content = "".join(text)
        apply(workspace, "write", {}, lambda part, content=content: part.handle.write("a", content))


def median(work: Callable[[], object]) -> float:
    """Seconds of the processor, those of programs that were run too: what others do on the machine has less of a say in them."""
    took: list[float] = []
    for _ in range(_ROUNDS):
        begin = sum(os.times()[:4])
        work()
        took.append(sum(os.times()[:4]) - begin)
    return statistics.median(took)


def measure(changes: int, lines: int) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as place, Workspace.open(place) as workspace:
        change(workspace, changes, lines)
        staged = median(lambda: blame(workspace, "a"))
        workspace.fold()
        folded = median(lambda: blame(workspace, "a"))
        one = median(lambda: blame(workspace, "a", first=lines // 2, last=lines // 2))
        git = ["git", f"--git-dir={workspace.state}/store.git", "blame", "-p", "HEAD", "--", "a"]
        beside = median(lambda: subprocess.run(git, check=True, stdout=subprocess.DEVNULL))
    return f"| {changes:,} | {lines:,} | {staged:.2f} s | {folded:.2f} s | {one:.2f} s | {beside:.2f} s |"


def main(sizes: Sequence[str]) -> None:
    """Print the table."""
    print("| changes | lines | just made | in the history | the same, one line | git blame |")
    print("|--:|--:|--:|--:|--:|--:|")
    for changes, lines in [(int(sizes[0]), int(sizes[1]))] if sizes else SIZES:
        print(measure(changes, lines), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
