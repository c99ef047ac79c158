"""How a tool's examples look in the text of a prompt."""

import re
from collections.abc import Iterable
from textwrap import indent
from typing import Any

from wink.tools import Tool, ToolExample

__all__ = ["arguments", "code", "examples_block", "gives"]


def examples_block(tools: Iterable[Tool[Any, Any]]) -> str:
    """The examples of `tools`, a line for each with its arguments and what came back; empty when there are none."""
    blocks = [_of_tool(tool) for tool in tools if tool.examples]
    return "\n\n".join(blocks)


def _of_tool(tool: Tool[Any, Any]) -> str:
    calls = [f"- {example.description}: {arguments(example)}{gives(example, '  ')}" for example in tool.examples]
    return "\n".join([f"Examples of {code(tool.name)}:", *calls])


def arguments(example: ToolExample[Any, Any]) -> str:
    """What an example sends, as code."""
    from wink.serde import dumps

    return code("{}" if example.input is None else dumps(example.input))


def gives(example: ToolExample[Any, Any], indentation: str) -> str:
    """What comes back, to be put behind what is sent: nothing, code, or a block of it below the line."""
    from wink.tools import render_value

    output = "" if example.output is None else render_value(example.output)
    if "\n" in output:
        return f" gives\n{indent(_fenced(output), indentation)}"
    return f" gives {code(output)}" if output else ""


def code(text: str) -> str:
    """`text` as code within a line (CommonMark 6.1: more backticks around it than there are in it)."""
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fenced(text: str) -> str:
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
