"""Keep a copy of the workspace in step with it, for programs to work on where no overlay can be mounted.

The copy stays from one program to the next. Before each one it is compared with the workspace by one scan of both: a file
is taken to be as it was if its inode, size, times and mode are what they were when it was copied, so only what has
changed is copied again, and what a program left behind that was dropped is undone. Afterwards one scan of the copy
tells what the program did.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from wink.filesystem import copy_with_holes
from wink.state import opened_directory, read_file, replace_file
from wink_sandbox._deep import remove_tree
from wink_sandbox._held_index import PATH as INDEX
from wink_sandbox._overlay import Overlay
from wink_sandbox._upper import DEEPEST, Step, attributes

_INDEX: Final = "index.json"
_MOST_BYTES: Final = 1 << 30
_FICLONE: Final = 0x40049409
_CANNOT_CLONE: Final = frozenset((errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM))

Mark = list[int]
"""Mode, inode, size and the times of change in nanoseconds, of content and of anything."""


class WorkspaceCopy:
    """The copy in an overlay's upper directory.

    `passed` says of a directory or file whether it is left out of the copy, and `is_scratch` whether a directory is kept as
    programs leave it.
    """

    def __init__(self, overlay: Overlay, *, passed: Callable[[str], bool], is_scratch: Callable[[str], bool]) -> None:
        self._overlay = overlay
        self._root, self._copy = overlay.root, overlay.upper
        self._directory_path = overlay.directory
        self._passed, self._is_scratch = passed, is_scratch
        self._index: dict[str, tuple[Mark, Mark]] = {}
        self._children: dict[str, set[str]] = {}

    def bring_up_to_date(self) -> None:
        """Make the copy what the workspace is now."""
        known = self._load()
        self._index = {}
        # Until it is whole again, nobody must believe what is written about it.
        remove_tree(f"{self._directory_path}/{_INDEX}")
        self._directory("", known)
        self._completed()
        self._store()
        self._list_children()

    def _completed(self) -> None:
        """Do what can be done only to a copy that is whole."""

    def steps(self) -> tuple[tuple[Step, ...], tuple[tuple[str, str], ...]]:
        """What a program has changed since, in an order in which it can be done, and what will not be carried over."""
        steps: list[Step] = []
        notes: list[tuple[str, str]] = []
        self._changed("", steps, notes)
        return tuple(steps), tuple(notes)

    def changed_meanwhile(self, steps: tuple[Step, ...]) -> tuple[str, ...]:
        """The paths, of those that a program changed, that somebody else has changed in the workspace since."""
        found: dict[str, None] = {}
        for step in steps:
            now = _status(f"{self._root}/{step.path}")
            known = self._index.get(step.path)
            is_directory = now is not None and stat.S_ISDIR(now.st_mode)
            is_other = (now is None) != (known is None)
            is_saved = now is not None and known is not None and not is_directory and mark(now) != known[0]
            if is_other or (is_saved and not self._is_index_still(step, known)):
                found[step.path] = None
            if step.kind == "drop" and is_directory:
                for path, status in _tree(self._root, step.path, self._passed):
                    below = self._index.get(path)
                    if below is None or (not stat.S_ISDIR(status.st_mode) and mark(status) != below[0]):
                        found[path] = None
        return tuple(found)

    def _is_index_still(self, step: Step, known: tuple[Mark, Mark] | None) -> bool:
        """Whether this is a git index that says what it said when it was copied, with other times in it."""
        index = self._overlay.index
        if step.path != INDEX or step.kind != "file" or known is None or index is None:
            return False
        return index.says_the_same(inode=known[0][1])

    # -- from the workspace to the copy

    def _directory(self, path: str, known: dict[str, tuple[Mark, Mark]]) -> None:
        there = self._names(self._copy, path)
        for name, (status, source) in self._sources(path).items():
            below = f"{path}/{name}" if path else name
            mine = there.pop(name, None)
            if self._passed(below) or not is_kept(status.st_mode):
                if mine is not None:
                    remove_tree(f"{self._copy}/{below}")
                continue
            if stat.S_ISDIR(status.st_mode):
                if mine is not None and not stat.S_ISDIR(mine.st_mode):
                    remove_tree(f"{self._copy}/{below}")
                    mine = None
                if mine is None:
                    os.mkdir(f"{self._copy}/{below}", 0o700)
                elif self._is_scratch(below):
                    continue
                else:
                    os.chmod(f"{self._copy}/{below}", stat.S_IMODE(mine.st_mode) | 0o700)
                self._directory(below, known)
                self._finished(source, f"{self._copy}/{below}")
                os.chmod(f"{self._copy}/{below}", stat.S_IMODE(status.st_mode))
            elif mine is None or known.get(below) != (mark(status), mark(mine)):
                remove_tree(f"{self._copy}/{below}")
                self._copied(source, f"{self._copy}/{below}", status)
            else:
                self._index[below] = known[below]
                continue
            self._index[below] = mark(status), mark(os.lstat(f"{self._copy}/{below}"))
        for name in there:
            below = f"{path}/{name}" if path else name
            if not self._is_scratch(below):
                remove_tree(f"{self._copy}/{below}")

    def _sources(self, path: str) -> dict[str, tuple[os.stat_result, str]]:
        """What is to be in a directory of the copy, by names, and where that is."""
        above = f"{self._root}/{path}" if path else self._root
        return {name: (status, f"{above}/{name}") for name, status in self._names(self._root, path).items()}

    def _finished(self, source: str, target: str) -> None:
        shutil.copystat(source, target)

    def _copied(self, source: str, target: str, status: os.stat_result) -> None:
        copy_file(source, target, status)

    # -- what a program did to the copy

    def _changed(self, path: str, steps: list[Step], notes: list[tuple[str, str]]) -> None:
        made = self._names(self._copy, path)
        prefix = f"{path}/" if path else ""
        for name in sorted({*made, *self._children.get(path, ())}):
            below, status = prefix + name, made.get(name)
            known = self._index.get(below)
            found = _status(f"{self._root}/{below}") if known is not None else None
            if status is None:
                if found is not None:
                    steps.append(Step("drop", below, found))
            elif self._passed(below):
                notes.append((below, "is wink's own state, and stays as it is"))
            elif not is_kept(status.st_mode):
                notes.append((below, "is a FIFO, socket or device, which is not kept"))
                if found is not None:
                    steps.append(Step("drop", below, found))
            elif stat.S_ISDIR(status.st_mode):
                self._changed_directory(below, status, known, found, steps, notes)
            elif known is None or known[1] != mark(status):
                self._changed_file(below, status, known, found, steps)

    def _changed_directory(
        self,
        path: str,
        status: os.stat_result,
        known: tuple[Mark, Mark] | None,
        found: os.stat_result | None,
        steps: list[Step],
        notes: list[tuple[str, str]],
    ) -> None:
        if self._is_scratch(path):
            return
        # A directory is the one that was copied if its inode is; one that was made anew in its place is another.
        stays = known is not None and stat.S_ISDIR(known[0][0]) and known[1][1] == status.st_ino
        if not stays:
            if found is not None:
                steps.append(Step("drop", path, found))
            steps.append(Step("directory", path, None, status))
            self._made(path, steps, notes)
            return
        if known is not None and stat.S_IMODE(status.st_mode) != stat.S_IMODE(known[0][0]):
            steps.append(Step("mode", path, found, status))
        self._changed(path, steps, notes)

    def _made(self, path: str, steps: list[Step], notes: list[tuple[str, str]]) -> None:
        """Everything in a directory that was made: whatever had these names before went with what it takes the place of."""
        pending = [path]
        while pending:
            above = pending.pop()
            for name, status in sorted(self._names(self._copy, above).items()):
                below = f"{above}/{name}"
                if self._passed(below) or not is_kept(status.st_mode):
                    notes.append((below, "is not kept"))
                elif not stat.S_ISDIR(status.st_mode):
                    self._changed_file(below, status, None, None, steps)
                elif not self._is_scratch(below):
                    is_too_deep = len(os.fsencode(f"{self._copy}/{below}")) > DEEPEST
                    steps.append(Step("directory", below, None, status, is_too_deep=is_too_deep))
                    if not is_too_deep:
                        pending.append(below)

    def _changed_file(
        self,
        path: str,
        status: os.stat_result,
        known: tuple[Mark, Mark] | None,
        found: os.stat_result | None,
        steps: list[Step],
    ) -> None:
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(f"{self._copy}/{path}")
            if found is not None:
                if stat.S_ISLNK(found.st_mode) and os.readlink(f"{self._root}/{path}") == target:
                    return
                steps.append(Step("drop", path, found))
            steps.append(Step("link", path, None, status, target))
            return
        if found is not None and not stat.S_ISREG(found.st_mode):
            steps.append(Step("drop", path, found))
            found = None
        if found is not None and known is not None and self._has_same_content(path, known[1], status, found):
            # At most the mode differs, or other names came and went.
            if stat.S_IMODE(status.st_mode) != stat.S_IMODE(found.st_mode):
                steps.append(Step("mode", path, found, status))
            return
        steps.append(Step("file", path, found, status))

    def _has_same_content(self, path: str, known: Mark, made: os.stat_result, found: os.stat_result) -> bool:
        """Whether a file that something happened to still has its content, owner, attributes and time of change."""
        if known[1:4] != mark(made)[1:4] or (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
            return False
        if attributes(f"{self._copy}/{path}") != attributes(f"{self._root}/{path}"):
            return False
        with (
            open(f"{self._copy}/{path}", "rb", buffering=0) as one,
            open(f"{self._root}/{path}", "rb", buffering=0) as two,
        ):
            while chunk := one.read(1 << 20):
                if chunk != two.read(1 << 20):
                    return False
        return True

    # -- what is known

    def _names(self, base: str, path: str) -> dict[str, os.stat_result]:
        try:
            with os.scandir(f"{base}/{path}" if path else base) as entries:
                return {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        except FileNotFoundError:
            return {}

    def _list_children(self) -> None:
        self._children = {}
        for path in self._index:
            above, _, name = path.rpartition("/")
            self._children.setdefault(above, set()).add(name)

    def _load(self) -> dict[str, tuple[Mark, Mark]]:
        try:
            with opened_directory(self._directory_path) as place:
                text = read_file(place, _INDEX, _MOST_BYTES).decode("utf-8", "surrogateescape")
            found: dict[str, Any] = json.loads(text)
            return {path: (list(theirs), list(mine)) for path, (theirs, mine) in found.items()}
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            return {}  # it is made anew

    def _store(self) -> None:
        with opened_directory(self._directory_path) as place:
            replace_file(place, _INDEX, json.dumps(self._index).encode("utf-8", "surrogateescape"))


def is_kept(mode: int) -> bool:
    """Whether something of this mode is copied."""
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def mark(status: os.stat_result) -> Mark:
    """What is another one as soon as anything happens to a file."""
    return [status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _status(place: str) -> os.stat_result | None:
    try:
        return os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _tree(root: str, path: str, passed: Callable[[str], bool]) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(f"{root}/{path}") as entries:
        for entry in entries:
            below = f"{path}/{entry.name}"
            if not passed(below):
                status = entry.stat(follow_symlinks=False)
                yield below, status
                if stat.S_ISDIR(status.st_mode):
                    yield from _tree(root, below, passed)


def copy_file(source: str, target: str, status: os.stat_result) -> None:
    """Copy a file or a link with mode, times and attributes; the content is shared where the filesystem can."""
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
        return
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(reading, "rb", buffering=0) as theirs, open(target, "xb", buffering=0) as mine:
        try:
            fcntl.ioctl(mine, _FICLONE, theirs.fileno())
        except OSError as error:
            if error.errno not in _CANNOT_CLONE:
                raise
            copy_with_holes(theirs.fileno(), mine.fileno())
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(target, status.st_uid, status.st_gid)
    shutil.copystat(source, target, follow_symlinks=False)
