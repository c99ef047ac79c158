"""Make a tool call fail at every step that its handler takes, and look at what each failure leaves.

Handlers are failed where they use what they were given: at each operation on files, at each write to the session, at each
resource that they ask for, before their first line and after their last. The handles themselves stay what they are: for
the time of a handler their classes are exchanged for subclasses that count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, TypeVar, cast

from wink.dataclass import dataclass
from wink.errors import WinkError
from wink.filesystem import Filesystem, FileTransaction
from wink.resources import ResourceContext
from wink.runtime import ToolCall, ToolInvoked
from wink.serde import dumps
from wink.session import State
from wink.testing._errors import InjectedFault
from wink.testing._harness import Harness
from wink.testing._moment import Moment
from wink.tools import Tool, ToolContext

MAX_STEPS: Final = 2000
FIRST: Final = "its first line"
LAST: Final = "its end, when everything had been done"
_STREAMS: Final = {"__exit__": "close", "close": "close", "read": "read", "readinto": "read", "write": "write"}

T = TypeVar("T")
_frame = sys._getframe  # pyright: ignore[reportPrivateUsage]


@dataclass(frozen=True, slots=True)
class FaultStep:
    """One run of the call, which was failed before the step `name`.

    `left` says what was not as it had been, `events` how many `ToolInvoked` there were, and `swallowed` that the handler
    went on in spite of the failure and succeeded; what it did then stands, and is no leftover.
    """

    number: int
    name: str
    left: tuple[str, ...] = ()
    events: int = 1
    swallowed: bool = False

    @property
    def is_fine(self) -> bool:
        """Whether the failure left nothing, and was told of once."""
        return not self.left and self.events == 1

    def __str__(self) -> str:
        problems = list(self.left)
        if self.events != 1:
            problems.append(f"{self.events} ToolInvoked were published in place of one")
        more = "".join(f"\n     {problem}" for problem in problems)
        return f"{self.number:3}. before {self.name}{': went on and succeeded' if self.swallowed else ''}{more}"


@dataclass(frozen=True, slots=True)
class FaultReport:
    """Every step that a call was failed at, in order."""

    tool: str
    steps: tuple[FaultStep, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the handler was about to do at each step."""
        return tuple(step.name for step in self.steps)

    @property
    def left(self) -> tuple[FaultStep, ...]:
        """The steps at which something was left, or not told of once."""
        return tuple(step for step in self.steps if not step.is_fine)

    @property
    def swallowed(self) -> tuple[FaultStep, ...]:
        """The steps at which the handler went on in spite of the failure."""
        return tuple(step for step in self.steps if step.swallowed)

    def __str__(self) -> str:
        return "\n".join((f"{self.tool} was failed at {len(self.steps)} steps:", *map(str, self.steps)))


def fail_at_every_step(harness: Harness, tool: str | ToolCall, /, **arguments: Any) -> FaultReport:
    """Make a call again and again, failing its handler one step further each time, and check what is left.

    After each failure the files, the slices that roll back and the resources that can be compared have to be as before,
    and exactly one `ToolInvoked` has to have been published. Raises `AssertionError` with all steps at which that is not
    so, and `ValueError` for a call that does not succeed when it is left alone. Nothing of the call stands afterwards.

    >>> from dataclasses import dataclass
    >>> from wink.testing import Harness
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
    ...     for name in fail_at_every_step(harness, "notes_add", text="hi").names:
    ...         print(name)
    its first line
    resources.get(Filesystem)
    filesystem.append('notes.md')
    its end, when everything had been done
    """
    call = tool if isinstance(tool, ToolCall) else ToolCall(tool, dumps(arguments))
    back = _Back(harness)
    steps: list[FaultStep] = []
    while not steps or steps[-1].name != LAST:
        number = len(steps) + 1
        if number > MAX_STEPS:
            raise ValueError(f"{call.name} takes more than {MAX_STEPS} steps; call it with less to do")
        steps.append(_run(harness, call, number))
        if steps[-1].left or steps[-1].swallowed:
            back.go()
    report = FaultReport(call.name, tuple(steps))
    if report.left:
        failed = "\n".join(map(str, report.left))
        raise AssertionError(f"{call.name} left something when it was made to fail:\n{failed}")
    return report


def _run(harness: Harness, call: ToolCall, number: int) -> FaultStep:
    before = Moment.of(harness)  # each time, since a resource may have been made by then
    injector = Injector(call.name, number)
    told = len(harness.events.of(ToolInvoked))
    harness.arounds.append(injector.around)
    try:
        reply = harness.send(call)
    finally:
        harness.arounds.remove(injector.around)
    if injector.fired is None:
        raise ValueError(
            f"{call.name} fails when it is left alone: {reply.text}; give arguments with which it succeeds"
        )
    left = () if reply.success else before.differences(Moment.of(harness))
    events = len(harness.events.of(ToolInvoked)) - told
    return FaultStep(number, injector.fired, left, events, swallowed=reply.success)


