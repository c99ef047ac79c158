"""Hand on what editor and agent say to each other, and answer what the agent delegates."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final

from wink_acp._delegated import Delegation
from wink_acp._messages import (
    INVALID_PARAMS,
    Message,
    Refused,
    error,
    id_of,
    key_of,
    line_of,
    mapping,
    message_of,
    params_of,
    request,
    response,
    sequence,
)
from wink_acp._wire import Wire
from wink_acp._workspaces import Conversation, Opened, Workspaces
from wink_attach import session_name
from wink_mcp import TooLong

_FORKING: Final = "session/fork"
_OPENING: Final = ("session/new", "session/load", "session/resume", _FORKING)
_MOST_AT_ONCE: Final = 1024
"""So many requests of an agent are answered at a time; one more is told to come later."""
_MOST_TOLD: Final = 20
"""So many lines that are no messages are shown of an agent; others are only dropped."""
_PATIENCE: Final = 3.0
"""Seconds that an editor has to take the last answers."""
_MISSING_IS_EMPTY: Final = ("gemini",)
"""Agents, by how their names begin, that make no new file where they are told that there is none."""
_BY_THEMSELVES: Final = {"opencode": "opencode", "claude": "claude-code", "codex": "codex"}
"""Agents, by what is in their names, that delegate nothing, and what `wink attach` calls them."""

_RUNNING: Final = (("execute", "in_progress"), ("execute", "completed"))


class Proxy:
    """What stands between one editor and one agent."""

    def __init__(
        self,
        editor: Wire,
        agent: Wire,
        *,
        named: str | None,
        program: str,
        has_terminals: bool,
        tell: Callable[[str], object],
    ) -> None:
        self._editor, self._agent, self._tell = editor, agent, tell
        self.name = program
        self._has_terminals = has_terminals
        self.reads = self.writes = False
        self._workspaces = Workspaces(named, agent=lambda: self.name)
        self._delegation = Delegation(self, self._conversation)
        self._conversations: dict[str, Conversation] = {}
        self._asked_agent: dict[str, tuple[Any, str, Opened | None]] = {}
        """What the editor has asked and the agent has not answered: id, method, and where a session is to be opened."""
        self._asked_editor: dict[str, asyncio.Future[Message]] = {}
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._own = f"wink-{secrets.token_hex(4)}-"
        self._numbers = count(1)
        self._odd, self._is_told = 0, False

    # -- from the editor

    async def from_editor(self) -> None:
        """Hand on what the editor says, until it says nothing more."""
        async for line, message in self._messages(self._editor):
            if isinstance(line, TooLong):
                await self._too_long(line, "the editor", self._editor)
            elif message is None:
                await self._agent.send(line + b"\n")  # whose answer says what is wrong with it
            elif "method" in message:
                try:
                    await self._editor_asks(line, message)
                except RecursionError:  # as deep as it could just be read
                    await self._agent.send(line + b"\n")
            elif (waiting := self._asked_editor.pop(str(message.get("id")), None)) is not None:
                _settle(waiting, message)
            else:
                await self._agent.send(line + b"\n")

    async def _editor_asks(self, line: bytes, message: Message) -> None:
        method, opened = str(message["method"]), None
        try:
            if method == "initialize":
                line = self._with_capabilities(message)
            elif method in _OPENING:
                opened = self._opens(method, params_of(message))
            elif method == "session/prompt":
                self._turn(params_of(message))
        except Refused as refused:
            await self._editor.send(error(message.get("id"), refused))
            return
        if "id" in message:
            self._asked_agent[key_of(message["id"])] = message["id"], method, opened
        await self._agent.send(line.rstrip(b"\n") + b"\n")

    def _with_capabilities(self, message: Message) -> bytes:
        """The same, where wink does for the agent what the editor may not do."""
        params = mapping(message.get("params"))
        declared = mapping(params.get("clientCapabilities"))
        files = mapping(declared.get("fs"))
        self.reads, self.writes = files.get("readTextFile") is True, files.get("writeTextFile") is True
        able = {
            **declared,
            "fs": {**files, "readTextFile": True, "writeTextFile": True},
            "terminal": self._has_terminals,
        }
        return line_of({**message, "params": {**params, "clientCapabilities": able}})

    def _opens(self, method: str, params: Message) -> Opened:
        """The workspace that a session is to work in; one that goes on under its name works there from now on."""
        opened = self._workspaces.at(params.get("cwd"))
        if method != _FORKING and isinstance(known := params.get("sessionId"), str):
            self._open(known, opened)
        return opened

    def _open(self, session: str, opened: Opened) -> None:
        if session not in self._conversations or self._conversations[session].opened is not opened:
            self._conversations[session] = Conversation(session, session_name(self.name, session), opened)

    def _turn(self, params: Message) -> None:
        conversation = self._conversations.get(str(params.get("sessionId")))
        if conversation is None:
            return  # the agent says what is wrong with it
        texts = (mapping(one).get("text") for one in sequence(params.get("prompt")))
        conversation.turn(next((one for one in texts if isinstance(one, str)), ""))

    # -- from the agent

    async def from_agent(self) -> None:
        """Hand on what the agent says, until it says nothing more."""
        async for line, message in self._messages(self._agent):
            if isinstance(line, TooLong):
                await self._too_long(line, self.name, self._agent)
            elif message is None:
                self._show_odd(line)
            elif "method" in message:
                try:
                    await self._agent_asks(line, message)
                except RecursionError:
                    self._show_odd(line)
            else:
                self._agent_answers(message)
                await self._editor.send(line + b"\n")

    async def _agent_asks(self, line: bytes, message: Message) -> None:
        method, params = message["method"], mapping(message.get("params"))
        key = key_of(message.get("id"))
        if not isinstance(method, str):
            self._show_odd(line)
            return
        if method in self._delegation.methods:
            if "id" not in message:
                self._show_odd(line)  # nobody could be answered, and the editor is not to do it either
                return
            if len(self._answering) >= _MOST_AT_ONCE:
                refused = Refused(f"{_MOST_AT_ONCE} requests wait for an answer already; ask again later")
                await self._agent.send(error(message["id"], refused))
                return
            task = asyncio.create_task(self._answer(message))
            self._answering[key] = task
            task.add_done_callback(lambda _: self._answering.pop(key, None))
            return
        if method == "$/cancel_request" and (given_up := key_of(params.get("requestId"))) in self._answering:
            # When it has begun: a task that is cancelled before answers nobody.
            asyncio.get_running_loop().call_soon(self._answering[given_up].cancel)
            return
        self._notice_commands(method, mapping(params.get("update")))
        if method in ("session/update", "session/request_permission"):
            changed = self._delegation.without_terminals(params)
            if changed is not None:
                line = line_of({**message, "params": changed}).rstrip(b"\n")
        await self._editor.send(line + b"\n")

    def _notice_commands(self, method: str, update: Message) -> None:
        """Say once that an agent runs commands without asking for a terminal."""
        runs = method == "session/update" and (update.get("kind"), update.get("status")) in _RUNNING
        if runs and not self._delegation.has_run and not self._is_told:
            self._is_told = True
            self._tell(
                f"{self.name} runs commands without the editor: what they change is neither judged nor recorded here; see `wink attach`"
            )

    async def _answer(self, message: Message) -> None:
        identity = message["id"]
        try:
            result = await self._delegation.methods[message["method"]](params_of(message))
            answer = response(identity, result)
        except Refused as refused:
            answer = error(identity, refused)
        except asyncio.CancelledError:
            answer = error(identity, Refused("it was given up, and taken back", -32800))
        except Exception as failure:  # foreign code: policies, reducers
            answer = error(identity, Refused(f"it failed with {type(failure).__name__}: {failure}"))
        await self._agent.send(answer)

    def _agent_answers(self, message: Message) -> None:
        """Take notice of what the agent says of itself, and of its sessions."""
        _, method, opened = self._asked_agent.pop(key_of(message.get("id")), (None, "", None))
        result = mapping(message.get("result"))
        if method == "initialize":
            self._introduced(mapping(result.get("agentInfo")))
        elif opened is not None and isinstance(known := result.get("sessionId"), str):
            self._open(known, opened)

    def _introduced(self, info: Mapping[str, Any]) -> None:
        name = info.get("name")
        if isinstance(name, str) and name.strip():
            self.name = name.strip().rpartition("/")[2][:64]
        self._delegation.missing_is_empty = self.name.lower().startswith(_MISSING_IS_EMPTY)
        for part, attached in _BY_THEMSELVES.items():
            if part in self.name.lower():
                self._tell(
                    f"{self.name} delegates nothing to its editor, so nothing is judged or recorded here; `wink attach {attached}` does that"
                )

    def _conversation(self, session: str) -> Conversation:
        found = self._conversations.get(session)
        if found is None:
            raise Refused(f"there is no session {session!r}", INVALID_PARAMS)
        return found

    # -- of our own

    async def ask(self, method: str, params: Message) -> Message:
        """Ask the editor something; raises `Refused` where it answers with an error, or is gone."""
        identity = f"{self._own}{next(self._numbers)}"
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked_editor[identity] = waiting
        try:
            await self._editor.send(request(identity, method, params))
            return await waiting
        finally:
            self._asked_editor.pop(identity, None)

    async def send(self, line: bytes) -> None:
        """Tell the editor something."""
        await self._editor.send(line)

    async def end(self, why: str) -> None:
        """Take back what is running, and answer whatever waits."""
        for waiting in self._asked_editor.values():
            _settle(waiting, {"error": {"message": "the editor is gone"}})
        for task in tuple(self._answering.values()):
            task.cancel()
        await self._delegation.end()
        if self._answering:
            await asyncio.wait(tuple(self._answering.values()))
        self._workspaces.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):  # it may not read any more
                for identity, _, _ in self._asked_agent.values():
                    await self._editor.send(error(identity, Refused(why)))
        self._asked_agent.clear()

    async def _messages(self, wire: Wire) -> AsyncIterator[tuple[bytes | TooLong, Message | None]]:
        async for line in wire.lines():
            if isinstance(line, TooLong):
                yield line, None
            elif line.strip():
                yield line, message_of(line)

    async def _too_long(self, line: TooLong, who: str, back: Wire) -> None:
        reason = f"a message of {line.length} bytes is too long"
        self._tell(f"{who} has sent {reason.removesuffix(' is too long')}, which is too long: it goes no further")
        if (identity := id_of(line)) is not None:
            await back.send(error(identity, Refused(reason)))

    def _show_odd(self, line: bytes) -> None:
        self._odd += 1
        if self._odd <= _MOST_TOLD:
            more = "; more such lines are not shown" if self._odd == _MOST_TOLD else ""
            self._tell(f"{self.name} has printed what is no message: {line[:200].decode('utf-8', 'replace')}{more}")


def _settle(waiting: asyncio.Future[Message], message: Message) -> None:
    if waiting.done():
        return
    if "error" in message:
        waiting.set_exception(Refused(str(mapping(message["error"]).get("message", "the editor could not do it"))))
    else:
        waiting.set_result(mapping(message.get("result")))
