"""Check what a mounted server is declared with, before anything of it is started."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from wink.dataclass import dataclass
from wink.errors import PromptValidationError
from wink_mcp.mount._choice import Choice

if TYPE_CHECKING:
    from wink_mcp.mount._connection import Opening

_NAME: Final = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_TOOL: Final = re.compile(r"[a-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXTRA: Final = ("forbid", "ignore", "allow")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is: a command to start, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[tuple[str, str], ...] = ()
    inherit: tuple[str, ...] = ()
    cwd: str = "/"
    headers: tuple[tuple[str, str], ...] = ()

    def opener(self, name: str, message_bytes: int) -> Callable[[], Opening]:
        """What makes one attempt after another to reach it."""
        if self.url:
            from wink_mcp.mount._http import HttpServer

            return lambda: HttpServer(name, self.url, dict(self.headers), message_bytes)
        from wink.trust import allowed
        from wink_mcp.mount._stdio import StdioServer

        def start() -> Opening:
            # As they are when it starts, which whoever writes `inherit` says, in a program of theirs too.
            env = {**allowed(os.environ, self.inherit), **dict(self.env)}
            return StdioServer(name, self.command, env, self.cwd, message_bytes)

        return start


def checked_name(name: object) -> str:
    """The name of a server, which is the prefix of its tools."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > 40:
        raise PromptValidationError(
            f"{name!r} cannot name an MCP server; use up to 40 lower-case letters and digits, with '-' or '_' between them"
        )
    return name


def checked_seconds(name: str, option: str, value: object) -> float:
    """A time."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise _wrong(name, f"{option} is a positive number of seconds, not {value!r}")
    return float(value)


def checked_place(
    name: str,
    *,
    command: Sequence[str] | None,
    url: str | None,
    env: Mapping[str, str] | None,
    inherit: Sequence[str],
    cwd: str,
    headers: Mapping[str, str] | None,
) -> Place:
    """Where the server is; only what fits a command or a URL may be said about it."""
    if (command is None) == (url is None):
        raise _wrong(name, "needs a command or a url, one of the two")
    if url is not None:
        if env or cwd != "/":
            raise _wrong(name, "env and cwd are for a command, and it has a url")
        if not isinstance(cast("object", url), str) or not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
            raise _wrong(name, f"url begins with http:// or https://, which {url!r} does not")
        return Place(url=url, headers=_pairs(name, "headers", headers, _header))
    if headers:
        raise _wrong(name, "headers are for a url, and it has a command")
    words = _texts(name, "command", command or ())
    if not words or not words[0]:
        raise _wrong(name, "command is empty; write [program, argument, ...]")
    if "/" in words[0] and not os.path.isabs(words[0]):
        raise _wrong(name, f"the program {words[0]!r} must be on the PATH, or have an absolute path")
    if not os.path.isabs(cwd):
        raise _wrong(name, f"cwd must be an absolute path, not {cwd!r}")
    return Place(words, "", _pairs(name, "env", env, _variable), _texts(name, "inherit", inherit), cwd)


def checked_choice(
    name: str,
    *,
    prefix: str | None,
    tools: Sequence[str] | None,
    deny: Sequence[str],
    rename: Mapping[str, str] | None,
    effects: Any,
    trust_hints: bool,
    extra: Any,
) -> Choice:
    """What is wanted of the server's tools."""
    prefix = name if prefix is None else prefix
    if prefix and not re.fullmatch(r"[a-z0-9_-]{1,40}", prefix):
        raise _wrong(name, f"prefix {prefix!r} cannot begin tool names; use up to 40 of a-z, 0-9, '_' and '-'")
    names = dict(rename or {})
    for old, new in names.items():
        if not isinstance(cast("object", new), str) or not _TOOL.fullmatch(new):
            raise _wrong(name, f"rename gives {old!r} the name {new!r}; use 1-64 of a-z, 0-9, '_' and '-'")
        if list(names.values()).count(new) > 1:
            raise _wrong(name, f"rename gives two tools the name {new!r}")
    each: Mapping[str, Any] = {"effects": effects} if isinstance(effects, str) else dict(effects)
    for of, effect in each.items():
        if effect not in ("read", "external"):
            raise _wrong(
                name, f"{of} is {effect!r}; a mounted tool is 'read' or 'external', since nothing of it can be undone"
            )
    if extra not in _EXTRA:
        raise _wrong(name, f"extra must be one of {', '.join(map(repr, _EXTRA))}, not {extra!r}")
    return Choice(
        prefix=prefix,
        allow=None if tools is None else _texts(name, "tools", tools),
        deny=_texts(name, "deny", deny),
        rename=names,
        effects=effects if isinstance(effects, str) else each,  # pyright: ignore[reportArgumentType]
        trust_hints=trust_hints,
        extra=extra,
    )


def _texts(name: str, option: str, values: Sequence[str]) -> tuple[str, ...]:
    found = tuple(cast("Sequence[object]", values))
    if isinstance(values, str) or not all(isinstance(value, str) and "\0" not in value for value in found):
        raise _wrong(name, f"{option} is a list of texts, not {values!r}")
    return cast("tuple[str, ...]", found)


def _pairs(
    name: str, option: str, values: Mapping[str, str] | None, is_right: Callable[[str, str], bool]
) -> tuple[tuple[str, str], ...]:
    for key, value in cast("Mapping[object, object]", values or {}).items():
        if not isinstance(key, str) or not isinstance(value, str) or not is_right(key, value):
            # Without the value: it may well be a secret.
            raise _wrong(name, f"{option}: {key!r} cannot be set so")
    return tuple((values or {}).items())


def _variable(key: str, value: str) -> bool:
    return _VARIABLE.fullmatch(key) is not None and "\0" not in value


def _header(key: str, value: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", key) is not None and value.isprintable()


def _wrong(name: str, text: str) -> PromptValidationError:
    return PromptValidationError(f"MCP server {name!r}: {text}")
