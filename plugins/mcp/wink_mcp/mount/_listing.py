"""Make tools of what a server lists, and say of each that cannot be used why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import mcp_types as types

from wink.dataclass import dataclass
from wink.errors import PromptValidationError
from wink_mcp.mount._choice import Choice
from wink_mcp.mount._schema import ArgumentSchema, BadSchema
from wink_mcp.mount._tool import McpTool

RESERVED: Final = ("open_sections", "read_section", "read_result")
MAX_TOOLS: Final = 500
MAX_DESCRIPTION: Final = 200
MAX_DETAILS: Final = 2000
_ASCII: Final = str.maketrans(
    {
        0x2018: "'",
        0x2019: "'",
        0x201C: '"',
        0x201D: '"',
        0x2013: "-",
        0x2014: "-",
        0x2026: "...",
        0x2192: "->",
        0xA0: " ",
    }
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server as they were when it was asked, with what the model should know of them."""

    tools: tuple[McpTool, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    """For tools whose description is too long for a line, the name and all of it."""
    problems: tuple[str, ...] = ()
    """What was left out, and why; for the person."""
    instructions: str = ""
    server: str = ""
    """How the server calls itself."""


def listing_of(
    found: Sequence[types.Tool], choice: Choice, handler: Callable[[str, str], Any], *, instructions: str, server: str
) -> Listing:
    """The tools that are wanted among those found; `handler(origin, name)` makes a tool's handler."""
    problems: list[str] = []
    wanted: dict[str, types.Tool] = {}
    for tool in found:
        if not choice.takes(tool.name):
            continue
        if tool.name in wanted:
            problems.append(f"{_shown(tool.name)}: is listed twice; the first counts")
        elif len(wanted) == MAX_TOOLS:
            problems.append(f"only the first {MAX_TOOLS} tools are used; choose with tools=[...]")
            break
        else:
            wanted[tool.name] = tool
    by_name: dict[str, list[str]] = {}
    for name in wanted:
        by_name.setdefault(choice.named(name), []).append(name)
    tools: list[McpTool] = []
    details: list[tuple[str, str]] = []
    for name, origins in by_name.items():
        if name in RESERVED:
            problems.append(f"{_shown(origins[0])}: is left out, {name!r} is a tool of wink's own; use rename={{...}}")
            continue
        if len(origins) > 1:
            both = " and ".join(map(_shown, origins))
            remedy = f"rename={{{origins[0]!r}: ...}}"
            problems.append(f"{both}: would both be called {name!r} and are left out; tell them apart with {remedy}")
            continue
        tool = wanted[origins[0]]
        try:
            made, detail = _made(name, tool, choice, handler)
        except (BadSchema, PromptValidationError) as error:
            problems.append(f"{_shown(tool.name)}: is left out, its schema cannot be used: {error}")
            continue
        tools.append(made)
        if detail:
            details.append((name, detail))
    problems += _unused(choice, [tool.name for tool in found])
    return Listing(tuple(tools), tuple(details), tuple(problems), instructions, server)


def _made(name: str, tool: types.Tool, choice: Choice, handler: Callable[[str, str], Any]) -> tuple[McpTool, str]:
    arguments = ArgumentSchema(tool.input_schema)
    line, detail = described(tool.description or tool.title or "", tool.name)
    made = McpTool(
        name,
        line,
        handler(tool.name, name),
        arguments=arguments,
        origin=tool.name,
        effects=choice.effects_of(tool),
        extra=choice.extra,
    )
    return made, detail


def described(description: str, name: str) -> tuple[str, str]:
    """A line of ASCII for the tool, and the whole description where that is more.

    >>> described("Find “code”.", "search")
    ('Find "code".', '')
    >>> described("", "search")[0]
    "The server's tool 'search'."
    """
    whole = description.strip()
    line = " ".join(whole.translate(_ASCII).split())
    plain = line.encode("ascii", "replace").decode()
    if not plain:
        return f"The server's tool {_shown(name)}."[:MAX_DESCRIPTION], ""
    is_all = plain == line and len(plain) <= MAX_DESCRIPTION
    if len(plain) > MAX_DESCRIPTION:
        cut = plain[: MAX_DESCRIPTION - 4]
        sentence = max(cut.rfind(". "), cut.rfind("; "))
        plain = cut[: sentence + 1] if sentence > MAX_DESCRIPTION // 3 else f"{cut.rpartition(' ')[0] or cut} ..."
    detail = "" if is_all else whole
    if len(detail) > MAX_DETAILS:
        detail = f"{detail[:MAX_DETAILS].rstrip()} ..."
    return plain, detail


def _unused(choice: Choice, names: Sequence[str]) -> list[str]:
    """Names that the person wrote and that no tool has: most likely misspelt, perhaps gone."""
    by_option: dict[str, Sequence[str]] = {
        "tools": choice.allow or (),
        "deny": choice.deny,
        "rename": tuple(choice.rename),
        "effects": () if isinstance(choice.effects, str) else tuple(choice.effects),
    }
    return [
        f"{option}: the server has no tool {written!r}"
        for option, all_written in by_option.items()
        for written in all_written
        if not any(fnmatchcase(name, written) if option in ("tools", "deny") else name == written for name in names)
    ]


def _shown(name: str) -> str:
    """A server's name for a tool, which may be anything."""
    text = ascii(name)
    return text if len(text) <= 80 else f"{text[:77]}...'"
