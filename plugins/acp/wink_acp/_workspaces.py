"""The workspaces of an agent's sessions, and the calls in them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from wink.cli import installed_catalog, open_workspace, rule_policies, workspace_here
from wink.errors import WinkError
from wink.filesystem import Filesystem
from wink.limits import RunContext
from wink.prompt import Prompt, PromptTemplate
from wink.resources import ResourceRegistry
from wink.runtime import Approvals, ToolCall, ToolExecutor, in_thread
from wink.trust import guard, is_inside
from wink_acp._messages import INVALID_PARAMS, NOT_FOUND, Refused
from wink_acp._saved import note_saved
from wink_acp._tools import Delegated, Reading, Tools
from wink_shell import Shell, ShellSection

if TYPE_CHECKING:
    from wink.workspace import Workspace
    from wink_acp._terminal import Terminal

_COMMANDS: Final = "shell.commands"
_numbers = count(1)


class Conversation:
    """A session of the agent's: the workspace that it works in, and the session and turn of the record that its calls belong to."""

    def __init__(self, identity: str, name: str, opened: Opened) -> None:
        self.id, self.name, self.opened = identity, name, opened
        self.run = ""
        self.executor: ToolExecutor | None = None
        self._prompt: str | None = None

    def turn(self, prompt: str) -> None:
        """A person has asked for something: what follows belongs to that, and is judged by the rules as they are now."""
        self.executor, self._prompt = None, prompt

    def begin(self, agent: str) -> None:
        """The first call of a turn is about to run: a turn without calls is in no record. Raises `CommitFailed`."""
        if self._prompt is not None:
            self.run = f"t{self.opened.workspace.record.turn(self.name, agent, self._prompt)}"
            self._prompt = None


class Opened:
    """A workspace that is open, with what its settings say of programs."""

    def __init__(self, root: str, *, agent: Callable[[], str]) -> None:
        self.root, self._agent = root, agent
        self._roots = (root, os.path.realpath(root))
        self.workspace: Workspace = open_workspace(root)
        try:
            section = installed_catalog(root).use("section", _COMMANDS)
            shell = Shell(section.config) if isinstance(section, ShellSection) else None
        except WinkError:  # switched off: then there are no terminals
            shell = None
        self._tools = Tools(shell)
        self._has_terminals = shell is not None

    def path(self, given: str) -> str:
        """A path of the protocol's, which is absolute, as one of the workspace; raises `Refused`."""
        if not os.path.isabs(given):
            raise Refused(f"{given!r} is no absolute path", INVALID_PARAMS)
        if "\0" in given:
            raise Refused(f"{given!r} has a NUL character in it", INVALID_PARAMS)
        whole = os.path.normpath(f"/{given.lstrip('/')}")
        for root in self._roots:
            if is_inside(whole, root):
                return os.path.relpath(whole, root)
        raise Refused(f"{given!r} is outside the workspace {self.root!r}", INVALID_PARAMS)

    async def read(
        self,
        conversation: Conversation,
        arguments: Mapping[str, Any],
        ask: Callable[[], str | None],
        approvals: Approvals,
    ) -> str:
        """A file's text; raises `Refused`, with `NOT_FOUND` where there is none."""
        reading = Reading(ask)
        try:
            await self._call(conversation, "read_file", arguments, reading, approvals)
        except Refused as refused:
            raise Refused(str(refused), NOT_FOUND) if reading.is_missing else refused from None
        return reading.text

    async def write(self, conversation: Conversation, arguments: Mapping[str, Any], approvals: Approvals) -> None:
        """Write a file; raises `Refused`."""
        await self._call(conversation, "write_file", arguments, None, approvals)

    async def saved(self, conversation: Conversation, path: str, content: str) -> None:
        """Note what the editor has made of a file that it was told of."""
        work = partial(
            note_saved,
            self.workspace,
            path,
            content,
            session=conversation.name,
            run=conversation.run,
            prompt=self._agent(),
        )
        await asyncio.wrap_future(in_thread(work))

    async def run(
        self, conversation: Conversation, arguments: Mapping[str, Any], terminal: Terminal, approvals: Approvals
    ) -> None:
        """Run a terminal's command to its end; raises `Refused` where it failed, or was not let run."""
        if not self._has_terminals:
            raise Refused(f"commands are switched off here; see the settings of {_COMMANDS}")
        await self._call(conversation, "run_command", arguments, terminal, approvals)

    async def _call(
        self, conversation: Conversation, tool: str, arguments: Mapping[str, Any], waiting: object, approvals: Approvals
    ) -> None:
        identity = f"acp-{os.getpid():x}-{next(_numbers)}"
        self._tools.waiting[identity] = waiting
        try:
            executor = conversation.executor or self._executor(conversation, approvals)
            reply = await executor.aexecute(ToolCall(tool, arguments, identity), apart=True)
        except WinkError as error:
            raise Refused(str(error)) from error
        finally:
            del self._tools.waiting[identity]
        if not reply.success:
            raise Refused(reply.text)

    def _executor(self, conversation: Conversation, approvals: Approvals) -> ToolExecutor:
        """With the rules as the settings have them; raises `WinkError` where nobody can make anything of those: nothing is done then."""
        conversation.begin(self._agent())
        template = PromptTemplate(
            ns="wink",
            key="acp",
            name=self._agent(),
            sections=[Delegated(self._tools, has_terminals=self._has_terminals)],
            policies=[*rule_policies(self.root)],
        )
        prompt = Prompt(template).bind(resources=ResourceRegistry.build({Filesystem: self.workspace.filesystem}))
        session = self.workspace.session(conversation.name)
        conversation.executor = ToolExecutor(
            prompt=prompt,
            rendered=prompt.render(session=session),
            session=session,
            run_context=RunContext(conversation.run) if conversation.run else None,
            approvals=approvals,
        )
        return conversation.executor

    def close(self) -> None:
        """Let go of it."""
        self.workspace.close()


