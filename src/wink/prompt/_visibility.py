"""Whether a section shows all of itself or its summary only."""

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wink.errors import PromptValidationError
from wink.prompt._enablement import wanted

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["SectionVisibility", "Visibility", "VisibilityChoice"]


class SectionVisibility(enum.Enum):
    """How much of a section a rendering shows."""

    FULL = "full"
    """Its text, its tools and its children."""
    SUMMARY = "summary"
    """Its summary, and how to open it; neither its tools nor its children."""


Visibility = SectionVisibility | Callable[..., SectionVisibility]
"""A visibility, or what decides it at each rendering: called as `enabled` is, with what its signature asks for."""


class VisibilityChoice:
    """A section's `visibility`, fixed or decided at each rendering, together with what it needs to know."""

    __slots__ = ("_decide", "fixed", "needs_params", "needs_session")

    fixed: SectionVisibility | None
    """The visibility, when nothing has to be asked."""

    def __init__(self, visibility: Visibility, section_path: tuple[str, ...]) -> None:
        self.needs_params = self.needs_session = False
        if isinstance(visibility, SectionVisibility):
            self.fixed = fixed = visibility
            self._decide: Callable[..., Any] = lambda: fixed
            return
        if not callable(visibility):
            raise PromptValidationError(
                f"visibility must be SectionVisibility.FULL, SectionVisibility.SUMMARY or a function, not {visibility!r}",
                section_path,
            )
        self.fixed, self._decide = None, visibility
        self.needs_params, self.needs_session = wanted(visibility, "visibility", section_path)

    def __call__(self, params: Any, session: "Session | None") -> SectionVisibility:
        """Ask, handing over what the callable wants; anything but a `SectionVisibility` is a `TypeError`."""
        named = {"session": session} if self.needs_session else {}
        answer: Any = self._decide(params, **named) if self.needs_params else self._decide(**named)
        if not isinstance(answer, SectionVisibility):
            raise TypeError(
                f"it returned {answer!r}; it must return SectionVisibility.FULL or SectionVisibility.SUMMARY"
            )
        return answer
