"""Say of a call in advance whether policies let it through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wink.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a `PolicyContract`, and whether it is to be allowed; made by `allowed` and `denied`."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_allowed: bool = True

    def __str__(self) -> str:
        """The step as somebody wrote it.

        >>> print(denied("write_file", file_path="a.txt"))
        denied('write_file', file_path='a.txt')
        """
        given = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        return f"{'allowed' if self.is_allowed else 'denied'}({self.tool!r}{given})"


def allowed(tool: str, /, **arguments: Any) -> Step:
    """A call that the policy allows, and that succeeds."""
    return Step(tool, arguments)


def denied(tool: str, /, **arguments: Any) -> Step:
    """A call that the policy denies, or leaves to a person."""
    return Step(tool, arguments, is_allowed=False)
