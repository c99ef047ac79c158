"""Keep the key that tells this user's own states from those that somebody else has made."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Final

from wink.errors import StateKeyError

_NAME: Final = "key"
_BYTES: Final = 32
_WRITABLE_BY_OTHERS: Final = 0o022

_known: dict[str, bytes] = {}


def user_directory(environ: Mapping[str, str] | None = None) -> str | None:
    """`wink` in the user's directory for state: `XDG_STATE_HOME`, by default `~/.local/state`; None where there is none."""
    # The library looks for itself: states of workspaces that programs open have to be where those of the commands are.
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(base):  # the XDG specification has relative ones ignored
        return os.path.join(base, "wink")
    home = environ.get("HOME", "") or (os.path.expanduser("~") if environ is os.environ else "")
    return os.path.join(home, ".local", "state", "wink") if os.path.isabs(home) else None


def user_key() -> bytes:
    """The key, made if there is none; raises `StateKeyError` where it cannot be kept, or is not this user's."""
    directory = user_directory()
    if directory is None:
        raise StateKeyError("the user's state directory", "it has no place; set HOME or XDG_STATE_HOME")
    found = _known.get(directory)
    if found is None:
        path = os.path.join(directory, _NAME)
        try:
            found = _read(path)
            if found is None:
                _write(directory, path)
                found = _read(path)
        except OSError as error:
            raise StateKeyError(path, error.strerror or type(error).__name__) from error
        if found is None:
            raise StateKeyError(path, "it vanished")
        _known[directory] = found
    return found


def key_problem() -> str | None:
    """Why there can be no key, if that is so."""
    try:
        user_key()
    except StateKeyError as error:
        return str(error)
    return None


def _read(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        found, above = os.fstat(fd), os.stat(os.path.dirname(path))
        for one in (found, above):
            if one.st_uid != os.geteuid() or one.st_mode & _WRITABLE_BY_OTHERS:
                raise StateKeyError(path, "others than you can write it; see whose it is, and who may write to it")
        data = os.read(fd, _BYTES + 1) if stat.S_ISREG(found.st_mode) else b""
    finally:
        os.close(fd)
    if len(data) != _BYTES:
        raise StateKeyError(
            path, "it is not what wink wrote; delete it, and `wink trust --state` takes workspaces up again"
        )
    return data


def _write(directory: str, path: str) -> None:
    """Make the key, whole or not at all; of several processes at once one makes it."""
    above = directory
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if os.stat(above).st_uid not in (os.geteuid(), 0):
        # Made by root in somebody's home it would keep them from their own workspaces.
        raise StateKeyError(path, f"{above} belongs to another user")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    draft = f"{path}.{os.urandom(6).hex()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(os.urandom(_BYTES))
            file.flush()
            os.fsync(fd)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)
