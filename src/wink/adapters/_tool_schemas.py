"""What of a tool's JSON Schema a provider takes, worked out before any request is sent."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, cast

from wink.dataclass import dataclass
from wink.prompt import RenderedPrompt
from wink.tools import Tool

Provider = Literal["openai", "openai-chat", "anthropic"]

PROVIDERS: Final[tuple[Provider, ...]] = ("openai", "openai-chat", "anthropic")
"""The protocols that tools are written for, as `wink lint --provider` takes them."""

_NAMES: Final[Mapping[Provider, re.Pattern[str]]] = {
    "openai": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "openai-chat": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "anthropic": re.compile(r"[a-zA-Z0-9_-]{1,128}"),
}
MOST_TOOLS: Final[Mapping[Provider, int]] = {"openai": 128, "openai-chat": 128, "anthropic": 10_000}

_ROOT_COMBINATORS: Final = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const")
# OpenAI's strict mode knows these and promises to keep to them; another word is refused or passed over, which would
# change what the schema says (platform documentation, "Structured Outputs: supported schemas").
_STRICT_WORDS: Final = frozenset((
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "items", "properties", "required", "title",
    "type",
))  # fmt: skip
_STRICT_DEPTH, _STRICT_PROPERTIES, _STRICT_OPTIONS = 10, 5_000, 1_000


@dataclass(frozen=True, slots=True)
class CompiledTool:
    """A tool as a provider is shown it; `strict` where OpenAI may hold the model to the schema without a loss."""

    name: str
    description: str
    schema: Mapping[str, Any]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Misfit:
    """Something of a tool that a provider does not take as it is; `is_left_out` when the model cannot be shown the tool."""

    tool: str
    provider: str
    problem: str
    is_left_out: bool = False

    def __str__(self) -> str:
        return f"{self.tool} ({self.provider}): {self.problem}"


def compile_tools(
    rendered: RenderedPrompt, provider: Provider, *, without: Sequence[str] = ()
) -> tuple[tuple[CompiledTool, ...], tuple[Misfit, ...]]:
    """The tools of a rendering as `provider` takes them, and what of them does not fit.

    One that cannot be shown at all is left out, so that it does not fail every request; `without` names others.
    """
    compiled: list[CompiledTool] = []
    misfits: list[Misfit] = []
    for tool in rendered.tools:
        if tool.name in without:
            continue
        one = compile_tool(tool, provider, misfits)
        if one is not None:
            compiled.append(one)
    for extra in compiled[MOST_TOOLS[provider] :]:
        misfits.append(Misfit(extra.name, provider, f"only {MOST_TOOLS[provider]} tools are taken", is_left_out=True))
    return tuple(compiled[: MOST_TOOLS[provider]]), tuple(misfits)


def compile_tool(tool: Tool[Any, Any], provider: Provider, misfits: list[Misfit]) -> CompiledTool | None:
    """One tool; None, with the reason among `misfits`, when the provider could not take it."""
    if not _NAMES[provider].fullmatch(tool.name):
        misfits.append(Misfit(tool.name, provider, "its name does not fit; rename the tool", is_left_out=True))
        return None
    try:
        schema = _at_root(copy.deepcopy(dict(tool.schema())))
        json.dumps(schema, allow_nan=False)  # what cannot be written would fail the request
    except Exception as error:  # foreign code: schemas of mounted servers and of authors' own tools
        text = f"its schema cannot be made: {type(error).__name__}: {error}"
        misfits.append(Misfit(tool.name, provider, text, is_left_out=True))
        return None
    schema.pop("$schema", None)
    description = tool.description
    if schema.get("type", "object") != "object":
        misfits.append(Misfit(tool.name, provider, "its parameters are not an object", is_left_out=True))
        return None
    combined = [word for word in _ROOT_COMBINATORS if word in schema]
    if combined:
        # Neither provider takes them at the root. The call's arguments are still checked against all of the schema.
        misfits.append(Misfit(tool.name, provider, f"{', '.join(combined)} at the root of its schema cannot be shown"))
        schema = _without_combinators(schema, combined)
    schema["type"] = "object"
    schema.setdefault("properties", {})
    strict = provider != "anthropic" and not combined and is_strict(schema)
    return CompiledTool(tool.name, description, schema, strict)


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether OpenAI's strict mode says the same with this schema as it says by itself.

    Every object has to be closed and to require each of its properties, nothing may be used that the mode does not know,
    and there are limits of depth and number.

    >>> closed = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    >>> is_strict({**closed, "required": ["a"]}), is_strict({**closed, "required": []})
    (True, False)
    """
    count = options = 0
    for node, depth in _nodes(schema, 1):
        if not set(node) <= _STRICT_WORDS or depth > _STRICT_DEPTH or not _is_typed(node):
            return False
        options += len(node.get("enum", ()))
        properties = node.get("properties")
        if properties is None and "object" not in _types(node):
            continue
        if not isinstance(properties, dict) or node.get("additionalProperties") is not False:
            return False
        names = cast("dict[str, Any]", properties)
        count += len(names)
        if set(names) != set(node.get("required", ())):
            return False
    return count <= _STRICT_PROPERTIES and options <= _STRICT_OPTIONS


def _is_typed(node: Mapping[str, Any]) -> bool:
    """Whether a schema says what it is for in a way that strict mode takes."""
    if "$ref" in node:
        return len(node) == 1  # "$ref cannot have keywords"
    if "array" in _types(node) and not isinstance(node.get("items"), dict):
        return False
    return bool(_types(node)) or bool(node.get("anyOf"))


def _types(node: Mapping[str, Any]) -> list[Any]:
    given = node.get("type")
    return cast("list[Any]", given) if isinstance(given, list) else [] if given is None else [given]


def _nodes(schema: Any, depth: int) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Every schema in a schema, with its depth in objects and arrays."""
    if not isinstance(schema, dict):
        return
    node = cast("dict[str, Any]", schema)
    yield node, depth
    for word in ("properties", "$defs"):
        inner = node.get(word)
        if isinstance(inner, dict):
            for one in cast("dict[str, Any]", inner).values():
                yield from _nodes(one, depth + 1)
    yield from _nodes(node.get("items"), depth + 1)
    options = node.get("anyOf")
    if isinstance(options, list):
        for one in cast("list[Any]", options):
            yield from _nodes(one, depth)


def _at_root(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to in its own place: providers want to see an object there."""
    found = re.fullmatch(r"#/\$defs/([^/~%]+)", str(schema.get("$ref", "")))
    target = schema.get("$defs", {}).get(found[1]) if found else None
    if not isinstance(target, dict):
        return schema
    kept = {word: value for word, value in schema.items() if word != "$ref"}
    return {**cast("dict[str, Any]", target), **kept}


def _without_combinators(schema: Mapping[str, Any], combined: Sequence[str]) -> dict[str, Any]:
    """The schema with the properties that its alternatives name, none of them required."""
    properties = dict(schema.get("properties", {}))
    for word in ("anyOf", "oneOf", "allOf"):
        alternatives = schema.get(word)
        for one in cast("list[Any]", alternatives) if isinstance(alternatives, list) else ():
            if isinstance(one, dict):
                for name, inner in cast("dict[str, Any]", one).get("properties", {}).items():
                    properties.setdefault(name, inner)
    kept = {word: value for word, value in schema.items() if word not in combined}
    return {**kept, "properties": properties}
