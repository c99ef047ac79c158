"""Put a directory back to what it was by doing only what is needed, with the inodes that it had."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple


class Stamp(NamedTuple):
    """By what a change of anything is seen: the kernel sets `changed`, and nobody can set it back."""

    mode: int
    uid: int
    gid: int
    inode: int
    names: int
    size: int
    modified: int
    changed: int


class Original:
    """What a directory was when this was made. What is taken away from it can be put into `kept` in `spare`, beside it.

    What is known by its inode stays known: files are rewritten in place, and what was moved away is moved back.
    """

    def __init__(self, place: Path, spare: Path) -> None:
        self._place, self._copy, self._kept = str(place), str(spare / "copy"), str(spare / "kept")
        self._numbers = count()
        os.makedirs(self._kept)
        subprocess.run(["cp", "-a", "--", self._place, self._copy], check=True)
        self._stamps = _scan(self._place)
        self._planted, self._stamps_planted = "", self._stamps

    def keep_beside(self, place: Path) -> None:
        """Give a file a second name, for somebody who takes away the first one."""
        if stat.S_ISREG(_mode(str(place))):
            os.link(place, f"{self._kept}/{next(self._numbers)}")

    def plant(self, path: str) -> None:
        """From now on what is at this path belongs there; until all is restored."""
        self._planted = path
        self._stamps_planted = self._of_planted(_scan(self._place))

    def restore_around(self) -> bool:
        """Put all back but for what was planted; False where that was changed, and nothing is put back."""
        found = _scan(self._place)
        above = [path for path in self._stamps if self._planted.startswith(f"{path}/")]
        is_there = all(path in found and found[path].inode == self._stamps[path].inode for path in above)
        if not is_there or self._of_planted(found) != self._stamps_planted:
            return False
        self._restore(found, self._planted)
        return True

    def restore(self) -> None:
        """Put all of it back."""
        self._open_up()
        self._move_back()
        self._restore(_scan(self._place), "")
        for one in os.listdir(self._kept):
            remove(f"{self._kept}/{one}")
        self._stamps = _scan(self._place)

    def _restore(self, found: Mapping[str, Stamp], but: str) -> None:
        missing: list[str] = []
        for path in found:
            if path not in self._stamps and not _is_of(path, but) and not but.startswith(f"{path}/"):
                remove(f"{self._place}/{path}")
        for path, before in self._stamps.items():
            if _is_of(path, but) or (missing and path.startswith(f"{missing[-1]}/")):
                continue  # it comes with what it is in
            now = found.get(path)
            if now is None or (now.inode, stat.S_IFMT(now.mode)) != (before.inode, stat.S_IFMT(before.mode)):
                remove(f"{self._place}/{path}")
                missing.append(path)
            elif now != before:
                self._mend(path, now, before)
        if missing:
            subprocess.run(["cp", "-a", "--parents", "--", *missing, self._place], cwd=self._copy, check=True)
        for path in reversed([path for path, before in self._stamps.items() if stat.S_ISDIR(before.mode)]):
            if not _is_of(path, but):
                self._set_times(path)
        self._set_times(".")
        if but:
            now = _scan(self._place)
            self._stamps = {path: now[path] if not _is_of(path, but) else at for path, at in self._stamps.items()}

    def _of_planted(self, found: Mapping[str, Stamp]) -> Mapping[str, Stamp]:
        return {path: at for path, at in found.items() if _is_of(path, self._planted)}

    def inode(self, path: str) -> int:
        """That of a path in it, as it is to be."""
        return self._stamps[path].inode

    def _open_up(self) -> None:
        """Let directories be looked into again, the outer ones first."""
        for path, before in self._stamps.items():
            place = f"{self._place}/{path}"
            if stat.S_ISDIR(before.mode) and stat.S_ISDIR(now := _mode(place)) and now != before.mode:
                os.chmod(place, stat.S_IMODE(before.mode))

    def _move_back(self) -> None:
        found = _scan(self._place)
        lost = {
            before.inode: path
            for path, before in self._stamps.items()
            if path not in found or found[path].inode != before.inode
        }
        places = [f"{self._place}/{path}" for path in found if path not in self._stamps]
        places += [f"{self._kept}/{name}" for name in os.listdir(self._kept)]
        for place in places if lost else ():
            if not os.path.lexists(place):
                continue  # what it was in has been moved back
            path = lost.get(os.lstat(place).st_ino)
            if path is not None and stat.S_IFMT(_mode(place)) == stat.S_IFMT(self._stamps[path].mode):
                remove(f"{self._place}/{path}")
                if os.path.isdir(os.path.dirname(f"{self._place}/{path}")):
                    os.rename(place, f"{self._place}/{path}")

    def _mend(self, path: str, now: Stamp, before: Stamp) -> None:
        place, copy = f"{self._place}/{path}", f"{self._copy}/{path}"
        if (now.uid, now.gid) != (before.uid, before.gid):
            os.chown(place, before.uid, before.gid, follow_symlinks=False)
        if stat.S_ISLNK(now.mode):
            return
        os.chmod(place, stat.S_IMODE(before.mode))
        if stat.S_ISREG(now.mode):
            os.truncate(place, before.size)
            with open(copy, "rb") as source, open(place, "r+b") as target:
                shutil.copyfileobj(source, target)
        if stat.S_ISREG(now.mode) or stat.S_ISDIR(now.mode):
            there, wanted = ({name: os.getxattr(one, name) for name in os.listxattr(one)} for one in (place, copy))
            for name in there.keys() - wanted.keys():
                os.removexattr(place, name)
            for name in wanted:
                if there.get(name) != wanted[name]:
                    os.setxattr(place, name, wanted[name])
        self._set_times(path)

    def _set_times(self, path: str) -> None:
        wanted, place = os.lstat(f"{self._copy}/{path}"), f"{self._place}/{path}"
        if os.lstat(place).st_mtime_ns != wanted.st_mtime_ns:
            os.utime(place, ns=(wanted.st_atime_ns, wanted.st_mtime_ns), follow_symlinks=False)


def _is_of(path: str, top: str) -> bool:
    return bool(top) and (path == top or path.startswith(f"{top}/"))


def remove(place: str) -> None:
    """Whatever it is, and whether or not it is there."""
    mode = _mode(place)
    if stat.S_ISDIR(mode):
        shutil.rmtree(place, onerror=_opened)
    elif mode:
        os.unlink(place)


def _opened(how: object, path: str, _: object) -> None:
    """Delete what has a mode that keeps even its owner out."""
    os.chmod(os.path.dirname(path), 0o700)
    if stat.S_ISDIR(_mode(path)):
        os.chmod(path, 0o700)
        shutil.rmtree(path, onerror=_opened)
    elif os.path.lexists(path):
        os.unlink(path)


def _mode(place: str) -> int:
    try:
        return os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _scan(top: str) -> Mapping[str, Stamp]:
    return dict(_below(top, ""))


def _below(top: str, above: str) -> Iterator[tuple[str, Stamp]]:
    """Everything in a directory, what is outer before what is in it."""
    with os.scandir(f"{top}/{above}") as entries:
        found = sorted((one.name, one.stat(follow_symlinks=False)) for one in entries)
    for name, at in found:
        path = f"{above}/{name}" if above else name
        is_directory = stat.S_ISDIR(at.st_mode)
        names, size = (0, 0) if is_directory else (at.st_nlink, at.st_size)
        yield path, Stamp(at.st_mode, at.st_uid, at.st_gid, at.st_ino, names, size, at.st_mtime_ns, at.st_ctime_ns)
        if is_directory:
            try:
                yield from _below(top, path)
            except PermissionError:
                continue  # an attacked one, which goes away or is opened
