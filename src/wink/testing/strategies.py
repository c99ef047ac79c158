"""Calls for property tests, as hypothesis draws them: such that a tool takes, and such that it refuses.

```python
@given(strategies.calls(notebook_section()))
def test_no_call_fails_without_words(call):
    with Harness() as harness:
        harness.use(notebook_section())
        assert harness.send(call).text
```
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from wink.errors import ParseError
from wink.prompt import Section
from wink.runtime import ToolCall
from wink.serde import dump
from wink.testing._schema_values import json_values, values
from wink.tools import Tool

__all__ = ["arguments_for", "bad_calls", "calls", "params_for"]

_NO_OBJECTS = ("", "{", "[]", "null", '"text"', "7", "{} {}", "{'a': 1}", "\x00", "Infinity")


def arguments_for(tool: Tool[Any, Any]) -> SearchStrategy[dict[str, Any]]:
    """Arguments that a tool takes, as plain JSON values: what its schema allows and its own checks let through.

    Where the checks let next to nothing through, the inputs of the tool's examples are drawn as well.
    """
    if tool.params_type is None:
        return st.just({})
    drawn = values(tool.schema()).filter(lambda arguments: _takes(tool, json.dumps(arguments)))
    examples = [dump(example.input) for example in tool.examples if example.input is not None]
    return st.one_of(drawn, st.sampled_from(examples)) if examples else drawn


def params_for(tool: Tool[Any, Any]) -> SearchStrategy[Any]:
    """Parameters as a handler gets them: instances of the tool's dataclass, or None for a tool that takes nothing."""
    return arguments_for(tool).map(lambda arguments: tool.parse(json.dumps(arguments)))


def calls(subject: Section[Any] | Tool[Any, Any]) -> SearchStrategy[ToolCall]:
    """Calls of a tool, or of any tool of a section, whose arguments are taken."""
    return st.one_of(*(_calls(tool) for tool in _tools(subject)))


def bad_calls(subject: Section[Any] | Tool[Any, Any]) -> SearchStrategy[ToolCall]:
    """Calls of a tool, or of any tool of a section, whose arguments have to be refused before a handler sees them.

    Texts that are no JSON or no object, and objects with an argument too many, one too few, or one of a wrong kind.
    """
    return st.one_of(*(_bad_calls(tool) for tool in _tools(subject)))


def _calls(tool: Tool[Any, Any]) -> SearchStrategy[ToolCall]:
    return arguments_for(tool).map(lambda arguments: ToolCall(tool.name, json.dumps(arguments)))


def _bad_calls(tool: Tool[Any, Any]) -> SearchStrategy[ToolCall]:
    sound = arguments_for(tool)
    described: Mapping[str, Any] = tool.schema().get("properties", {})
    no_objects = st.sampled_from(_NO_OBJECTS) | json_values().map(json.dumps)
    broken = [no_objects, st.builds(_with, sound, st.text(), json_values())]
    if described:
        names = st.sampled_from(sorted(described))
        broken += [st.builds(_without, sound, names), st.builds(_with, sound, names, json_values())]
    return st.one_of(*broken).filter(lambda text: not _takes(tool, text)).map(lambda text: ToolCall(tool.name, text))


def _with(arguments: Mapping[str, Any], name: str, value: Any) -> str:
    return json.dumps({**arguments, name: value})


def _without(arguments: Mapping[str, Any], name: str) -> str:
    return json.dumps({key: value for key, value in arguments.items() if key != name})


def _takes(tool: Tool[Any, Any], arguments: str) -> bool:
    try:
        tool.parse(arguments)
    except ParseError:
        return False
    return True


def _tools(subject: Section[Any] | Tool[Any, Any]) -> list[Tool[Any, Any]]:
    if isinstance(subject, Tool):
        return [subject]
    found = list(subject.tools())
    for child in subject.children:
        found += _tools(child)
    if not found:
        raise ValueError(f"{subject!r} brings no tools")
    return found
