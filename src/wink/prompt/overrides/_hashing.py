"""Hash what an override would replace, the same in every process and on every Python.

SHA-256, in hexadecimal: of a text its UTF-8, of anything else its JSON with sorted keys, no spaces and ASCII only.
"""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wink.tools import Tool, ToolExample

__all__ = ["content_hash", "contract_hash", "example_hash", "value_hash"]


def content_hash(body: str, summary: str | None) -> str:
    """The hash of a section: that of its text, or of `[text, summary]` when it has a summary."""
    return _sha256(body) if summary is None else value_hash([body, summary])


def contract_hash(tool: "Tool[Any, Any]") -> str:
    """The hash of what a model is told of a tool beside its name: the description, and the schema with its own."""
    return value_hash({"description": tool.description, "parameters": tool.schema()})


def example_hash(example: "ToolExample[Any, Any]") -> str:
    """The hash of one example of a tool: its description, its input, its output."""
    from wink.serde import dump

    return value_hash(
        {"description": example.description, "input": dump(example.input), "output": dump(example.output)}
    )


def value_hash(value: object) -> str:
    """The hash of a JSON value.

    >>> value_hash({"b": 1, "a": "é"}) == value_hash({"a": "é", "b": 1})
    True
    """
    return _sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False))


def _sha256(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
