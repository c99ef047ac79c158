"""When a section takes part in a rendering."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wink.errors import PromptValidationError

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["Enabled", "Enablement", "wanted"]

Enabled = Callable[..., bool]
"""Called as `enabled()`, `enabled(session=...)`, `enabled(params)` or `enabled(params, session=...)`, as it is declared."""


class Enablement:
    """An `enabled` callable together with what its signature asks for."""

    __slots__ = ("_enabled", "needs_params", "needs_session")

    def __init__(self, enabled: Enabled, section_path: tuple[str, ...]) -> None:
        if not callable(enabled):
            raise PromptValidationError(f"enabled must be a function, not {enabled!r}", section_path)
        self._enabled = enabled
        self.needs_params, self.needs_session = wanted(enabled, "enabled", section_path)

    def __call__(self, params: Any, session: "Session | None") -> bool:
        """Ask, handing over what the callable wants. A rendering without a session passes `None` for it."""
        if self.needs_params:
            answer = self._enabled(params, session=session) if self.needs_session else self._enabled(params)
        else:
            answer = self._enabled(session=session) if self.needs_session else self._enabled()
        return bool(answer)


def wanted(decide: Callable[..., Any], what: str, section_path: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether the callable that decides about `what` wants parameters, and whether it wants the session."""
    try:
        parameters = inspect.signature(decide).parameters.values()
    except (ValueError, TypeError):
        raise PromptValidationError(f"the signature of {decide!r} cannot be read; wrap it", section_path) from None
    positional = session = False
    for parameter in parameters:
        if parameter.name == "session" and parameter.kind is not parameter.POSITIONAL_ONLY:
            session = True
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) and not positional:
            positional = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        elif parameter.default is parameter.empty:
            raise PromptValidationError(
                f"{what} cannot be given {parameter.name!r}; it is called with (), (params), (*, session) "
                "or (params, *, session)",
                section_path,
            )
    return positional, session
