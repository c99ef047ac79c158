"""What a request to a model tells while it is under way."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from wink.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A request is about to be sent to a model; `attempt` counts from 1."""

    prompt_name: str
    model: str
    attempt: int
    at: datetime


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request failed. `retry_in` is in seconds; None says that it is not tried again."""

    prompt_name: str
    model: str
    attempt: int
    problem: str
    retry_in: float | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ModelDelta:
    """A piece of an answer has arrived: of its text, of the model's thinking, or of the arguments of a call.

    What a request that fails half-way has brought is void; `attempt` tells the pieces of one answer from another's.
    """

    prompt_name: str
    kind: Literal["text", "thinking", "arguments"]
    text: str
    attempt: int = 1
