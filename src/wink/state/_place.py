"""Say where a workspace's state lies, make it, and tell it from what somebody else has put there."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from wink.errors import RecordCorrupt, StateKeyError, StateNotKnown, WorkspaceReadOnly
from wink.state._identity import identity
from wink.state._key import user_key
from wink.state._plain import open_directory

DIRECTORY: Final = ".wink"
"""What all states of a workspace lie in, beneath its root."""

EARLIER: Final = frozenset(
    [
        "record.db",
        "record.db-journal",
        "record.db-wal",
        "record.db-shm",
        "lease",
        "wal",
        "staged",
        "conflicts",
        "store.git",
        "tries",
        "programs",
        "copies",
        "scratch",
        "results",
        "held",
    ]
)
"""What the first version of wink kept in `.wink` itself, by which it is known."""

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME: Final = re.compile(r"[0-9a-f]{32}")
_MOST_ENTRIES: Final = 10_000
_SEAL: Final = "seal-"
_WRONG_KIND: Final = frozenset((errno.ELOOP, errno.EMLINK, errno.ENOTDIR))


class Unknown(NamedTuple):
    """Something below `.wink` that looks like a state and is not known: its name there, and whose or what it may be."""

    name: str
    why: str


def locate(root: str | os.PathLike[str], given: str | os.PathLike[str] | None = None) -> str:
    """The real path of the state of the workspace `root`, which may not exist yet: where a program says, or else our own.

    Our own is the same for every process of this user, and for a directory that was renamed. Raises `StateNotKnown` where something
    else is there that looks like a state, `StateKeyError` where states cannot be told apart and one may be there, and
    `RecordCorrupt` where `.wink` itself is no directory.
    """
    root = os.path.realpath(root)
    if given is not None:
        above, name = os.path.split(os.path.abspath(given))
        place = os.path.join(os.path.realpath(above), name)
        # What is in a workspace may be a link that came with it, wherever a program wants its state.
        return place if place.startswith(root.rstrip("/") + "/") else os.path.realpath(place)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name, problem = _name(fd)
        place = os.path.join(root, DIRECTORY, name)
        above = _above(fd, root)
        if above < 0:
            return place
        try:
            found = [] if problem is None and _is_known(above, name) else _unknown(above)
        finally:
            os.close(above)
    finally:
        os.close(fd)
    if found:
        if problem is not None:
            raise problem
        raise StateNotKnown(os.path.join(root, DIRECTORY, found[0].name), found[0].why)
    return place


def is_place(path: str) -> bool:
    """Whether a path can be that of a state below `.wink`."""
    above, name = os.path.split(path)
    return os.path.basename(above) == DIRECTORY and _NAME.fullmatch(name) is not None


def enter(path: str, root: int | None = None) -> int:
    """A descriptor of the state at `path`; of `locate`'s only where it is sealed.

    `root` is a descriptor of the workspace, by which it is found also where that has been renamed. Raises
    `FileNotFoundError` where nothing was ever stored, `StateNotKnown`, and `RecordCorrupt` for a link on the way.
    """
    if not is_place(path):
        return open_directory(path)
    with _opened_above(path, root) as above:
        return _entered(above, path)


def make(path: str, root: int | None = None) -> int:
    """Like `enter`, the state made if need be: sealed, private, and not for git.

    Raises `StateKeyError` too, and `OSError` where it cannot be made.
    """
    if not is_place(path):
        fd = open_directory(path, make=True)
        _ignore(fd)
        return fd
    above_path, name = os.path.split(path)
    with _opened_root(above_path, root) as top:
        known, problem = _name(top)
        if problem is not None:
            raise problem
        if known != name:
            raise WorkspaceReadOnly(path, "another directory stands where the workspace was")
        before = os.fstat(top)
        with suppress(FileExistsError):
            os.mkdir(DIRECTORY, 0o700, dir_fd=top)
        # A workspace's own time of change tells of its files, not of ours.
        if os.fstat(top).st_mtime_ns != before.st_mtime_ns:
            with suppress(OSError):
                os.utime(top, ns=(before.st_atime_ns, before.st_mtime_ns))
        with _opened_above(path, top) as above:
            try:
                return _entered(above, path)
            except FileNotFoundError:
                _make(above, name)
            return _entered(above, path)


def unknown(root: str) -> tuple[Unknown, ...]:
    """What looks like a state of the workspace `root` and is not known."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        above = _above(fd, root)
    finally:
        os.close(fd)
    if above < 0:
        return ()
    try:
        return tuple(one for one in _unknown(above) if not _is_known(above, one.name))
    finally:
        os.close(above)


