"""Find paths by a pattern, looking only into directories where something can fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wink.errors import PatternError
from wink.filesystem._access import Access
from wink.filesystem._listing import GlobMatch, Listing
from wink.filesystem._walk import check_limit, walk

_MAX_LENGTH: Final = 1000
_MAX_ALTERNATIVES: Final = 64

Name = Callable[[str], bool] | None
"""A test for one name, or None for `**`, which stands for any number of names."""


def glob(
    access: Access, pattern: str, path: str, limit: int, include_git: bool, respect_ignore: bool
) -> Listing[GlobMatch]:
    """The first `limit` paths beneath `path` that fit."""
    check_limit(limit)
    compiled = Pattern(pattern)
    found: list[GlobMatch] = []
    for at in walk(
        access, path, enter=compiled.may_fit_beneath, include_git=include_git, respect_ignore=respect_ignore
    ):
        if compiled.fits(at.below, is_directory=at.kind == "directory"):
            if len(found) == limit:
                return Listing(found, truncated=True)
            found.append(GlobMatch(at.path, at.kind != "directory"))
    return Listing(found)


class Pattern:
    """A pattern over `/`-separated names: `*`, `?`, `[a-z]`, `[!a-z]` within one name, `**` for any number of them,
    `{a,b}` for one of several; a slash at the end asks for directories.

    >>> Pattern("src/**/*.py").fits("src/a/b/c.py"), Pattern("*.py").fits("src/a.py")
    (True, False)
    """

    __slots__ = ("_alternatives", "_directories_only")

    def __init__(self, text: str) -> None:
        if not text or len(text) > _MAX_LENGTH:
            raise PatternError(text, f"is empty or longer than {_MAX_LENGTH} characters")
        if text.startswith("/") or "\\" in text or ".." in text.split("/"):
            raise PatternError(text, "must be relative, with '/' between names and without '..'")
        self._directories_only = text.endswith("/")
        self._alternatives = [_names(one) for one in _expand(text, text)]

    def fits(self, path: str, *, is_directory: bool = False) -> bool:
        """Whether the whole path fits."""
        if self._directories_only and not is_directory:
            return False
        names = path.split("/")
        return any(len(tests) in _reach(tests, names) for tests in self._alternatives)

    def may_fit_beneath(self, directory: str) -> bool:
        """Whether a path beneath a directory can fit."""
        names = directory.split("/")
        return any(min(_reach(tests, names), default=len(tests)) < len(tests) for tests in self._alternatives)


def _reach(tests: list[Name], names: list[str]) -> set[int]:
    """How many tests may be behind us after these names; a set, so that the time is a product and not a power."""
    states = _skip(tests, {0})
    for name in names:
        following: set[int] = set()
        for state in states:
            if state < len(tests):
                test = tests[state]
                if test is None:
                    following.add(state)
                elif test(name):
                    following.add(state + 1)
        states = _skip(tests, following)
        if not states:
            break
    return states


def _skip(tests: list[Name], states: set[int]) -> set[int]:
    """The same states, and those after a `**` that stands for nothing."""
    reached: set[int] = set()
    for state in states:
        reached.add(state)
        while state < len(tests) - 1 and tests[state] is None:
            state += 1
            reached.add(state)
    return reached


def _names(pattern: str) -> list[Name]:
    tests: list[Name] = []
    for name in pattern.split("/"):
        if name in ("", "."):
            continue
        if name == "**":
            if not tests or tests[-1] is not None:
                tests.append(None)
        else:
            tests.append(_test(name))
    if tests and tests[-1] is None:
        # `src/**` means what is in src, at any depth.
        tests.append(bool)
    return tests


def _test(pattern: str) -> Callable[[str], bool]:
    rest = pattern.lstrip("*")
    if not any(wild in rest for wild in "*?["):
        if rest == pattern:
            return pattern.__eq__
        return lambda name: name.endswith(rest)
    import re
    from fnmatch import translate

    try:
        expression = re.compile(translate(pattern))
    except re.error as wrong:
        raise PatternError(pattern, f"is not a pattern: {wrong}") from None
    return lambda name: expression.match(name) is not None


def _expand(pattern: str, whole: str) -> list[str]:
    """The alternatives that braces spell out; braces without a comma are themselves."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        group = _first_group(text)
        if group is None:
            done.append(text)
        else:
            start, end, choices = group
            waiting += [text[:start] + choice + text[end:] for choice in reversed(choices)]
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            raise PatternError(whole, f"has more than {_MAX_ALTERNATIVES} alternatives")
    return done


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    start = text.find("{")
    while start >= 0:
        depth, last, choices = 0, start + 1, list[str]()
        for at in range(start, len(text)):
            if text[at] == "{":
                depth += 1
            elif text[at] == "}":
                depth -= 1
                if depth == 0:
                    if choices:
                        return start, at + 1, [*choices, text[last:at]]
                    break
            elif text[at] == "," and depth == 1:
                choices.append(text[last:at])
                last = at + 1
        start = text.find("{", start + 1)
    return None
