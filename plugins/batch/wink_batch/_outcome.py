"""What one attempt at a task came to, and what is to be done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from wink.dataclass import dataclass, field, fields, replace

Status = Literal["done", "failed", "stopped"]

PASSING: Final = {
    # cause           worth another try?
    "model": True,  # the provider could not be reached, or would not answer
    "workspace": True,  # it could not be fetched
    "hang": True,  # no sign of life
    "crash": True,  # its process ended
    "node": True,  # the worker or its machine is gone
    "error": True,  # anything that nobody foresaw
    "checkpoint": True,  # it could not be stored
    "time": False,  # the limits of the task: once more would cost as much, and end alike
    "tokens": False,
    "cost": False,
    "turns": False,
    "answer": False,  # the model's answer is not what the template asks for, and it was told so
    "incomplete": False,
    "approval": False,  # somebody would have to be asked
    "template": False,  # the prompt or the model cannot be put together
    "script": False,
    "budget": False,  # the limit of the whole batch
    "interrupted": False,
}
"""Why attempts fail, and whether the same may go well the next time."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used; `cost` is in the currency of the prices."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    requests: int = 0

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            round(self.cost + other.cost, 9),
            self.requests + other.requests,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a checker says; `passed` is None where it could not judge, and `message` says why."""

    passed: bool | None
    score: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to: `status` and, unless it is done, the `cause` (one of `PASSING`) and a `message`.

    `patch`, `bundle` and `record` are contents of files; `checkpoint` says where the final state is stored, if not in the
    bundle.
    """

    status: Status
    cause: str = ""
    message: str = ""
    text: str = ""
    output: Any = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    calls: int = 0
    changed: tuple[str, ...] = ()
    patch: bytes = field(default=b"", repr=False)
    bundle: bytes = field(default=b"", repr=False)
    record: bytes = field(default=b"", repr=False)
    checkpoint: str = ""
    commit: str = ""
    base: str = ""
    verdict: Verdict | None = None
    node: str = ""
    started_at: str = ""
    disk_bytes: int = 0
    shared: str = ""

    @property
    def is_passing(self) -> bool:
        """Whether another try may go better."""
        return self.status == "failed" and PASSING.get(self.cause, True)

    def to_row(self) -> dict[str, Any]:
        """Plain values, without the contents of files."""
        from wink.serde import dump

        row: dict[str, Any] = dump(replace(self, patch=b"", bundle=b"", record=b"", output=None))
        for name in _FILES:
            row.pop(name, None)
        return row | {"output": self.output}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """The reverse."""
        known = {one.name for one in fields(cls)} - set(_FILES)
        values = {name: value for name, value in row.items() if name in known}
        values["usage"] = Usage(**values.get("usage", {}))
        values["changed"] = tuple(values.get("changed", ()))
        if values.get("verdict") is not None:
            values["verdict"] = Verdict(**values["verdict"])
        return cls(**values)


_FILES: Final = ("patch", "bundle", "record")


def lost(cause: str, message: str, node: str = "") -> Outcome:
    """The outcome of an attempt of which nothing came back."""
    return Outcome("failed", cause, message, node=node)