class Workspaces:
    """Those that are open: the one that was named, or that of each session's directory, found from there upward."""

    def __init__(self, named: str | None, *, agent: Callable[[], str]) -> None:
        self._named, self._agent = named, agent
        self._opened: dict[str, Opened] = {}

    def at(self, directory: object) -> Opened:
        """The workspace of a directory, opened if need be; raises `Refused`."""
        if not isinstance(directory, str) or not os.path.isabs(directory):
            raise Refused(f"cwd is {directory!r}, and no absolute path", INVALID_PARAMS)
        try:
            root = self._root(os.path.realpath(directory))
            if root not in self._opened:
                guard(root)
                self._opened[root] = Opened(root, agent=self._agent)
            return self._opened[root]
        except (OSError, WinkError) as error:
            raise Refused(f"wink cannot work in {directory!r}: {error}", INVALID_PARAMS) from error
        except Exception as error:  # click's errors, for settings that say nothing sensible
            raise Refused(f"wink cannot work in {directory!r}: {getattr(error, 'message', error)}") from error

    def close(self) -> None:
        """Let go of all."""
        for one in self._opened.values():
            one.close()

    @property
    def roots(self) -> Sequence[str]:
        """What is open."""
        return tuple(self._opened)

    def _root(self, directory: str) -> str:
        if self._named is not None:
            if not is_inside(directory, self._named):
                raise Refused(f"{directory!r} is outside the workspace {self._named!r}", INVALID_PARAMS)
            return self._named
        os.chdir(directory)  # it is looked for from here upward, as everywhere
        root = os.path.realpath(workspace_here())
        if is_inside(os.path.realpath(os.path.expanduser("~")), root):
            raise Refused(
                f"{root!r} holds more than a project; open the directory of one, or name it with --workspace",
                INVALID_PARAMS,
            )
        return root
