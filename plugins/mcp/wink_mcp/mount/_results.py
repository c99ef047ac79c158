"""Turn what a server answers into what the model reads."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import mcp_types as types

from wink.dataclass import dataclass
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
    if structured is not None and not _says(content, structured):
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


def _says(content: Sequence[Any], structured: object) -> bool:
    """Whether the texts are the same data; servers repeat it so for clients that read only text.

    >>> text = types.TextContent(text="a note")
    >>> _says([text], {"result": "a note"}), _says([text], {"result": "a note", "count": 1})
    (True, False)
    """
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in content]
    texts = [block.text.strip() for block in content if isinstance(block, types.TextContent)]
    if not blocks:
        return False
    joined = "\n".join(texts)
    for one in (structured, *_within(structured)):
        if one == blocks:
            return True
        parts = _texts_of(one)
        if parts is not None and "\n".join(part.strip() for part in parts) == joined:
            return True
        if any(_is_same(text, one) for text in (*texts, joined)):
            return True
        # One block for each item of a list.
        if isinstance(one, list):
            items = cast("list[object]", one)
            if len(items) == len(texts) and all(map(_is_same, texts, items)):
                return True
    return False


def _within(structured: object) -> Sequence[object]:
    """What data consist of whose only key wraps them, since structured content has to be an object."""
    if not isinstance(structured, Mapping):
        return ()
    wrapped = cast("Mapping[str, object]", structured)
    return tuple(wrapped.values()) if list(wrapped) in (["result"], ["content"]) else ()


def _texts_of(value: object) -> list[str] | None:
    """The texts of data that are a text, or blocks of content that are nothing but text."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    found: list[str] = []
    for item in items:
        if isinstance(item, Mapping):
            block = {key: one for key, one in cast("Mapping[str, object]", item).items() if one is not None}
            if block.keys() != {"type", "text"} or block["type"] != "text":
                return None
            item = block["text"]
        if not isinstance(item, str):
            return None
        found.append(item)
    return found


def _is_same(text: str, data: object) -> bool:
    """Whether a text is some data, as it is or as JSON; `1` is not `true`."""
    if text == data:
        return True
    try:
        return json.dumps(json.loads(text), sort_keys=True) == json.dumps(data, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False
