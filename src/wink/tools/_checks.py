"""The rules for a tool's plain arguments."""

import math
import re
from collections.abc import Sequence
from typing import Final, Literal, TypeVar

from wink.errors import PromptValidationError

Effects = Literal["read", "workspace", "process", "external"]
"""What a tool may touch: nothing, the workspace and the session, whatever programs do, or the world outside."""

T = TypeVar("T")

_NAME: Final = re.compile(r"[a-z0-9_-]{1,64}")
_LONGEST: Final = 200


def checked_name(name: object) -> None:
    """Refuse a name that some provider would refuse."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PromptValidationError(
            f"{name!r} is no tool name; use 1-64 of a-z, 0-9, '_' and '-'", tool=name if isinstance(name, str) else None
        )


def checked_description(tool: str, description: object) -> str:
    """The description without surrounding whitespace."""
    if not isinstance(description, str):
        raise PromptValidationError(f"the description must be a string, not {description!r}", tool=tool)
    text = description.strip()
    if not text:
        raise PromptValidationError("the description is empty; say in a line what the tool does", tool=tool)
    if len(text) > _LONGEST:
        message = f"the description has {len(text)} characters; {_LONGEST} are allowed, put the rest into the section"
        raise PromptValidationError(message, tool=tool)
    foreign = next((character for character in text if not character.isascii()), None)
    if foreign is not None:
        raise PromptValidationError(f"the description has {foreign!r}; providers take ASCII only", tool=tool)
    return text


def checked_timeout(tool: str, timeout: object) -> float | None:
    """The time-out in seconds."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
        raise PromptValidationError(f"the timeout must be a positive number of seconds, not {timeout!r}", tool=tool)
    return float(timeout)


def checked_option(tool: str, option: str, value: T, allowed: Sequence[T]) -> T:
    """One of a few values."""
    if value not in allowed:
        choices = ", ".join(map(repr, allowed))
        raise PromptValidationError(f"{option} must be one of {choices}, not {value!r}", tool=tool)
    return value
