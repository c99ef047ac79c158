"""Say which files of settings that a program has left would stop wink's own commands, that of undoing it too."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from wink.bounded import SETTINGS as MOST
from wink.bounded import content_beneath
from wink.filesystem import SETTINGS
from wink_sandbox._merge import Differences
from wink_sandbox._rules import with_parents
from wink_sandbox._upper import Step

SettingsProblem = Callable[[str, bytes], str]
"""Given a file's name and content, what is wrong with it, in a line."""

_STOPS: Final = "would stop every wink command: {}"
_NO_FILE: Final = "it is no regular file"
_ASTRAY: Final = "it is a link that leads out of the workspace, or to another one"
_CLOSED: Final = "its owner may not read it"
_LINKS: Final = 8
_NOTHING: Final[Mapping[str, bytes]] = MappingProxyType({})


def unreadable_settings(
    found: Differences, problem: SettingsProblem, chosen: Mapping[str, bytes] = _NOTHING
) -> Iterator[tuple[str, str]]:
    """The files of settings that no command could go on with, each with the reason; `chosen` has the content of those of which a part is taken."""
    steps = {step.path: step for step in found.steps}  # of what is deleted and made anew, as it is made
    for path, step in steps.items():
        if path.casefold() in SETTINGS and step.kind != "drop":
            reason = _wrong(found, steps, step, partial(problem, path.casefold()), chosen.get(path))
            if reason:
                yield path, _STOPS.format(reason)
    for name in sorted(SETTINGS - steps.keys()):
        changed = _behind(found.overlay.root, name, steps)
        if changed is not None:
            judge = partial(problem, name)
            reason = (
                _ASTRAY if changed.kind == "link" else _wrong(found, steps, changed, judge, chosen.get(changed.path))
            )
            if reason:
                yield changed.path, _STOPS.format(reason)


def _behind(root: str, path: str, steps: Mapping[str, Step]) -> Step | None:
    """What was changed where a file of settings leads to that is a link, and stays one: that file, or a link on the way."""
    for _ in range(_LINKS):
        try:
            target = os.readlink(f"{root}/{path}")
        except OSError:
            return None
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
        for one in sorted({path, *with_parents((path,))} & steps.keys()):
            if steps[one].kind != "drop" and (one == path or steps[one].kind == "link"):
                return steps[one]
    return None


def _wrong(
    found: Differences, steps: Mapping[str, Step], step: Step, problem: Callable[[bytes], str], data: bytes | None
) -> str:
    if step.kind == "directory":
        return _NO_FILE
    if step.kind in ("file", "mode") and step.made is not None and not step.made.st_mode & stat.S_IRUSR:
        return _CLOSED
    if step.kind == "mode":
        return ""
    try:
        if data is None:
            is_link = step.kind == "link"
            data = _led_to(found, steps, step.target) if is_link else _left(found, step.path)
    except FileNotFoundError:
        return ""  # what is not there says nothing
    except OSError as error:
        return error.strerror or str(error)
    return problem(data)


def _led_to(found: Differences, steps: Mapping[str, Step], target: str) -> bytes:
    path = os.path.normpath(target)
    above = with_parents((path,))
    if (
        target.startswith("/")
        or ".." in target.split("/")
        or any(steps[one].kind == "link" for one in above & steps.keys())
    ):
        raise OSError(0, _ASTRAY)
    is_left = path in steps and steps[path].kind == "file"
    return _left(found, path) if is_left else content_beneath(found.overlay.root, path, most=MOST)


def _left(found: Differences, path: str) -> bytes:
    above, name = (found.overlay.upper, path) if not found.merged.get(path) else os.path.split(found.merged[path])
    return content_beneath(above, name, most=MOST)
