"""Put a call's reply into what clients read: text, structured content for values that are data, and attachments."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Final, cast

import mcp_types as types

from wink.errors import SerdeError
from wink.runtime import ToolReply
from wink.serde import dump
from wink.tools import Attachment, Audio, EmbeddedResource, Image

FAILED: Final = "Error: "
"""How the text of a failure begins: some clients do not tell the model of `isError`."""

MOST_ATTACHED_BYTES: Final = 10 * 2**20
"""How much one answer shows besides its text; what is above is told of in words."""

_ESCAPE: Final = "\\ud"


def answered(reply: ToolReply) -> types.CallToolResult:
    """The result of a call that came to its end."""
    if not reply.success:
        return failed(reply.text)
    attached = reply.result.attachments
    told, blocks = _apart(reply.text, attached)
    content: list[types.ContentBlock] = [types.TextContent(text=told), *blocks]
    return types.CallToolResult(content=content, structured_content=_structured(reply), is_error=False)


def failed(text: str) -> types.CallToolResult:
    """The result of a call that failed: never a protocol error, which a model would not be shown."""
    text = text if text.startswith(FAILED) else FAILED + text
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _apart(text: str, attachments: Sequence[Attachment]) -> tuple[str, list[types.ContentBlock]]:
    """The text without the resources at its end, which go beside it; they stay in a text that was too long for them."""
    resources = _printable("\n\n".join(one.text for one in attachments if one.text))
    fits = bool(resources) and text.endswith(resources)
    if fits:
        text = text.removesuffix(resources).rstrip("\n") or "OK"
    blocks: list[types.ContentBlock] = []
    room = MOST_ATTACHED_BYTES
    for one in attachments:
        if one.text:
            blocks += [block_of(one)] if fits else []
            continue
        room -= len(one.content if isinstance(one, EmbeddedResource) else one.data)
        blocks.append(
            block_of(one) if room >= 0 else types.TextContent(text=f"[{one.described}; too large to be sent]")
        )
    return text, blocks


def block_of(attachment: Attachment) -> types.ImageContent | types.AudioContent | types.EmbeddedResource:
    """An attachment as the protocol has it."""
    match attachment:
        case Image():
            return types.ImageContent(data=b64encode(attachment.data).decode(), mime_type=attachment.media_type)
        case Audio():
            return types.AudioContent(data=b64encode(attachment.data).decode(), mime_type=attachment.media_type)
        case EmbeddedResource(uri, content, media_type):
            kind = media_type or None
            if isinstance(content, str):
                resource = types.TextResourceContents(uri=uri, mime_type=kind, text=_printable(content))
            else:
                resource = types.BlobResourceContents(uri=uri, mime_type=kind, blob=b64encode(content).decode())
            return types.EmbeddedResource(resource=resource)


def _structured(reply: ToolReply) -> dict[str, Any] | None:
    """The value as data where the text shows it as JSON, together with the message.

    A client that has structured content may show the model nothing else. So there is none for a value that says itself
    what a model should read, such as the text of a file: quoted as JSON it would read worse.
    """
    result = reply.result
    if (
        result.attachments
        or result.value is None
        or result.exclude_value_from_context
        or not is_data(cast("object", result.value))
    ):
        return None
    if reply.text != result.text:  # too long to be sent whole: the text is what there is
        return None
    try:
        value = dump(cast("object", result.value), exclude_none=True)
        if _ESCAPE in reply.text:  # half of a character perhaps, which is escaped in the text only
            json.dumps(value, ensure_ascii=False).encode()
    except (SerdeError, UnicodeEncodeError):
        return None
    return {"message": result.message, "value": value}


def is_data(value: object) -> bool:
    """Whether a value is sent to models as JSON."""
    if isinstance(value, str) or _renders(value):
        return False
    if isinstance(value, Sequence):
        items = cast("Sequence[object]", value)
        return not items or not all(map(_renders, items))
    return isinstance(value, Mapping | bool | int | float) or is_dataclass(value)


def _printable(text: str) -> str:
    """The text, with lone surrogates escaped as in the text of a reply."""
    return text.encode(errors="backslashreplace").decode()


def _renders(value: object) -> bool:
    return callable(getattr(type(value), "render", None))
