"""What the conformance suite expects to find in a server, as far as wink's tools can be it: a plugin like anybody's."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wink.prompt import MarkdownSection
from wink.testing import fake_distribution
from wink.tools import Audio, EmbeddedResource, Image, Tool, ToolContext, ToolResult

RED_DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
CLICK = b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\x02\0\0\0\0\0"
TEXT = {"type": "string"}
RICH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": TEXT, "city": TEXT}}},
    "properties": {
        "name": TEXT,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": TEXT,
        "email": TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
SCHEMA_WITH_HEADER = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


@dataclass(frozen=True, slots=True)
class Nothing:
    """No arguments."""


class ToolWithSchema(Tool[Nothing, None]):
    """A tool whose schema says more than a dataclass can; whatever arguments it is given, it takes as none."""

    __slots__ = ("_schema",)

    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        super().__init__(name, "Has a schema of its own.", simple_text, effects="read", _types=(Nothing, type(None)))
        object.__setattr__(self, "_schema", schema)

    def parse(self, arguments: str | bytes | Mapping[str, Any]) -> Nothing:
        """Nothing, from anything."""
        return Nothing()

    def schema(self) -> dict[str, Any]:
        """The schema that it was given."""
        return dict(self._schema)

    def check(self) -> None:
        """The suite checks it."""


def simple_text(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    """A text."""
    return ToolResult("This is a simple text response for testing.")


def image(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    """The smallest picture."""
    return ToolResult("A red dot.", attachments=(Image(RED_DOT),))


def audio(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    """The shortest sound."""
    return ToolResult("A click.", attachments=(Audio(CLICK),))


def embedded(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    """A text with a URI."""
    text = EmbeddedResource("test://embedded-resource", "This is an embedded resource content.", "text/plain")
    return ToolResult("Read it.", attachments=(text,))


def mixed(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    """Text, a picture and data with a URI."""
    data = EmbeddedResource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return ToolResult("Multiple content types test:", attachments=(Image(RED_DOT), data))


def error_handling(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    """A failure, raised as foreign code raises."""
    raise RuntimeError("This tool intentionally returns an error for testing")


def with_progress(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
    """Three beats, far enough apart for each to be told."""
    for _ in range(3):
        context.beat()
        time.sleep(0.2)
    return ToolResult("Done in three steps.")


def suite_section() -> MarkdownSection[None]:
    """The tools that the suite calls."""
    tools = [
        Tool[Nothing, None]("test_simple_text", "Returns a text.", simple_text, effects="read"),
        Tool[Nothing, None]("test_image_content", "Returns an image.", image, effects="read"),
        Tool[Nothing, None]("test_audio_content", "Returns a sound.", audio, effects="read"),
        Tool[Nothing, None]("test_embedded_resource", "Returns a resource.", embedded, effects="read"),
        Tool[Nothing, None]("test_multiple_content_types", "Returns several things.", mixed, effects="read"),
        Tool[Nothing, None]("test_error_handling", "Always fails.", error_handling, effects="read"),
        Tool[Nothing, None]("test_tool_with_progress", "Reports progress.", with_progress, effects="read"),
        ToolWithSchema("json_schema_2020_12_tool", RICH_SCHEMA),
        ToolWithSchema("test_x_mcp_header", SCHEMA_WITH_HEADER),
    ]
    return MarkdownSection(title="Conformance", key="conformance", template="For the suite.", tools=tools)


@dataclass(frozen=True, slots=True)
class TwoTexts:
    """Two texts to repeat."""

    arg1: str = field(metadata={"description": "First test argument"})
    arg2: str = field(metadata={"description": "Second test argument"})


@dataclass(frozen=True, slots=True)
class Where:
    """What to embed."""

    resourceUri: str = field(metadata={"description": "URI of the resource to embed"})  # noqa: N815  the suite's name


class EmbeddingSection(MarkdownSection[Where]):
    """Embeds a text under the URI that it is given."""

    def attachments(self, params: Where | None) -> tuple[EmbeddedResource, ...]:
        """The text."""
        uri = "" if params is None else params.resourceUri
        return (EmbeddedResource(uri, "Embedded resource content for testing.", "text/plain"),)


def simple_prompt() -> MarkdownSection[None]:
    """A prompt without arguments."""
    return MarkdownSection("Simple", "This is a simple prompt for testing.", "test_simple_prompt")


def prompt_with_arguments() -> MarkdownSection[TwoTexts]:
    """A prompt with two arguments."""
    text = "Prompt with arguments: arg1='$arg1', arg2='$arg2'"
    return MarkdownSection[TwoTexts]("With arguments", text, "test_prompt_with_arguments")


def prompt_with_resource() -> MarkdownSection[Where]:
    """A prompt that embeds what it is told to."""
    text = "Please process the embedded resource above."
    return EmbeddingSection("With a resource", text, "test_prompt_with_embedded_resource")


def prompt_with_image() -> MarkdownSection[None]:
    """A prompt with a picture."""
    text = "Please analyze the image above."
    return MarkdownSection("With an image", text, "test_prompt_with_image", attachments=[Image(RED_DOT)])


SECTIONS = {
    "conformance.suite": "wink_conformance:suite_section",
    "conformance.simple": "wink_conformance:simple_prompt",
    "conformance.arguments": "wink_conformance:prompt_with_arguments",
    "conformance.resource": "wink_conformance:prompt_with_resource",
    "conformance.image": "wink_conformance:prompt_with_image",
}


@contextmanager
def installed(directory: Path) -> Iterator[str]:
    """The plugin as a distribution of its own, in a directory that can be put on another process's path."""
    with fake_distribution(
        "wink-conformance",
        entry_points={"wink.sections": SECTIONS},
        modules={"wink_conformance": Path(__file__).read_text()},
        directory=directory,
        on_path=False,
    ) as made:
        yield made.path
