"""Tell which arguments of a call name paths, when all that is known of them is what they are called and what they hold."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, cast


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PATHS: Final = _words(
    "path paths file files filename filenames filepath filepaths dir dirs directory directories folder folders cwd "
    "workdir root source src target destination dest dst"
)
"""The last words of an argument's name that say that it names a path."""

TEXTS: Final = _words(
    "body code cmd command comment content contents description diff glob insert message note notes patch pattern prompt "
    "query question reason regex replacement script snippet stdin str string summary text title"
)
"""The last words of a name that say that an argument is text and no path."""

VARIABLES: Final = _words("env environment headers variables")
"""The last words of a name that say that an argument maps names of the caller's own to texts."""

_MAX_PATH: Final = 4096
_STARTS: Final = r"(?i)/|~|\.\.?/|\.\.?\\|[a-z]:[\\/]|file:"
_WEB: Final = r"(?i)https?://"
_WORDS: Final = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"


class Named(NamedTuple):
    """A text that names a path, or could: then `is_sure` is false, and `is_weak` where nothing about it looks like one."""

    argument: str
    text: str
    is_sure: bool = True
    is_weak: bool = False


def named_paths(arguments: Any, also: Collection[str] = ()) -> Iterator[Named]:
    """Each path that a call's arguments name, at any depth; `also` are further arguments that hold paths.

    >>> list(named_paths({"file_path": "a.txt", "content": "/etc", "edits": [{"path": "b"}], "uri": "x/y"}))[:2]
    [Named(argument='file_path', text='a.txt', is_sure=True, is_weak=False), Named(argument='edits.path', text='b', is_sure=True, is_weak=False)]
    """
    pending: list[tuple[str, str, Any]] = [("", "", arguments)]
    while pending:
        where, kind, value = pending.pop()
        if isinstance(value, str):
            found = _read(where, kind, value)
            if found is not None:
                yield found
        elif isinstance(value, Mapping):
            items = list(cast("Mapping[str, Any]", value).items())
            for key, inner in reversed(items):
                place = f"{where}.{key}" if where else key
                own = "path" if place in also else kind_of(key)
                if own != "variables":
                    pending.append((place, own, inner))
            if kind == "path":  # such as `files`, where a name may be the path, and what it has the content
                yield from (Named(where, key, is_sure=not _is_field(key)) for key, _ in items)
            else:
                yield from (Named(where, key, is_sure=False) for key, _ in items if "/" in key or "." in key)
        elif isinstance(value, list):
            pending += [(where, kind, inner) for inner in reversed(cast("list[Any]", value))]


@lru_cache(maxsize=1024)
def kind_of(name: str) -> Literal["path", "text", "variables", "unknown"]:
    """What an argument of this name holds.

    >>> kind_of("source_path"), kind_of("targetFile"), kind_of("old_string"), kind_of("uri")
    ('path', 'path', 'text', 'unknown')
    """
    words = [word.lower() for word in re.findall(_WORDS, name)]
    if not words:
        return "unknown"
    if words[-1] in PATHS or words[-2:] in (["file", "name"], ["path", "name"]):
        return "path"
    if words[-1] in VARIABLES:
        return "variables"
    return "text" if words[-1] in TEXTS else "unknown"


def _is_field(name: str) -> bool:
    """Whether this is the name of an argument rather than of a file."""
    return name.isidentifier() and kind_of(name) != "unknown"


def _read(where: str, kind: str, text: str) -> Named | None:
    if re.match(_WEB, text):
        return None  # however the argument is called, this is no file
    if kind == "path":
        return Named(where, text)
    if kind == "text" or len(text) > _MAX_PATH or "\n" in text:
        return None
    if re.match(_STARTS, text) and not re.search(r"\s", text):
        return Named(where, text)
    if "://" in text or not text.strip():
        return None
    return Named(where, text, is_sure=False, is_weak="/" not in text and "\\" not in text and not text.startswith("."))
