"""Patterns over the paths of the workspace: what restricts reaches wider than what allows.

A pattern is one of `Filesystem.glob`, read from the workspace's root. One that denies or asks fits a path however a
filesystem could spell it (`.ENV`, `.env.`, other forms of a letter), and a directory that it names stands for all that
is in it. One that allows, and an exception from one that denies, is taken as it is written.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from wink.errors import PatternError
from wink.filesystem import IGNORABLE, Pattern
from wink_rules._globs import is_wild

_WILD: Final = "*?[{"
_ODD: Final = r"[A-Z:]|[. ](/|$)"
"""What an ASCII path holds that has other spellings."""

Test = Callable[[str], bool]


class PathPatterns:
    """Patterns of one rule, those with a `!` in front being exceptions; their order does not matter.

    `restricts` says whether the rule denies or asks. Raises `PatternError`.

    >>> PathPatterns(["src/**", "!src/generated/**"], restricts=True).fits("SRC/a.py")
    True
    >>> PathPatterns(["src/**", "!src/generated/**"], restricts=True).fits("src/generated/a.py")
    False
    >>> PathPatterns(["docs/**"], restricts=False).fits("DOCS/a.md")
    False
    """

    __slots__ = ("_exceptions", "_kept", "_literal", "_patterns", "_restricts")

    def __init__(self, patterns: Iterable[str], *, restricts: bool) -> None:
        texts = tuple(patterns)
        wanted = [text for text in texts if not text.startswith("!")]
        # An exception widens what it is taken from.
        self._patterns = tuple(_test(text, wide=restricts) for text in wanted)
        self._exceptions = tuple(_test(text[1:], wide=not restricts) for text in texts if text.startswith("!"))
        self._literal = frozenset(folded(text.strip("/")) for text in wanted if not _is_wild(text))
        self._restricts = restricts
        self._kept: dict[str, bool] = {}

    def fits(self, path: str) -> bool:
        """Whether a normalised path is meant; `""` is the root."""
        known = self._kept.get(path)
        if known is None:
            known = self._fits(path)
            if len(self._kept) >= 4096:
                self._kept.clear()
            self._kept[path] = known
        return known

    def names(self, path: str) -> bool:
        """Whether a pattern without wildcards is this path: then a text that only could be a path is one."""
        return folded(path) in self._literal and self.fits(path)

    def _fits(self, path: str) -> bool:
        # A pattern may hold what folding a name takes away, such as a dot at its end.
        wide, narrow = {folded(path), _caseless(path)}, (path,)
        wanted, excepted = (wide, narrow) if self._restricts else (narrow, wide)
        return _any_fits(self._patterns, wanted) and not _any_fits(self._exceptions, excepted)


def problem_with(pattern: str) -> str | None:
    """Why this cannot be a pattern over paths of the workspace."""
    text = pattern.removeprefix("!")
    if text.startswith("/"):
        return f"{pattern!r} begins with '/'; patterns begin at the workspace's root, so leave it out"
    if text.startswith("~") or re.match(r"[A-Za-z]:", text):
        return f"{pattern!r} leads out of the workspace; rules over paths only judge paths in it"
    if text in ("", ".", "./"):
        return f"{pattern!r} is the workspace itself; write '**' for all that is in it"
    if any("**" in name and name != "**" for name in text.split("/")):
        return f"{pattern!r} has a '**' in a name; it stands alone between slashes, as in 'src/**/*.py'"
    for opening, closing in ("[]", "{}"):
        if text.count(opening) != text.count(closing):
            return f"{pattern!r} has a {opening!r} without {closing!r}"
    try:
        _test(text, wide=False)
    except PatternError as error:
        return str(error)
    return None


def _any_fits(tests: Iterable[Test], paths: Iterable[str]) -> bool:
    return any(test(path) for path in paths for test in tests)


def folded(path: str) -> str:
    """One text for all spellings that some filesystem takes for the same path.

    >>> folded("SRC/.Env"), folded("cafe\\u0301") == folded("CAF\\u00c9"), folded(".env::$DATA"), folded(".env. ")
    ('src/.env', True, '.env', '.env')
    """
    if path.isascii() and not re.search(_ODD, path):
        return path
    return "/".join(map(_folded_name, path.split("/")))


@lru_cache(maxsize=4096)
def _folded_name(name: str) -> str:
    plain = _caseless(re.sub(IGNORABLE, "", name))
    return plain.split(":", 1)[0].rstrip(". ") or plain


def _caseless(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).upper().lower().casefold())


def _is_wild(pattern: str) -> bool:
    return is_wild(pattern) or "{" in pattern


def _test(pattern: str, *, wide: bool) -> Test:
    """A test for normalised, and where it is `wide` folded, paths."""
    text = _caseless(pattern) if wide else pattern
    Pattern(text)  # says what is wrong with it
    names = [name for name in text.split("/") if name not in ("", ".")]
    has_all_within = text.endswith("/") or names[-1:] == ["**"]
    while names[-1:] == ["**"]:
        names.pop()
    if not names:
        return lambda path: True  # noqa: ARG005
    body = "/".join(names)
    if wide and not _is_wild(body):
        body = folded(body)
    if wide and not _is_wild(names[-1]):
        has_all_within = True
    if not _is_wild(body):
        if not has_all_within:
            return body.__eq__
        return lambda path: path == body or path.startswith(f"{body}/")
    own = Pattern(body)
    if not has_all_within:
        return lambda path: path != "" and own.fits(path)  # the root has no name that could fit
    within = Pattern(f"{body}/**")
    return lambda path: path != "" and (own.fits(path) or within.fits(path))
