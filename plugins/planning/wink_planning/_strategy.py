"""How an agent is told to plan: one set of instructions, three frames of mind."""

from __future__ import annotations

from enum import Enum
from typing import Final


class PlanningStrategy(Enum):
    """A frame of mind for planning; only the section's last paragraphs depend on it."""

    REACT = "react"
    """Alternate between thinking, acting and looking at what came of it."""

    PLAN_ACT_REFLECT = "plan_act_reflect"
    """Lay out the whole plan first, then carry it out and reflect on each step."""

    GOAL_DECOMPOSE_ROUTE_SYNTHESISE = "goal_decompose_route_synthesise"
    """Restate the goal, take it apart, give each part its tools, and put the results together."""


INSTRUCTIONS: Final = """\
Keep a plan when a task takes more than a couple of steps; a task of one step needs none.

- `planning_setup_plan` starts a plan, in place of any earlier one.
- `planning_add_step` appends steps that turn out to be needed.
- `planning_update_step` sets a step's status (`pending`, `in_progress`, `done`) or rewords its title. Set a step to
  `in_progress` when you start on it, and to `done` as soon as it is finished.
- `planning_read_plan` shows the plan as it stands.

Steps keep their numbers for good, and the plan is completed once every step is `done`."""

MINDSETS: Final = {
    PlanningStrategy.REACT: """\
Work in short turns: think about what you know, take one action, and look at what it showed before you choose the next.
Let the plan follow what you learn; it may start small and grow.""",
    PlanningStrategy.PLAN_ACT_REFLECT: """\
Before you act, outline the plan from start to finish. Then carry it out in order.

After each step, pause and reflect: did it do what it was meant to, and does the rest of the plan still hold? Update the
plan before you go on.""",
    PlanningStrategy.GOAL_DECOMPOSE_ROUTE_SYNTHESISE: """\
First restate the goal in your own words, with what would show that it is reached. Decompose it into parts that can be
worked on separately, and make each part a step.

For each step, decide which of your tools serves it best, and route the work there. At the end, synthesise the parts'
results into one answer and hold it against the goal.""",
}


def instructions(strategy: PlanningStrategy) -> str:
    """The section's text for one strategy.

    >>> instructions(PlanningStrategy.REACT).splitlines()[0]
    'Keep a plan when a task takes more than a couple of steps; a task of one step needs none.'
    """
    return f"{INSTRUCTIONS}\n\n{MINDSETS[strategy]}"
