"""Tell which files a tree's `.gitignore` files ignore, as git does, reading them when a walk comes by.

Anybody may write such a file, so its size is bounded and RE2 matches it, in time that is linear in the length of a name.
What is ignored by a directory's own name cannot be taken back beneath it, as in git. Files that git tracks all the same
are ignored here: no index is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

if TYPE_CHECKING:
    from wink.filesystem._ignore_lines import IgnoreLine
    from wink.filesystem._store import Store

_MAX_BYTES: Final = 1 << 17
_MAX_LINES: Final = 2000
_AT_ONCE: Final = 200
"""RE2 does not take all the lines of a very long file together."""


class Ignored:
    """What is ignored in a tree; `.git/info/exclude` counts, too, and everything else of git's settings does not.

    Ask for paths in the order of a walk: what is known of directories is forgotten when the walk has left them.
    """

    __slots__ = ("_levels", "_store")

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        rules = (_rules(store, ".gitignore", 0), _rules(store, ".git/info/exclude", 0))
        self._levels = [_Level("", tuple(one for one in rules if one is not None), is_ignored=False)]

    def covers(self, path: str, *, is_directory: bool) -> bool:
        """Whether a path is ignored, or a directory above it."""
        level = self._at(path.rpartition("/")[0])
        return level.is_ignored or _decide(level.rules, path, is_directory)

    def _at(self, directory: str) -> _Level:
        levels = self._levels
        while not _is_within(directory, levels[-1].directory):
            levels.pop()
        while (top := levels[-1]).directory != directory and not top.is_ignored:
            begin = len(top.directory) + 1 if top.directory else 0
            end = directory.find("/", begin)
            inner = directory if end < 0 else directory[:end]
            is_ignored = _decide(top.rules, inner, is_directory=True)
            own = None if is_ignored else _rules(self._store, f"{inner}/.gitignore", len(_encoded(inner)) + 1)
            levels.append(_Level(inner, top.rules if own is None else (own, *top.rules), is_ignored))
        return levels[-1]


class _Level(NamedTuple):
    """A directory on the way to where the walk is, with the rules that hold in it, the nearest first."""

    directory: str
    rules: tuple[_Rules, ...]
    is_ignored: bool


class _Rules:
    """The lines of one file, and how many bytes of a path come before what they are about."""

    __slots__ = ("_groups", "_prefix")

    def __init__(self, lines: list[IgnoreLine], prefix: int) -> None:
        self._prefix = prefix
        # The last line that has something to say decides, so the last group is asked first.
        self._groups = [group for at in range(0, len(lines), _AT_ONCE) for group in _groups(lines[at : at + _AT_ONCE])][
            ::-1
        ]

    def verdict(self, path: bytes, is_directory: bool) -> bool | None:
        """What the last line says that fits; None when none does."""
        name = path[self._prefix :]
        for lines, fits in self._groups:
            for at in sorted(cast("list[int]", fits.Match(name) or []), reverse=True):
                if is_directory or not lines[at].directories_only:
                    return not lines[at].takes_back
        return None


def _decide(rules: tuple[_Rules, ...], path: str, is_directory: bool) -> bool:
    if not rules:
        return False
    encoded = _encoded(path)
    for one in rules:
        verdict = one.verdict(encoded, is_directory)
        if verdict is not None:
            return verdict
    return False


def _rules(store: Store, path: str, prefix: int) -> _Rules | None:
    """The rules of a file; None where there is none. Links are not followed, which git does not do either."""
    try:
        if store.node(path, follow=False).kind != "file":
            return None
        stream, node = store.open(path)
    except OSError:
        return None
    with stream:
        text = stream.read(min(node.size, _MAX_BYTES))
    from wink.filesystem._ignore_lines import ignore_lines

    lines = ignore_lines(text)[:_MAX_LINES]
    return _Rules(lines, prefix) if lines else None


def _groups(lines: list[IgnoreLine]) -> list[tuple[list[IgnoreLine], Any]]:
    """Lines that are matched together."""
    from importlib import import_module

    re2: Any = import_module("re2")  # has no types
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # git compares bytes
    options.dot_nl = True
    options.log_errors = False
    options.max_mem = 64 << 20
    fits: Any = re2.Set.FullMatchSet(options)
    try:
        for line in lines:
            fits.Add(line.expression)
        fits.Compile()
        fits.Match(b"")
    except re2.error:
        if len(lines) == 1:
            return []  # one that RE2 cannot hold
        half = len(lines) // 2
        return _groups(lines[:half]) + _groups(lines[half:])
    return [(lines, fits)]


def _encoded(path: str) -> bytes:
    return path.encode(errors="surrogateescape")


def _is_within(directory: str, other: str) -> bool:
    return not other or directory == other or directory.startswith(other + "/")
