"""Answer what an agent delegates to its editor."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any, Final, Protocol, TypeVar

from wink.dataclass import dataclass, field
from wink.errors import ParseError
from wink.serde import parse
from wink_acp._messages import INVALID_PARAMS, NOT_FOUND, Message, Refused, mapping, misfit, notification, sequence
from wink_acp._person import Person
from wink_acp._terminal import Terminal
from wink_acp._workspaces import Conversation
from wink_sandbox import words_of

T = TypeVar("T")
READ: Final = "fs/read_text_file"
WRITE: Final = "fs/write_text_file"
MOST_TERMINALS: Final = 64
"""So many terminals may an agent have that it has not released."""
_PATIENCE: Final = 30.0
"""Seconds that the editor has to say what is in a buffer, or to take what was written."""


@dataclass(frozen=True, slots=True)
class ReadTextFile:
    """`fs/read_text_file`; lines count from 1."""

    session_id: str = field(metadata={"alias": "sessionId"})
    path: str
    line: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class WriteTextFile:
    """`fs/write_text_file`."""

    session_id: str = field(metadata={"alias": "sessionId"})
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class EnvVariable:
    """One of a terminal's variables."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class CreateTerminal:
    """`terminal/create`; without `args`, `command` is a line for a shell."""

    session_id: str = field(metadata={"alias": "sessionId"})
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[EnvVariable, ...] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = field(default=None, metadata={"alias": "outputByteLimit"})


@dataclass(frozen=True, slots=True)
class OfTerminal:
    """The other requests about terminals."""

    session_id: str = field(metadata={"alias": "sessionId"})
    terminal_id: str = field(metadata={"alias": "terminalId"})


class Editor(Protocol):
    """What is asked of the editor."""

    reads: bool
    """Whether it gives what is in its buffers."""
    writes: bool
    """Whether it takes what is written."""

    async def ask(self, method: str, params: Message) -> Message:
        """Send a request of ours, and wait for the result; raises `Refused`."""
        ...

    async def send(self, line: bytes) -> None:
        """Send a line."""
        ...


