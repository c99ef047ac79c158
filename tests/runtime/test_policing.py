"""Policies at work: every failure denies, and what is denied has not happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, succeed

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.policies import PolicyDecision, SequentialDependencyPolicy
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult


class Fixed:
    """A policy that always answers the same, or raises."""

    def __init__(self, answer: Any, name: str = "fixed") -> None:
        self.name, self.answer = name, answer
        self.asked: list[str] = []
        self.told: list[str] = []

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> Any:
        self.asked.append(tool.name)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        self.told.append(tool.name)


@dataclass(frozen=True)
class Truthy:
    """Looks like a decision."""

    allowed: bool = True
    reason: str | None = None


NOT_AN_ALLOWANCE = [
    (PolicyDecision.deny("read it first"), "read it first"),
    (ValueError("secret"), "policy 'fixed' denied succeed: its check raised ValueError"),
    (None, "its check returned None"),
    (True, "its check returned bool"),
    (Truthy(), "its check returned Truthy"),
    (PolicyDecision(allowed=False, reason=None), "policy 'fixed' denied succeed and gave no reason"),
]


@pytest.mark.parametrize(("answer", "reason"), NOT_AN_ALLOWANCE, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("level", ["section", "prompt"])
def test_whatever_is_not_a_clear_yes_denies(rig: Rig, answer: Any, reason: str, level: str) -> None:
    """A rule that crashes must not open the gate."""
    (rig.policies if level == "section" else rig.prompt_policies).append(Fixed(answer))
    rig.tool(succeed)

    reply = rig.call("succeed")

    assert not reply.success
    assert reason in reply.text
    assert "secret" not in reply.text
    rig.assert_nothing_happened()
    (verdict,) = rig.event.decisions
    assert (verdict.policy, verdict.allowed) == ("fixed", False)


def test_an_asynchronous_check_denies(rig: Rig) -> None:
    """A coroutine is truthy; it is no decision, and is not left unawaited."""

    class Async(Fixed):
        async def check(self, tool: Any, params: Any, *, context: ToolContext) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return PolicyDecision.allow()

    rig.policies.append(Async(None))
    rig.tool(succeed)

    reply = rig.call("succeed")

    assert "returned coroutine" in reply.text
    rig.assert_nothing_happened()


def test_all_policies_must_allow_and_the_first_denial_ends_the_asking(rig: Rig) -> None:
    """The section's are asked before the prompt's."""
    first, second, third = (
        Fixed(PolicyDecision.allow(), "first"),
        Fixed(PolicyDecision.deny("no"), "second"),
        Fixed(PolicyDecision.allow(), "third"),
    )
    rig.policies += [first, second]
    rig.prompt_policies.append(third)
    rig.tool(succeed)

    rig.call("succeed")

    assert (first.asked, second.asked, third.asked) == (["succeed"], ["succeed"], [])
    assert [verdict.policy for verdict in rig.event.decisions] == ["first", "second"]
    assert first.told == []


def test_policies_that_govern_a_tool_are_told_of_its_success(rig: Rig) -> None:
    """`on_result` reaches the prompt's too, and only after success."""
    allow = Fixed(PolicyDecision.allow())
    rig.prompt_policies.append(allow)

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].error("no")

    rig.tool(succeed)

    rig.call("fail")
    rig.call("succeed")

    assert allow.told == ["succeed"]


def test_a_policy_that_fails_on_the_result_rolls_the_call_back(rig: Rig) -> None:
    """A policy that could not learn of a call would judge the next one wrongly."""

    class Forgetful(Fixed):
        def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
            raise ValueError("no memory")

    rig.policies.append(Forgetful(PolicyDecision.allow()))

    @rig.tool
    def change(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        return ToolResult[Note].ok(Note("x"))

    reply = rig.call("change")

    assert not reply.success
    rig.assert_nothing_happened()


def test_a_dependency_is_met_by_a_success_only(rig: Rig) -> None:
    """A failed test run does not bless a deployment."""
    succeeds: list[bool] = [False, True]

    @rig.tool
    def check(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note("checked")) if succeeds.pop(0) else ToolResult[Note].error("red")

    rig.tool(succeed)
    rig.policies.append(SequentialDependencyPolicy(dependencies={"succeed": frozenset({"check"})}))

    denied = rig.call("succeed")
    rig.call("check")
    still_denied = rig.call("succeed")
    rig.call("check")
    allowed = rig.call("succeed")

    assert [denied.success, still_denied.success, allowed.success] == [False, False, True]
    assert "check" in denied.text
    assert rig.files()["a.txt"] == "after"


def test_a_parents_policy_governs_the_sections_below_it() -> None:
    """Rules are declared beside tools, and hold for everything beneath."""
    session, above, beside = Session(), Fixed(PolicyDecision.deny("not here")), Fixed(PolicyDecision.allow(), "beside")
    tool = Tool[Text, Note](name="succeed", description="Write.", handler=succeed)
    child = MarkdownSection(title="Child", key="child", template="", tools=[tool])
    parent = MarkdownSection(title="Parent", key="parent", template="", children=[child], policies=[above])
    other = MarkdownSection(title="Other", key="other", template="", policies=[beside])
    template = PromptTemplate(ns="t", key="t", sections=[parent, other])
    prompt = Prompt(template).bind(resources={Filesystem: InMemoryFilesystem()})

    reply = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session).execute(
        ToolCall("succeed", {})
    )

    assert reply.text == "not here"
    assert beside.asked == []


def test_a_policy_that_writes_during_a_denied_check_has_written_nothing(rig: Rig) -> None:
    """The check is inside the transaction."""

    class Meddler(Fixed):
        def check(self, tool: Any, params: Any, *, context: ToolContext) -> Any:
            change_everything(context)
            return PolicyDecision.deny("no")

    rig.policies.append(Meddler(None))
    rig.tool(succeed)

    assert not rig.call("succeed").success
    rig.assert_nothing_happened()


def test_a_policy_that_fails_on_the_result_is_named_and_the_arguments_are_not_blamed(rig: Rig) -> None:
    """A model that is told what the tool takes would only try other arguments."""

    class Forgetful(Fixed):
        def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
            raise TypeError("secret")

    rig.policies.append(Forgetful(PolicyDecision.allow(), "forgetful"))
    rig.tool(succeed)

    reply = rig.call("succeed")

    assert "policy 'forgetful' could not learn of it (TypeError" in reply.text
    assert "it takes" not in reply.text
    assert "secret" not in reply.text
    rig.assert_nothing_happened()


def test_an_asynchronous_on_result_fails_the_call(rig: Rig) -> None:
    """It would never run, and the policy would judge the next call by what it does not know."""

    class Async(Fixed):
        async def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            raise AssertionError("never")

    rig.policies.append(Async(PolicyDecision.allow()))
    rig.tool(succeed)

    reply = rig.call("succeed")

    assert "its on_result is asynchronous" in reply.text
    rig.assert_nothing_happened()


def test_a_denial_goes_before_asking(rig: Rig) -> None:
    """Nobody is bothered about a call that may not run in any case; both verdicts are kept."""
    rig.policies += [Fixed(PolicyDecision.ask("look"), "asks"), Fixed(PolicyDecision.deny("no"), "denies")]
    rig.tool(succeed)

    reply = rig.call("succeed")

    assert reply.text == "no"
    assert [(verdict.policy, verdict.allowed, verdict.asks) for verdict in rig.event.decisions] == [
        ("asks", False, True),
        ("denies", False, False),
    ]
    rig.assert_nothing_happened()