def adopt(root: str, found: Unknown) -> str:
    """Take what is in `.wink` for this user's from now on, after a look at it; the state's path.

    Raises `StateNotKnown` for what cannot be taken: what another user owns, what is reached by a link, a record with a
    journal that SQLite would play back, or where there is a known state already. Then nothing was moved.
    """
    place = os.path.join(root, DIRECTORY, found.name)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name, problem = _name(fd)
        if problem is not None:
            raise problem
        above = _above(fd, root)
    finally:
        os.close(fd)
    target = os.path.join(root, DIRECTORY, name)
    try:
        if _is_known(above, name):
            raise StateNotKnown(place, "there is one that is yours")
        is_earlier = found.name in EARLIER
        source = os.open("." if is_earlier else found.name, _DIRECTORY, dir_fd=above)
        try:
            names = [one for one in os.listdir(source) if not is_earlier or _is_of_earlier(one)]
            for one in names:
                _check(source, one, place)
            if is_earlier:
                draft = f"{name}.{os.urandom(6).hex()}"
                os.mkdir(draft, 0o700, dir_fd=above)
                inside = os.open(draft, _DIRECTORY, dir_fd=above)
                try:
                    for one in names:
                        os.rename(one, one, src_dir_fd=source, dst_dir_fd=inside)
                    _close_up(inside)
                finally:
                    os.close(inside)
                os.rename(draft, name, src_dir_fd=above, dst_dir_fd=above)
            else:
                for one in names:
                    if one.startswith(_SEAL):
                        os.unlink(one, dir_fd=source)
                _close_up(source)
                if found.name != name:
                    os.rename(found.name, name, src_dir_fd=above, dst_dir_fd=above)
        finally:
            os.close(source)
    finally:
        os.close(above)
    return target


def strange(state: str) -> tuple[str, ...]:
    """The names in a state that wink never made: links, and whatever else is neither a directory nor a file."""
    try:
        fd = open_directory(state)
    except FileNotFoundError:
        return ()
    try:
        with os.scandir(fd) as entries:
            found = [
                one.name
                for one in entries
                if not (one.is_dir(follow_symlinks=False) or one.is_file(follow_symlinks=False))
            ]
    finally:
        os.close(fd)
    return tuple(sorted(found))


def put_aside(root: str, found: Unknown, to: str) -> str:
    """Move what looks like a state, and is none of this user's, to `to` in `.wink`, where nobody looks; its path."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        above = _above(fd, root)
    finally:
        os.close(fd)
    try:
        if found.name in EARLIER:
            # What was put aside before, in this very moment too, stays where its owner was told that it is.
            names = [one for one in os.listdir(above) if _is_of_earlier(one) and not one.startswith("aside-")]
            os.mkdir(to, 0o700, dir_fd=above)
            inside = os.open(to, _DIRECTORY, dir_fd=above)
            try:
                for one in names:
                    os.rename(one, one, src_dir_fd=above, dst_dir_fd=inside)
            finally:
                os.close(inside)
        else:
            os.rename(found.name, to, src_dir_fd=above, dst_dir_fd=above)
    finally:
        os.close(above)
    return os.path.join(root, DIRECTORY, to)


@contextmanager
def _opened_root(above_path: str, root: int | None) -> Generator[int]:
    if root is not None:
        yield root
        return
    fd = os.open(os.path.dirname(above_path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _opened_above(path: str, root: int | None) -> Generator[int]:
    above_path = os.path.dirname(path)
    with _opened_root(above_path, root) as top:
        above = _above(top, os.path.dirname(above_path))
        if above < 0:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    try:
        yield above
    finally:
        os.close(above)


def _entered(above: int, path: str) -> int:
    """A descriptor of a sealed state; raises `FileNotFoundError` and `StateNotKnown`."""
    name = os.path.basename(path)
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=above)
    except OSError as error:
        if error.errno in _WRONG_KIND:
            raise StateNotKnown(path, "it is a link, or no directory") from None
        raise
    try:
        sealed = os.stat(_seal(fd), dir_fd=fd, follow_symlinks=False)
        if stat.S_ISREG(sealed.st_mode) and os.fstat(fd).st_uid == os.geteuid():
            return fd
    except (FileNotFoundError, StateKeyError):
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    raise StateNotKnown(path, _why(above, name) or "it has just been removed")


def _is_known(above: int, name: str) -> bool:
    try:
        os.close(_entered(above, name))
    except (FileNotFoundError, StateNotKnown):
        return False
    return True


def _above(root: int, path: str) -> int:
    """A descriptor of `.wink`, or -1 where there is none."""
    try:
        return os.open(DIRECTORY, _DIRECTORY, dir_fd=root)
    except FileNotFoundError:
        return -1
    except OSError as error:
        if error.errno in _WRONG_KIND:
            raise RecordCorrupt(os.path.join(path, DIRECTORY), "it is a link, or no directory") from None
        raise


def _name(root: int) -> tuple[str, StateKeyError | None]:
    """What this user's state of a workspace is called; without a key a name that nothing can have."""
    try:
        key = user_key()
    except StateKeyError as error:
        return "0" * 32, error
    # Without the time of birth, which a container's filesystem changes with the first write to a directory: the name has
    # only to be the same for all processes, and not to be guessed.
    return _digest(key, "name", identity(root)[0]), None


