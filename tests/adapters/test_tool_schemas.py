"""What providers are shown of a tool: lossless where that can be, left out where nothing can be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink.adapters import PROVIDERS, Misfit, compile_tools
from wink.adapters._tool_schemas import MOST_TOOLS, is_strict
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, RenderedPrompt
from wink.tools import Tool, ToolContext, ToolResult


@dataclass(frozen=True, slots=True)
class Nothing:
    """No parameters."""


@dataclass(frozen=True, slots=True)
class Some:
    """One that is required, one that is not."""

    name: str
    count: int = 0


def handler(params: Any, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult("x", None)


def tool(name: str, schema: Any) -> Tool[Any, Any]:
    """A tool whose schema is another's, as those of mounted servers are."""

    class Given(Tool[Any, Any]):  # type: ignore[misc]
        def schema(self) -> Any:
            if isinstance(schema, Exception):
                raise schema
            return schema

    return Given[Nothing, None](name=name, description="A tool.", handler=handler)  # type: ignore[misc]


def rendering(*tools: Tool[Any, Any]) -> RenderedPrompt:
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[MarkdownSection("T", "x", "t", tools=tools)]))
    return prompt.render(check=False)


ROOT = {
    "anyOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ],
    "type": "object",
    "properties": {"c": {"type": "boolean"}},
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_alternatives_at_the_root_are_shown_as_properties(provider: Any) -> None:
    """Neither provider takes them; the whole schema still judges the call."""
    (shown,), (misfit,) = compile_tools(rendering(tool("t", ROOT)), provider)
    assert set(shown.schema["properties"]) == {"a", "b", "c"}
    assert "anyOf" not in shown.schema
    assert not shown.strict
    assert (misfit.is_left_out, misfit.tool) == (False, "t")


@pytest.mark.parametrize("schema", [{"type": "array"}, ValueError("no schema")])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_tool_that_cannot_be_shown_is_left_out(provider: Any, schema: Any) -> None:
    """The others are shown."""
    good = Tool[Some, None](name="good", description="A tool.", handler=handler)
    shown, (misfit,) = compile_tools(rendering(tool("bad", schema), good), provider)
    assert [one.name for one in shown] == ["good"]
    assert misfit.is_left_out
    assert str(misfit).startswith(f"bad ({provider}): ")


def test_more_tools_than_are_taken_are_left_out() -> None:
    """The last ones, each with a word about it."""
    tools = [Tool[Nothing, None](name=f"t{n}", description="A tool.", handler=handler) for n in range(130)]
    shown, misfits = compile_tools(rendering(*tools), "openai")
    assert len(shown) == MOST_TOOLS["openai"]
    assert misfits == tuple(Misfit(f"t{n}", "openai", "only 128 tools are taken", is_left_out=True) for n in (128, 129))


def test_strict_is_what_loses_nothing() -> None:
    """An optional parameter would become a required one."""
    tools = [
        Tool[Nothing, None](name="nothing", description="A tool.", handler=handler),
        Tool[Some, None](name="some", description="A tool.", handler=handler),
    ]
    shown, _ = compile_tools(rendering(*tools), "openai")
    assert [one.strict for one in shown] == [True, False]
    assert not any(one.strict for one in compile_tools(rendering(*tools), "anthropic")[0])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)
schemas = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "integer"}, {"enum": ["a", 1]}, {"type": "string", "pattern": "a"}]),
    lambda inner: (
        st.builds(
            lambda properties, required, closed: {
                "type": "object",
                "properties": properties,
                "required": sorted(properties)[: len(properties) if required else 0],
                **({"additionalProperties": False} if closed else {}),
            },
            st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            st.booleans(),
            st.booleans(),
        )
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=2))
    ),
    max_leaves=5,
)


def strict_says(schema: dict[str, Any], value: Any) -> bool:
    """What strict mode makes of a schema: closed objects, every property required."""
    if "anyOf" in schema:
        return any(strict_says(one, value) for one in schema["anyOf"])
    if schema.get("type") == "object":
        names = schema["properties"]
        return (
            isinstance(value, dict)
            and set(value) == set(names)
            and all(strict_says(names[name], value[name]) for name in names)
        )
    if schema.get("type") == "array":
        return isinstance(value, list) and all(strict_says(schema["items"], one) for one in value)
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@given(schemas, json_values)
@settings(max_examples=300)
def test_strict_schemas_mean_the_same_by_themselves(schema: dict[str, Any], value: Any) -> None:
    """Whatever value: strict mode allows it exactly when the schema does."""
    root = {"type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": False}
    if is_strict(root):
        assert strict_says(root, {"x": value}) is jsonschema.Draft202012Validator(root).is_valid({"x": value})


OPEN = {"type": ["object", "null"]}


@pytest.mark.parametrize(
    "inner",
    [
        {},
        OPEN,
        {"enum": ["a", 1]},
        {"type": "array"},
        {"$ref": "#/$defs/a", "description": "Which."},
        {"type": "string", "enum": [str(number) for number in range(1_001)]},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ],
)
def test_what_strict_mode_refuses_is_not_strict(inner: dict[str, Any]) -> None:
    """A schema that says the same can still be one that OpenAI does not take; the tool would be lost."""
    defs = {"a": {"type": "string"}}
    root = {"type": "object", "properties": {"x": inner}, "required": ["x"], "additionalProperties": False}
    assert not is_strict({**root, "$defs": defs})
    assert is_strict({**root, "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": defs})


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_schema_that_refers_to_itself_at_the_root_is_shown_there(provider: Any) -> None:
    """Every provider wants to see an object with properties; one that cannot be written is left out."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    recursive = tool("t", {"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    (shown,), (misfit,) = compile_tools(rendering(recursive, tool("bad", {"maximum": float("inf")})), provider)
    assert shown.schema == {**node, "$defs": {"Node": node}}
    assert (misfit.tool, misfit.is_left_out) == ("bad", True)
