"""Plans as values: numbering, completion, and what the model reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import ToolValidationError
from wink_planning import AddStep, Plan, PlanStep, SetupPlan, UpdateStep

titles = st.lists(st.text("abc", min_size=1, max_size=5), max_size=4)


def test_steps_are_numbered_from_one() -> None:
    """The model counts from one, as the plan's text does."""
    plan = Plan("Ship it").with_added(["Build", "Test"])

    assert [(step.step_id, step.title, step.status) for step in plan.steps] == [
        (1, "Build", "pending"),
        (2, "Test", "pending"),
    ]


def test_plan_is_completed_when_all_its_steps_are_done() -> None:
    """Completion follows from the steps; nobody has to set it."""
    plan = Plan("Ship it").with_added(["Build", "Test"]).with_updated(1, status="done")
    assert plan.status == "active"

    assert plan.with_updated(2, status="done").status == "completed"


def test_plan_without_steps_is_active() -> None:
    """An objective alone is not reached because nothing is left to do."""
    assert Plan("Ship it").with_added([]).status == "active"


def test_adding_a_step_makes_a_completed_plan_active_again() -> None:
    """There is something left to do."""
    plan = Plan("Ship it").with_added(["Build"]).with_updated(1, status="done")

    assert plan.with_added(["Test"]).status == "active"


def test_taking_a_step_up_again_makes_a_completed_plan_active_again() -> None:
    """A step that turns out not to be done reopens the plan."""
    plan = Plan("Ship it").with_added(["Build"]).with_updated(1, status="done")

    assert plan.with_updated(1, status="in_progress").status == "active"


def test_new_plan_is_numbered_on_from_the_old_one() -> None:
    """A number in the conversation must never come to mean another step."""
    plan = Plan("Ship it").with_added(["Build", "Test"]).replaced_by("Fix it", ["Find", "Fix"])

    assert [step.step_id for step in plan.steps] == [3, 4]
    assert plan.objective == "Fix it"


def test_plan_written_by_hand_is_numbered_on_from_its_own_steps() -> None:
    """Whoever seeds a plan does not know of `next_step_id`."""
    plan = Plan("Ship it", steps=(PlanStep(7, "Build"),))

    assert plan.with_added(["Test"]).steps[-1].step_id == 8


def test_updating_leaves_what_is_not_named() -> None:
    """A status alone keeps the title, a title alone the status."""
    plan = Plan("Ship it").with_added(["Build"]).with_updated(1, status="in_progress")

    step = plan.with_updated(1, title="Build twice").steps[0]

    assert step == PlanStep(1, "Build twice", "in_progress")


def test_plan_reads_as_one_line_a_step_with_its_number_first() -> None:
    """The model finds in the text the very values that the tools take."""
    plan = Plan("Ship it").with_added(["Build", "Test"]).with_updated(1, status="in_progress")

    assert (
        plan.render()
        == "Objective: Ship it\nStatus: active, 0 of 2 steps done\n  1 [in_progress] Build\n  2 [pending] Test"
    )


def test_plan_without_steps_says_so() -> None:
    """An empty list would look like a mistake."""
    assert Plan("Ship it").render() == "Objective: Ship it\nStatus: active, no steps yet"


@given(st.lists(st.tuples(st.sampled_from(["set up", "add", "finish"]), titles), max_size=12))
def test_no_step_number_is_ever_given_out_twice(acts: list[tuple[str, list[str]]]) -> None:
    """The law behind it all: over any history, a number names one step."""
    plan, given_out = Plan("objective"), list[int]()
    for act, names in acts:
        before = {step.step_id for step in plan.steps}
        if act == "set up":
            plan, before = plan.replaced_by("another", names), set()
        elif act == "add":
            plan = plan.with_added(names)
        elif plan.steps:
            plan = plan.with_updated(plan.steps[-1].step_id, status="done")
        given_out += [step.step_id for step in plan.steps if step.step_id not in before]

    assert given_out == list(range(1, len(given_out) + 1))
    assert (plan.status == "completed") == (bool(plan.steps) and all(step.status == "done" for step in plan.steps))


def test_titles_are_one_line_without_surrounding_blanks() -> None:
    """A line break in a title would forge a second step in the plan's text."""
    assert AddStep(("  Build\n  2 [done] Test ",)).steps == ("Build 2 [done] Test",)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: SetupPlan(" "), "objective must not be blank"),
        (lambda: SetupPlan("x", ("ok", "\n")), "initial_steps[1] must not be blank"),
        (lambda: AddStep(("x" * 501,)), "steps[0] is 501 characters long; keep it to 500"),
        (lambda: AddStep(()), "steps is empty; give the title of at least one step"),
        (lambda: UpdateStep(1, title=""), "title must not be blank"),
        (lambda: UpdateStep(1), "nothing to update; give a title, a status, or both"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_with_an_instruction(make: object, problem: str) -> None:
    """The message goes to the model, so it says where and what to do."""
    assert callable(make)
    with pytest.raises(ToolValidationError) as caught:
        make()

    assert str(caught.value) == problem


def test_longest_title_is_accepted() -> None:
    """500 characters are allowed, 501 are not."""
    assert AddStep(("x" * 500,)).steps == ("x" * 500,)
