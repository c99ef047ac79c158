"""Tell whether a path fits a pattern, name by name, so that a walk need not go where nothing can fit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from wink.errors import PatternError

_MAX_LENGTH: Final = 1000
_MAX_ALTERNATIVES: Final = 64
_MAX_TESTS: Final = 256

Test = Callable[[str], bool] | None
"""A test for one name, or None for `**`, which stands for any number of names."""


class Pattern:
    """A pattern over `/`-separated names: `*`, `?`, `[a-z]`, `[!a-z]` within one name, `**` for any number of them,
    `{a,b}` for one of several; a slash at the end asks for directories.

    It is an automaton whose state is the bits of a number: bit n says that all tests before test n may be behind us. So
    a name costs one look at each test, however many ways lead to it.

    >>> Pattern("src/**/*.py").fits("src/a/b/c.py"), Pattern("*.py").fits("src/a.py")
    (True, False)
    """

    __slots__ = ("_directories_only", "_end", "_moves", "start")

    def __init__(self, text: str) -> None:
        if not text or len(text) > _MAX_LENGTH:
            raise PatternError(text, f"is empty or longer than {_MAX_LENGTH} characters")
        if text.startswith("/") or "\\" in text or ".." in text.split("/"):
            raise PatternError(text, "must be relative, with '/' between names and without '..'")
        self._directories_only = text.endswith("/")
        self._moves: list[tuple[int, Test, int]] = []
        self.start = self._end = first = 0
        for alternative in _expand(text, text):
            tests = _tests(alternative)
            # Where the automaton may be at the same moment: after a `**` that stands for nothing, too.
            reached = [0] * (len(tests) + 1)
            for at in range(len(tests), -1, -1):
                reached[at] = 1 << (first + at)
                if at < len(tests) and tests[at] is None:
                    reached[at] |= reached[at + 1]
            for at, test in enumerate(tests):
                self._moves.append((1 << (first + at), test, reached[at if test is None else at + 1]))
            self.start |= reached[0]
            self._end |= 1 << (first + len(tests))
            first += len(tests) + 1
        if len(self._moves) > _MAX_TESTS:
            raise PatternError(text, f"has more than {_MAX_TESTS} names in all its alternatives")

    def step(self, state: int, name: str) -> int:
        """The state after one more name; 0 when nothing can fit any more."""
        after = 0
        for bit, test, reached in self._moves:
            if state & bit and (test is None or test(name)):
                after |= reached
        return after

    def is_end(self, state: int, *, is_directory: bool = False) -> bool:
        """Whether the names until here fit."""
        return state & self._end != 0 and (is_directory or not self._directories_only)

    def may_go_on(self, state: int) -> bool:
        """Whether something beneath can fit."""
        return state & ~self._end != 0

    def fits(self, path: str, *, is_directory: bool = False) -> bool:
        """Whether a whole path fits."""
        state = self.start
        for name in path.split("/"):
            state = self.step(state, name)
        return self.is_end(state, is_directory=is_directory)


def _tests(pattern: str) -> list[Test]:
    tests: list[Test] = []
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
    """The leftmost braces with a comma in them: where they begin and end, and what they offer."""
    found: tuple[int, int, list[int]] | None = None
    unclosed: list[tuple[int, list[int]]] = []
    for at, letter in enumerate(text):
        if letter == "{":
            unclosed.append((at, []))
        elif letter == "," and unclosed:
            unclosed[-1][1].append(at)
        elif letter == "}" and unclosed:
            start, commas = unclosed.pop()
            if commas and (found is None or start < found[0]):
                found = start, at + 1, commas
    if found is None:
        return None
    start, end, commas = found
    bounds = [start, *commas, end - 1]
    return start, end, [text[low + 1 : high] for low, high in pairwise(bounds)]
