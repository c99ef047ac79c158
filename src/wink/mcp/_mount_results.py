"""Turn what a server answers into what the model reads."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import mcp_types as types

from wink.serde import dumps
from wink.tools import Attachment, Audio, EmbeddedResource, Image, ToolResult

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
    if answer.is_error:
        text = text_of(answer.content, cast("object", answer.structured_content))
        return ToolResult[Any].error(f"{name} failed: {shortened(text) or 'the server does not say why'}")
    attachments = [_attachment(block) for block in answer.content]
    text = text_of(answer.content, cast("object", answer.structured_content), attachments)
    attached = tuple(one for one in attachments if one is not None)
    if not text and not attached:
        text = "Done; the server sent nothing else."
    said = McpResult(server, tool, text, answer.structured_content)
    return ToolResult("", said, attachments=attached)


def text_of(content: Sequence[Any], structured: object = None, attached: Sequence[Attachment | None] = ()) -> str:
    """All of an answer as text; data is added only where the text does not say the same.

    What is attached is named where it stood; resources that are text come below all that is said, and those that stood
    there anyway are not named before.
    """
    parts = [_described(block) for block in content]
    named = list(attached)
    for index, one in enumerate(named):
        if one is not None:
            at_end = all(later is not None and later.text for later in named[index:])
            parts[index] = "" if one.text and at_end else f"[{one.described}]"
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
            return f"[image, {block.mime_type}, {_size(block.data)}; not shown]"
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


def _attachment(block: Any) -> Attachment | None:
    """What a block attaches; `None` for text, and for what is not what it says."""
    try:
        match block:
            case types.ImageContent():
                return Image(b64decode(block.data, validate=True))
            case types.AudioContent():
                return Audio(b64decode(block.data, validate=True), block.mime_type)
            case types.EmbeddedResource():
                inner = block.resource
                text = isinstance(inner, types.TextResourceContents)
                content = inner.text if text else b64decode(inner.blob, validate=True)
                return EmbeddedResource(inner.uri, content, inner.mime_type or "")
            case _:
                return None
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
