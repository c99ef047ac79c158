"""Put a call's reply into the two forms that clients read: text, and structured content for values that are data."""

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

FAILED: Final = "Error: "
"""How the text of a failure begins: some clients do not tell the model of `isError`."""

_ESCAPE: Final = "\\ud"


def answered(reply: ToolReply) -> types.CallToolResult:
    """The result of a call that came to its end."""
    if not reply.success:
        return failed(reply.text)
    content: list[types.ContentBlock] = [types.TextContent(text=reply.text)]
    content += [
        types.ImageContent(data=b64encode(image.data).decode(), mime_type=image.media_type)
        for image in reply.result.images
    ]
    return types.CallToolResult(content=content, structured_content=_structured(reply), is_error=False)


def failed(text: str) -> types.CallToolResult:
    """The result of a call that failed: never a protocol error, which a model would not be shown."""
    text = text if text.startswith(FAILED) else FAILED + text
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _structured(reply: ToolReply) -> dict[str, Any] | None:
    """The value as data where the text shows it as JSON, together with the message.

    A client that has structured content may show the model nothing else. So there is none for a value that says itself
    what a model should read, such as the text of a file: quoted as JSON it would read worse.
    """
    result = reply.result
    if (
        result.images
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


def _renders(value: object) -> bool:
    return callable(getattr(type(value), "render", None))
