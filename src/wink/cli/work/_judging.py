"""Say what would become of calls, of what reads or writes a path, of hosts and of command lines; nothing is executed."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

from wink.cli._compose import compose
from wink.cli._opening import open_workspace
from wink.cli._views import Verdict, explanations
from wink.cli._wrong import wrong
from wink.cli.settings import commands_catalog, installed_catalog
from wink.cli.work._arguments import arguments_text, find_tool
from wink.errors import PathRefused
from wink.filesystem import Filesystem, check_writable
from wink.policies import ToolPolicy
from wink.runtime import ask_now, with_read_result
from wink.tools import FunctionTool, Tool, ToolContext, isolation_of
from wink.transactions import Transaction
from wink.trust import is_inside

if TYPE_CHECKING:
    from wink.plugins import Catalog
    from wink.policies import RuleJudgement, RulesPolicy
    from wink.prompt import Prompt, RenderedPrompt
    from wink.session import Session
    from wink.workspace import Workspace

Answer = Literal["allow", "deny", "ask"]

COMMANDS: Final = "shell.commands"
"""The section with the tool that most command lines are for."""
_TOOLS: Final[tuple[tuple[str, Literal["read", "write"], dict[str, str]], ...]] = (
    ("read_file", "read", {}),
    ("write_file", "write", {"content": ""}),
)
"""The tools for files that are asked about a path, what they do, and what else they take."""


_OUTSIDE: Final = "it is outside of the workspace, and tools for files use only what is in there"


@runtime_checkable
class _Explains(Protocol):
    """An `Isolation` that says what functions of a tool may do, as a plugin does by the entry point `wink.explain`."""

    def explained(
        self, tool: str, effects: str, workspace: str, about: str, subjects: Sequence[str], look_up: bool
    ) -> Sequence[tuple[Verdict, ...]]: ...


class Judged(NamedTuple):
    """What one policy says, and, where it is made of rules, what each of them does."""

    policy: str
    answer: Answer
    reason: str | None
    rules: RuleJudgement | None = None
    default: str = ""
    default_origin: str = ""

    @property
    def decided(self) -> tuple[str, str]:
        """Where what decides is written, as far as that is known, and what that says."""
        if self.rules is None:
            return "", f"the policy {self.policy}"
        match = self.rules.decided
        if match is None:
            return self.default_origin, "" if self.answer == "allow" else f"{self.default}: no rule fits"
        return match.rule.origin, f"{match.rule}: {match.why}"


class Judge:
    """What the policies and the plugins of one workspace say, asked as they are when it comes to it."""

    def __init__(self, workspace: Workspace, catalog: Catalog, prompt: Prompt[Any], session: Session) -> None:
        self._workspace, self._catalog, self._prompt, self._session = workspace, catalog, prompt, session
        self.rendered: RenderedPrompt = with_read_result(prompt.render(session=session, check=False), session)

    def call(self, name: str, arguments: tuple[str, ...], as_json: str | None) -> tuple[str, tuple[Judged, ...]]:
        """The arguments as JSON, and what each policy says of the call; wrong input where there is no such tool or it takes no such arguments."""
        tool = find_tool(self.rendered, name)
        text = arguments_text(tool, arguments, as_json)
        return text, self._judged(tool, text, self.rendered.policies_for_tool(tool.name))

    def called(self, name: str, arguments: dict[str, Any]) -> Verdict:
        """The same in one word."""
        return verdict_of(name, "call", self.call(name, (), json.dumps(arguments))[1])

    def command(self, line: str) -> dict[str, tuple[Judged, ...]]:
        """What policies say of a command line, by the tool that it is for; wrong input where no tool takes any."""
        tools = [tool.name for tool in self.rendered.tools if tool.effects == "process" and _takes_command(tool)]
        if not tools:
            raise wrong("no tool here takes a command line; name a section that has one, with --section")
        return {name: self.call(name, (), json.dumps({"command": line}))[1] for name in tools}

    def ran(self, line: str) -> tuple[Verdict, ...]:
        """The same in one word for each tool."""
        return tuple(verdict_of(name, "call", judged) for name, judged in self.command(line).items())

    def paths(self, paths: Sequence[str]) -> list[tuple[Verdict, ...]]:
        """What reads and what writes each path, which is relative to the workspace, or absolute: tools by its rules alone, then programs."""
        places = [self._place(path) for path in paths]
        others = self._explained("path", places, look_up=False)
        return [(*self._tools(place), *other) for place, other in zip(places, others, strict=True)]

    def hosts(self, hosts: Sequence[str], *, look_up: bool) -> list[tuple[Verdict, ...]]:
        """What reaches each HOST or HOST:PORT."""
        return self._explained("host", hosts, look_up=look_up)

    def _explained(self, about: Literal["path", "host"], subjects: Sequence[str], *, look_up: bool) -> Any:
        if not subjects:
            return []
        catalog, problem = commands_catalog(self._workspace.root)
        if problem is not None:
            raise problem
        found = list(explanations(catalog, self._workspace.root, about, subjects, look_up=look_up))
        for said in self._isolated(about, subjects, look_up):
            found = [(*before, *new) for before, new in zip(found, said, strict=True)]
        return found

    def _isolated(self, about: str, subjects: Sequence[str], look_up: bool) -> Iterable[Sequence[tuple[Verdict, ...]]]:
        """What isolated functions see, change and reach, by what would run them; nothing where that cannot say it."""
        tools = [(tool.name, tool.effects) for tool in self.rendered.tools if _is_isolated(tool)]
        by = isolation_of(self._prompt.resources) if tools else None
        if isinstance(by, _Explains):
            for name, effects in tools:
                yield by.explained(name, effects, self._workspace.root, about, subjects, look_up)

    def _place(self, path: str) -> str:
        """The path in the workspace, or an absolute one."""
        root = self._workspace.root
        if not path or "\0" in path:
            raise wrong(f"{path!r} is no path")
        full = os.path.normpath(os.path.join(root, os.path.expanduser(path)))
        if not is_inside(full, root):  # it may come to the workspace by a link above it
            full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        return os.path.relpath(full, root) if is_inside(full, root) else full

    def _tools(self, path: str) -> Iterable[Verdict]:
        for name, does, more in _TOOLS:
            tool = self.rendered.tool(name)
            if tool is None:
                continue
            if refused := self._refused(path, writes=does == "write"):
                yield Verdict(name, does, "deny", refused)
                continue
            text = arguments_text(tool, (), json.dumps({"file_path": path, **more}))
            # Not what asks whether a file was read before, which another call sees to.
            policies = [one for one in self.rendered.policies_for_tool(name) if rules_of(one) is not None]
            yield verdict_of(name, does, self._judged(tool, text, policies))

    def _refused(self, path: str, *, writes: bool) -> str:
        """Why file tools take no such path, whatever rules say."""
        if os.path.isabs(path):
            return _OUTSIDE
        try:
            real = self._workspace.filesystem.resolve(path)
            if writes:
                check_writable(real, path)
        except PathRefused as error:
            return str(error)
        return ""

    def _judged(self, tool: Tool[Any, Any], arguments: str, policies: Iterable[ToolPolicy]) -> tuple[Judged, ...]:
        """Ask policies as a call would, inside a transaction that is taken back."""
        params = tool.parse(arguments)
        resources = self._prompt.resources.opened()
        nobody: Any = None  # no model is at work
        transaction = Transaction(self._session, resources, root=resources.get_optional(Filesystem), writable=False)
        try:
            files = transaction.filesystem
            scope = resources.call_scope({} if files is None else {Filesystem: files}, transaction.remember)
            context = ToolContext(self._prompt, self.rendered, nobody, self._session, call_id="explain", scope=scope)
            transaction.enter()
            try:
                return tuple(_said(policy, tool, params, context) for policy in policies)
            finally:
                transaction.leave()
                scope.close()
        finally:
            transaction.abort()


@contextmanager
def judging(
    workspace: str,
    *,
    session: str | None = None,
    sections: Sequence[str] = (),
    policies: Sequence[str] = (),
    commands: bool = False,
) -> Generator[Judge]:
    """Open a workspace to be asked about, in a session of it, or as if nothing had been called yet; with `commands` also about command lines."""
    with open_workspace(workspace) as opened:
        catalog = installed_catalog(workspace)
        if commands and any(plugin.usable and _offers(plugin.offers) for plugin in catalog.plugins):
            sections = (*sections, COMMANDS)
        prompt = compose(opened, catalog, sections=sections, policies=policies)
        yield Judge(opened, catalog, prompt, _new_session() if session is None else opened.session(session))


def answer_of(judged: Iterable[Judged | Verdict]) -> Answer:
    """What they come to together: one that denies is enough, and then one that asks."""
    answers = {one.answer for one in judged}
    return "deny" if "deny" in answers else "ask" if "ask" in answers else "allow"


def verdict_of(who: str, does: Literal["call", "read", "write"], judged: Sequence[Judged]) -> Verdict:
    """What policies say, in one."""
    answer = answer_of(judged)
    saying = [one for one in judged if one.answer == answer]
    first = next((one for one in saying if answer != "allow" or one.rules is not None), None)
    if first is None:
        return Verdict(who, does, answer)
    return Verdict(who, does, answer, first.reason or "", *first.decided)


def _said(policy: ToolPolicy, tool: Tool[Any, Any], params: Any, context: ToolContext) -> Judged:
    (verdict,) = ask_now((policy,), tool, params, context)
    answer: Answer = "allow" if verdict.allowed else "ask" if verdict.asks else "deny"
    written = rules_of(policy)
    if written is None:
        return Judged(verdict.policy, answer, verdict.reason)
    try:
        rules = written.explain(tool, params, context=context)
    except Exception:  # what made the check deny: the verdict says it
        return Judged(verdict.policy, answer, verdict.reason)
    default = f'rules_default = "{written.default}"'
    return Judged(verdict.policy, answer, verdict.reason, rules, default, written.default_origin)


def rules_of(policy: ToolPolicy) -> RulesPolicy | None:
    """The policy where it is made of rules."""
    try:
        from wink.policies import RulesPolicy
    except ImportError:  # where no plugin brings rules, nobody has any
        return None
    return policy if isinstance(policy, RulesPolicy) else None


def _offers(offers: Iterable[Any]) -> bool:
    return any(offer.kind == "section" and offer.name == COMMANDS for offer in offers)


def _is_isolated(tool: Tool[Any, Any]) -> bool:
    return isinstance(tool, FunctionTool) and tool.isolated


def _takes_command(tool: Tool[Any, Any]) -> bool:
    return "command" in tool.schema().get("properties", {})


def _new_session() -> Session:
    from wink.session import Session

    return Session()
