"""The calls that suffer the faults: one tool for each thing that a call can do, over a small tree with one of everything."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from wink.adapters import ModelTurn, RecordJournal
from wink.filesystem import COPIED_BYTES, Filesystem
from wink.limits import RunContext
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace

from . import _tries
from ._state import PROBE

BIG: Final = 400_000
_REWINDS: Final = ("rewind", "rewind in a copy")


@dataclass(frozen=True, slots=True)
class Note:
    """What every call writes to the session."""

    text: str


class Failed(Exception):
    """A handler that changes everything and then fails."""


def make_tree(root: Path) -> None:
    """A file of every kind, with times well in the past."""
    (root / "notes/deep").mkdir(parents=True)
    (root / PROBE).mkdir()
    (root / "a.txt").write_bytes(b"one\ntwo\r\nthree\n")
    (root / "notes/b.txt").write_bytes(b"b\n" * 30)
    (root / "notes/deep/c.txt").write_bytes(b"c")
    (root / "empty.txt").touch()
    (root / "tool.sh").write_bytes(b"#!/bin/sh\n")
    (root / "tool.sh").chmod(0o750)
    (root / "marked.txt").write_bytes(b"marked")
    os.setxattr(root / "marked.txt", "user.origin", b"a person")
    (root / "one-name.txt").write_bytes(b"linked")
    os.link(root / "one-name.txt", root / "other-name.txt")
    (root / "big.bin").write_bytes(b"B" * BIG)
    (root / "link").symlink_to("a.txt")
    (root / PROBE / "file").write_bytes(b"")
    for number, (directory, names, files) in enumerate(os.walk(root, topdown=False)):
        for index, name in enumerate(sorted(names + files)):
            os.utime(Path(directory, name), ns=(10**18, 10**18 + number * 100 + index), follow_symlinks=False)
    os.utime(root, ns=(10**18, 10**18))


def _through_change_set(context: ToolContext, path: str, change: Callable[[Any], None]) -> None:
    """What stores can do and tools have no method for yet."""

    def operation(part: Any) -> None:
        with part.changing(path) as change_set:
            change(change_set)

    context.filesystem._transaction.run("change", operation)  # type: ignore[arg-type]


def overwrite(context: ToolContext) -> None:
    context.filesystem.read("a.txt")
    context.filesystem.write("a.txt", "rewritten\n")


def create(context: ToolContext) -> None:
    context.filesystem.write("new/deeper/file.txt", "new\n")


def delete_file(context: ToolContext) -> None:
    context.filesystem.delete("notes/b.txt")


def delete_directory(context: ToolContext) -> None:
    context.filesystem.delete("notes", recursive=True)


def move_over(context: ToolContext) -> None:
    context.filesystem.move("a.txt", "notes/b.txt", overwrite=True)


def move_directory(context: ToolContext) -> None:
    context.filesystem.move("notes", "elsewhere/notes")


def change_mode(context: ToolContext) -> None:
    _through_change_set(context, "tool.sh", lambda change_set: change_set.chmod("tool.sh", 0o600))


def make_link(context: ToolContext) -> None:
    _through_change_set(context, "fresh-link", lambda change_set: change_set.symlink("fresh-link", "notes/b.txt"))
    context.filesystem.write("link", "through the link\n")


def edit(context: ToolContext) -> None:
    context.filesystem.read("a.txt")
    context.filesystem.edit("a.txt", "two", "2")


def hard_linked(context: ToolContext) -> None:
    context.filesystem.write("one-name.txt", "in place, and longer than before")


def executable(context: ToolContext) -> None:
    context.filesystem.write("tool.sh", "#!/bin/sh\nexit 1\n")


def attributed(context: ToolContext) -> None:
    context.filesystem.write("marked.txt", "changed")


def empty(context: ToolContext) -> None:
    context.filesystem.write("empty.txt", "no more\n")
    context.filesystem.write("a.txt", "")


def streamed(context: ToolContext) -> None:
    with context.filesystem.open_write("big.bin") as stream:
        for _ in range(4):
            stream.write(b"N" * 100_000)


def many(context: ToolContext) -> None:
    overwrite(context)
    create(context)
    context.filesystem.write("new/deeper/file.txt", "again\n")
    hard_linked(context)
    change_mode(context)
    executable(context)
    context.filesystem.move("notes/deep", "new/deep")
    context.filesystem.delete("notes/b.txt")
    context.filesystem.write("notes/b.txt", "anew\n")
    context.filesystem.delete("empty.txt")


def only_session(context: ToolContext) -> None:
    pass


def back_to_a_snapshot(context: ToolContext) -> None:
    context.filesystem.write("a.txt", "before the snapshot\n")
    snapshot = context.filesystem.snapshot()
    many(context)
    delete_directory(context)
    context.filesystem.restore(snapshot)
    context.filesystem.write("after.txt", "after the snapshot\n")


def failing(context: ToolContext) -> None:
    many(context)
    delete_directory(context)
    raise Failed


def nested(context: ToolContext) -> None:
    context.filesystem.write("a.txt", "outer\n")
    context.filesystem.write("outer.txt", "outer\n")
    for tool in ("hard_linked", "create"):
        if not _executor_of(context).execute(ToolCall(tool, {})).success:
            raise Failed


def nested_failing(context: ToolContext) -> None:
    context.filesystem.write("notes/b.txt", "outer\n")
    _executor_of(context).execute(ToolCall("failing", {}))
    context.filesystem.write("tool.sh", "outer\n")


def probe(context: ToolContext) -> None:
    context.filesystem.write(f"{PROBE}/file", "written\n")


HANDLERS: Final = (
    overwrite, create, delete_file, delete_directory, move_over, move_directory, change_mode, make_link, edit,
    hard_linked, executable, attributed, empty, streamed, many, only_session, back_to_a_snapshot, failing, nested, nested_failing, probe,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """What is tried: the call of a tool, or with `act` what a workspace does to earlier calls; and in what kind of workspace.

    With `moving` every file is as good as too large to be copied; `begun` is the template of one on a try.
    """

    name: str
    tool: str = ""
    fresh: bool = False
    portable: bool = False
    power: bool = False
    act: str = ""
    moving: bool = False
    begun: str = ""

    @property
    def template(self) -> str:
        """Which of the prepared workspaces it begins with."""
        if self.begun:
            return self.begun
        if self.act in _REWINDS:
            return "ran"
        if self.act:
            return "undone" if self.act == "redo" else "worked"
        return "fresh" if self.fresh else "used"


OPERATIONS: Final = (
    *(Operation(handler.__name__.replace("_", " "), handler.__name__) for handler in HANDLERS[:-1]),
    Operation("first call", "many", fresh=True),
    Operation("first call, session only", "only_session", fresh=True),
    Operation("no exchange", "many", portable=True),
    Operation("no exchange, failing", "failing", portable=True),
    Operation("durable", "many", power=True),
    Operation("durable, failing", "failing", power=True),
    Operation("durable, nested", "nested", power=True),
    Operation("durable, streamed", "streamed", power=True),
    Operation("durable, first call", "create", power=True, fresh=True),
    Operation("durable, no exchange", "many", power=True, portable=True),
    Operation("undo", act="undo"),
    Operation("redo", act="redo"),
    Operation("restore a checkpoint", act="restore"),
    Operation("restore, no exchange", act="restore", portable=True),
    Operation("fold", act="fold"),
    Operation("durable, undo", act="undo", power=True),
    Operation("undo, moving", act="undo", moving=True),
    Operation("redo, moving", act="redo", moving=True),
    Operation("restore, moving, no exchange", act="restore", moving=True, portable=True),
    Operation("rewind of a run", act="rewind"),
    Operation("rewind of a run, in a copy", act="rewind in a copy"),
    Operation("accept of a try", act="accept", begun="tried"),
    Operation("accept of a part of a try", act="accept_a_part", begun="tried"),
    Operation("accept, the check passes", act="accept_with_a_check", begun="tried"),
    Operation("accept, the check fails", act="accept_with_a_check_that_fails", begun="tried"),
    Operation("undo of an accept", act="undo_the_accept", begun="accepted"),
    Operation("update of a try", act="update", begun="parted"),
    Operation("undo of an update", act="undo_the_update", begun="updated"),
)

CHECKPOINT: Final = "start"

_executors: dict[int, ToolExecutor] = {}


def _executor_of(context: ToolContext) -> ToolExecutor:
    return _executors[id(context.session)]


def _tool(work: Callable[[ToolContext], None]) -> Tool[Any, Any]:
    def handler(params: None, *, context: ToolContext) -> ToolResult[None]:
        work(context)
        context.session[Note].append(Note(work.__name__))
        return ToolResult[None].ok(None)

    return Tool[None, None](name=work.__name__, description=work.__name__, handler=handler)


_TOOLS: Final = [_tool(handler) for handler in HANDLERS]


def open_workspace(root: str, operation: Operation) -> Workspace:
    """The workspace as the operation wants it."""
    workspace = Workspace.open(root, durability="power" if operation.power else "process")
    for module in ("wink.filesystem.undo._putting_back", "wink.workspace._undo"):
        vars(import_module(module))["COPIED_BYTES"] = -1 if operation.moving else COPIED_BYTES
    if operation.portable:
        workspace.filesystem._store._root.can_exchange = False
    return workspace


def executor(workspace: Workspace, session: Session, run: RunContext | None = None) -> ToolExecutor:
    """What executes the calls of a session, or of a run in it."""
    section = MarkdownSection(title="Tools", key="tools", template="Use them.", tools=_TOOLS)
    prompt = Prompt(PromptTemplate(ns="test", key="faults", sections=[section]))
    prompt.bind(resources={Filesystem: workspace.filesystem})
    made = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session, run_context=run)
    _executors[id(session)] = made
    return made


def prepare(workspace: Workspace, template: str) -> None:
    """Do what has been done in a template before anything is tried in it."""
    for tool in ("only_session", PROBE):
        assert call(workspace, tool).success
    if template in ("worked", "undone"):
        workspace.checkpoint(CHECKPOINT)
        assert call(workspace, "many").success
    if template == "undone":
        workspace.undo()
    if template == "ran":
        with RecordJournal.begin(workspace, plan={"task": "Change everything"}) as journal:
            for number, tool in enumerate(("create", "many", "delete_directory"), 1):
                journal.turned(number, ModelTurn("", (ToolCall(tool, {}, f"call-{number}"),)))
                made = executor(workspace, workspace.session(), journal.context)
                journal.replied(number, (made.execute(ToolCall(tool, {}, f"call-{number}")),), "")
            journal.ended("")
    if template in ("tried", "accepted", "parted", "updated"):
        _tries.prepare(Path(workspace.root), workspace, template)


def perform(workspace: Workspace, operation: Operation) -> tuple[bool, str]:
    """Whether it succeeded, and what was said of it."""
    if not operation.act:
        reply = call(workspace, operation.tool)
        return reply.success, reply.text
    try:
        if operation.begun:
            _tries.ACTS[operation.act](workspace)
        elif operation.act == "restore":
            workspace.restore(CHECKPOINT)
        elif operation.act in _REWINDS:
            workspace.rewind(1, 1, fork=operation.act != _REWINDS[0])
        else:
            getattr(workspace, operation.act)()
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"
    return True, ""


def call(workspace: Workspace, tool: str) -> ToolReply:
    """Execute one call in the workspace's own session."""
    return executor(workspace, workspace.session()).execute(ToolCall(tool, {}))
