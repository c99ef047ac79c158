"""What a handler is given beside its parameters."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from wink.dataclass import dataclass

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.limits import BudgetTracker, Deadline, Heartbeat, ProgressReport, RunContext
    from wink.session import Dispatcher, Session
    from wink.tools._tool import Tool

T = TypeVar("T")


class ResourcesLike(Protocol):
    """Where a handler finds what was bound for it, by type."""

    def get(self, protocol: type[T], /) -> T:
        """What is bound to `protocol`; raises `UnboundResourceError`."""
        ...

    def get_optional(self, protocol: type[T], /) -> T | None:
        """What is bound to `protocol`, or `None`."""
        ...


class PromptLike(Protocol):
    """As much of a prompt as the tools beneath it may know."""

    @property
    def resources(self) -> ResourcesLike:
        """What was bound to the prompt."""
        ...


class RenderedPromptLike(Protocol):
    """As much of a rendered prompt as tools may know."""

    @property
    def text(self) -> str:
        """The Markdown that the model was sent."""
        ...

    @property
    def tools(self) -> "Sequence[Tool[Any, Any]]":
        """The tools that the model was told of, in order."""
        ...


class AdapterLike(Protocol):
    """What evaluates prompts; a handler may evaluate another one with it."""

    @property
    def evaluate(self) -> Any:
        """`evaluate(prompt, *, session, ...)`, as in `wink.adapters.ProviderAdapter`."""
        ...


@dataclass(frozen=True, slots=True, init=False)
class ToolContext:
    """One call's surroundings. Made for the call, and of no use after it: its handles are revoked then.

    `rendered_prompt` is `None` where a prompt is not rendered yet, `scope` the call's own resources.
    """

    prompt: PromptLike
    rendered_prompt: RenderedPromptLike | None
    adapter: AdapterLike
    session: "Session"
    deadline: "Deadline | None" = None
    heartbeat: "Heartbeat | None" = None
    run_context: "RunContext | None" = None
    budget_tracker: "BudgetTracker | None" = None
    call_id: str = ""
    scope: ResourcesLike | None = None

    def __init__(
        self,
        prompt: PromptLike,
        rendered_prompt: RenderedPromptLike | None,
        adapter: AdapterLike,
        session: "Session",
        deadline: "Deadline | None" = None,
        heartbeat: "Heartbeat | None" = None,
        run_context: "RunContext | None" = None,
        budget_tracker: "BudgetTracker | None" = None,
        call_id: str = "",
        scope: ResourcesLike | None = None,
    ) -> None:
        _put_prompt(self, prompt)
        _put_rendered_prompt(self, rendered_prompt)
        _put_adapter(self, adapter)
        _put_session(self, session)
        _put_deadline(self, deadline)
        _put_budget_tracker(self, budget_tracker)
        _put_heartbeat(self, heartbeat)
        _put_run_context(self, run_context)
        _put_call_id(self, call_id)
        _put_scope(self, scope)

    @property
    def resources(self) -> ResourcesLike:
        """What was bound for this call, or else for the prompt."""
        return self.prompt.resources if self.scope is None else self.scope

    @property
    def filesystem(self) -> "Filesystem":
        """The files, through the call's own handle: what is written here is undone if the call fails."""
        import wink.filesystem as module  # a name of it would be looked up again with each call

        return self.resources.get(module.Filesystem)

    @property
    def event_bus(self) -> "Dispatcher":
        """The session's dispatcher, by its older name."""
        return self.session.dispatcher

    def beat(self) -> None:
        """Say that a long operation is still alive, also to whoever watches the runs around this one.

        Does nothing if nobody listens.
        """
        self._beat(None)

    def progress(self, message: str = "", *, done: float | None = None, total: float | None = None) -> None:
        """Say how far a long operation is: a line, and how much is `done`, of how much in all where that is known.

        Whoever watches is told at once: MCP clients, `wink watch`, the terminal of `wink run`. It is a beat, too.
        """
        from wink.limits import ProgressReport

        self._beat(ProgressReport(message, done, total))

    def _beat(self, progress: "ProgressReport | None") -> None:
        from wink.transactions import heartbeats_around

        hearts = heartbeats_around()
        if self.heartbeat is not None and self.heartbeat not in hearts:
            hearts = (self.heartbeat, *hearts)
        for heartbeat in hearts:
            heartbeat.beat() if progress is None else heartbeat.beat(progress)


def _setter(name: str) -> Callable[[ToolContext, object], None]:
    return ToolContext.__dict__[name].__set__


# One is made for every call: the slots' own setters take half the time of `object.__setattr__` with a name.
_put_prompt = _setter("prompt")
_put_rendered_prompt = _setter("rendered_prompt")
_put_adapter = _setter("adapter")
_put_session = _setter("session")
_put_deadline = _setter("deadline")
_put_budget_tracker = _setter("budget_tracker")
_put_heartbeat = _setter("heartbeat")
_put_run_context = _setter("run_context")
_put_call_id = _setter("call_id")
_put_scope = _setter("scope")
