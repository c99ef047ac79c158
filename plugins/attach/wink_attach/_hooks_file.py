"""Put hooks into a file of JSON settings beside what is there, and take out exactly those again.

A hook is wink's when its command runs wink's own client, by the path at which this user's wink keeps it. One that only has
wink in its name is somebody else's: it stays, and counts for nothing.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from typing import Any, Final, cast

from wink.bounded import content
from wink.cli import wrong
from wink_attach._agent import Edit
from wink_attach._place import client_path

_MOST: Final = 1 << 20


def edited(path: str, hooks: Mapping[str, Any], *, is_beneath: bool = False) -> Edit:
    """The file with these hooks, one group for an event, in the place of wink's that are in it; of none, without them.

    One that `is_beneath` lies in a workspace, where its directory must be no link.

    Raises `WrongInput` for what is no JSON object, and for a link or another thing that is no file.
    """
    if is_beneath and os.path.islink(os.path.dirname(path)):
        raise wrong(
            f"{os.path.dirname(path)} is a link, and hooks are not written through links; put a directory there"
        )
    before = read_settings(path)
    settings = parsed(path, before)
    found: dict[str, Any] = {}
    for event, groups in _groups(path, settings).items():
        left = [kept for group in groups if (kept := _without_ours(group)) is not None]
        if left or event in hooks:
            found[event] = left
    for event, group in hooks.items():
        found.setdefault(event, []).append(group)
    after = {key: value for key, value in settings.items() if key != "hooks"}
    if found:
        after["hooks"] = found
    if after == settings:
        return Edit(path, before, before, is_beneath)
    if not after and not hooks:
        return Edit(path, before, None, is_beneath)
    return Edit(path, before, json.dumps(after, indent=2, ensure_ascii=False) + "\n", is_beneath)


def parsed(path: str, content: str | None) -> dict[str, Any]:
    """The settings in a file; raises `WrongInput`."""
    try:
        found: Any = json.loads(content) if content and content.strip() else {}
    except (ValueError, RecursionError):
        raise wrong(f"{path} is no JSON; mend it first, or move it away") from None
    if not isinstance(found, dict):
        raise wrong(f"{path} is no JSON object; mend it first, or move it away")
    return cast("dict[str, Any]", found)


def read_settings(path: str) -> str | None:
    """What a file of settings holds, None where there is none; raises `WrongInput`."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise wrong(f"{path} is no file of its own, and hooks are not written through links; put a file there")
    try:
        return content(path, most=_MOST).decode()
    except (OSError, ValueError) as error:
        raise wrong(f"{path} cannot be read: {error}") from None


def write_settings(edit: Edit) -> None:
    """Make a file hold what it is to hold, atomically, unless it has changed since it was read; raises `WrongInput`."""
    if read_settings(edit.path) != edit.before:
        raise wrong(f"{edit.path} has changed in this moment; try again")
    if edit.after is None:
        if edit.before is not None:
            os.unlink(edit.path)
        return
    directory = os.path.dirname(edit.path)
    os.makedirs(directory, exist_ok=True)
    if edit.is_beneath and os.path.islink(directory):
        raise wrong(f"{directory} is a link, and hooks are not written through links; put a directory there")
    mode = stat.S_IMODE(os.lstat(edit.path).st_mode) if edit.before is not None else 0o600
    place = f"{edit.path}.wink-{os.getpid()}"
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w", encoding="utf-8") as stream:
            stream.write(edit.after)
        os.chmod(place, mode)
        os.replace(place, edit.path)
    except BaseException:
        os.unlink(place)
        raise


def _groups(path: str, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    hooks: Any = settings.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(one, list) for one in cast("dict[str, Any]", hooks).values()):
        raise wrong(f"{path}: hooks are not as the agent wants them; mend them first")
    return cast("dict[str, list[Any]]", hooks)


def _without_ours(group: Any) -> Any:
    """A group of hooks without wink's, None where nothing else was in it."""
    hooks: Any = cast("dict[str, Any]", group).get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list):
        return group  # pyright: ignore[reportUnknownVariableType]
    left = [one for one in cast("list[Any]", hooks) if not _is_ours(one)]
    if len(left) == len(cast("list[Any]", hooks)):
        return group  # pyright: ignore[reportUnknownVariableType]
    return {**cast("dict[str, Any]", group), "hooks": left} if left else None


def _is_ours(hook: Any) -> bool:
    command: Any = cast("dict[str, Any]", hook).get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and client_path() in command
