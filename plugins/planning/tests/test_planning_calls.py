"""The planning tools through the whole pipeline."""

from __future__ import annotations

from typing import Any

import pytest

from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink_planning import Plan, SetupPlan, UpdateStep, plan_section


@pytest.fixture
def session() -> Session:
    """A session of its own for each test."""
    return Session()


@pytest.fixture
def executor(session: Session) -> ToolExecutor:
    """Executes calls in a prompt that holds the planning section."""
    prompt = Prompt(PromptTemplate(ns="tests", key="planning", sections=[plan_section()]))
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


def test_life_of_a_plan(executor: ToolExecutor, session: Session) -> None:
    """From JSON arguments to the text that the model reads."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("planning_setup_plan", {"objective": "Ship it", "initial_steps": ["Build"]}),
        ("planning_add_step", {"steps": ["Test"]}),
        ("planning_update_step", {"step_id": 1, "status": "done"}),
    ]
    for name, arguments in calls:
        assert executor.execute(ToolCall(name, arguments)).success

    reply = executor.execute(ToolCall("planning_read_plan"))

    assert reply.text == (
        "The plan:\n\nObjective: Ship it\nStatus: active, 1 of 2 steps done\n  1 [done] Build\n  2 [pending] Test"
    )
    assert len(session[Plan].all()) == 1


def test_calls_of_one_turn_build_on_each_other(executor: ToolExecutor) -> None:
    """A model sets up a plan and starts on it in one breath."""
    replies = executor.execute_batch(
        [
            ToolCall("planning_setup_plan", {"objective": "Ship it", "initial_steps": ["Build"]}),
            ToolCall("planning_update_step", {"step_id": 1, "status": "in_progress"}),
            ToolCall("planning_read_plan"),
        ]
    )

    assert [reply.success for reply in replies] == [True, True, True]
    assert replies[2].text.endswith("1 [in_progress] Build")


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("planning_read_plan", {}, "there is no plan yet; call planning_setup_plan first"),
        ("planning_setup_plan", {"objective": " "}, "objective must not be blank"),
        ("planning_setup_plan", {"objective": "x", "initial_steps": ["a", ""]}, "initial_steps[1] must not be blank"),
        ("planning_add_step", {"steps": []}, "steps is empty; give the title of at least one step"),
        ("planning_update_step", {"step_id": 1}, "nothing to update; give a title, a status, or both"),
        ("planning_update_step", {"step_id": 1, "status": "finished"}, "$.status"),
    ],
)
def test_call_that_makes_no_sense_fails_and_leaves_no_plan(
    executor: ToolExecutor, session: Session, name: str, arguments: dict[str, Any], text: str
) -> None:
    """The message says what to do; the session is as it was."""
    reply = executor.execute(ToolCall(name, arguments))

    assert not reply.success
    assert text in reply.text
    assert (session[Plan].all(), session[SetupPlan].all(), session[UpdateStep].all()) == ((), (), ())
