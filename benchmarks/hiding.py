"""What it costs to hide paths from a program: `python -m benchmarks.hiding`.

A command that does nothing, in workspaces with so many files and so many hidden ones, without a rule and with two patterns that
mean the same, in turn; the least of nine. Then the walk alone, in processor time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence

from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.workspace import Workspace
from wink_rules import Rule, RulesPolicy
from wink_sandbox.hiding import hiding_by
from wink_shell import ShellSection

_TIMES = 9
_PATTERNS = {"no rule": None, "names first": "d0/e0/*.hidden", "`**` first": "**/*.hidden"}


def made(files: int, hidden: int) -> str:
    """A workspace, twenty files in a directory."""
    root = tempfile.mkdtemp(prefix="wink-hiding-", dir="/var/lib" if os.getuid() == 0 else os.path.expanduser("~"))
    for number in range(files):
        place = f"{root}/d{number // 1000}/e{number // 20}"
        if not number % 20:
            os.makedirs(place)
        with open(f"{place}/file{number}.py", "w"):
            pass
    for number in range(hidden):
        with open(f"{root}/d0/e0/{number}.hidden", "w"):
            pass
    return root


def executor(workspace: Workspace, patterns: Sequence[str]) -> ToolExecutor:
    """Of a prompt with `run_command`."""
    policies = [RulesPolicy([Rule("deny", paths=patterns)])] if patterns else []
    session = workspace.session()
    prompt = Prompt(PromptTemplate(ns="benchmarks", key="hiding", sections=[ShellSection()], policies=policies))
    prompt = prompt.bind(resources={Filesystem: workspace.filesystem})
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


def measured(files: int, hidden: int) -> tuple[list[float], float]:
    """Seconds of a command under each pattern, and of processor time for one walk."""
    root = made(files, hidden)
    try:
        with Workspace.open(root) as workspace:
            ways = [executor(workspace, [one] if one else []) for one in _PATTERNS.values()]
            least = [9e9] * len(ways)
            for _ in range(_TIMES):
                for number, way in enumerate(ways):
                    begun = time.perf_counter()
                    assert way.execute(ToolCall("run_command", {"command": "true"})).success
                    least[number] = min(least[number], time.perf_counter() - begun)
        hiding = hiding_by([RulesPolicy([Rule("deny", paths="**/*.hidden")])], "run_command")
        assert hiding is not None
        begun = time.process_time()
        hiding.find(root)
        return least, time.process_time() - begun
    finally:
        shutil.rmtree(root)


def main() -> None:
    """Print the table of the guide."""
    for files, hidden in ((1000, 1), (1000, 100), (1000, 1000), (10_000, 1), (100_000, 1)):
        least, walk = measured(files, hidden)
        cells = " | ".join(f"{seconds * 1000:,.0f} ms" for seconds in least)
        print(f"| {files:,} files, {hidden:,} hidden | {cells} | {walk * 1000:,.1f} ms |", flush=True)


if __name__ == "__main__":
    main()
