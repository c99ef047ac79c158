"""The planning tools on a session: what they do, what they say, and how a prompt shows them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wink.errors import PromptValidationError, ToolValidationError
from wink.prompt import Prompt, PromptTemplate
from wink.session import Session, Snapshot
from wink.tools import Tool, ToolResult
from wink_planning import (
    AddStep,
    Plan,
    PlanningConfig,
    PlanningStrategy,
    PlanningToolsSection,
    PlanStep,
    ReadPlan,
    SetupPlan,
    UpdateStep,
    plan_section,
)


@pytest.fixture
def session() -> Session:
    """A session that the section has been given."""
    session = Session()
    PlanningToolsSection(session)
    return session


def call(session: Session, params: Any) -> ToolResult[Plan]:
    """Call the tool that takes these parameters, without the runtime around it."""
    tools: dict[type, Tool[Any, Any]] = {
        tool.params_type: tool for tool in PlanningToolsSection().tools() if tool.params_type is not None
    }
    handler = tools[type(params)].handler
    assert handler is not None
    context: Any = SimpleNamespace(session=session)
    result: Any = handler(params, context=context)
    return result


def test_section_brings_four_tools() -> None:
    """Their names are part of the specification."""
    assert [tool.name for tool in PlanningToolsSection().tools()] == [
        "planning_setup_plan",
        "planning_add_step",
        "planning_update_step",
        "planning_read_plan",
    ]


def test_only_reading_the_plan_may_run_beside_other_reads() -> None:
    """Steps must be added and updated in the order in which the model asked for it."""
    assert [tool.effects for tool in PlanningToolsSection().tools()] == ["workspace", "workspace", "workspace", "read"]


def test_tools_pass_the_checks_that_a_prompt_makes() -> None:
    """Schemas compile, and the examples keep their own rules."""
    for tool in PlanningToolsSection().tools():
        tool.check()


def test_setting_up_a_plan_makes_it_the_sessions_plan(session: Session) -> None:
    """The result and the session tell the same."""
    result = call(session, SetupPlan("Ship it", ("Build", "Test")))

    assert session[Plan].latest() == result.value
    assert result.text == (
        "Plan set up.\n\nObjective: Ship it\nStatus: active, 0 of 2 steps done\n  1 [pending] Build\n  2 [pending] Test"
    )


def test_setting_up_again_replaces_the_plan_and_numbers_on(session: Session) -> None:
    """One plan a session, and no number means two things."""
    call(session, SetupPlan("Ship it", ("Build",)))

    result = call(session, SetupPlan("Fix it", ("Find",)))

    assert session[Plan].all() == (result.value,)
    assert result.message == "Plan replaced."
    assert result.value is not None
    assert result.value.steps == (PlanStep(2, "Find"),)


def test_steps_are_added_and_updated(session: Session) -> None:
    """The whole life of a plan."""
    call(session, SetupPlan("Ship it"))
    assert call(session, AddStep(("Build", "Test"))).message == "2 steps added."
    assert call(session, UpdateStep(1, status="done")).message == "Step 1 updated."
    assert call(session, UpdateStep(2, title="Test all", status="done")).message == (
        "Step 2 updated. The plan is completed."
    )

    plan = call(session, ReadPlan()).value

    assert plan is not None
    assert plan.status == "completed"
    assert plan.steps == (PlanStep(1, "Build", "done"), PlanStep(2, "Test all", "done"))
    assert call(session, AddStep(("Tell",))).message == "1 step added."
    again = session[Plan].latest()
    assert again is not None
    assert again.status == "active"


@pytest.mark.parametrize("params", [AddStep(("Build",)), UpdateStep(1, status="done"), ReadPlan()])
def test_without_a_plan_the_model_is_told_how_to_get_one(session: Session, params: Any) -> None:
    """Only setting one up works without a plan."""
    with pytest.raises(ToolValidationError, match="there is no plan yet; call planning_setup_plan first"):
        call(session, params)


def test_unknown_step_is_refused_with_those_that_exist(session: Session) -> None:
    """The model can fix its call from the message alone."""
    call(session, SetupPlan("Ship it", ("Build", "Test")))

    with pytest.raises(ToolValidationError, match="the plan has no step 7; use one of 1, 2"):
        call(session, UpdateStep(7, status="done"))


def test_unknown_step_of_a_plan_without_steps(session: Session) -> None:
    """There is nothing to choose from, so the message says what to do instead."""
    call(session, SetupPlan("Ship it"))

    with pytest.raises(
        ToolValidationError, match="the plan has no step 1; it has no steps yet; call planning_add_step"
    ):
        call(session, UpdateStep(1, status="done"))


def test_step_of_a_replaced_plan_is_unknown(session: Session) -> None:
    """Its number is not given out again, so a late update cannot hit another step."""
    call(session, SetupPlan("Ship it", ("Build",)))
    call(session, SetupPlan("Fix it", ("Find",)))

    with pytest.raises(ToolValidationError, match="no step 1; use one of 2"):
        call(session, UpdateStep(1, status="done"))


def test_events_that_fit_no_plan_leave_it_alone(session: Session) -> None:
    """Reducers never fail, whoever dispatches."""
    session.dispatch(AddStep(("Build",)))
    assert session[Plan].all() == ()

    call(session, SetupPlan("Ship it", ("Build",)))
    before = session[Plan].latest()
    session.dispatch(UpdateStep(9, status="done"))

    assert session[Plan].latest() is before


def test_plan_made_by_hand_takes_the_place_of_the_old_one(session: Session) -> None:
    """A program may bring its own plan."""
    call(session, SetupPlan("Ship it", ("Build",)))

    session.dispatch(Plan("By hand", steps=(PlanStep(1, "Look"),)))

    assert [plan.objective for plan in session[Plan].all()] == ["By hand"]


def test_result_of_an_earlier_reading_does_not_bring_the_old_plan_back(session: Session) -> None:
    """A result is dispatched when its call ends, which may be after another call changed the plan."""
    call(session, SetupPlan("Ship it", ("Build",)))
    earlier = call(session, ReadPlan()).value
    call(session, UpdateStep(1, status="done"))
    now = session[Plan].latest()

    session.dispatch(earlier)

    assert session[Plan].all() == (now,)


def test_rolled_back_step_leaves_no_gap(session: Session) -> None:
    """Nobody saw its number, so it is free; numbers that were committed never are."""
    call(session, SetupPlan("Ship it", ("Build",)))
    part = session.begin()
    token = part.enter()
    call(session, AddStep(("Lost",)))
    part.exit(token)
    part.revoke()
    part.undo()

    result = call(session, AddStep(("Kept",)))

    assert result.value is not None
    assert result.value.steps[-1] == PlanStep(2, "Kept")


def test_plan_survives_a_snapshot_as_text(session: Session) -> None:
    """A run may go on in another process."""
    call(session, SetupPlan("Ship it", ("Build", "Test")))
    call(session, UpdateStep(1, status="in_progress"))
    stored = session.snapshot().to_json()

    other = Session()
    PlanningToolsSection(other)
    other.restore(Snapshot.from_json(stored))

    assert other[Plan].latest() == session[Plan].latest()


def test_two_sections_for_one_session_count_each_event_once(session: Session) -> None:
    """Several templates may share a session, each with a planning section of its own."""
    PlanningToolsSection(session)

    result = call(session, SetupPlan("Ship it", ("Build",)))
    result = call(session, AddStep(("Test",)))

    assert result.value is not None
    assert [step.step_id for step in result.value.steps] == [1, 2]


def test_clone_of_a_session_keeps_its_own_plan(session: Session) -> None:
    """And goes on counting where the first one was."""
    call(session, SetupPlan("Ship it", ("Build",)))
    twin = session.clone()
    PlanningToolsSection(twin)

    call(twin, AddStep(("Test",)))

    mine, other = session[Plan].latest(), twin[Plan].latest()
    assert mine is not None
    assert other is not None
    assert (len(mine.steps), len(other.steps)) == (1, 2)


def test_prompt_prepares_the_session_that_it_is_rendered_for() -> None:
    """A section in a template needs no session when it is built."""
    prompt = Prompt(PromptTemplate(ns="tests", key="planning", sections=[plan_section()]))
    session = Session()
    prompt.render(session=session)

    call(session, SetupPlan("Ship it", ("Build",)))

    assert len(session[Plan].all()) == 1


def test_strategies_differ_only_in_their_last_paragraphs() -> None:
    """The instructions for the tools stay, whatever the frame of mind."""
    texts = [plan_section(strategy=strategy).render_body(None) for strategy in PlanningStrategy]
    common = [text.partition("completed once every step is `done`.")[0] for text in texts]

    assert len(set(common)) == 1
    assert len(set(texts)) == 3
    for word in ("planning_setup_plan", "planning_add_step", "planning_update_step", "planning_read_plan"):
        assert word in common[0]


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (PlanningStrategy.REACT, ("think", "action", "look")),
        (PlanningStrategy.PLAN_ACT_REFLECT, ("outline", "carry it out", "reflect")),
        (PlanningStrategy.GOAL_DECOMPOSE_ROUTE_SYNTHESISE, ("restate", "Decompose", "route", "synthesise")),
    ],
)
def test_strategy_names_its_steps(strategy: PlanningStrategy, words: tuple[str, ...]) -> None:
    """The paragraphs say what the strategy's name promises."""
    text = plan_section(strategy=strategy).render_body(None)

    assert [word for word in words if word not in text] == []


