"""Tell which paths of a workspace a call's arguments name: exactly those, not what is beneath them or only ends like them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

_COMMANDS: Final = ("command", "cmd", "script")
_TEXTS: Final = ("content", "description", "prompt")
_LONGEST: Final = 4096
_PARSED: Final = 1 << 14
"""Characters of a command up to which its quotes are read; a longer one is cut at everything that is no part of a name."""
_CUT_AT: Final = 1 << 18
_MOST: Final = 1000
_CUT: Final = re.compile(r"[\s;&|<>(){}'\"`$=]+")


def named_paths(
    root: str, directory: str, calls: Iterable[Mapping[str, Any]], mask: Callable[[str], str] = str
) -> tuple[str, ...]:
    """The paths in the workspace at `root` that arguments name; relative ones lead from `directory`.

    They are kept while the call is open, so `mask` takes out of the arguments what must not be.

    >>> found = named_paths("/srv/p", "/srv/p/src", [{"command": "sh -c 'cp ../a.txt b'"}, {"file_path": "/srv/p/d"}])
    >>> [path in found for path in ("a.txt", "src/b", "d", "b", "src/a.txt")]
    [True, True, True, False, False]
    """
    start = directory if directory.startswith("/") else root
    bases = dict.fromkeys((root, os.path.realpath(root)))
    found: dict[str, None] = {}
    for text in islice(dict.fromkeys(_texts(calls, mask)), _MOST):
        whole = os.path.normpath(os.path.join(start, text))
        inside = [whole[len(base) + 1 :] for base in bases if whole.startswith(f"{base}/")]
        if not inside:
            continue
        led = os.path.realpath(whole)  # a link that is written to changes what it leads to
        found.update(dict.fromkeys(inside))
        found.update(dict.fromkeys(led[len(base) + 1 :] for base in bases if led.startswith(f"{base}/")))
    return tuple(found)


def _texts(calls: Iterable[Mapping[str, Any]], mask: Callable[[str], str]) -> Iterator[str]:
    for arguments in calls:
        for name, value in arguments.items():
            texts: list[Any] = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]
            for text in texts:
                if not isinstance(text, str) or "\0" in text or name in _TEXTS:
                    continue
                if name in _COMMANDS:
                    yield from _words(mask(text[:_CUT_AT]))
                elif len(text) < _LONGEST and "\n" not in text:
                    yield mask(text)


def _words(command: str, depth: int = 3) -> Iterator[str]:
    """What could be paths in a command, and in commands that it quotes."""
    try:
        if len(command) > _PARSED:
            raise ValueError
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:
        words = _CUT.split(command)
    for word in words:
        if len(word) < _LONGEST:
            yield word
        if depth and word != command and re.search(r"[\s=]", word):
            yield from (_words(word, depth - 1) if re.search(r"\s", word) else word.split("="))
