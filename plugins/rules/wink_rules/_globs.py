"""Match names, arguments and commands against globs, in time that grows with the text and not with what it holds.

`fnmatch` writes every `*` so that it is tried once, and a `*` crosses slashes and line breaks: these are texts, not paths.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Final

_WILD: Final = "*?["
_CONTROLS: Final = ";&|<>(){}`$\n\r"
"""What lets a line of the shell do more than the command at its beginning."""
_ASSIGNMENT: Final = r"(?:[A-Za-z_]\w*=\S*\s+)+"
_SEPARATORS: Final = r"[;&|(){}`\n\r]+|\$\("


def is_wild(pattern: str) -> bool:
    """Whether a pattern can fit more than one text."""
    return any(sign in pattern for sign in _WILD)


@lru_cache(maxsize=1024)
def text_glob(pattern: str) -> Callable[[str], bool]:
    """A test for whole texts: `*` any text, `?` one character, `[ab]` and `[!ab]` one of them or none.

    >>> text_glob("git *")("git log -1"), text_glob("git *")("git")
    (True, False)
    """
    if not is_wild(pattern):
        return pattern.__eq__
    head = pattern.removesuffix("*")
    if not is_wild(head):
        return lambda text: text.startswith(head)
    expression = re.compile(translate(pattern))
    return lambda text: expression.match(text) is not None


def fits_any(patterns: Iterable[str], text: str) -> bool:
    """Whether one of these patterns fits, and none of those that begin with `!`.

    >>> fits_any(("*", "!read_*"), "write_file"), fits_any(("*", "!read_*"), "read_file")
    (True, False)
    """
    found = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if text_glob(pattern[1:])(text):
                return False
        elif not found:
            found = text_glob(pattern)(text)
    return found


def allows_command(pattern: str, text: str) -> bool:
    r"""Whether a pattern that allows fits a shell's line: a `*` stands for nothing that begins another command.

    >>> allows_command("git *", "git log"), allows_command("git *", "git log; rm -r ."), allows_command("git *", "git log > x")
    (True, False, False)
    """
    return text_glob(pattern)(text) and all(text.count(sign) <= pattern.count(sign) for sign in _CONTROLS)


def commands_in(text: str) -> Sequence[str]:
    """The line itself and what a shell could take for commands in it, each without variables set in front and odd spaces.

    >>> commands_in("git status && CI=1  git   push")
    ('git status && CI=1  git   push', 'git status && CI=1 git push', 'git status', 'git push')
    """
    pieces = (" ".join(piece.split()) for piece in re.split(_SEPARATORS, text))
    plain = (re.sub(rf"^{_ASSIGNMENT}", "", piece) for piece in pieces)
    return tuple(dict.fromkeys((text, " ".join(text.split()), *filter(None, plain))))