class _Back:
    """The way back to where the runs begin, for those that leave something."""

    def __init__(self, harness: Harness) -> None:
        self._harness, self._session = harness, harness.session.snapshot()
        try:
            self._files = harness.filesystem.snapshot()
        except WinkError:  # of a filesystem that has none; then the first that leaves something is the last
            self._files = None

    def go(self) -> None:
        self._harness.session.restore(self._session)
        if self._files is not None:
            self._harness.filesystem.restore(self._files)


class Injector:
    """Fails the handler of one tool at its step `number`; `fired` is what it was about to do."""

    def __init__(self, tool: str, number: int, error: Callable[[str], BaseException] = InjectedFault) -> None:
        self.tool, self.number, self.error = tool, number, error
        self.fired: str | None = None
        self.count = 0
        self._operation: FrameType | None = None

    def step(self, name: str, operation: FrameType | None = None) -> None:
        """Count a step, and fail at the one that is wanted; what belongs to the operation before is no other step."""
        if operation is not None and operation is self._operation:
            return
        self._operation = operation
        self.count += 1
        if self.count == self.number and self.fired is None:
            self.fired = name
            raise self.error(name)

    @contextmanager
    def around(self, tool: Tool[Any, Any], context: ToolContext) -> Generator[ToolContext]:
        """Count what the handler does; to be put around it."""
        if tool.name != self.tool or _injecting.get() is not None:
            yield context
            return
        files = context.resources.get_optional(Filesystem)
        access: object = None if files is None else files._transaction  # pyright: ignore[reportPrivateUsage]
        state = context.session._state  # pyright: ignore[reportPrivateUsage]
        token = _injecting.set(self)
        exchanged = [
            (target, _exchanged(target, counting))
            for target, counting in ((access, _Files), (state, _State), (context.scope, _Resources))
            if type(target) is counting.__base__
        ]
        try:
            self.step(FIRST)
            yield context
            if self.fired is None:
                self.fired = LAST
                raise self.error(LAST)
        finally:
            for target, cls in exchanged:
                _exchanged(target, cls)
            _injecting.reset(token)
            self._operation = None


_injecting: ContextVar[Injector | None] = ContextVar("wink.testing.injecting", default=None)


def _count(package: str, name: str = "") -> None:
    """Count the operation of `package` that is on the stack, named as the handler calls it."""
    injector = _injecting.get()
    if injector is None:
        return
    frame: FrameType | None = _frame(1)
    outermost: FrameType | None = None
    while frame is not None and _is_in(frame, package):
        outermost, frame = frame, frame.f_back
    if outermost is None:
        return
    given = outermost.f_locals
    if not name:
        shown = [repr(given[one]) for one in ("path", "source", "target", "pattern") if isinstance(given.get(one), str)]
        name = f"filesystem.{outermost.f_code.co_name}({', '.join(shown[:2])})"
        if not isinstance(given.get("self"), Filesystem):
            done = _STREAMS.get(outermost.f_code.co_name)
            name = (
                f"more of an operation on files ({outermost.f_code.co_name})" if done is None else f"a stream's {done}"
            )
    injector.step(name, outermost)


def _is_in(frame: FrameType, package: str) -> bool:
    """Whether a frame belongs to a package of wink, or to what counts here."""
    name: str = frame.f_globals.get("__name__") or ""
    return name.startswith(f"wink.{package}") or frame.f_code.co_filename == __file__


class _Files(FileTransaction):
    """The files of a call, which count how they are used."""

    __slots__ = ()

    def reading(self) -> Any:
        _count("filesystem")
        return super().reading()

    def run(self, operation: Any, *args: Any, **options: Any) -> Any:
        _count("filesystem")
        return super().run(operation, *args, **options)

    def changing(self, path: str) -> Any:
        _count("filesystem")
        return super().changing(path)


class _State(State):
    """A session's state, which counts what is written."""

    __slots__ = ()

    def run(self, steps: Any, *args: Any, **options: Any) -> Any:
        written = ", ".join(dict.fromkeys(step[0].cls.__qualname__ for step in steps))
        _count("session", f"a write to the session's {written}")
        return super().run(steps, *args, **options)


class _Resources(ResourceContext):
    """The resources of a call, which count what is asked for."""

    __slots__ = ()

    def get(self, protocol: type[T], /) -> T:
        _count("resources", f"resources.get({protocol.__qualname__})")
        return super().get(protocol)


def _exchanged(target: Any, cls: type[object]) -> type[object]:
    """Give an object another class with the same slots; returns the one that it had."""
    had = cast("type[object]", type(target))
    target.__class__ = cls
    return had
