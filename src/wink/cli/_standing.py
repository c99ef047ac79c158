"""Say where a person stands in the workspace of a command: which one it is, and its paths as they are seen from there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import click

from wink.cli._upward import workspace_here
from wink.cli._wrong import wrong
from wink.errors import MergeConflict, MergeRefused, NothingTried, TryConflict, UndoConflict, WinkError
from wink.trust import is_inside

F = TypeVar("F", bound=Callable[..., Any])

_TYPE: Final = r"[\w.]+:[\w.<>]+"
"""How a type of session state is named among the paths that an undo conflicts at."""


class Standing(NamedTuple):
    """The real path of the workspace, where the current directory is in it (`""` for at its top or outside), and whether it is outside."""

    root: str = ""
    inside: str = ""
    is_outside: bool = False


_now = Standing()


def workspace_option(command: F) -> F:
    """The option of every command on a workspace, and how it is found without it."""
    return click.option(
        "--workspace",
        default=workspace_here,
        callback=_stand,
        metavar="DIR",
        help="The workspace, exactly this directory; otherwise it is found from the current one upward.",
    )(command)


def stand_anew() -> None:
    """Forget where the command before this one stood."""
    global _now
    _now = Standing()


def shown_workspace() -> str:
    """The workspace for a person: its path from where they stand, in full where they stand outside of it."""
    from wink.filesystem import quoted_path

    return quoted_path(_now.root if _now.is_outside else os.path.relpath("/", f"/{_now.inside}"))


def named_path(path: str) -> str:
    """A path of the workspace that a person has typed, which is relative to where they stand, or absolute.

    It need not exist. Raises `WrongInput` for one that leads out of the workspace.
    """
    if not _now.inside and not os.path.isabs(path):
        return path
    full = os.path.normpath(f"/{os.path.join(_now.root, _now.inside, path).lstrip('/')}")
    if not is_inside(full, _now.root):  # it may have come to the workspace by a link above it
        full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
    if not _now.root or not is_inside(full, _now.root):
        raise wrong(f"{path!r} is outside the workspace {_now.root!r}; name a path inside it")
    return os.path.relpath(full, _now.root)


def shown_path(path: str) -> str:
    """A path of the workspace for a person: relative to where they stand, and quoted as git does."""
    from wink.filesystem import quoted_path

    return quoted_path(_from_here(path))


def told(error: WinkError) -> str:
    """What an error says to a person, with the paths as they are seen from where they stand."""
    if not _now.inside:
        return str(error)
    match error:
        case TryConflict():
            error = TryConflict(error.name, _all_from_here(error.paths), _calls_from_here(error.calls))
        case MergeConflict():
            error = MergeConflict(_all_from_here(error.paths), _calls_from_here(error.calls))
        case MergeRefused():
            error = MergeRefused([(_from_here(path), reason) for path, reason in error.problems])
        case UndoConflict():
            error = UndoConflict(
                [(what if re.fullmatch(_TYPE, what) else _from_here(what), reason) for what, reason in error.conflicts]
            )
        case NothingTried():
            error = NothingTried(_from_here(error.path), error.name)
        case _:
            pass
    return str(error)


def _stand(context: click.Context, option: click.Parameter, value: str) -> str:
    del context, option
    global _now
    root, here = os.path.realpath(value), ""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        pass  # it has been deleted, so it lies nowhere
    inside = os.path.relpath(here, root) if here != root and is_inside(here, root) else ""
    _now = Standing(root, inside, here != root and not inside)
    return value


def _from_here(path: str) -> str:
    return os.path.relpath(f"/{path}", f"/{_now.inside}") if _now.inside else path


def _all_from_here(paths: Sequence[str]) -> list[str]:
    return [_from_here(path) for path in paths]


def _calls_from_here(calls: Mapping[str, int]) -> dict[str, int]:
    return {_from_here(path): call for path, call in calls.items()}
