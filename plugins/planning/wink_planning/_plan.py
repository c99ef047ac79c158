"""The plan that an agent keeps: an objective, and steps whose numbers are never given out twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from wink.dataclass import dataclass, field, replace
from wink.errors import ToolValidationError

StepStatus = Literal["pending", "in_progress", "done"]
"""How far a step is."""

PlanStatus = Literal["active", "completed"]
"""A plan is completed once it has steps and all of them are done."""

MAX_TITLE: Final = 500
"""The longest title of a step, and the longest objective, in characters."""


def clean_title(text: str, what: str = "title") -> str:
    """One line of text without surrounding blanks, or a `ToolValidationError` that names `what`.

    >>> clean_title("  Find the\\n  cause ")
    'Find the cause'
    >>> clean_title("  ", "steps[2]")
    Traceback (most recent call last):
    ...
    wink.errors.ToolValidationError: steps[2] must not be blank
    """
    title = " ".join(text.split())
    if not title:
        raise ToolValidationError(f"{what} must not be blank")
    if len(title) > MAX_TITLE:
        raise ToolValidationError(f"{what} is {len(title)} characters long; keep it to {MAX_TITLE}")
    return title


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan."""

    step_id: int = field(metadata={"description": "The step's number, which no other step of this session gets."})
    title: str = field(metadata={"description": "What the step is about, in one line."})
    status: StepStatus = field(default="pending", metadata={"description": "pending, in_progress or done."})


@dataclass(frozen=True, slots=True)
class Plan:
    """An objective and the steps towards it.

    `next_step_id` survives the plan's replacement, so that a number means one step for as long as the session lives.
    `revision` counts the changes; a plan written by hand leaves it at 0.

    >>> plan = Plan("Fix the parser").with_added(["Reproduce", "Repair"]).with_updated(1, status="done")
    >>> print(plan.render())
    Objective: Fix the parser
    Status: active, 1 of 2 steps done
      1 [done] Reproduce
      2 [pending] Repair
    """

    objective: str
    status: PlanStatus = "active"
    steps: tuple[PlanStep, ...] = ()
    next_step_id: int = 1
    revision: int = 0

    def step(self, step_id: int) -> PlanStep | None:
        """The step with this number, if the plan has it."""
        return next((step for step in self.steps if step.step_id == step_id), None)

    def with_added(self, titles: Iterable[str]) -> Plan:
        """This plan with steps appended; a completed plan becomes active again."""
        first = self._free_id()
        added = tuple(PlanStep(first + index, title) for index, title in enumerate(titles))
        return self._changed(self.steps + added, first + len(added))

    def with_updated(self, step_id: int, *, title: str | None = None, status: StepStatus | None = None) -> Plan:
        """This plan with one step changed; what is None stays, and so does a plan that has no such step."""
        step = self.step(step_id)
        if step is None:
            return self
        after = replace(step, title=step.title if title is None else title, status=status or step.status)
        return self._changed(tuple(after if one is step else one for one in self.steps), self._free_id())

    def replaced_by(self, objective: str, titles: Iterable[str]) -> Plan:
        """A new plan whose steps are numbered on from this one's."""
        return Plan(objective, next_step_id=self._free_id(), revision=self.revision).with_added(titles)

    def render(self) -> str:
        """The plan as the model reads it: one line a step, its number first."""
        done = sum(step.status == "done" for step in self.steps)
        progress = f"{done} of {len(self.steps)} steps done" if self.steps else "no steps yet"
        lines = [f"Objective: {self.objective}", f"Status: {self.status}, {progress}"]
        lines += [f"  {step.step_id} [{step.status}] {step.title}" for step in self.steps]
        return "\n".join(lines)

    def _free_id(self) -> int:
        # A plan written by hand may have left `next_step_id` behind its own steps.
        return max(self.next_step_id, *(step.step_id + 1 for step in self.steps), 1)

    def _changed(self, steps: tuple[PlanStep, ...], next_step_id: int) -> Plan:
        finished = bool(steps) and all(step.status == "done" for step in steps)
        return Plan(self.objective, "completed" if finished else "active", steps, next_step_id, self.revision + 1)
