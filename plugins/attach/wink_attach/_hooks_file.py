"""Put hooks into a file of JSON settings beside what is there, and take out exactly those again.

A hook is wink's when its command is, to the letter, the one that wink writes for this event in this place, or has written there
before: what leads back is remembered with the user, never in the workspace. One that only has wink in it is somebody else's: it
stays, and counts for nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

from wink.bounded import content
from wink.cli import wrong
from wink.cli.json_text import Change, applied, inverse, parts, plain, top, with_items, with_members, without
from wink_attach._agent import Edit
from wink_attach._place import home_of_ours, hook_command, identity, made_private, write_own

_MOST: Final = 1 << 20


class _Memory(NamedTuple):
    """What is known of a file that hooks were written into.

    `digest` is that of what it held then, `back` leads from there to what it held before, and `is_made` says that there was no
    file. `kept` are the events, and "" for all of the hooks, that stood there already, `commands` what wink has written.
    `above` are the directories that had to be made for it, the innermost first.
    """

    digest: str = ""
    back: tuple[Change, ...] = ()
    is_made: bool = False
    kept: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    above: tuple[str, ...] = ()


class _Ours(NamedTuple):
    """Which hooks are wink's."""

    agent: str
    root: str | None
    memory: _Memory

    def has(self, event: str, hook: Any) -> bool:
        """Whether this hook of an event is one of them."""
        if not isinstance(hook, dict):
            return False
        known = cast("dict[str, Any]", hook)
        command: Any = known.get("command")
        if known.get("type") != "command" or not isinstance(command, str):
            return False
        return command == hook_command(self.agent, event, self.root) or command in self.memory.commands


def edited(path: str, hooks: Mapping[str, Any], *, agent: str, root: str | None = None) -> Edit:
    """The file with these hooks, one group for an event, in the place of wink's that are in it; of none, without them.

    Wink's are those with the command that wink writes for this agent's event. With `root`, a workspace, the file lies in it,
    and its directory must be no link. What else is in the file keeps its bytes.

    Raises `WrongInput` for what is no JSON object, and for a link or another thing that is no file.
    """
    is_beneath = root is not None
    if is_beneath and os.path.islink(os.path.dirname(path)):
        raise wrong(
            f"{os.path.dirname(path)} is a link, and hooks are not written through links; put a directory there"
        )
    before = read_settings(path)
    found = _groups(path, before)
    ours = _Ours(agent, root, _remembered(path))
    if hooks and _is_whole(found, hooks, ours):
        return Edit(path, before, before, is_beneath)
    base = _detached(before, found, ours)
    if not hooks:
        return Edit(path, before, base, is_beneath)
    changes = _attached(base, _groups(path, base), hooks)
    after = applied(base or "", changes)
    if len(after.encode()) > _MOST:
        raise wrong(f"{path} would be longer than {_MOST} bytes; make it shorter first")
    commands = {one["command"] for group in hooks.values() for one in group["hooks"]} | {*ours.memory.commands}
    kept = () if base is None or "hooks" not in parsed(path, base) else ("", *_groups(path, base))
    above = ours.memory.above if before is not None else _missing(path)
    back = tuple(inverse(base or "", changes))
    memory = _Memory(_digest(after), back, base is None, kept, tuple(sorted(commands)), above)
    return Edit(path, before, after, is_beneath, json.dumps(memory._asdict()))


def whole_file(path: str, text: str, *, root: str | None = None, wanted: bool = True) -> Edit:
    """A file that is all wink's, with this text, or unless `wanted` none: what wink has written, this or what is remembered.

    Raises `WrongInput` where another one is to be replaced, and for a link on the way below the workspace `root`.
    """
    directory = path
    while root is not None and (directory := os.path.dirname(directory)) != root:
        if os.path.islink(directory):
            raise wrong(f"{directory} is a link, and hooks are not written through links; put a directory there")
    before, known = read_settings(path), _remembered(path)
    is_ours = before is not None and (before == text or _digest(before) == known.digest)
    if not wanted:
        return Edit(path, before, None if is_ours else before, root is not None)
    if before is not None and not is_ours:
        raise wrong(f"{path} is not as wink has written it; move it away first")
    memory = _Memory(_digest(text), is_made=True, above=_missing(path) if before is None else known.above)
    return Edit(path, before, text, root is not None, json.dumps(memory._asdict()))


def parsed(path: str, content: str | None) -> dict[str, Any]:
    """The settings in a file, which may have comments; raises `WrongInput`."""
    try:
        bare = plain(content or "")
        if bare.commas:
            raise ValueError
        found: Any = json.loads(bare.text) if bare.text.strip() else {}
    except (ValueError, RecursionError):
        raise wrong(f"{path} is no JSON; fix it first, or move it away") from None
    if not isinstance(found, dict):
        raise wrong(f"{path} is no JSON object; fix it first, or move it away")
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
    if edit.after == edit.before:
        return
    memory = _memory_place(edit.path)
    if edit.memory:
        made_private(os.path.dirname(memory))
        write_own(memory, edit.memory)
    if edit.after is not None:
        _write(edit, edit.after)
    elif edit.before is not None:
        os.unlink(edit.path)
        for directory in _remembered(edit.path).above:
            with suppress(OSError):  # somebody has put something else into it
                os.rmdir(directory)
    if not edit.memory and os.path.lexists(memory):
        os.unlink(memory)


