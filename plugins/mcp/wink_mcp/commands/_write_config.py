"""Put the snippet for a client into the file that it reads in the workspace, beside everything that is there.

The file may have been made by an agent: no link is followed on the way to it, what is no JSON is left to the person, and the
file is replaced in one step.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

from wink.bounded import SETTINGS, content_of
from wink.cli import shown_path, wrong
from wink.cli.json_text import Change, Part, applied, parts, plain, top, with_members, without
from wink.state import opened_directory, replace_file
from wink_mcp.clients import ClientConfig

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STARTED: Final = frozenset(("command", "args", "env", "environment", "cwd"))
_REACHED: Final = frozenset(("url", "httpUrl", "headers", "oauth"))
"""What an entry says of a server that the client starts, and of one at an address: it is one or the other."""


def write_config(workspace: str, config: ClientConfig, *, is_secret: bool) -> str:
    """Put it into the client's file, and say what was written; with `is_secret`, nobody else can read the file then.

    Raises `WrongInput` for a file that is none, or is no JSON, or has another server of this name, which is left as it is.
    """
    wanted = cast("dict[str, Any]", json.loads(config.text))
    shown = shown_path(config.file)
    with _directory_of(workspace, config.file) as directory:
        name = os.path.basename(config.file)
        before, mode = _read(directory, name, shown)
        after, others = merged(shown, before, wanted)
        mode &= 0o700 if is_secret else 0o777
        server = f"the server {_server(wanted)[1]!r}{f', beside {others} more' if others else ''}"
        if after == before:
            return f"{shown} has it already: {server}"
        data = after.encode()
        if len(data) > SETTINGS:
            raise wrong(f"{shown} would be longer than {SETTINGS} bytes; make it shorter first")
        if _read(directory, name, shown)[0] != before:
            raise wrong(f"{shown} has changed in this moment; try again")
        replace_file(directory, name, data)  # for this user alone
        with suppress(OSError):
            _give(directory, name, mode)
    return f"wrote {shown}: {server}"


def merged(shown: str, before: str | None, wanted: Mapping[str, Any]) -> tuple[str, int]:
    """The text with what is wanted, and how many other servers are in it.

    >>> print(merged("it", '{"servers": {"a": {}}} // mine', {"servers": {"wink": {"url": "/mcp"}}})[0])
    {"servers": {"a": {}, "wink": {"url": "/mcp"}}} // mine
    """
    key, name = _server(wanted)
    if before is None or not before.strip():
        return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n", 0
    servers = _object(shown, before, _read_json(shown, before), key)
    entry: Any = servers.get(name)
    if entry is not None and not _is_ours(entry):
        raise wrong(f"{shown} has a server {name!r} already that is none of wink's; give it another name first")
    text = before
    if entry is not None:
        other = _REACHED if "command" in wanted[key][name] else _STARTED
        text = _without_other(text, (key, name), other)
    if not plain(text).text.strip():  # nothing but comments
        return text + json.dumps(wanted, indent=2, ensure_ascii=False) + "\n", 0
    bare = plain(text)
    known = {part.key for part in parts(bare.text, top(bare.text))}
    wanted = {one: value for one, value in wanted.items() if one == key or one not in known}
    return applied(text, _put(bare.text, top(bare.text), wanted, bare.commas)), len(servers.keys() - {name})


def _server(wanted: Mapping[str, Any]) -> tuple[str, str]:
    """The key that servers are under, and the name of the one that is wanted."""
    servers = {key: cast("dict[str, Any]", value) for key, value in wanted.items() if isinstance(value, dict)}
    return next((key, next(iter(named))) for key, named in servers.items())


def _put(text: str, at: int, wanted: Mapping[str, Any], commas: frozenset[int]) -> list[Change]:
    """The changes by which the object that begins there has these members, and what else it has, too."""
    found = {part.key: part for part in parts(text, at)}
    changes = with_members(text, at, {key: value for key, value in wanted.items() if key not in found}, commas)
    for key, value in wanted.items():
        part = found.get(key)
        if part is None or part.value == value:
            continue
        if isinstance(value, dict) and isinstance(part.value, dict):
            changes += _put(text, part.at, cast("dict[str, Any]", value), commas)
        else:
            changes.append(Change(part.at, part.end, json.dumps(value)))
    return changes


def _without_other(text: str, path: tuple[str, ...], gone: frozenset[str]) -> str:
    """The text without what the entry says of a server of the other kind."""
    bare = plain(text).text
    at = top(bare)
    for key in path:
        at = _part(bare, at, key).at
    return applied(text, without(bare, at, {number for number, part in enumerate(parts(bare, at)) if part.key in gone}))


def _part(text: str, at: int, key: str) -> Part:
    return next(part for part in parts(text, at) if part.key == key)


def _is_ours(entry: object) -> bool:
    """Whether an entry starts, or leads to, a `wink serve`."""
    if not isinstance(entry, dict):
        return False
    known = cast("dict[str, Any]", entry)
    words = [known.get("command"), known.get("args")]
    told = [word for one in words for word in (cast("list[Any]", one) if isinstance(one, list) else [one])]
    address = known.get("url", known.get("httpUrl"))
    return "serve" in told or (isinstance(address, str) and address.endswith("/mcp"))


def _read_json(shown: str, text: str) -> dict[str, Any]:
    bare = plain(text).text
    if not bare.strip():
        return {}
    try:
        found: Any = json.loads(bare)
    except (ValueError, RecursionError) as error:
        where = f": {error}" if isinstance(error, json.JSONDecodeError) else ""
        raise wrong(f"{shown} is no JSON{where}; fix it first, or move it away") from None
    if not isinstance(found, dict):
        raise wrong(f"{shown} is no JSON object; fix it first, or move it away")
    return cast("dict[str, Any]", found)


def _object(shown: str, text: str, found: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The servers by their names; what stands there twice, or is no object, is not for wink to make sense of."""
    servers: Any = found.get(key, {})
    if not isinstance(servers, dict):
        raise wrong(f"{key!r} in {shown} is no object of servers; fix it first")
    bare = plain(text).text
    outer = parts(bare, top(bare)) if found else []
    inner = [one for part in outer if part.key == key for one in parts(bare, part.at)]
    for level in (outer, inner):
        twice = next((one for one, count in Counter(part.key for part in level).items() if count > 1), None)
        if twice is not None:
            raise wrong(f"{shown} has {twice!r} twice in one object; fix it first")
    return cast("dict[str, Any]", servers)


