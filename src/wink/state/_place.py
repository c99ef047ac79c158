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
from wink.state._key import user_directory, user_key
from wink.state._memory import HEAD, birth_of, remember, user_place
from wink.state._plain import open_directory, opened_directory, read_file, replace_file

DIRECTORY: Final = ".wink"
"""What all states of a workspace lie in, beneath its root."""

_FIRST: Final = """
    record.db record.db-journal record.db-wal record.db-shm lease wal spare staged conflicts store.git tries
    programs copies scratch results held
"""
EARLIER: Final = frozenset(_FIRST.split())
"""What the first version of wink kept in `.wink` itself, by which it is known."""

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME: Final = re.compile(r"[0-9a-f]{32}")
_MOST_ENTRIES: Final = 10_000
_MOST_OF_HEAD: Final = 128
SEAL: Final = "seal-"
ADOPTING: Final = ".adopting"
ALL: Final = "."
"""All of `.wink`, where its entries together are a state."""
_WRONG_KIND: Final = frozenset((errno.ELOOP, errno.EMLINK, errno.ENOTDIR))


class Unknown(NamedTuple):
    """Something that looks like a state and is not known: its name in `.wink`, `.` for all of that, and what it may be."""

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
        name, problem = name_of(fd)
        place = os.path.join(root, DIRECTORY, name)
        above = above_in(fd, root)
        if above < 0:
            return place
        try:
            found = [] if problem is None and is_known(above, name) else unknown_in(above, name)
            if found and problem is None and is_known(above, name):
                found = []  # another process made it while this one looked
        finally:
            os.close(above)
    finally:
        os.close(fd)
    if found:
        if problem is not None:
            raise problem
        raise StateNotKnown(os.path.normpath(os.path.join(root, DIRECTORY, found[0].name)), found[0].why)
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
        known, problem = name_of(top)
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
                remember(top, name)
            return _entered(above, path)


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
        above = above_in(top, os.path.dirname(above_path))
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
    raise StateNotKnown(path, _why(above, name, own=name) or "it has just been removed")


def is_known(above: int, name: str) -> bool:
    """Whether a directory in `.wink`, given by its descriptor, is a state that this user's wink has made."""
    try:
        os.close(_entered(above, name))
    except (FileNotFoundError, StateNotKnown):
        return False
    return True


def above_in(root: int, path: str) -> int:
    """A descriptor of `.wink`, or -1 where there is none."""
    try:
        return os.open(DIRECTORY, _DIRECTORY, dir_fd=root)
    except FileNotFoundError:
        return -1
    except PermissionError:
        owner = os.stat(DIRECTORY, dir_fd=root, follow_symlinks=False).st_uid
        reason = f"only the user {owner} may look into it"
        raise WorkspaceReadOnly(os.path.join(path, DIRECTORY), reason) from None
    except OSError as error:
        if error.errno in _WRONG_KIND:
            raise RecordCorrupt(os.path.join(path, DIRECTORY), "it is a link, or no directory") from None
        raise


def name_of(root: int) -> tuple[str, StateKeyError | None]:
    """What this user's state of a workspace is called; without a key a name that nothing can have."""
    try:
        key = user_key()
    except StateKeyError as error:
        return "0" * 32, error
    # Without the time of birth, which a container's filesystem changes with the first write to a directory: the name has
    # only to be the same for all processes, and not to be guessed.
    return _digest(key, "name", identity(root)[0]), None


def _seal(state: int) -> str:
    return SEAL + _digest(user_key(), "seal", *identity(state))


def _digest(key: bytes, *words: object) -> str:
    from hashlib import blake2b

    return blake2b("\0".join(map(str, words)).encode(), key=key, digest_size=16).hexdigest()


def _make(above: int, name: str) -> None:
    """Make a state that is whole when it has its name; of several processes at once one makes it."""
    draft = f"{name}.{os.urandom(6).hex()}"
    os.mkdir(draft, 0o700, dir_fd=above)
    fd = os.open(draft, _DIRECTORY, dir_fd=above)
    try:
        close_up(fd)
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


def close_up(state: int) -> None:
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


def unknown_in(above: int, own: str) -> list[Unknown]:
    """What of `.wink`, given by its descriptor, looks like a state of this user's; `own` is what that is called here."""
    found: list[Unknown] = []
    with os.scandir(above) as entries:
        for number, entry in enumerate(entries):
            if number >= _MOST_ENTRIES:
                found.append(Unknown(ALL, f"it has more than {_MOST_ENTRIES} entries"))
                break
            is_earlier = is_mark_of_earlier(entry.name)
            if (is_earlier or _NAME.fullmatch(entry.name)) and (why := _why(above, entry.name, own)) is not None:
                found.append(Unknown(ALL if is_earlier else entry.name, why))
    # One of the first version is many names: once is enough.
    return sorted({one.name: one for one in found}.values())


def _why(above: int, name: str, own: str) -> str | None:
    """Whose or what it may be; None for what cannot be a state."""
    try:
        found = os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if found.st_uid != os.geteuid():
        return None  # another user's, who has a state of their own here: neither ours nor opened
    if is_mark_of_earlier(name):
        return "it is of the first version of wink, or came with the workspace"
    if not stat.S_ISDIR(found.st_mode):
        return "it is no directory, and came with the workspace"
    if name == own:  # which nobody else can know
        return "it was deleted in part, as `git clean -x` does, or restored from a backup"
    return "it was copied, restored from a backup, or came with the workspace"


def is_mark_of_earlier(name: str) -> bool:
    """Whether the first version of wink, or who has begun to take over what it made, gave something this name."""
    return name in EARLIER or name.endswith(ADOPTING)


def keep_head(state: str, position: int, entry: bytes) -> None:
    """Keep how far the chain of the record in `state` has come: to a position with the hash of its entry.

    Only of a state in `.wink`. Raises `OSError` or `RecordCorrupt` where that cannot be.
    """
    directory = user_directory()
    if directory is not None and is_place(state):
        with opened_directory(user_place(directory), make=True) as at:
            replace_file(at, os.path.basename(state) + HEAD, f"{position} {entry.hex()} {_birth(state)}".encode())


def kept_head(state: str) -> tuple[int, bytes] | None:
    """Position and hash that were last kept of the chain in `state`; None where there are none that can be read."""
    directory = user_directory()
    if directory is not None and is_place(state):
        with suppress(OSError, RecordCorrupt, ValueError), opened_directory(user_place(directory)) as at:
            position, entry, birth = (
                read_file(at, os.path.basename(state) + HEAD, _MOST_OF_HEAD).decode("ascii").split()
            )
            # A new directory often has the inode, and so the name, of one that was deleted.
            return (int(position), bytes.fromhex(entry)) if birth == _birth(state) else None
    return None


def _birth(state: str) -> str:
    with opened_directory(os.path.dirname(os.path.dirname(state))) as root:
        return birth_of(root).decode()
