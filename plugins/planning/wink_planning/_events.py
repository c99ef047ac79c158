"""What the planning tools are called with, which is also what the session's reducers are told."""

from __future__ import annotations

from wink.dataclass import dataclass, field
from wink.errors import ToolValidationError
from wink_planning._plan import MAX_TITLE, StepStatus, clean_title


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """Start a plan, in place of the one there is.

    >>> SetupPlan("Fix the parser", ("Reproduce it", ""))
    Traceback (most recent call last):
    ...
    wink.errors.ToolValidationError: initial_steps[1] must not be blank
    """

    objective: str = field(
        metadata={"description": f"What is to be reached, in one line of at most {MAX_TITLE} characters."}
    )
    initial_steps: tuple[str, ...] = field(
        default=(),
        metadata={"description": f"Titles of the first steps, in order, each at most {MAX_TITLE} characters."},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", clean_title(self.objective, "objective"))
        object.__setattr__(self, "initial_steps", _clean_titles(self.initial_steps, "initial_steps"))


@dataclass(frozen=True, slots=True)
class AddStep:
    """Append steps to the plan."""

    steps: tuple[str, ...] = field(
        metadata={"description": f"Titles of the new steps, in order, each at most {MAX_TITLE} characters."}
    )

    def __post_init__(self) -> None:
        if not self.steps:
            raise ToolValidationError("steps is empty; give the title of at least one step")
        object.__setattr__(self, "steps", _clean_titles(self.steps, "steps"))


@dataclass(frozen=True, slots=True)
class UpdateStep:
    """Give one step another title, another status, or both."""

    step_id: int = field(metadata={"description": "The number of the step, as the plan shows it."})
    title: str | None = field(
        default=None,
        metadata={"description": f"The new title, at most {MAX_TITLE} characters; leave it out to keep the old one."},
    )
    status: StepStatus | None = field(
        default=None,
        metadata={"description": "The new status: pending, in_progress or done; leave it out to keep the old one."},
    )

    def __post_init__(self) -> None:
        if self.title is None and self.status is None:
            raise ToolValidationError("nothing to update; give a title, a status, or both")
        if self.title is not None:
            object.__setattr__(self, "title", clean_title(self.title))


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Ask for the plan as it stands."""


def _clean_titles(titles: tuple[str, ...], field_name: str) -> tuple[str, ...]:
    return tuple(clean_title(title, f"{field_name}[{index}]") for index, title in enumerate(titles))
