"""What the hooks of an attached agent's call cost beside `true` as a hook, and how long the first baseline takes.

`python -m benchmarks.attach` prints both in one run; `python -m benchmarks.attach 1000` only at that many files.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from wink_attach._baseline import Baseline
from wink_attach._keeper import Keeper
from wink_attach._tree import Tree

SIZES = (1_000, 10_000, 100_000)
_ROUNDS = 30


def made(root: Path, files: int) -> None:
    """A tree of so many files, eight in a directory."""
    for number in range(files):
        path = root / f"d{number // 512}" / f"e{number // 8 % 64}" / f"f{number}.py"
        if number % 8 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n" + "x = 1\n" * 200)


def _nothing_is_secret(path: str, *, by_name: bool) -> bool:
    del path, by_name
    return False


def baseline(root: Path, state: Path) -> tuple[float, float]:
    """Seconds until everything is watched and known by name, and until everything is kept."""
    tree = Tree(str(root), ())
    keeper = Keeper(tree, Baseline(str(state)), _nothing_is_secret)
    start = time.perf_counter()
    keeper.begin()
    watched = time.perf_counter() - start
    keeper.work(600)
    whole = time.perf_counter() - start
    keeper.close()
    tree.close()
    return watched, whole


def hooks(root: Path, home: Path) -> tuple[float, float]:
    """Milliseconds of the two hooks of a call that writes a file, and of `true` twice: medians, one after the other."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}

    def wink(*words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "wink", *words], cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL
        )

    def run(command: str, **payload: object) -> float:
        told = json.dumps({"session_id": "bench", "tool_name": "Bash", "tool_input": {"command": "x"}, **payload})
        start = time.perf_counter()
        subprocess.run(
            ["/bin/sh", "-c", command], input=told.encode(), cwd=root, env=environment, check=True, capture_output=True
        )
        return 1000 * (time.perf_counter() - start)

    wink("attach", "claude-code")
    found = json.loads((root / ".claude/settings.local.json").read_text())["hooks"]
    command = {name: groups[0]["hooks"][0]["command"] for name, groups in found.items()}
    run(command["UserPromptSubmit"], hook_event_name="UserPromptSubmit", prompt="go")
    ours, plain = list[float](), list[float]()
    for number in range(_ROUNDS):
        plain.append(run("true") + run("true"))
        name = f"t{number}"
        took = run(command["PreToolUse"], hook_event_name="PreToolUse", tool_use_id=name)
        (root / "written.txt").write_text(f"{number}\n")
        ours.append(
            took + run(command["PostToolUse"], hook_event_name="PostToolUse", tool_use_id=name, tool_response={})
        )
    wink("detach", "claude-code")
    return statistics.median(ours), statistics.median(plain)


def main(sizes: tuple[int, ...]) -> None:
    """Print a line for each size."""
    print("files    watched   kept whole   two hooks   `true` twice   over it")
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            root, home = Path(place, "root"), Path(place, "home")
            root.mkdir()
            home.mkdir()
            made(root, size)
            watched, whole = baseline(root, Path(place, "state"))
            ours, plain = hooks(root, home)
        print(
            f"{size:>7}  {watched:6.2f} s   {whole:8.2f} s   {ours:6.1f} ms   {plain:9.1f} ms   {ours - plain:5.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