def _write(edit: Edit, text: str) -> None:
    directory = os.path.dirname(edit.path)
    os.makedirs(directory, exist_ok=True)
    if edit.is_beneath and os.path.islink(directory):
        raise wrong(f"{directory} is a link, and hooks are not written through links; put a directory there")
    mode = stat.S_IMODE(os.lstat(edit.path).st_mode) if edit.before is not None else 0o600
    place = f"{edit.path}.wink-{os.getpid()}"
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        os.chmod(place, mode)
        os.replace(place, edit.path)
    except BaseException:
        os.unlink(place)
        raise


def _attached(base: str | None, found: Mapping[str, list[Any]], hooks: Mapping[str, Any]) -> list[Change]:
    """The changes that put groups of hooks behind those that are there."""
    whole, base = base or "", plain(base or "").text
    if not base.strip():
        text = json.dumps({"hooks": {event: [group] for event, group in hooks.items()}}, indent=2) + "\n"
        is_told = bool(whole.strip())  # by comments alone
        line = "\n" if is_told and not whole.endswith("\n") else ""
        return [Change(len(whole) if is_told else 0, len(whole), line + text)]
    fresh = {event: [group] for event, group in hooks.items() if event not in found}
    place = next((one.at for one in parts(base, top(base)) if one.key == "hooks"), None)
    if place is None:
        return with_members(base, top(base), {"hooks": fresh})
    changes = with_members(base, place, fresh)
    for one in parts(base, place):
        changes += with_items(base, one.at, [hooks[one.key]] if one.key in hooks else [])
    return changes


def _detached(text: str | None, found: Mapping[str, list[Any]], ours: _Ours) -> str | None:
    """The text without wink's hooks and what only they were in; None for no file."""
    if text is None or not any(ours.has(event, one) for event in found for one in _hooks_of(found[event])):
        return text
    memory = ours.memory
    if _digest(text) == memory.digest:
        return None if memory.is_made else applied(text, memory.back)
    bare = plain(text).text
    (at,) = (number for number, one in enumerate(parts(bare, top(bare))) if one.key == "hooks")
    place = parts(bare, top(bare))[at].at
    changes: list[Change] = []
    gone: set[int] = set()
    for number, event in enumerate(parts(bare, place)):
        inner, is_empty = _without_ours(bare, event.at, event.key, ours)
        if is_empty and event.key not in memory.kept:
            gone.add(number)
        else:
            changes += inner
    if gone and len(gone) == len(found) and "" not in memory.kept:
        changes = without(bare, top(bare), {at})
    else:
        changes += without(bare, place, gone)
    left = applied(text, changes)
    return None if memory.is_made and "".join(left.split()) == "{}" else left


def _without_ours(text: str, at: int, event: str, ours: _Ours) -> tuple[list[Change], bool]:
    """The changes that take wink's hooks out of an event's groups, and whether nothing is left of those."""
    changes: list[Change] = []
    gone: set[int] = set()
    groups = parts(text, at)
    for number, group in enumerate(groups):
        hooks = _hooks_of([group.value])
        own = {place for place, one in enumerate(hooks) if ours.has(event, one)}
        if own and len(own) == len(hooks):
            gone.add(number)
        elif own:
            inside = [one.at for one in parts(text, group.at) if one.key == "hooks"][-1]
            changes += without(text, inside, own)
    return changes + without(text, at, gone), bool(gone) and len(gone) == len(groups)


def _is_whole(found: Mapping[str, list[Any]], hooks: Mapping[str, Any], ours: _Ours) -> bool:
    """Whether these hooks, and no others of wink's, are there."""
    for event, groups in found.items():
        own = [one for one in groups if any(ours.has(event, hook) for hook in _hooks_of([one]))]
        if own != ([hooks[event]] if event in hooks else []):
            return False
    return hooks.keys() <= found.keys()


def _hooks_of(groups: list[Any]) -> list[Any]:
    """All hooks of some groups."""
    found: list[Any] = []
    for group in groups:
        hooks: Any = cast("dict[str, Any]", group).get("hooks") if isinstance(group, dict) else None
        found += cast("list[Any]", hooks) if isinstance(hooks, list) else []
    return found


def _groups(path: str, text: str | None) -> dict[str, list[Any]]:
    """The groups of hooks of each event; raises `WrongInput`."""
    settings = parsed(path, text)
    hooks: Any = settings.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(one, list) for one in cast("dict[str, Any]", hooks).values()):
        raise wrong(f"{path}: hooks are not as the agent wants them; fix them first")
    if text and "hooks" in settings:
        bare = plain(text).text
        outer = parts(bare, top(bare))
        inner = parts(bare, next(one.at for one in outer if one.key == "hooks"))
        named = Counter(one.key for one in outer if one.key == "hooks") + Counter(one.key for one in inner)
        twice = next((key for key, count in named.items() if count > 1), None)
        if twice is not None:
            raise wrong(f"{path} has {twice!r} twice in one object; fix it first")
    return cast("dict[str, list[Any]]", hooks)


def _missing(path: str) -> tuple[str, ...]:
    """The directories above a file that are not there, the innermost first."""
    found: list[str] = []
    while (path := os.path.dirname(path)) and not os.path.lexists(path):
        found.append(path)
    return tuple(found)


def _memory_place(path: str) -> str:
    return f"{home_of_ours()}/written/{identity(path)}.json"


def _remembered(path: str) -> _Memory:
    """What is known of a file; nothing where nothing was written by wink, or it cannot be read."""
    try:
        known: dict[str, Any] = json.loads(content(_memory_place(path), most=_MOST))
        known["back"] = tuple(Change(*one) for one in known["back"])
        known["above"] = tuple(known.get("above", ()))
        return _Memory(**known)
    except (OSError, ValueError, TypeError, KeyError):
        return _Memory()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