def _read(directory: int, name: str, shown: str) -> tuple[str | None, int]:
    """What the file holds, None where there is none, and the permissions that it has, or a new one gets."""
    try:
        fd = os.open(name, _READ, dir_fd=directory)
    except FileNotFoundError:
        umask = os.umask(0o077)
        os.umask(umask)
        return None, 0o666 & ~umask
    except OSError as error:
        raise wrong(f"{shown} cannot be read: {_reason(error)}") from None
    try:
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        return content_of(fd, shown, SETTINGS).decode(), mode & 0o777
    except OSError as error:
        raise wrong(f"{shown} cannot be read: {_reason(error)}") from None
    except ValueError:
        raise wrong(f"{shown} is no UTF-8 text; fix it first, or move it away") from None


def _give(directory: int, name: str, mode: int) -> None:
    """Give a file its permissions."""
    fd = os.open(name, _READ, dir_fd=directory)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


@contextmanager
def _directory_of(workspace: str, file: str) -> Generator[int]:
    """The directory that a file of the workspace is in, which is made where there is none."""
    with opened_directory(os.path.realpath(workspace)) as at:
        above = os.path.dirname(file)
        if not above:
            yield at
            return
        with suppress(FileExistsError):
            os.mkdir(above, dir_fd=at)
        try:
            fd = os.open(above, _DIRECTORY, dir_fd=at)
        except OSError as error:
            raise wrong(f"{shown_path(above)} cannot be opened: {_reason(error)}") from None
        try:
            yield fd
        finally:
            os.close(fd)


def _reason(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
        return "it is a link, or no directory, and nothing is written through links; put a plain one there"
    return error.strerror or str(error)