class Delegation:
    """What one agent delegates, in all its sessions.

    `missing_is_empty` says whether the agent takes a file that does not exist for one only where it is answered with no text.
    """

    def __init__(self, editor: Editor, conversation: Callable[[str], Conversation]) -> None:
        self._editor, self._conversation = editor, conversation
        self._terminals: dict[str, Terminal] = {}
        self._released: dict[str, Terminal] = {}
        """The last ones that were let go: what shows them may come after that."""
        self._showing: set[asyncio.Future[None]] = set()
        self._numbers = count(1)
        self.missing_is_empty = self.has_run = False
        self.methods: dict[str, Callable[[Message], Awaitable[Message]]] = {
            READ: self._read,
            WRITE: self._write,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._kill,
            "terminal/release": self._release,
        }

    async def end(self) -> None:
        """Take back what is running."""
        await asyncio.gather(*(one.kill() for one in self._terminals.values()))

    # -- files

    async def _read(self, params: Message) -> Message:
        asked = _parsed(ReadTextFile, params)
        conversation = self._conversation(asked.session_id)
        path = conversation.opened.path(asked.path)
        loop = asyncio.get_running_loop()

        def ask() -> str | None:  # on the thread of the call
            if not self._editor.reads:
                return None
            return asyncio.run_coroutine_threadsafe(self._buffer(params), loop).result()

        arguments = _given(file_path=path, line=asked.line, limit=asked.limit)
        try:
            return {"content": await conversation.opened.read(conversation, arguments, ask, self._person(conversation))}
        except Refused as refused:
            if refused.code == NOT_FOUND and self.missing_is_empty:
                return {"content": ""}
            raise

    async def _buffer(self, params: Message) -> str | None:
        """What the editor has in its buffer; None where it cannot say, and the disk is asked."""
        try:
            found = (await asyncio.wait_for(self._editor.ask(READ, params), _PATIENCE)).get("content")
        except (Refused, TimeoutError):
            return None
        return found if isinstance(found, str) else None

    async def _write(self, params: Message) -> Message:
        asked = _parsed(WriteTextFile, params)
        conversation = self._conversation(asked.session_id)
        arguments = {"file_path": conversation.opened.path(asked.path), "content": asked.content}
        await conversation.opened.write(conversation, arguments, self._person(conversation))
        if self._editor.writes:  # so that its buffer holds this, and not what it held before
            try:
                await asyncio.wait_for(self._editor.ask(WRITE, params), _PATIENCE)
            except (Refused, TimeoutError):
                pass  # it is on the disk
            await conversation.opened.saved(conversation, str(arguments["file_path"]), asked.content)
        return {}

    # -- terminals

    async def _create(self, params: Message) -> Message:
        asked = _parsed(CreateTerminal, params)
        conversation = self._conversation(asked.session_id)
        if len(self._terminals) >= MOST_TERMINALS:
            raise Refused(f"{MOST_TERMINALS} terminals are open already; release some")
        opened = conversation.opened
        if "\0" in "".join((asked.command, *(asked.args or ()))):
            raise Refused("a command has a NUL character in it", INVALID_PARAMS)
        line = shlex.join((asked.command, *asked.args)) if asked.args else asked.command
        argv = words_of((asked.command, *asked.args) if asked.args else line)
        terminal = Terminal(
            f"wink-terminal-{next(self._numbers)}", conversation.id, line, argv, asked.output_byte_limit
        )
        self.has_run = True
        cwd = "." if asked.cwd is None else opened.path(asked.cwd)
        arguments = _given(
            command=line, cwd=None if cwd == "." else cwd, env={one.name: one.value for one in asked.env or ()} or None
        )
        work = opened.run(conversation, arguments, terminal, self._person(conversation))
        terminal.task = asyncio.create_task(work)
        terminal.task.add_done_callback(partial(self._ended, terminal))
        try:
            await asyncio.wait({terminal.task, terminal.began}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await terminal.kill()
            raise
        if not terminal.began.done():
            await terminal.task  # raises what it was refused for
        self._terminals[terminal.id] = terminal
        return {"terminalId": terminal.id}

    async def _output(self, params: Message) -> Message:
        return self._terminal(params).told()

    async def _wait(self, params: Message) -> Message:
        terminal = self._terminal(params)
        assert terminal.task is not None, "it was created"
        await asyncio.wait({terminal.task})
        return terminal.status or {}

    async def _kill(self, params: Message) -> Message:
        await self._terminal(params).kill()
        return {}

    async def _release(self, params: Message) -> Message:
        terminal = self._terminal(params)
        await terminal.kill()
        self._terminals.pop(terminal.id, None)
        self._released[terminal.id] = terminal
        if len(self._released) > MOST_TERMINALS:
            del self._released[next(iter(self._released))]
        return {}

    def _terminal(self, params: Message) -> Terminal:
        asked = _parsed(OfTerminal, params)
        found = self._terminals.get(asked.terminal_id)
        if found is None or found.session != asked.session_id:
            raise Refused(f"there is no terminal {asked.terminal_id!r}", INVALID_PARAMS)
        return found

    def _ended(self, terminal: Terminal, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # `status` tells
        showing = asyncio.ensure_future(self._show(terminal))
        self._showing.add(showing)
        showing.add_done_callback(self._showing.discard)

    # -- what the editor is shown

    def without_terminals(self, params: Message) -> Message | None:
        """An update, or a question, with the output in place of terminals that only wink knows; None where there are none."""
        part = "update" if "update" in params else "toolCall"
        update = mapping(params.get(part))
        content = sequence(update.get("content"))
        known = [self._known(one) for one in content]
        if not any(known):
            return None
        for terminal in known:
            if terminal is not None:
                terminal.shown[str(update.get("toolCallId"))] = content
        return {**params, part: {**update, "content": self._as_text(content)}}

    async def _show(self, terminal: Terminal) -> None:
        """Show what it said in all, where it was shown before."""
        for call, content in tuple(terminal.shown.items()):
            update = {"sessionUpdate": "tool_call_update", "toolCallId": call, "content": self._as_text(content)}
            await self._editor.send(notification("session/update", {"sessionId": terminal.session, "update": update}))

    def _as_text(self, content: list[Any]) -> list[Any]:
        known = ((one, self._known(one)) for one in content)
        return [one if terminal is None else terminal.as_text() for one, terminal in known]

    def _known(self, content: Any) -> Terminal | None:
        identity = str(mapping(content).get("terminalId"))
        return self._terminals.get(identity) or self._released.get(identity)

    def _person(self, conversation: Conversation) -> Person:
        return Person(conversation, self._editor.ask, self._editor.send)


def _given(**arguments: Any) -> Message:
    """The arguments that are there: the record shows no others."""
    return {name: value for name, value in arguments.items() if value is not None}


def _parsed(cls: type[T], params: Message) -> T:
    try:
        return parse(cls, json.dumps(params), extra="ignore")
    except ParseError as error:
        raise misfit(error) from None
