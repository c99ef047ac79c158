"""Turn what a server answers into what the model reads."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import mcp_types as types

from wink.serde import dumps
from wink.tools import Image, ToolResult

MAX_ERROR_CHARACTERS: Final = 4000


@dataclass(frozen=True, slots=True)
class McpResult:
    """What a mounted server answered: `text` is what the model reads, `structured` its data, if it sent any."""

    server: str
    tool: str
    text: str
    structured: Any = None

    def render(self) -> str:
        """The text."""
        return self.text


def result_of(server: str, tool: str, name: str, answer: types.CallToolResult) -> ToolResult[McpResult]:
    """The result of the server's `tool`, which the model knows as `name`."""
    text = text_of(answer.content, cast("object", answer.structured_content))
    if answer.is_error:
        return ToolResult[Any].error(f"{name} failed: {shortened(text) or 'the server does not say why'}")
    said = McpResult(server, tool, text or "Done; the server sent nothing else.", answer.structured_content)
    return ToolResult("", said, images=tuple(image for block in answer.content if (image := _image(block)) is not None))


def text_of(content: Sequence[Any], structured: object = None) -> str:
    """All of an answer as text; data is added only where the text does not say the same."""
    parts = [_described(block) for block in content]
    if structured is not None and not any(_says(block, structured) for block in content):
        parts.append(dumps(structured))
    return "\n\n".join(part for part in parts if part)


def shortened(text: str, limit: int = MAX_ERROR_CHARACTERS) -> str:
    """The text, without its middle if it is very long."""
    text = text.strip()
    return text if len(text) <= limit else f"{text[: limit * 3 // 4]}\n...\n{text[-limit // 4 :]}"


def _described(block: Any) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent():
            shown = "" if _image(block) is not None else "; not shown"
            return f"[image, {block.mime_type}, {_size(block.data)}{shown}]"
        case types.AudioContent():
            return f"[audio, {block.mime_type}, {_size(block.data)}; not played]"
        case types.ResourceLink():
            more = "".join(f", {part}" for part in (block.mime_type, block.description) if part)
            return f"[resource {block.name} at {block.uri}{more}]"
        case types.EmbeddedResource():
            inner = block.resource
            head = f"[resource {inner.uri}{f', {inner.mime_type}' if inner.mime_type else ''}"
            if isinstance(inner, types.TextResourceContents):
                return f"{head}]\n{inner.text}"
            return f"{head}, {_size(inner.blob)}; not shown]"
        case _:
            return f"[{type(block).__name__}; not shown]"


def _image(block: Any) -> Image | None:
    """The image in a block, if it is one that models are shown."""
    if not isinstance(block, types.ImageContent):
        return None
    try:
        return Image(b64decode(block.data, validate=True))
    except ValueError:
        return None


def _size(base64: str) -> str:
    length = len(base64) * 3 // 4
    return f"{length} bytes" if length < 10_000 else f"{length // 1000} kB"


def _says(block: Any, structured: object) -> bool:
    """Whether a text is the same data; servers repeat it so for clients that read only text."""
    if not isinstance(block, types.TextContent):
        return False
    whole = [structured]
    if isinstance(structured, Mapping) and list(cast("Mapping[str, object]", structured)) == ["result"]:
        whole.append(cast("Mapping[str, object]", structured)["result"])
    if block.text in whole:
        return True
    try:
        return json.loads(block.text) in whole
    except (ValueError, RecursionError):
        return False
