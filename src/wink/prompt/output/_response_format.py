"""Tell the model what its last answer must look like."""

import json
from typing import Any, Final, cast

from wink.errors import PromptValidationError, SerdeError
from wink.prompt._answer import Answer

__all__ = ["response_format"]

_WIDTH: Final = 100
_HOW: Final = {
    "object": "one JSON object that fits this JSON Schema",
    "array": "one JSON array that fits this JSON Schema",
}


def response_format(answer: Answer) -> str:
    """The text of the last section of a prompt that declares its output; written once for each template.

    Raises `PromptValidationError` for a type that JSON cannot hold.
    """
    if answer.instructions is None:
        answer.instructions = _written(answer)
    return answer.instructions


def _written(answer: Answer) -> str:
    from wink.serde import schema

    if answer.container is None:
        return ""
    try:
        described = schema(answer.annotation, extra="ignore" if answer.allow_extra_keys else "forbid")
    except SerdeError as error:
        raise PromptValidationError(f"the output cannot be read from JSON: {error}", dataclass=answer.type) from error
    return (
        f"When you are done, answer with {_HOW[answer.container]}, and with nothing else: no words and no code fence "
        f"around it.\n\n```json\n{laid_out(described)}\n```"
    )


def laid_out(value: Any, indent: str = "") -> str:
    """JSON with a line for each entry of what is too long for one.

    >>> print(laid_out({"type": "object", "properties": {"line": {"type": "integer"}}}))
    {"type": "object", "properties": {"line": {"type": "integer"}}}
    """
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= _WIDTH or not value or not isinstance(value, (dict, list)):
        return short
    deeper = indent + "  "
    if isinstance(value, list):
        items = cast("list[Any]", value)
        entries, brackets = [laid_out(item, deeper) for item in items], "[]"
    else:
        members = cast("dict[str, Any]", value)
        entries = [f"{json.dumps(key, ensure_ascii=False)}: {laid_out(of, deeper)}" for key, of in members.items()]
        brackets = "{}"
    lines = ",\n".join(deeper + entry for entry in entries)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}"
