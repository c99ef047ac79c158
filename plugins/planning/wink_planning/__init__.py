"""A plan that an agent keeps in its session: an objective, and steps that are pending, in progress or done."""

from wink_planning._events import AddStep, ReadPlan, SetupPlan, UpdateStep
from wink_planning._plan import Plan, PlanStatus, PlanStep, StepStatus
from wink_planning._section import PlanningConfig, PlanningToolsSection, plan_section
from wink_planning._strategy import PlanningStrategy

__all__ = [
    "AddStep",
    "Plan",
    "PlanStatus",
    "PlanStep",
    "PlanningConfig",
    "PlanningStrategy",
    "PlanningToolsSection",
    "ReadPlan",
    "SetupPlan",
    "StepStatus",
    "UpdateStep",
    "plan_section",
]
