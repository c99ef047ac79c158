"""How the session's plan follows from what the tools are called with.

The slice of `Plan` holds one plan at most. Reducers never fail: an event that fits no plan leaves the slice as it is, and
the tools say so to the model before it gets this far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.session import Extend, Replace
from wink_planning._events import AddStep, SetupPlan, UpdateStep
from wink_planning._plan import Plan

if TYPE_CHECKING:
    from wink.session import Session, SliceView

PlanChange = Extend[Plan] | Replace[Plan]
_UNCHANGED: PlanChange = Extend(())


def set_up(plans: SliceView[Plan], event: SetupPlan) -> PlanChange:
    """Start a plan, numbering its steps on from those of the plan before."""
    before = plans.latest() or Plan("")
    return Replace((before.replaced_by(event.objective, event.initial_steps),))


def add_steps(plans: SliceView[Plan], event: AddStep) -> PlanChange:
    """Append steps to the plan."""
    plan = plans.latest()
    return _UNCHANGED if plan is None else Replace((plan.with_added(event.steps),))


def update_step(plans: SliceView[Plan], event: UpdateStep) -> PlanChange:
    """Change one step of the plan."""
    plan = plans.latest()
    if plan is None or plan.step(event.step_id) is None:
        return _UNCHANGED
    return Replace((plan.with_updated(event.step_id, title=event.title, status=event.status),))


def take_plan(plans: SliceView[Plan], event: Plan) -> PlanChange:
    """Take a plan that somebody made by hand; one that a tool answered with is in the slice already.

    A plan read at the same time as another call changed it must not bring the old one back, so that only a later
    revision counts.
    """
    plan = plans.latest()
    if plan is not None and (event == plan or 0 < event.revision <= plan.revision):
        return _UNCHANGED
    return Replace((event,))


def install_reducers(session: Session) -> None:
    """Let a session's `Plan` slice follow the planning events."""
    plans = session[Plan]
    plans.register(Plan, take_plan)
    plans.register(SetupPlan, set_up)
    plans.register(AddStep, add_steps)
    plans.register(UpdateStep, update_step)
