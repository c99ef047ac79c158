"""Errors of serialisation."""

from collections.abc import Sequence
from typing import Final

from wink.dataclass import dataclass
from wink.errors._core import WinkError

__all__ = ["ParseError", "Problem", "SerdeError"]

_SHOWN: Final = 20  # a model that is told of a thousand bad items fixes none of them


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with some JSON, and where.

    >>> str(Problem("$.steps[0].title", "must not be blank"))
    '$.steps[0].title: must not be blank'
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class ParseError(WinkError, ValueError):
    """JSON does not fit the type that it was read as; `problems` has everything that is wrong, in order.

    The text is one problem a line. It is written for whoever wrote the JSON, a model included.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:_SHOWN]]
        if len(self.problems) > _SHOWN:
            lines.append(f"and {len(self.problems) - _SHOWN} more problems")
        return "\n".join(lines)


class SerdeError(WinkError, TypeError):
    """A value cannot be written as JSON, or a type cannot be read from it.

    `path` is the place in the value (`$.steps[0].when`) or in the type (`Plan.steps`).
    """

    says = "{path}: {reason}"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)
