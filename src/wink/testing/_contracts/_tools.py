"""What a tool promises to whoever calls it."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pytest

from wink.errors import NothingToUndo
from wink.filesystem import Stamp
from wink.prompt import Section
from wink.runtime import ToolCall, ToolInvoked, ToolReply
from wink.serde import dumps
from wink.session import Session, Snapshot
from wink.testing._contracts._arguments import NO_OBJECTS, example_arguments, odd_arguments, problem_with
from wink.testing._contracts._base import Contract, Fresh, declared
from wink.testing._faults import LAST, Injector, fail_at_every_step
from wink.testing._harness import Harness
from wink.testing._moment import Moment
from wink.tools import Tool, ToolContext, render_value

_INTERRUPTIONS: Final = 20
"""At how many of its steps a call is interrupted at most."""


class ToolContract(Contract):
    """All that a tool promises, as tests for pytest: say which tool, and a call of it that succeeds.

    ```python
    class TestAdd(ToolContract):
        tool = "notes_add"
        arguments = {"text": "hi"}

        @pytest.fixture
        def section(self) -> Section:
            return notebook_section()
    ```

    The tool comes with its section, or is an object of its own, which a fixture `tool` returns. `arguments` are those of its
    first example unless they are given, as an attribute or as a fixture. `files` are there before the call, and the calls in
    `before` are made.
    """

    before: ClassVar[Sequence[ToolCall]] = ()
    """Calls that are made before the one that is tried, and have to succeed."""

    repeatable: ClassVar[bool] = True
    """The same call on the same files and state has the same reply; false for one that asks the clock, chance or others."""

    @pytest.fixture
    def section(self) -> Section[Any] | None:
        """The section that brings the tool, if it does not stand by itself."""
        return None

    if TYPE_CHECKING:
        tool: Any
        """The name of the section's tool, or a fixture that returns a tool."""
    else:

        @pytest.fixture
        def tool(self) -> Tool[Any, Any]:
            """The tool that is tried, if no section brings it."""
            raise NotImplementedError(
                f"{type(self).__name__} must say which tool it is about: tool = 'its_name' and a fixture `section`, or a fixture "
                "`tool` that returns a Tool"
            )

    @pytest.fixture
    def resources(self) -> Mapping[type, object]:
        """What the tool needs beside the files, by type."""
        return {}

    @pytest.fixture
    def subject(self, request: pytest.FixtureRequest, section: Section[Any] | None) -> Tool[Any, Any]:
        """The tool itself."""
        wanted = declared(self, request, "tool", None)
        if not isinstance(wanted, str):
            return wanted
        if section is None:
            raise NotImplementedError(f"{type(self).__name__} must define a fixture `section` that brings {wanted!r}")
        found = {tool.name: tool for tool in _tools(section)}
        if wanted not in found:
            raise LookupError(f"{section!r} brings no tool {wanted!r}; it brings {', '.join(found) or 'none'}")
        return found[wanted]

    @pytest.fixture
    def call(self, request: pytest.FixtureRequest, subject: Tool[Any, Any]) -> ToolCall:
        """The call that is tried."""
        arguments = declared(self, request, "arguments", None)
        if arguments is None:
            arguments = example_arguments(subject)
        if arguments is None:
            raise NotImplementedError(
                f"{type(self).__name__} must say arguments = {{...}} with which the tool succeeds"
            )
        return ToolCall(subject.name, dumps(arguments))

    @pytest.fixture
    def ready(
        self,
        request: pytest.FixtureRequest,
        fresh: Fresh,
        section: Section[Any] | None,
        subject: Tool[Any, Any],
        resources: Mapping[type, object],
    ) -> Fresh:
        """Makes harnesses in which the call can be made at once."""

        def make(*, fs: str | None = None, audit: bool = False) -> Harness:
            harness = fresh(fs=fs, audit=audit)
            harness.use(subject) if section is None else harness.use(section)
            harness.bind(resources=resources)
            for one in declared(self, request, "before", ()):
                reply = harness.send(one)
                assert reply.success, f"the call before, {one.name}, failed: {reply.text}"
            return harness

        return make

    # -- a call that succeeds

    def test_it_succeeds(self, ready: Fresh, call: ToolCall) -> None:
        """Give the class arguments, files and calls before it with which the tool does its work, or fix the tool: all other
        promises are tried with this call. Every call is told of exactly once."""
        harness = ready()
        told = len(harness.events.of(ToolInvoked))
        reply = harness.send(call)
        assert reply.success, f"{call.name} failed: {reply.text}"
        assert len(harness.events.of(ToolInvoked)) == told + 1

    def test_it_keeps_to_its_effects(self, ready: Fresh, call: ToolCall, subject: Tool[Any, Any]) -> None:
        """Work through `context.filesystem`, or declare what the tool does: `effects="process"` for programs, `"external"` for
        other machines. What goes around the handle cannot be taken back, and nobody who reads the log learns of it."""
        harness = ready(audit=True)
        before = Moment.of(harness)
        try:
            harness.send(call)
        finally:
            harness.close()
        if subject.effects == "read":
            after = Moment.of(harness).files if harness.workspace is None else before.files
            assert after == before.files, f"{call.name} declares that it reads, and changed files"

    def test_it_works_on_an_event_loop(self, ready: Fresh, call: ToolCall) -> None:
        """Make the handler `async def` where it awaits something; `asyncio.run` in a plain one fails under every program that
        has a loop, such as a server."""
        harness = ready()
        reply = asyncio.run(harness.acall(call.name, **json.loads(str(call.arguments))))
        assert reply.success, f"{call.name} failed on an event loop: {reply.text}"

    def test_it_says_the_same_again(self, ready: Fresh, call: ToolCall) -> None:
        """Keep nothing in the module, the section or the tool: what is remembered belongs into a session slice, where it is
        rolled back and restored. For a tool that asks the clock or chance, set `repeatable = False`."""
        if self.repeatable:
            assert _outcome(ready(), call) == _outcome(ready(), call)

    def test_a_failed_call_is_forgotten(self, ready: Fresh, call: ToolCall, subject: Tool[Any, Any]) -> None:
        """Keep nothing outside of files, session slices and resources that can be rolled back: after a call that was taken
        back, the next one must find everything as if there had been none."""
        if not self.repeatable:
            return
        failed = ready()
        with _interrupted(failed, subject, ValueError("made to fail at its end")):
            assert not failed.send(call).success
        assert _outcome(failed, call) == _outcome(ready(), call)

    # -- what is kept of it

    def test_its_result_survives_json(self, ready: Fresh, call: ToolCall) -> None:
        """Let results be dataclasses of what JSON can hold, with `__eq__`: sessions live on in other processes, where they are
        read from what was stored."""
        harness = ready()
        assert harness.send(call).success
        stored = Snapshot.from_json(harness.session.snapshot().to_json())
        later = Session()
        for cls in harness.facts():
            later[cls].clear()
        later.restore(stored)
        for cls, items in harness.facts().items():
            assert later[cls].all() == items, f"{cls.__qualname__} comes back changed"

    def test_its_reply_is_text_for_the_model(self, ready: Fresh, call: ToolCall) -> None:
        """Say in the message what was done, in words that do not change: `render()` is called inside the transaction, and a
        failure there takes the call back. Name files by their paths in the workspace."""
        harness = ready(fs="disk")
        reply = harness.send(call)
        assert reply.text.strip(), "the reply is empty"
        value: object = reply.result.value
        assert render_value(value) == render_value(value), "render() says something else each time"
        root = "" if harness.workspace is None else harness.workspace.root
        assert root not in reply.text, "the reply names a path of the host"

    def test_it_can_be_undone(self, ready: Fresh, call: ToolCall) -> None:
        """Change files through `context.filesystem` and state through the session only: then `wink undo` can take the call
        back, also in another process."""
        harness = ready(fs="disk")
        workspace = harness.workspace
        assert workspace is not None
        before = Moment.of(harness)
        assert harness.send(call).success
        changed = [told for told in before.differences(Moment.of(harness)) if Stamp.__name__ not in told]
        try:
            workspace.undo(workspace.calls(limit=1)[0].position)
        except NothingToUndo:
            assert not changed, f"there is nothing to undo, and yet {'; '.join(changed)}"
            return
        left = [told for told in before.differences(Moment.of(harness)) if Stamp.__name__ not in told]
        assert not left, f"undo left something: {'; '.join(left)}"

    # -- a call that fails

    def test_a_failure_leaves_nothing(self, ready: Fresh, call: ToolCall) -> None:
        """Change files through `context.filesystem`, state through the session and nothing else; a resource that a handler
        changes needs `snapshot` and `restore`. The report names each step at which something was left."""
        fail_at_every_step(ready(), call)

    def test_an_interruption_leaves_nothing(self, ready: Fresh, call: ToolCall, subject: Tool[Any, Any]) -> None:
        """Catch no `BaseException`, and no bare `except:`: a user who interrupts wants the call to end, and what it did to be
        taken back."""
        harness = ready()
        before = Moment.of(harness)
        for number in range(1, _INTERRUPTIONS):
            told = len(harness.events.of(ToolInvoked))
            injector = Injector(subject.name, number, _pressed)
            harness.arounds.append(injector.around)
            try:
                with _ctrl_c(), pytest.raises(KeyboardInterrupt):
                    harness.send(call)
            finally:
                harness.arounds.remove(injector.around)
            assert before.differences(Moment.of(harness)) == (), f"interrupted before {injector.fired}"
            assert len(harness.events.of(ToolInvoked)) == told + 1
            if injector.fired == LAST:
                break

    def test_wrong_arguments_are_refused_with_words(
        self, ready: Fresh, call: ToolCall, subject: Tool[Any, Any]
    ) -> None:
        """Raise `ValueError`, with what to do instead, where `__post_init__` finds something wrong: of any other exception the
        model is told nothing but its name."""
        problems = [problem_with(subject, arguments) for arguments in odd_arguments(subject)]
        assert not any(problems), "; ".join(filter(None, problems))
        harness = ready()
        before = Moment.of(harness)
        for arguments in NO_OBJECTS:
            reply = harness.send(ToolCall(call.name, arguments))
            assert not reply.success, f"{call.name} takes {arguments!r} for arguments"
        assert before.differences(Moment.of(harness)) == ()


def _outcome(harness: Harness, call: ToolCall) -> tuple[str, bool, object, object]:
    """Everything that a call has done, to be compared."""
    reply: ToolReply = harness.send(call)
    return reply.text, reply.success, harness.tree(), harness.state()


@contextmanager
def _ctrl_c() -> Generator[None]:
    """Within the block, SIGINT interrupts at once, in an event loop too; a `KeyboardInterrupt` of its own is no Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _pressed(step: str) -> BaseException:
    signal.raise_signal(signal.SIGINT)
    return KeyboardInterrupt(step)  # on another thread than the one that hears of signals


@contextmanager
def _interrupted(harness: Harness, tool: Tool[Any, Any], error: BaseException) -> Generator[None]:
    """Within the block, the handler is run to its end and then raises."""

    @contextmanager
    def around(called: Tool[Any, Any], context: ToolContext) -> Generator[ToolContext]:
        yield context
        if called.name == tool.name:
            raise error

    harness.arounds.append(around)
    try:
        yield
    finally:
        harness.arounds.remove(around)


def _tools(section: Section[Any]) -> Iterator[Tool[Any, Any]]:
    yield from section.tools()
    for child in section.children:
        yield from _tools(child)
