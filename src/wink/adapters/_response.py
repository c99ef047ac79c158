"""What an evaluation tells: its events, and what it came to."""

from __future__ import annotations

from datetime import datetime
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic

from wink.adapters._conversation import ModelTurn
from wink.dataclass import dataclass

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Out_co = TypeVar("Out_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    Out_co = TypeVar("Out_co", covariant=True)


@dataclass(frozen=True, slots=True)
class PromptResponse(Generic[Out_co]):
    """What an evaluation came to: the model's last text; `output` is its parsed form where the prompt declares one."""

    prompt_name: str
    text: str
    output: Out_co | None = None

    if not TYPE_CHECKING:  # annotations of programs name the type of `output`
        __class_getitem__ = classmethod(GenericAlias)


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """The model has answered; its calls are about to be executed."""

    prompt_name: str
    turn: ModelTurn
    at: datetime


@dataclass(frozen=True, slots=True)
class ModelTold:
    """The run itself had something to say to the model, beside the replies to its calls: feedback, or why to go on."""

    prompt_name: str
    note: str
    at: datetime