def _seal(state: int) -> str:
    return _SEAL + _digest(user_key(), "seal", *identity(state))


def _digest(key: bytes, *words: object) -> str:
    from hashlib import blake2b

    return blake2b("\0".join(map(str, words)).encode(), key=key, digest_size=16).hexdigest()


def _make(above: int, name: str) -> None:
    """Make a state that is whole when it has its name; of several processes at once one makes it."""
    draft = f"{name}.{os.urandom(6).hex()}"
    os.mkdir(draft, 0o700, dir_fd=above)
    fd = os.open(draft, _DIRECTORY, dir_fd=above)
    try:
        _close_up(fd)
        os.rename(draft, name, src_dir_fd=above, dst_dir_fd=above)
    except OSError as error:
        for one in os.listdir(fd):
            os.unlink(one, dir_fd=fd)
        os.rmdir(draft, dir_fd=above)
        # Somebody was faster, or something is in the way; the caller looks at what is there.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
    finally:
        os.close(fd)


def _close_up(state: int) -> None:
    """Seal a directory, for this user alone."""
    os.fchmod(state, 0o700)
    _ignore(state)
    with suppress(FileExistsError):
        os.close(os.open(_seal(state), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=state))


def _ignore(state: int) -> None:
    """Let git ignore all that is in a directory; deeper than anything that a repository says of it, so that this counts."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError):
        fd = os.open(".gitignore", flags, 0o644, dir_fd=state)
        try:
            os.write(fd, b"*\n")
        finally:
            os.close(fd)


def _unknown(above: int) -> list[Unknown]:
    found: list[Unknown] = []
    with os.scandir(above) as entries:
        for number, entry in enumerate(entries):
            if number >= _MOST_ENTRIES:
                found.append(Unknown(entry.name, f"there are more than {_MOST_ENTRIES} entries beside it"))
                break
            if _NAME.fullmatch(entry.name) or entry.name in EARLIER:
                why = _why(above, entry.name)
                if why is not None:
                    found.append(Unknown(entry.name, why))
    # One of the first version is many names: once is enough.
    earlier = sorted(one for one in found if one.name in EARLIER)
    return [*sorted(one for one in found if one.name not in EARLIER), *earlier[:1]]


def _why(above: int, name: str) -> str | None:
    """Whose or what it may be; None for what cannot be a state."""
    try:
        found = os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if found.st_uid != os.geteuid():
        return f"it belongs to the user {found.st_uid}"
    if name in EARLIER:
        return "it is of the first version of wink, or came with the workspace"
    if not stat.S_ISDIR(found.st_mode):
        return "it is no directory, and came with the workspace"
    return "it was copied, restored from a backup, or came with the workspace"


def _is_of_earlier(name: str) -> bool:
    also = (".gitignore", "history.bundle", "prompts", "spare")
    return name in EARLIER or name in also or name.startswith(("aside-", "run-", "record.db"))


def _check(state: int, name: str, place: str) -> None:
    """Refuse what wink never puts into a state, and what would lead out of it."""
    found = os.stat(name, dir_fd=state, follow_symlinks=False)
    said = os.path.join(place, name)
    if found.st_uid != os.geteuid():
        raise StateNotKnown(said, f"it belongs to the user {found.st_uid}")
    if name == "record.db-journal":
        raise StateNotKnown(said, "SQLite would play it back, and wink never writes one")
    if stat.S_ISDIR(found.st_mode):
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise StateNotKnown(said, "wink keeps only plain files and directories here")
