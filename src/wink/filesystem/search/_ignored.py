"""Tell which files a tree's `.gitignore` files ignore, as git does (gitignore(5); dir.c and wildmatch.c in its source).

Anybody may write such a file, so its size is bounded and RE2 matches it, in time that is linear in the length of a name.
What is ignored by a directory's own name cannot be taken back beneath it, as in git. Files that git tracks all the same
are ignored here: no index is read.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

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


class IgnoreRules:
    """Lines as those of a `.gitignore`, about paths relative to one directory.

    >>> built = IgnoreRules(["build/", "*.pyc", "!keep.pyc"])
    >>> [built.covers(path) for path in ("build/a.txt", "build", "src/a.pyc", "src/keep.pyc")]
    [True, False, True, False]
    """

    __slots__ = ("_rules",)

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules: Final = (_Rules(ignore_lines(_encoded("\n".join(lines))), 0),)

    def covers(self, path: str, *, is_directory: bool = False) -> bool:
        """Whether a path is ignored, or a directory above it."""
        above = (path[:at] for at, letter in enumerate(path) if letter == "/")
        return any(_decide(self._rules, one, is_directory=True) for one in above) or _decide(
            self._rules, path, is_directory
        )


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


_MOST_STARS: Final = 32
_SPECIAL: Final = b"*?[\\"
_CLASSES: Final = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, (*range(32), 127))),
    b"digit": string.digits,
    b"graph": string.ascii_letters + string.digits + string.punctuation,
    b"lower": string.ascii_lowercase,
    b"print": string.ascii_letters + string.digits + string.punctuation + " ",
    b"punct": string.punctuation,
    b"space": " \t\n\r\v\f",
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}


class IgnoreLine(NamedTuple):
    """One rule: a regular expression over the bytes of a path, relative to the file that it stands in."""

    expression: bytes
    takes_back: bool = False
    directories_only: bool = False


def ignore_lines(text: bytes) -> list[IgnoreLine]:
    r"""The rules in the text of a file; what can never match is left out.

    >>> for line in ignore_lines(b"# built\n/build/\n!*.py\n"):
    ...     print(line)
    IgnoreLine(expression=b'build', takes_back=False, directories_only=True)
    IgnoreLine(expression=b'(?:.*/)?[^/]*\\x2epy', takes_back=True, directories_only=False)
    """
    found: list[IgnoreLine] = []
    for whole in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = _without_spaces(whole.removesuffix(b"\r"))
        if not line or line.startswith(b"#") or line.count(b"*") > _MOST_STARS:
            continue
        takes_back = line.startswith(b"!")
        line = line[takes_back:]
        directories_only = line.endswith(b"/")
        line = line[:-1] if directories_only else line
        expression = _beneath(line) if b"/" in line else _by_name(line)
        if expression is not None:
            found.append(IgnoreLine(expression, takes_back, directories_only))
    return found


def _without_spaces(line: bytes) -> bytes:
    """Spaces at the end do not count, unless there is a backslash before them."""
    end = at = 0
    while at < len(line):
        if line[at : at + 1] == b"\\":
            at += 1
            if at == len(line):
                return line
            end = at + 1
        elif line[at : at + 1] != b" ":
            end = at + 1
        at += 1
    return line[:end]


def _by_name(pattern: bytes) -> bytes | None:
    """A pattern without a slash is about names at any depth."""
    expression = _translated(pattern, 0) if pattern else None
    return None if expression is None else b"(?:.*/)?" + expression


def _beneath(pattern: bytes) -> bytes | None:
    """A pattern with a slash is about paths from the file's own directory on."""
    pattern = pattern.removeprefix(b"/")
    # What comes before the first wildcard is compared by itself, so that two stars right after it are at a beginning.
    plain = next((at for at in range(len(pattern)) if pattern[at] in _SPECIAL), len(pattern))
    return _translated(pattern, plain)


def _translated(pattern: bytes, beginning: int) -> bytes | None:
    out: list[bytes] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at : at + 1]
        at += 1
        if letter == b"\\":
            if at == len(pattern):
                return None
            out.append(_literal(pattern[at]))
            at += 1
        elif letter == b"?":
            out.append(b"[^/]")
        elif letter == b"*":
            stars = at - 1
            while pattern[at : at + 1] == b"*":
                at += 1
            rest = pattern[at:]
            is_alone = stars in (0, beginning) or pattern[stars - 1 : stars] == b"/"
            if at - stars < 2 or not is_alone or not (rest[:1] in (b"", b"/") or rest[:2] == b"\\/"):
                out.append(b"[^/]*")
            elif rest[:1] == b"/":
                out.append(b"(?:.*/)?")
                at += 1
            else:
                out.append(b".*")
        elif letter == b"[":
            members, at = _members(pattern, at)
            if not members:
                return None
            out.append(b"[" + b"".join(b"\\x%02x" % one for one in sorted(members)) + b"]")
        else:
            out.append(_literal(letter[0]))
    return b"".join(out)


def _members(pattern: bytes, at: int) -> tuple[set[int], int]:
    """The bytes that a bracket stands for, never a slash, and where it ends; none for one that is never closed."""
    is_negated = pattern[at : at + 1] in (b"!", b"^") and at < len(pattern)
    at += is_negated
    members: set[int] = set()
    previous = 0
    is_first = True
    while is_first or pattern[at : at + 1] != b"]":
        is_first = False
        if at >= len(pattern):
            return set(), at
        one = pattern[at]
        if one == ord("\\"):
            at += 1
            if at >= len(pattern):
                return set(), at
            one = pattern[at]
            members.add(one)
        elif one == ord("-") and previous and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 1 + (pattern[at + 1 : at + 2] == b"\\")
            if at >= len(pattern):
                return set(), at
            members.update(range(previous, pattern[at] + 1))
            one = 0
        elif pattern[at : at + 2] == b"[:":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                return set(), at
            if end - at - 3 < 0 or pattern[end - 1 : end] != b":":
                members.add(one)
            else:
                named = _CLASSES.get(pattern[at + 2 : end - 1])
                if named is None:
                    return set(), at
                members.update(named.encode())
                one, at = 0, end
        else:
            members.add(one)
        previous = one
        at += 1
    members = set(range(1, 256)) - members if is_negated else members
    return members - {ord("/")}, at + 1


def _literal(byte: int) -> bytes:
    letter = bytes((byte,))
    return letter if letter.isalnum() or letter in b"/_" else b"\\x%02x" % byte
