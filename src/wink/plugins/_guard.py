"""Run a plugin's code, whatever it raises and whatever it changes of the process that others rely on."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from wink.errors import PluginError

_LONGEST: Final = 500
"""Characters of a foreign error's message that are told."""


class Failed(PluginError):
    """A plugin's code failed; the original error is its cause."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@contextmanager
def guarded(what: str = "a plugin") -> Generator[None]:
    """Run a plugin's code: whatever it raises becomes `Failed`, except the user's Ctrl-C.

    A current directory that it changes, and entries of `sys.path` that it takes away, are put back and logged: other
    plugins' relative paths and imports would mean something else from then on.
    """
    directory, path = _current_directory(), list(sys.path)
    try:
        yield
    except Failed:
        raise
    except KeyboardInterrupt as error:
        if not _is_raised_by_hand(error):
            raise
        raise Failed(described(error)) from error
    except BaseException as error:  # foreign code
        raise Failed(described(error)) from error
    finally:
        if changed := _put_back(directory, path):
            import logging

            logging.getLogger("wink.plugins").warning("%s changed %s, which was put back", what, " and ".join(changed))


def described(error: BaseException) -> str:
    r"""One line that names an error, whatever its own `__str__` does.

    >>> described(ValueError("two\nlines \x1b[2J"))
    'ValueError: two lines \\x1b[2J'
    """
    try:
        text = str(error)
    except BaseException:  # foreign code
        text = ""
    text = "".join(one if one.isprintable() else _escaped(one) for one in " ".join(text[: 4 * _LONGEST].split()))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _is_raised_by_hand(error: KeyboardInterrupt) -> bool:
    """Whether the plugin's own `raise` made it, and not the user's Ctrl-C.

    Python's handler of SIGINT lets the exception appear between any two instructions of the frame that runs, so the
    innermost one is a `raise` only where somebody wrote it. A handler that somebody else has put there may be written in
    Python and raise by hand: then it is taken for the user's.
    """
    import signal
    from opcode import opmap

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
        return False
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    if innermost is None:
        return False
    return innermost.tb_frame.f_code.co_code[innermost.tb_lasti] == opmap["RAISE_VARARGS"]


def _current_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # it has been deleted


def _put_back(directory: str | None, path: list[str]) -> list[str]:
    """Put back what was changed, and name it."""
    changed: list[str] = []
    if directory is not None and _current_directory() != directory:
        try:
            os.chdir(directory)
        except OSError:  # it has been deleted meanwhile
            pass
        changed.append("the current directory")
    now = list(sys.path)
    if any(entry not in now for entry in path):
        sys.path[:] = [*path, *(entry for entry in now if entry not in path)]
        changed.append("sys.path")
    return changed
