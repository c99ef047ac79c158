"""What the answer to a prompt is to be, as its template declares it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wink.errors import PromptValidationError
from wink.serde import learn_names, type_name
from wink.tools.types import BadType, Container, Result, matches, result_type

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Out_co = TypeVar("Out_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    Out_co = TypeVar("Out_co", covariant=True)

__all__ = ["Answer", "Container", "Out_co", "answer_of"]


@dataclass(slots=True)
class Answer:
    """A declared output taken apart; all `None` for an answer in plain text."""

    annotation: Any = None
    type: "type[Any] | None" = None
    """The dataclass, of which an array holds any number."""
    container: Container | None = None
    allow_extra_keys: bool = False
    instructions: str | None = None
    """What the model is told of it, once it has been written."""

    def fits(self, value: object) -> bool:
        """Whether `value` is such an answer."""
        return self.type is not None and matches(Result(self.annotation, self.type, self.container or "object"), value)


def answer_of(annotation: Any, *, allow_extra_keys: bool) -> Answer:
    """A dataclass, or `list[D]`, `Sequence[D]`, `tuple[D, ...]` of one; `None` for plain text.

    Raises `PromptValidationError` for anything else.
    """
    if annotation is None or annotation is type(None):
        return Answer(allow_extra_keys=allow_extra_keys)
    learn_names(annotation)
    try:
        found = result_type(annotation)
    except BadType:
        raise PromptValidationError(
            f"the output of a template is a dataclass or a list of one, as in PromptTemplate[Answer] or "
            f"PromptTemplate[list[Answer]], not {type_name(annotation)}"
        ) from None
    return Answer(annotation, found.type, found.container, allow_extra_keys)
