"""A template whose one tool does what a task's params say, also what no tool should: for tests of what happens then."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wink.prompt import MarkdownSection, PromptTemplate
from wink.tools import Tool, ToolContext, ToolResult
from wink_batch import Task

TURNS = """
[[turn]]
[[turn.call]]
tool = "act"
[[turn]]
text = "Done."
"""


@dataclass(frozen=True, slots=True)
class Acted:
    """What was done."""

    what: str


def template(task: Task) -> PromptTemplate[Any]:
    """The template; `task.params` are `do`, and `at`, a directory that all attempts share."""

    def act(params: None, *, context: ToolContext) -> ToolResult[Acted]:
        what, shared = task.params.get("do", "write"), task.params.get("at", "")
        if shared:
            times = _count(shared, task.id)
            if what == "die once" and times == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "hang once" and times == 1:
                context.filesystem.write("half.txt", "of it")
                _wait_for(os.path.join(shared, "never"))
            if what == "gate":
                context.filesystem.write("half.txt", "of it")
                _wait_for(os.path.join(shared, "gate"))
                context.filesystem.delete("half.txt")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "hang":
            _wait_for("/nowhere/never")
        context.filesystem.write("out.txt", f"{task.id}\n")
        return ToolResult.ok(Acted(what))

    tool = Tool[None, Acted](name="act", description="Do it.", handler=act)
    return PromptTemplate(ns="fleet", key="acting", sections=[MarkdownSection("Act", "Act.", tools=[tool])])


def begun(shared: str) -> set[str]:
    """The tasks that have begun to act."""
    return {name.partition("~")[0] for name in os.listdir(shared) if "~" in name}


def acting(shared: str) -> set[int]:
    """The processes in which tasks have begun to act, those that are there yet."""
    pids = {int(Path(shared, name).read_text() or 0) for name in os.listdir(shared) if "~" in name}
    return {pid for pid in pids if _is_running(pid)}


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def _count(shared: str, task: str) -> int:
    """How often this task has acted, this time included."""
    number = 1
    while True:
        try:
            with open(os.path.join(shared, f"{task}~{number}"), "x", encoding="ascii") as file:
                file.write(str(os.getpid()))
            return number
        except FileExistsError:
            number += 1


def _wait_for(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.02)
