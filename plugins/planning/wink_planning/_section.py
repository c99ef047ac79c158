"""The section that gives an agent a plan to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from wink.dataclass import dataclass
from wink.errors import PromptValidationError
from wink.prompt import MarkdownSection, SectionOptions
from wink_planning._reducers import install_reducers
from wink_planning._strategy import PlanningStrategy, instructions
from wink_planning._tools import planning_tools

if TYPE_CHECKING:
    from wink.session import Session


@dataclass(frozen=True, slots=True)
class PlanningConfig:
    """The settings of a `PlanningToolsSection` in one value."""

    strategy: PlanningStrategy = PlanningStrategy.REACT
    accepts_overrides: bool = False


class PlanningToolsSection(MarkdownSection[Any]):
    """Four tools around one plan a session, and instructions for them.

    The plan is `session[Plan].latest()`. Its reducers are registered when a prompt that holds the section is first
    rendered for a session, and at once in `session` when one is given. `strategy` beats the one in `config`.
    """

    def __init__(
        self,
        session: Session | None = None,
        config: PlanningConfig | None = None,
        strategy: PlanningStrategy | None = None,
        *,
        accepts_overrides: bool | None = None,
        title: str = "Planning",
        key: str | None = None,
        **options: Unpack[SectionOptions],
    ) -> None:
        config = config or PlanningConfig()
        self.strategy = strategy or config.strategy
        overridable = config.accepts_overrides if accepts_overrides is None else accepts_overrides
        super().__init__(
            title,
            instructions(self.strategy).replace("$", "$$"),
            key,
            tools=planning_tools(accepts_overrides=overridable),
            accepts_overrides=overridable,
            **options,
        )
        if session is not None:
            self.install_once(session)

    def install(self, session: Session) -> None:
        """Register the plan's reducers."""
        install_reducers(session)


def plan_section(
    *, strategy: PlanningStrategy | str = PlanningStrategy.REACT, title: str = "Planning"
) -> PlanningToolsSection:
    """Let the agent keep a plan: an objective, and steps with a status."""
    try:
        chosen = PlanningStrategy(strategy)
    except ValueError:
        names = ", ".join(repr(one.value) for one in PlanningStrategy)
        raise PromptValidationError(f"there is no planning strategy {strategy!r}; use one of {names}") from None
    return PlanningToolsSection(strategy=chosen, title=title)
