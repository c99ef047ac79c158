"""An agent without a model, and what it leaves behind for the page to show."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wink.adapters import ModelTurn, RecordJournal
from wink.cli import compose, installed_catalog
from wink.limits import RunContext, TokenUsage
from wink.prompt import MarkdownSection
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace
from wink_sandbox.tries import Run, Try

RULES = """
[[rules]]
action = "ask"
tools = ["write_file", "edit_file"]
paths = "release/**"
reason = "customers read it"

[[rules]]
action = "deny"
tools = "*"
paths = "secrets/**"
reason = "nobody's business"
"""
OWN = "write_many"
BEFORE = '''"""Money as people write it."""


def parse(text: str) -> int:
    """Cents in an amount such as `12.50`."""
    whole, _, cents = text.partition(".")
    return int(whole) * 100 + int(cents)


def show(cents: int) -> str:
    """An amount for an invoice."""
    return f"{cents / 100} EUR"
'''


@dataclass(frozen=True)
class Files:
    """Texts by path, and whether the call fails when they are written."""

    files: dict[str, str]
    fails: bool = False


def write_many(params: Files, *, context: ToolContext) -> ToolResult[None]:
    """A tool of somebody's own."""
    for path, text in params.files.items():
        context.filesystem.write(path, text)
    return ToolResult.error("it did not work") if params.fails else ToolResult.ok(None, "written")


class Agent:
    """Calls the tools that `wink run` would have, in one session of an open workspace."""

    def __init__(self, workspace: Workspace, session: str = "default", run: RunContext | None = None) -> None:
        self.workspace = workspace
        section = MarkdownSection(
            title="More", template="More.", tools=[Tool[Files, None](OWN, "Write many files.", write_many)]
        )
        prompt = compose(workspace, installed_catalog(workspace.root), extra=[section])
        self.session, self.rendered = workspace.session(session), prompt.render(session=workspace.session(session))
        self._executor = ToolExecutor(prompt=prompt, rendered=self.rendered, session=self.session, run_context=run)
        self._number = 0

    def call(self, tool: str, /, **arguments: Any) -> ToolReply:
        """One call, as a model would make it."""
        self._number += 1
        return self._executor.execute(ToolCall(tool, json.dumps(arguments), f"call-{self._number}"))


def place_at(root: Path) -> Path:
    """A small project whose rules ask about what is released."""
    (root / "invoice").mkdir(parents=True)
    (root / "invoice/money.py").write_text(BEFORE)
    (root / "README.md").write_text("# Invoices\n\nAmounts are kept in cents.\n")
    (root / "wink.toml").write_text(RULES)
    return root


def worked(workspace: Workspace) -> Agent:
    """An agent that has planned, read, edited, failed, was denied, and waits to be allowed something."""
    with RecordJournal.begin(workspace, plan={"task": "Round amounts the way accountants do"}) as journal:
        agent = Agent(workspace, run=journal.context)
        journal.rendered(agent.rendered.prompt_name, agent.rendered.text, [tool.name for tool in agent.rendered.tools])
        _work(agent)
        journal.turned(1, ModelTurn("Done.", usage=TokenUsage(41_800, 2_310, 30_112)))
        journal.ended("Done.")
    return agent


def _work(agent: Agent) -> None:
    agent.call(
        "planning_setup_plan",
        objective="Round amounts the way accountants do",
        initial_steps=["Read what parses amounts", "Fix the parser", "Show two digits", "Write the release notes"],
    )
    agent.call("read_file", file_path="invoice/money.py")
    agent.call("planning_update_step", step_id=1, status="done")
    agent.call(
        "edit_file",
        file_path="invoice/money.py",
        old_string='    whole, _, cents = text.partition(".")\n    return int(whole) * 100 + int(cents)\n',
        new_string='    whole, _, cents = text.strip().partition(".")\n    return int(whole) * 100 + int(f"{cents:0<2}"[:2])\n',
    )
    agent.call("planning_update_step", step_id=2, status="done")
    agent.call("edit_file", file_path="invoice/money.py", old_string="cents / 1000", new_string="x")
    agent.call(
        "edit_file",
        file_path="invoice/money.py",
        old_string='f"{cents / 100} EUR"',
        new_string='f"{cents // 100}.{cents % 100:02} EUR"',
    )
    agent.call("planning_update_step", step_id=3, status="done")
    agent.call("write_file", file_path="notes/todo.md", content="- negative amounts\n- other currencies\n")
    agent.call("write_file", file_path="secrets/key.txt", content="x")
    agent.call("read_flie", file_path="invoice/money.py")
    agent.call("planning_update_step", step_id=4, status="in_progress")
    agent.call("write_file", file_path="release/notes.md", content="# 1.4\n\nAmounts have two digits now.\n")


def tried(workspace: Workspace, name: str = "formatter", **files: str | None) -> Try:
    """A try in which a program wrote these files; None deletes one."""
    one = Try(workspace, name)
    with one.use() as overlay:
        for path, text in (
            files or {"README.md": "# Invoices\n\nAmounts are kept in whole cents.\n", "setup.cfg": "[tool]\n"}
        ).items():
            place = Path(overlay.upper) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                os.mknod(place)
                os.setxattr(place, "user.overlay.whiteout", b"y")
            else:
                place.write_text(text)
        one.note(Run(("ruff", "format", "--check", "."), datetime.now(UTC), 0.42, 0))
    return one
