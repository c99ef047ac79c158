"""The four planning tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from wink.errors import ToolValidationError
from wink.tools import Tool, ToolContext, ToolExample, ToolResult
from wink_planning._events import AddStep, ReadPlan, SetupPlan, UpdateStep
from wink_planning._plan import Plan, PlanStep

if TYPE_CHECKING:
    from wink.session import Session

NO_PLAN: Final = "there is no plan yet; call planning_setup_plan first"


def setup_plan(params: SetupPlan, *, context: ToolContext) -> ToolResult[Plan]:
    """Start a plan, in place of the one there is."""
    replaced = context.session[Plan].latest() is not None
    context.session.dispatch(params)
    return ToolResult.ok(current_plan(context.session), "Plan replaced." if replaced else "Plan set up.")


def add_step(params: AddStep, *, context: ToolContext) -> ToolResult[Plan]:
    """Append steps to the plan."""
    current_plan(context.session)
    context.session.dispatch(params)
    count = len(params.steps)
    return ToolResult.ok(current_plan(context.session), "1 step added." if count == 1 else f"{count} steps added.")


def update_step(params: UpdateStep, *, context: ToolContext) -> ToolResult[Plan]:
    """Change one step's title, status, or both."""
    plan = current_plan(context.session)
    if plan.step(params.step_id) is None:
        raise ToolValidationError(f"the plan has no step {params.step_id}; {_known_steps(plan)}")
    context.session.dispatch(params)
    plan = current_plan(context.session)
    finished = " The plan is completed." if plan.status == "completed" else ""
    return ToolResult.ok(plan, f"Step {params.step_id} updated.{finished}")


def read_plan(params: ReadPlan, *, context: ToolContext) -> ToolResult[Plan]:  # noqa: ARG001
    """Show the plan as it stands."""
    return ToolResult.ok(current_plan(context.session), "The plan:")


def current_plan(session: Session) -> Plan:
    """The session's plan, or a `ToolValidationError` that tells the model how to get one."""
    plan = session[Plan].latest()
    if plan is None:
        raise ToolValidationError(NO_PLAN)
    return plan


def planning_tools(*, accepts_overrides: bool = True) -> tuple[Tool[Any, Any], ...]:
    """The tools in the order in which a model meets them."""
    return (
        Tool[SetupPlan, Plan](
            name="planning_setup_plan",
            description="Start a plan with an objective and, if known, its first steps. Replaces an earlier plan.",
            handler=setup_plan,
            examples=(
                ToolExample(
                    description="Start a plan of two steps",
                    input=SetupPlan("Fix the crash on empty input", ("Reproduce the crash", "Fix the parser")),
                    output=Plan(
                        "Fix the crash on empty input",
                        steps=(PlanStep(1, "Reproduce the crash"), PlanStep(2, "Fix the parser")),
                    ),
                ),
            ),
            accepts_overrides=accepts_overrides,
        ),
        Tool[AddStep, Plan](
            name="planning_add_step",
            description="Append one or more steps to the plan.",
            handler=add_step,
            examples=(
                ToolExample(
                    description="Append a step",
                    input=AddStep(("Add a test for empty input",)),
                    output=Plan(
                        "Fix the crash on empty input",
                        steps=(PlanStep(1, "Fix the parser", "done"), PlanStep(2, "Add a test for empty input")),
                    ),
                ),
            ),
            accepts_overrides=accepts_overrides,
        ),
        Tool[UpdateStep, Plan](
            name="planning_update_step",
            description="Set the status of a step (pending, in_progress, done), or reword its title.",
            handler=update_step,
            examples=(
                ToolExample(
                    description="Mark a step as done",
                    input=UpdateStep(1, status="done"),
                    output=Plan(
                        "Fix the crash on empty input",
                        steps=(PlanStep(1, "Reproduce the crash", "done"), PlanStep(2, "Fix the parser")),
                    ),
                ),
            ),
            accepts_overrides=accepts_overrides,
        ),
        Tool[ReadPlan, Plan](
            name="planning_read_plan",
            description="Show the plan: its objective, its steps and how far each of them is.",
            handler=read_plan,
            accepts_overrides=accepts_overrides,
            effects="read",
        ),
    )


def _known_steps(plan: Plan) -> str:
    if not plan.steps:
        return "it has no steps yet; call planning_add_step first"
    return f"use one of {', '.join(str(step.step_id) for step in plan.steps)}"