def test_strategy_may_be_given_in_the_config_or_beside_it() -> None:
    """What is said beside it wins."""
    config = PlanningConfig(strategy=PlanningStrategy.PLAN_ACT_REFLECT)

    assert PlanningToolsSection(config=config).strategy is PlanningStrategy.PLAN_ACT_REFLECT
    assert PlanningToolsSection(config=config, strategy=PlanningStrategy.REACT).strategy is PlanningStrategy.REACT
    assert PlanningToolsSection().strategy is PlanningStrategy.REACT


def test_factory_takes_the_strategys_name() -> None:
    """Settings and command lines hold text."""
    assert plan_section(strategy="plan_act_reflect").strategy is PlanningStrategy.PLAN_ACT_REFLECT


def test_factory_refuses_an_unknown_strategy_with_those_there_are() -> None:
    """One line that says what to write instead."""
    with pytest.raises(PromptValidationError, match="no planning strategy 'agile'; use one of 'react', "):
        plan_section(strategy="agile")


def test_overrides_are_accepted_only_when_asked_for() -> None:
    """The section's text is tuned to its tools, so it stays as it is unless somebody decides otherwise."""
    assert not PlanningToolsSection().accepts_overrides
    section = PlanningToolsSection(accepts_overrides=True)
    assert section.accepts_overrides
    assert all(tool.accepts_overrides for tool in section.tools())
