"""Arguments that a tool takes, and such that no tool should choke on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from wink.errors import ParseError
from wink.serde import dump
from wink.tools import Tool

UNKNOWN: Final = "an_argument_that_no_tool_has"
NO_OBJECTS: Final = ("{", "[]", "null", '"text"', "7", "{} {}", '{"a": NaN}', "\x00")
_ODD: tuple[Any, ...] = (
    None,
    "",
    " ",
    "\ud800",
    -1,
    0,
    2**70,
    1e308,
    True,
    [],
    {},
    [[]],
    {"": {}},
    "x" * 300,
)


def example_arguments(tool: Tool[Any, Any]) -> Mapping[str, Any] | None:
    """The arguments of the tool's first example; None when it has none."""
    if tool.params_type is None:
        return {}
    for example in tool.examples:
        if example.input is not None:
            return dump(example.input)
    return None


def odd_arguments(tool: Tool[Any, Any]) -> Iterator[str]:
    """Objects with an odd value for each parameter, the others as in the tool's example, as JSON text."""
    sound = example_arguments(tool) or {}
    for name in tool.schema().get("properties", {}):
        for value in _ODD:
            yield json.dumps({**sound, name: value})


def problem_with(tool: Tool[Any, Any], arguments: str) -> str:
    """What is wrong with how a tool takes arguments: nothing when it takes or refuses them with words."""
    try:
        tool.parse(arguments)
    except ParseError as error:
        return "" if error.problems else f"{arguments} is refused without saying why"
    except Exception as error:  # foreign code: `__post_init__` of the params
        return f"{arguments} raises {type(error).__name__}: {error}"
    return ""
