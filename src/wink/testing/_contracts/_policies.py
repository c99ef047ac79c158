"""What a policy promises to the calls that it governs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import pytest

from wink.dataclass import dataclass
from wink.policies import ToolPolicy
from wink.prompt import Section
from wink.runtime import PolicyVerdict, ToolCall, ToolInvoked, ToolReply
from wink.serde import dumps
from wink.session import Snapshot
from wink.testing._contracts._base import Contract, Fresh, declared
from wink.testing._harness import Harness
from wink.testing._moment import Moment
from wink.testing._steps import Step
from wink.tools import Tool, ToolContext, ToolResult

_OURS: Final = "policy {name!r} "
"""How the reason begins where the policy raised, answered nonsense or gave no reason, and the runtime speaks for it."""


class PolicyContract(Contract):
    """All that a policy promises, as tests for pytest: point the fixture `policy` at yours, and tell a story.

    ```python
    class TestReadFirst(PolicyContract):
        files = {"a.txt": "one"}
        steps = (
            denied("write_file", file_path="a.txt", content="two"),
            allowed("read_file", file_path="a.txt"),
            allowed("write_file", file_path="a.txt", content="two"),
        )

        @pytest.fixture
        def policy(self) -> ToolPolicy:
            return read_first_policy()

        @pytest.fixture
        def section(self) -> Section:
            return files_section()
    ```

    `section` brings the tools that the steps call. The policy governs all of them; those that the section has itself govern
    them too, so build it without the policy. A story has a step of each kind, and a policy that remembers something denies
    first what it allows later, or the other way round.
    """

    steps: ClassVar[Sequence[Step]] = ()
    """Calls in order, each `allowed` or `denied`; a fixture of this name may make them as well."""

    @pytest.fixture
    def policy(self) -> ToolPolicy:
        """The policy that is tried; a fixture of this name has to be defined."""
        raise NotImplementedError(f"{type(self).__name__} must define a fixture `policy` that returns a ToolPolicy")

    @pytest.fixture
    def section(self) -> Section[Any]:
        """The section whose tools the steps call; a fixture of this name has to be defined."""
        raise NotImplementedError(f"{type(self).__name__} must define a fixture `section` whose tools the steps call")

    @pytest.fixture
    def story(self, request: pytest.FixtureRequest) -> tuple[Step, ...]:
        """The steps."""
        story = tuple(declared(self, request, "steps", ()))
        if {step.is_allowed for step in story} != {True, False}:
            raise NotImplementedError(
                f"{type(self).__name__} must say steps = (denied(...), allowed(...)): at least one call of each kind"
            )
        return story

    @pytest.fixture
    def ready(self, fresh: Fresh, section: Section[Any], policy: ToolPolicy) -> Fresh:
        """Makes harnesses with the policy and the tools."""

        def make() -> Harness:
            harness = fresh()
            harness.use(section)
            harness.use(policy)
            harness.use(_probe)
            return harness

        return make

    # -- what it says

    def test_it_has_a_name_that_stays(self, policy: ToolPolicy) -> None:
        """Give it a `name`, a text that is always the same: verdicts, the log and its state in the session go by it."""
        assert isinstance(policy, ToolPolicy), f"{policy!r} lacks name, check or on_result"
        name: object = policy.name
        assert isinstance(name, str), f"the name is {name!r}"
        assert name.strip(), "the name is blank"
        assert policy.name == name

    def test_it_decides_as_the_story_says(self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]) -> None:
        """Fix the policy, or the story: each step says whether this policy lets the call through, after those before it."""
        harness = ready()
        for number, step in enumerate(story, 1):
            reply, verdict = _take(harness, policy, step)
            told = f"step {number}, {step}: {verdict.reason or reply.text}"
            assert verdict.allowed is step.is_allowed, told
            assert reply.success or not step.is_allowed, f"{told}; the call was allowed and failed: {reply.text}"

    def test_a_denial_says_what_to_do(self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]) -> None:
        """Answer with `PolicyDecision.deny("what is wrong; what to call first")`, and raise nothing: the reason is all that the
        model has to go by. Name files by their paths in the workspace."""
        harness = ready()
        for step in story:
            reply, verdict = _take(harness, policy, step)
            if not step.is_allowed:
                reason = verdict.reason or ""
                assert not reason.startswith(_OURS.format(name=policy.name)), f"{step}: {reason}"
                assert reason in reply.text
                root = "" if harness.workspace is None else harness.workspace.root
                assert not root or root not in reason, f"{step}: the reason names a path of the host"

    # -- what asking does

    def test_asking_changes_nothing(self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]) -> None:
        """Remember in `on_result`, never in `check`: a call may be asked about more than once, or denied by another policy.
        Asking again has to have the same answer."""
        harness = ready()
        for step in story:
            before = Moment.of(harness)
            if not step.is_allowed:
                for _ in range(2):
                    _, verdict = _take(harness, policy, step)
                    assert not verdict.allowed, f"{step}: it was denied, and allowed when it was asked again"
                assert before.differences(Moment.of(harness)) == ()
            else:
                with _failing(harness, step.tool):
                    for _ in range(2):
                        _, verdict = _take(harness, policy, step)
                        assert verdict.allowed, f"{step}: it was allowed, and denied when it was asked again"
                assert before.differences(Moment.of(harness)) == ()
                _take(harness, policy, step)

    def test_a_call_that_failed_teaches_nothing(
        self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]
    ) -> None:
        """Remember in the session, inside `on_result`, which is told of successes only: what failed has not been, and whoever
        could talk a policy round by a failing call would do so."""
        harness = ready()
        for step in story:
            with _failing(harness, step.tool):
                _take(harness, policy, step)
            reply, verdict = _take(harness, policy, step)
            assert verdict.allowed is step.is_allowed, (
                f"{step}, after a call that failed: {verdict.reason or reply.text}"
            )

    def test_other_tools_are_left_alone(self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]) -> None:
        """Let `check` and `on_result` look at no parameter without asking whether it is there: on a prompt a policy is asked
        about every tool, and told of those of all sections."""
        harness = ready()
        for step in story:
            reply = harness.call(_probe.name)
            invoked = harness.events.latest(ToolInvoked)
            assert invoked.outcome in ("committed", "denied"), (
                f"a tool that the policy does not know failed: {reply.text}"
            )
            for verdict in invoked.decisions:
                ours = (verdict.reason or "").startswith(_OURS.format(name=policy.name))
                assert not ours, f"asked about another tool: {verdict.reason}"
            _take(harness, policy, step)

    # -- what it remembers, and where

    def test_each_session_begins_anew(self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]) -> None:
        """Keep nothing in the policy itself: one object serves every session of its prompt, and what it learned in one must not
        open another."""
        for _ in range(2):
            harness = ready()
            for step in story:
                _, verdict = _take(harness, policy, step)
                assert verdict.allowed is step.is_allowed, f"{step}, in another session: {verdict.reason}"

    def test_restoring_brings_old_decisions_back(
        self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]
    ) -> None:
        """Keep what it remembers in session slices that roll back: when a session and its files are restored, the policy has
        to know what it knew then, and no more."""
        harness = ready()
        moments: list[Any] = []
        for step in story:
            moments.append((harness.session.snapshot(), harness.filesystem.snapshot()))
            _take(harness, policy, step)
        for step, (session, files) in reversed(list(zip(story, moments, strict=True))):
            harness.session.restore(session)
            harness.filesystem.restore(files)
            with _failing(harness, step.tool):
                _, verdict = _take(harness, policy, step)
            assert verdict.allowed is step.is_allowed, f"{step}, after going back to it: {verdict.reason}"

    def test_another_process_goes_on(self, ready: Fresh, policy: ToolPolicy, story: tuple[Step, ...]) -> None:
        """Keep what it remembers in dataclasses of what JSON can hold, in the session: the next call may be made by another
        process, which has nothing but what was stored."""
        harness = ready()
        _ = harness.text
        for step in story:
            stored = Snapshot.from_json(harness.session.snapshot().to_json())
            for cls in harness.facts():
                harness.session[cls].clear()
            harness.session.restore(stored)
            _, verdict = _take(harness, policy, step)
            assert verdict.allowed is step.is_allowed, f"{step}, after the session was stored: {verdict.reason}"


@dataclass(frozen=True)
class Nothing:
    """Parameters that no policy has seen before."""

    unheard_of: tuple[int, ...] = ()


def _do_nothing(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    del params, context
    return ToolResult("nothing was done", None)


_probe = Tool[Nothing, None]("a_tool_of_somebody_else", "Does nothing.", _do_nothing)


def _take(harness: Harness, policy: ToolPolicy, step: Step) -> tuple[ToolReply, PolicyVerdict]:
    """Make the call of a step, and find what the policy said to it."""
    reply = harness.send(ToolCall(step.tool, dumps(dict(step.arguments))))
    invoked = harness.events.latest(ToolInvoked)
    said = [verdict for verdict in invoked.decisions if verdict.policy == policy.name]
    assert said, f"{step}: the policy was not asked: {reply.text}"
    return reply, said[-1]


@contextmanager
def _failing(harness: Harness, tool: str) -> Generator[None]:
    """Within the block, the handler of a tool is run to its end and then raises."""

    @contextmanager
    def around(called: Tool[Any, Any], context: ToolContext) -> Generator[ToolContext]:
        yield context
        if called.name == tool:
            raise ValueError("made to fail at its end")

    harness.arounds.append(around)
    try:
        yield
    finally:
        harness.arounds.remove(around)
