"""Bring what the workspace has changed meanwhile into a try, and take that back: as a whole, wherever wink is killed.

All that is to be is written to a directory beside the try's layer, with a plan of it. From when that directory has its name on,
the update is; whoever opens the try next does what of it is still to do.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, cast

from wink.dataclass import dataclass
from wink.errors import MergeRefused, RecordCorrupt, WinkError
from wink.state import opened_directory, read_file
from wink_sandbox import Opened, Overlay, Step, is_opaque, remove_tree
from wink_sandbox.tries._accept import conflicts
from wink_sandbox.tries._bases import Bases
from wink_sandbox.tries._facts import Facts
from wink_sandbox.tries._layer import PENDING, UNDOING, seen
from wink_sandbox.tries._marks import MOST_MERGED, content_at, mark_of
from wink_sandbox.tries.merging import Conflict, ThreeWay, found_content, is_merged

_DRAFT, _DONE = "update.draft", "update.done"
_PLAN: Final = "plan.json"
_MOST_BYTES: Final = 1 << 30
_CHANGED: Final = "has changed in the try since the update, or was accepted or dropped"
_MEANWHILE: Final = "was saved by somebody in this very moment; run the update again"
_CLOSED: Final = "and lies in a directory that a program closed in the try; open it there: chmod u+rwx"
_TOO_LARGE: Final = "and is too large to be merged"
_THROUGH: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update brought into a try, or its undo took out again, by paths.

    `merged` have both changes now, of which those `marked` have conflict markers; where the try had nothing of its own, or the
    same, it shows the workspace's file again, which are the `same`. `conflicts` could not be merged, and are as they were.
    """

    merged: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


