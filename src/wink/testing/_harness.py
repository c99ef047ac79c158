"""Call tools in a test as a model would: through the executor, from JSON arguments, over files and a session of their own."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal, Self, TypeVar, cast, overload

from wink.adapters import PromptResponse, ProviderAdapter, ScriptedAdapter, Turn
from wink.filesystem import Filesystem, InMemoryFilesystem, Stamp
from wink.limits import BudgetTracker, Deadline
from wink.plugins import Catalog, Kind
from wink.policies import ToolPolicy
from wink.prompt import PromptTemplate, Section, ToolsSection
from wink.resources import ResourceRegistry
from wink.runtime import Approvals, ToolCall, ToolExecutor, ToolReply
from wink.serde import dumps
from wink.session import Session, SlicePolicy
from wink.testing._audit import Watch
from wink.testing._catalog import PluginCatalog
from wink.testing._errors import UndeclaredEffects
from wink.testing._events import EventLog
from wink.testing._handlers import Around, WatchedPrompt
from wink.tools import Tool, ToolContext
from wink.workspace import Workspace

__all__ = ["Harness"]

Thing = TypeVar("Thing")
_LOOSE: Final = "tools-of-the-test"


class Harness:
    """Sections, tools and policies in one prompt, over files and a session that belong to the test.

    The fixture `harness` gives one over files in memory, or with `@pytest.mark.wink(fs="disk")` over a workspace in a
    temporary directory; elsewhere it is made with `with Harness() as harness:`, and `root` is a directory to work on.
    `catalog` is what `use` takes offers from, everything that is installed unless it is given.

    A handler that does more than its tool's effects declare fails the test, with `UndeclaredEffects`, unless `audit` is off.
    What lies beneath the paths in `allow` may be read, changed and started by any, such as the program of a tool's own.

    >>> from dataclasses import dataclass
    >>> from wink.tools import Tool, ToolContext, ToolResult
    >>> @dataclass
    ... class Add:
    ...     text: str
    >>> @Tool.wrap
    ... def notes_add(params: Add, *, context: ToolContext) -> ToolResult[None]:
    ...     "Add a note."
    ...     context.filesystem.append("notes.md", params.text)
    ...     return ToolResult("added", None)
    >>> with Harness() as harness:
    ...     _ = harness.use(notes_add)
    ...     harness.call("notes_add", text="hi").text, harness.tree(), harness.events.names()
    ('added', {'notes.md': 'hi'}, ['ToolInvoked'])
    """

    adapter: ProviderAdapter
    """What `context.adapter` is; it says nothing unless a test puts another one here."""
    deadline: Deadline | None = None
    """When calls have to be done; see `FrozenDeadline`."""
    budget: BudgetTracker | None = None
    """How many tokens may be used."""
    approvals: Approvals | None = None
    """Who answers when a policy asks for a person."""

    def __init__(
        self,
        *,
        root: str | os.PathLike[str] | None = None,
        catalog: Catalog | PluginCatalog | None = None,
        filesystem: Filesystem | None = None,
        audit: bool = True,
        allow: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        if root is not None and filesystem is not None:
            raise TypeError("give a directory or a filesystem, not both")
        self.adapter = ScriptedAdapter([])
        self.workspace = None if root is None else Workspace.open(root)
        """The workspace on the disk, if there is one."""
        self.filesystem: Filesystem = filesystem or InMemoryFilesystem()
        """The files that tools work on, as they are between calls."""
        self.session = Session()
        """The session of all calls."""
        if self.workspace is not None:
            self.filesystem, self.session = self.workspace.filesystem, self.workspace.session()
        self.events = EventLog(self.session)
        """What subscribers of the session were told."""
        self._catalog = catalog
        self._sections: list[Section[Any]] = []
        self._tools: list[Tool[Any, Any]] = []
        self._policies: list[ToolPolicy] = []
        self._params: list[object] = []
        self._resources = ResourceRegistry()
        self._plugins: set[str] = set()
        self._prompt: WatchedPrompt | None = None
        self._replies: list[ToolReply] = []
        self._audit, self._allow = audit, tuple(allow)
        self._watches: list[Watch] = []
        self.arounds: list[Around] = [self._watched]
        """What is entered around each handler."""

    # -- what is in the prompt

    @overload
    def use(
        self, kind: Literal["section"], name: str, /, *, rename: Mapping[str, str] | None = None, **options: Any
    ) -> Section[Any]: ...
    @overload
    def use(self, kind: Literal["policy"], name: str, /, **options: Any) -> ToolPolicy: ...
    @overload
    def use(self, kind: Literal["filesystem"], name: str, /, **options: Any) -> Filesystem: ...
    @overload
    def use(self, kind: Literal["adapter"], name: str, /, **options: Any) -> ProviderAdapter: ...
    @overload
    def use(self, thing: Thing, /) -> Thing: ...

    def use(self, kind: Any, name: str | None = None, /, **options: Any) -> Any:
        """Put a section, a tool, a policy, other files or another adapter into the prompt: an object, or an offer by name.

        What is offered is made as `Catalog.use` makes it, with the plugin's settings; the plugin's own resources and
        subscribers come with it. What was made is returned. Tools and policies apply to the whole prompt.
        """
        thing: object = kind
        if isinstance(kind, str):
            if name is None:
                raise TypeError(
                    f"what is offered as a {kind} has a name, as in harness.use({kind!r}, 'notes.notebook')"
                )
            thing = self._offered(cast("Kind", kind), name, options)
        elif name is not None or options:
            raise TypeError("an object is used as it is; options are for offers")
        if isinstance(thing, Section):
            self._sections.append(cast("Section[Any]", thing))
        elif isinstance(thing, Tool):
            self._tools.append(cast("Tool[Any, Any]", thing))
        elif isinstance(thing, Filesystem):
            self.filesystem = thing
        elif isinstance(thing, ProviderAdapter):
            self.adapter = thing
        elif isinstance(thing, ToolPolicy):
            self._policies.append(thing)
        else:
            raise TypeError(f"{thing!r} is no section, tool, policy, filesystem or adapter")
        self._let_go()
        return cast("Any", thing)

    def bind(self, *params: object, resources: ResourceRegistry | Mapping[type, object] | None = None) -> None:
        """Give the prompt parameters and resources, as `Prompt.bind` does."""
        kinds = {type(value) for value in params}
        self._params = [value for value in self._params if type(value) not in kinds] + list(params)
        if resources is not None:
            more = resources if isinstance(resources, ResourceRegistry) else ResourceRegistry.build(resources)
            self._resources = self._resources.merge(more, strict=False)
        self._let_go()

    @property
    def catalog(self) -> Catalog:
        """Where offers come from."""
        if self._catalog is None:
            self._catalog = Catalog.installed()
        return self._catalog.catalog if isinstance(self._catalog, PluginCatalog) else self._catalog

    @property
    def prompt(self) -> WatchedPrompt:
        """The prompt that everything is in."""
        if self._prompt is None:
            sections = list(self._sections)
            if self._tools or not sections:
                sections.append(ToolsSection("Tools of the test", self._tools, key=_LOOSE))
            template = PromptTemplate(ns="test", key="harness", sections=sections, policies=self._policies)
            prompt = WatchedPrompt(template)
            prompt.arounds = self.arounds
            prompt.bind(*self._params, resources=self._resources)
            prompt.bind(resources={Filesystem: self.filesystem})
            self._prompt = prompt
        return self._prompt

    @property
    def text(self) -> str:
        """What a model reads before it begins."""
        return self.prompt.render(session=self.session).text

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that a model is shown."""
        return tuple(tool.name for tool in self.prompt.render(session=self.session).tools)

    # -- calls

    def call(self, tool: str, /, **arguments: Any) -> ToolReply:
        """Call a tool; the arguments go through JSON text, as a model's do.

        A call that fails has a reply that is no `success`. Raises `UndeclaredEffects`, and what the executor raises.
        """
        return self.send(ToolCall(tool, dumps(arguments)))

    async def acall(self, tool: str, /, **arguments: Any) -> ToolReply:
        """Like `call`, on the running event loop."""
        with self._judged():
            reply = await self._executor().aexecute(ToolCall(tool, dumps(arguments)))
        self._replies.append(reply)
        return reply

    def send(self, call: ToolCall, /) -> ToolReply:
        """Make a call with the very text that a model would send, which may be no JSON."""
        with self._judged():
            reply = self._executor().execute(call)
        self._replies.append(reply)
        return reply

    def batch(self, *calls: ToolCall) -> tuple[ToolReply, ...]:
        """Make the calls of one turn; those that only read run beside each other."""
        with self._judged():
            replies = self._executor().execute_batch(calls)
        self._replies += replies
        return replies

    def run(self, *turns: Turn) -> PromptResponse[Any]:
        """Let a scripted model work on the prompt: each turn is a text, calls, or a function of the conversation."""
        budget = None if self.budget is None else self.budget.budget
        with self._judged():
            return ScriptedAdapter(turns).evaluate(
                self.prompt, session=self.session, deadline=self.deadline, budget=budget, approvals=self.approvals
            )

    @property
    def reply(self) -> ToolReply:
        """The reply to the last call."""
        if not self._replies:
            raise LookupError("no call has been made; make one with harness.call")
        return self._replies[-1]

    @property
    def replies(self) -> tuple[ToolReply, ...]:
        """The replies to all calls, in order."""
        return tuple(self._replies)

    # -- files and state

    def read(self, path: str) -> str:
        """The text of a file."""
        return self.filesystem.read(path).content

    def write(self, path: str, content: str | bytes) -> None:
        """Make a file, as somebody who works beside the agent would."""
        data = content.encode() if isinstance(content, str) else content
        if self.workspace is None:
            self.filesystem.write_bytes(path, data)
            return
        place = os.path.join(self.workspace.root, self.filesystem.normalize(path))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data)

    def tree(self) -> dict[str, str | bytes]:
        """Every file and its content, text where it is text; a directory that is empty as `name/`, with nothing."""
        found: dict[str, str | bytes] = {}
        waiting = ["."]
        while waiting:
            directory = waiting.pop()
            entries = self.filesystem.list(directory, limit=1_000_000)
            if not entries and directory != ".":
                found[f"{directory}/"] = ""
            for entry in entries:
                if entry.is_directory and not entry.is_link:
                    waiting.append(entry.path)
                elif entry.is_file:
                    found[entry.path] = _text(self.filesystem.read_bytes(entry.path))
                else:
                    found[entry.path] = ""
        return dict(sorted(found.items()))

    def state(self) -> dict[type[Any], tuple[Any, ...]]:
        """What is in the slices that roll back with a call, without what wink notes of the files that were read."""
        return {cls: items for cls, items in self.facts().items() if cls is not Stamp}

    def facts(self) -> dict[type[Any], tuple[Any, ...]]:
        """What is in all slices that roll back with a call."""
        # A snapshot has no items of those that are stored and that nobody has asked for since.
        slices = tuple(self.session._state.slices.values())  # pyright: ignore[reportPrivateUsage]
        kept = {one.cls: self.session[one.cls].all() for one in slices if one.policy is SlicePolicy.STATE}
        return {cls: items for cls, items in kept.items() if items}

    # -- its end

    def close(self) -> None:
        """Let go of everything; raises `UndeclaredEffects` for what threads have done since their calls ended."""
        prompt, self._prompt = self._prompt, None
        try:
            if prompt is not None:
                prompt.cleanup()
        finally:
            if self.workspace is not None:
                self.workspace.close()
        self._check()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _executor(self) -> ToolExecutor:
        return ToolExecutor(
            prompt=self.prompt,
            rendered=self.prompt.render(session=self.session),
            session=self.session,
            adapter=self.adapter,
            deadline=self.deadline,
            budget_tracker=self.budget,
            approvals=self.approvals,
        )

    def _offered(self, kind: Kind, name: str, options: Mapping[str, Any]) -> object:
        made: Any = self.catalog.use(kind, name, **options)
        owners = [
            plugin for plugin in self.catalog.plugins if plugin.usable
            if plugin.name == name.partition(".")[0] or any(offer.short == name for offer in plugin.offers)
        ]  # fmt: skip
        for plugin in owners:
            if plugin.hooks and plugin.name not in self._plugins:
                self._plugins.add(plugin.name)
                # Of all plugins that are installed those that the test uses take part, and nobody else's.
                alone = Catalog([plugin], self.catalog.settings)
                alone.session(self.session)
                self._resources = alone.resources().merge(self._resources, strict=False)
        return made

    def _let_go(self) -> None:
        """What comes next is made anew; what sections hold stays theirs until the end."""
        prompt, self._prompt = self._prompt, None
        if prompt is not None:
            prompt.resources.close()

    @contextmanager
    def _watched(self, tool: Tool[Any, Any], context: ToolContext) -> Generator[ToolContext]:
        if not self._audit:
            yield context
            return
        package = (getattr(tool.handler, "__module__", None) or "").partition(".")[0]
        files = context.resources.get_optional(Filesystem)
        watch = Watch(
            tool.effects, tool.name, files=files, package=package if _is_plugin(package) else "", allow=self._allow
        )
        self._watches.append(watch)
        with watch.running():
            yield context

    @contextmanager
    def _judged(self) -> Generator[None]:
        try:
            yield
        except UndeclaredEffects:
            raise
        except Exception as error:
            self._check(error)
            raise
        self._check()

    def _check(self, cause: Exception | None = None) -> None:
        # All are kept: a thread that a call has left behind may do something later.
        for watch in self._watches:
            if watch.actions:
                self._watches.remove(watch)
                raise watch.error() from cause


def _is_plugin(package: str) -> bool:
    """Whether code of this package is a plugin's wherever it runs, and not a test's or wink's."""
    return bool(package) and package not in ("wink", "tests", "test", "conftest", "plugins", "__main__", "builtins") and (
        not package.startswith("test_")
    )  # fmt: skip


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
