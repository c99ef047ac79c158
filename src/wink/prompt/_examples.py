"""How a tool's examples look in the text of a prompt."""

import re
from collections.abc import Iterable
from textwrap import indent
from typing import Any

from wink.tools import Tool

__all__ = ["examples_block"]


def examples_block(tools: Iterable[Tool[Any, Any]]) -> str:
    """The examples of `tools`, a line for each with its arguments and what came back; empty when there are none."""
    blocks = [_of_tool(tool) for tool in tools if tool.examples]
    return "\n\n".join(blocks)


def _of_tool(tool: Tool[Any, Any]) -> str:
    from wink.serde import dumps
    from wink.tools import render_value

    lines = [f"Examples of {_code(tool.name)}:"]
    for example in tool.examples:
        arguments = "{}" if example.input is None else dumps(example.input)
        lines.append(f"- {example.description}: {_code(arguments)}")
        output = "" if example.output is None else render_value(example.output)
        if "\n" in output:
            lines[-1] += " gives"
            lines.append(indent(_fenced(output), "  "))
        elif output:
            lines[-1] += f" gives {_code(output)}"
    return "\n".join(lines)


def _code(text: str) -> str:
    """`text` as code within a line (CommonMark 6.1: more backticks around it than there are in it)."""
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fenced(text: str) -> str:
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