class UpdateLost(WinkError):
    """What is noted of an update that has not ended cannot be read; `path` is the plan."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return f"{self.path!r}, the plan of an update, cannot be read ({self.reason}); `wink drop` forgets the try"


class _Entry(NamedTuple):
    """One path: inode, mode and digest of what it becomes in the layer, None where nothing is left there.

    `known` is what the try knows of the workspace's file from then on; before it knew `before` and `texts`, had a base, and was marked, or
    not. `parents` are the modes of the directories that the path lies in.
    """

    path: str
    inode: int | None
    mode: int
    digest: str | None
    known: list[Any] | None
    before: list[Any] | None
    texts: list[Any] | None
    had_base: bool
    was_marked: bool
    is_marked: bool
    parents: list[int]


def update(overlay: Overlay, facts: Facts, *, dry_run: bool) -> Updated:
    """Merge into a try, which is in use, what the workspace has changed since its programs began."""
    bases = Bases(overlay)
    three_way = ThreeWay(overlay, bases, "markers")
    found = seen(overlay)
    try:
        changed = conflicts(found, facts, bases)
        merge = three_way.of(found, [path for path in changed if not is_merged(path, overlay.root)])
        steps = {step.path: step for step in merge.found.steps if step.path in merge.merged}
        same = {step.path: step for step in merge.same.steps if _is_file(step)}
        Opened(overlay.directory).close()  # from here on directories are as programs have left them
        draft = f"{overlay.directory}/{_DRAFT}"
        remove_tree(draft)
        os.mkdir(draft, 0o700)
        noted, was_marked, plan = facts.read(), facts.marked, list[_Entry]()
        refused = list(merge.conflicts)
        for path, step in (*steps.items(), *same.items()):
            made = merge.found.merged[path] if path in steps else None
            try:
                entry = _planned(overlay, bases, f"{draft}/{len(plan)}", step, made)
            except _Left as reason:
                refused.append(Conflict(path, str(reason)))
                continue
            plan.append(
                entry._replace(
                    before=noted["known"].get(path),
                    texts=noted["texts"].get(path),
                    was_marked=path in was_marked,
                    is_marked=made is not None and (path in merge.marked or path in was_marked),
                )
            )
        if plan and not dry_run:
            _write(draft, plan)
            os.rename(draft, f"{overlay.directory}/{PENDING}")
            with suppress(OSError):  # whoever opens the try next does what is still to do
                go_on(overlay, facts)
        with suppress(OSError):
            remove_tree(draft)
        done = {entry.path for entry in plan}
        return Updated(
            tuple(path for path in steps if path in done),
            tuple(path for path in merge.marked if path in done),
            tuple(path for path in same if path in done),
            tuple(refused),
        )
    finally:
        three_way.close()


def undo(overlay: Overlay, facts: Facts, *, dry_run: bool) -> Updated | None:
    """Take the last update of a try, which is in use, back; None where there is none. Raises `MergeRefused` and `UpdateLost`."""
    if not os.path.lexists(f"{overlay.directory}/{_DONE}"):
        return None
    plan, noted = _read(overlay, _DONE), facts.read()
    changed = [
        entry.path
        for entry in plan
        if not _is_as_updated(overlay, entry)
        or noted["known"].get(entry.path) != entry.known
        or noted["texts"].get(entry.path)
    ]
    if changed:
        raise MergeRefused([(path, _CHANGED) for path in changed])
    if not dry_run:
        os.rename(f"{overlay.directory}/{_DONE}", f"{overlay.directory}/{UNDOING}")
        with suppress(OSError):
            go_on(overlay, facts)
    return Updated(
        tuple(entry.path for entry in plan if entry.inode is not None),
        tuple(entry.path for entry in plan if entry.is_marked),
        tuple(entry.path for entry in plan if entry.inode is None),
    )


def go_on(overlay: Overlay, facts: Facts) -> None:
    """Do what of an update, or of its undo, is still to be done in a try, which is in use; raises `UpdateLost`."""
    bases = Bases(overlay)
    if os.path.lexists(f"{overlay.directory}/{UNDOING}"):
        place, plan = f"{overlay.directory}/{UNDOING}", _read(overlay, UNDOING)
        for number, entry in enumerate(plan):
            bases.put_back(entry.path, f"{place}/{number}.old-base" if entry.had_base else None)
            if os.path.lexists(f"{place}/{number}.old"):
                with _way(overlay, entry.path, entry.parents) as fd:
                    os.rename(f"{place}/{number}.old", os.path.basename(entry.path), dst_dir_fd=fd)
        facts.updated({entry.path: (entry.before, entry.texts, entry.was_marked) for entry in plan})
        remove_tree(draft := f"{overlay.directory}/{_DRAFT}")
        os.rename(place, draft)
        remove_tree(draft)
    if os.path.lexists(f"{overlay.directory}/{PENDING}"):
        place, plan = f"{overlay.directory}/{PENDING}", _read(overlay, PENDING)
        for number, entry in enumerate(plan):
            _apply(overlay, bases, f"{place}/{number}", entry)
        facts.updated({entry.path: (entry.known, None, entry.is_marked) for entry in plan})
        remove_tree(f"{overlay.directory}/{_DONE}")
        os.rename(place, f"{overlay.directory}/{_DONE}")


class _Left(Exception):
    """Why a path is left as it is."""


def _planned(overlay: Overlay, bases: Bases, place: str, step: Step, made: str | None) -> _Entry:
    """What becomes of one path, with its file and its base in the draft; raises `_Left`."""
    assert step.found is not None, "only what both have is merged"
    parents = list[int]()
    try:
        content = found_content(f"{overlay.root}/{step.path}", step.found)
        known = mark_of(f"{overlay.root}/{step.path}", hashlib.sha256(content).hexdigest())
        with _way(overlay, step.path, modes=parents):
            pass
    except PermissionError:
        raise _Left(_CLOSED) from None
    except (OSError, RecordCorrupt):
        raise _Left(_MEANWHILE) from None
    if known is None or known[-1] is None or known[:5] != _mark(step.found):
        raise _Left(_MEANWHILE)
    had_base = bool(bases.among([step.path]))
    if made is None:
        return _Entry(step.path, None, 0, None, None, None, None, had_base, False, False, parents)
    mode = stat.S_IMODE(os.lstat(made).st_mode)
    os.chmod(made, 0o600)  # a program may have closed its own to us
    text = content_at(made, MOST_MERGED)
    os.chmod(made, mode)
    if text is None:
        raise _Left(_TOO_LARGE)
    os.rename(made, f"{place}.new")
    bases.lay(f"{place}.base", step.found, content)
    inode, digest = os.lstat(f"{place}.new").st_ino, hashlib.sha256(text).hexdigest()
    return _Entry(step.path, inode, mode, digest, known, None, None, had_base, False, False, parents)


def _mark(found: os.stat_result) -> list[int]:
    return [found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_ctime_ns]


@contextmanager
def _way(overlay: Overlay, path: str, make: Sequence[int] = (), modes: list[int] | None = None) -> Generator[int]:
    """The directory of the layer that a path lies in, by a descriptor to name what is in there, and no link on the way.

    What is missing of it is made with the modes of `make`, where there are such; `modes` is given those that there are. Raises
    `PermissionError` where a program has closed one, and another `OSError` where one is none any more or hides the workspace's.
    """
    fd = os.open(overlay.upper, _THROUGH)
    try:
        for number, name in enumerate(path.split("/")[:-1]):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=fd)
                    with _opened(name, fd) as made:
                        os.chmod(f"/proc/self/fd/{made}/.", make[number])
            inner = os.open(name, _THROUGH, dir_fd=fd)
            os.close(fd)
            fd = inner
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            if os.geteuid() != 0 and mode & stat.S_IRWXU != stat.S_IRWXU:
                raise PermissionError(errno.EACCES, "a program has closed it", path)
            if is_opaque(fd):
                raise NotADirectoryError(errno.ENOTDIR, "it hides what the workspace has there", path)
            if modes is not None:
                modes.append(mode)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _opened(name: str, above: int) -> Generator[int]:
    fd = os.open(name, _THROUGH, dir_fd=above)
    try:
        yield fd
    finally:
        os.close(fd)


def _apply(overlay: Overlay, bases: Bases, place: str, entry: _Entry) -> None:
    """Put one path into the layer, each step of which may have been done before."""
    name = os.path.basename(entry.path)
    if entry.inode is None:
        with suppress(FileNotFoundError), _way(overlay, entry.path) as fd:
            with suppress(FileExistsError):
                os.link(name, f"{place}.old", src_dir_fd=fd, follow_symlinks=False)
            os.unlink(name, dir_fd=fd)
        _remove_empty(overlay, os.path.dirname(entry.path))
    else:
        with _way(overlay, entry.path) as fd:
            if os.stat(name, dir_fd=fd, follow_symlinks=False).st_ino != entry.inode:
                with suppress(FileExistsError):
                    os.link(name, f"{place}.old", src_dir_fd=fd, follow_symlinks=False)
                os.rename(f"{place}.new", name, dst_dir_fd=fd)
    bases.replace(entry.path, f"{place}.base" if entry.inode is not None else None, f"{place}.old-base")


def _remove_empty(overlay: Overlay, directory: str) -> None:
    """Remove what is left of directories that were in the layer for what is in them alone, and are as the workspace's."""
    while directory:
        try:
            with _way(overlay, directory) as fd, _opened(os.path.basename(directory), fd) as inner:
                status, there = os.fstat(inner), os.lstat(f"{overlay.root}/{directory}")
                if is_opaque(inner) or (status.st_mode, status.st_uid) != (there.st_mode, there.st_uid):
                    return
                os.rmdir(os.path.basename(directory), dir_fd=fd)
        except FileNotFoundError:
            pass
        except OSError:
            return
        directory = os.path.dirname(directory)


def _is_as_updated(overlay: Overlay, entry: _Entry) -> bool:
    name = os.path.basename(entry.path)
    try:
        with _way(overlay, entry.path) as fd:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if (found.st_ino, stat.S_IMODE(found.st_mode)) != (entry.inode, entry.mode):
                return False
            content = content_at(f"/proc/self/fd/{fd}/{name}", MOST_MERGED)
    except FileNotFoundError:
        return entry.inode is None
    except OSError:
        return False
    # Of what cannot be read, which a program has made so, the time of a change would say no more.
    return (content is None and not entry.mode & stat.S_IRUSR) or (
        content is not None and hashlib.sha256(content).hexdigest() == entry.digest
    )


def _is_file(step: Step) -> bool:
    return step.kind in ("file", "mode") and all(
        status is not None and stat.S_ISREG(status.st_mode) for status in (step.found, step.made)
    )


def _write(draft: str, plan: Iterable[_Entry]) -> None:
    with open(f"{draft}/{_PLAN}", "x", encoding="ascii") as file:
        json.dump(list(plan), file)
        file.flush()
        os.fsync(file.fileno())


def _read(overlay: Overlay, name: str) -> list[_Entry]:
    place = f"{overlay.directory}/{name}"
    try:
        with opened_directory(place) as directory:
            said: object = json.loads(read_file(directory, _PLAN, _MOST_BYTES))
        return list(_entries(said))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UpdateLost(f"{place}/{_PLAN}", str(error)) from error


def _entries(said: object) -> Iterator[_Entry]:
    for one in cast("list[Any]", said):
        entry = _Entry(*one)
        if any(part in ("", ".", "..") for part in entry.path.split("/")):
            raise ValueError(entry.path)
        yield entry
