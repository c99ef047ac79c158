"""Let programs of a try work on a copy where no overlay can be mounted, and put what they did into the try's layer.

The copy shows the workspace with the layer on top, as an overlay would, and stays from one program to the next. What a
program did there is noted in the layer as the kernel notes it: changed files as a whole, and marks for what is gone. So all
that reads a layer (differences, accepting, dropping) needs to know nothing of copies.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Final

from wink.errors import RecordCorrupt, SandboxUnavailable, WinkError
from wink.filesystem import git_index_meaning, is_git_index
from wink.state import DIRECTORY as STATE
from wink.state import open_directory, opened_directory, read_file, replace_file
from wink_sandbox import _rules
from wink_sandbox._copy import Mark, WorkspaceCopy, copy_file, is_kept, mark
from wink_sandbox._deep import remove_tree
from wink_sandbox._elsewhere import Elsewhere, copies_directory, leaves, note_copy, open_up
from wink_sandbox._git_outside import bounded_content, leads_elsewhere
from wink_sandbox._left_out import note_left_out
from wink_sandbox._overlay import COPY, ELSEWHERE, RUNS, Overlay, is_directory, layers
from wink_sandbox._upper import DEEPEST, clean, has_opaque, has_origin, is_whiteout

_LEVELS: Final = 400
_LARGEST: Final = 1 << 24
_ORIGIN, _OPAQUE, _WHITEOUT = (f"user.overlay.{name}" for name in ("origin", "opaque", "whiteout"))


class CopyLost(WinkError):
    """Nobody can tell any more what a program did to its copy in `directory`: it removed that, or what is noted of it."""

    def __init__(self, directory: str, is_gone: bool = False) -> None:
        self.directory, self.is_gone = directory, is_gone
        super().__init__(directory, is_gone)

    def __str__(self) -> str:
        back = ", and `wink drop --undo` brings back what was tried before" if self.is_gone else ""
        return f"what a program did in {self.directory!r} cannot be told any more; `wink drop` forgets the try{back}"


class CopyOfTry(WorkspaceCopy):
    """The copy of one try, whose `overlay` is in use. `left_out` is what is not in it, with the reasons.

    With `moved` it is seen at its own path, which is elsewhere: what leads out of it is left out, be it a link or a git
    directory, which git would change at once. `strays` is what the program left beside it, and
    is in no try, `strays_before` likewise of an earlier one.
    """

    def __init__(self, overlay: Overlay, *, moved: bool = False) -> None:
        notes = f"{overlay.directory}/{COPY}"
        self._elsewhere = Elsewhere(overlay.directory) if moved else None
        self._notes = f"{notes}/{ELSEWHERE}" if moved else notes
        directory = notes if self._elsewhere is None else self._elsewhere.directory
        self.shown = Overlay(overlay.root, directory, is_copy=True)
        self.left_out: list[tuple[str, str]] = []
        self.strays, self.strays_before = list[str](), list[str]()
        self._tried, self._unseen = overlay, dict[str, str]()
        # Its own place too: the settings of this moment may name another one.
        self._layer, self._copies = overlay.upper, {copies_directory(), self._elsewhere.top if self._elsewhere else ""}
        self._levels: dict[str, tuple[bool, bool]] = {"": (True, True)}
        super().__init__(self.shown, passed=self._is_passed, is_scratch=lambda _: False)
        self._directory_path = self._notes

    def begin(self) -> None:
        """Bring it up to date for a program that starts now; raises `SandboxUnavailable` where the layer could not hold what it does."""
        self._check_layer()
        if self._elsewhere is None:
            layers(self.shown.directory)
        else:
            self.strays_before = self._elsewhere.make()
            note_copy(self._elsewhere.top, self._tried.directory, unsettled=True)
            self.shown.directory = self._elsewhere.directory
            self._copy = self.shown.upper
        os.chmod(self._copy, stat.S_IMODE(os.stat(self._root).st_mode) | 0o700)
        self.bring_up_to_date()
        if self._elsewhere is None:
            os.mkdir(f"{self._copy}/{STATE}", 0o700)  # to be covered up, as in an overlay
        with opened_directory(self._notes) as place:
            replace_file(place, RUNS, str(len(self._index)).encode())

    def end(self) -> None:
        """Put into the layer what a program did; doing so again, where that was broken off, changes nothing else; raises `CopyLost`."""
        numbers = b""
        if self._elsewhere is not None:
            self.strays += [one for one in self._elsewhere.strays() if one not in self.strays]
        with suppress(OSError, RecordCorrupt), opened_directory(self._notes) as place:
            os.close(open_directory(self.shown.directory))  # without a link on the way to the copy
            numbers = read_file(place, RUNS, 64)
        self._index = self._load()
        number = str(len(self._index)).encode()
        if number not in numbers.split() or not is_directory(self._copy):
            raise CopyLost(self.shown.directory, self._is_gone())
        open_up(self._copy)
        self._list_children()
        self._take("")
        # Both are right from here on: the one that is noted now, and the one that is noted next.
        with opened_directory(self._notes) as place:
            replace_file(place, RUNS, b"%s %d" % (number, len(self._index)))
        self._store()
        remove_tree(f"{self._notes}/{RUNS}")
        if self._elsewhere is not None:
            note_copy(self._elsewhere.top, self._tried.directory, unsettled=False)

    def give_up(self) -> None:
        """Look for what a program did no more, where the copy is gone: what was tried before it is a try again."""
        if self._is_gone():
            remove_tree(f"{self._notes}/{RUNS}")

    def _is_gone(self) -> bool:
        try:
            os.close(open_directory(self._copy))
        except (OSError, RecordCorrupt):
            return True
        return False

    def _is_passed(self, path: str) -> bool:
        if _rules.is_state(path) or f"{self._root}/{path}" in self._copies:
            return True
        return self._leads_elsewhere(self._root, path)

    def _leads_elsewhere(self, base: str, path: str) -> bool:
        if self._elsewhere is None or not leads_elsewhere(base, path):
            return False
        why = "leads to a git directory elsewhere, which is in no copy: git finds none there, or the one around it"
        self.left_out.append((path, why))
        return True

    def _check_layer(self) -> None:
        if not hasattr(os, "setxattr"):
            how = "a copy needs Linux; on macOS run wink in a virtual machine, as podman machine makes"
            raise SandboxUnavailable("scan", (how,))
        os.close(open_directory(self._notes, make=True))
        place = f"{self._notes}/probe"
        remove_tree(place)
        try:
            os.mkdir(place)
            os.setxattr(place, _OPAQUE, b"y")
            _white_out(f"{place}/gone")
        except OSError as error:
            why = f"the filesystem of {self._notes} cannot keep what was deleted ({error.strerror})"
            raise SandboxUnavailable("scan", (f"{why}; put the workspace on another one",)) from None
        finally:
            remove_tree(place)

    # -- from the workspace and the layer to the copy

    def _completed(self) -> None:
        links = (path for path, (_, mine) in self._index.items() if stat.S_ISLNK(mine[0]))
        for path in [path for path in links if self._elsewhere is not None and leaves(self._copy, path)]:
            os.unlink(f"{self._copy}/{path}")
            del self._index[path]
            self._leave_out(path, "leads out of the workspace")
        note_left_out(self._tried, self._unseen)

    def _directory(self, path: str, known: dict[str, tuple[Mark, Mark]]) -> None:
        with _opened_up(f"{self._layer}/{path}") if self._levels[path][1] else nullcontext():
            super()._directory(path, known)

    def _sources(self, path: str) -> dict[str, tuple[os.stat_result, str]]:
        prefix = f"{path}/" if path else ""
        in_root, in_layer = self._levels.pop(path)
        found = super()._sources(path) if in_root else {}
        for name in [name for name in found if not self._can_be_copied(prefix + name, *found[name])]:
            del found[name]
        below = {name: True for name, (status, _) in found.items() if stat.S_ISDIR(status.st_mode)}
        self._levels.update((prefix + name, (True, False)) for name in below)
        for name, status in (self._names(self._layer, path) if in_layer else {}).items():
            place = f"{self._layer}/{prefix}{name}"
            with _opened_up(place):
                is_gone, is_alone = is_whiteout(place, status), has_opaque(place)
            if is_gone or self._leads_elsewhere(self._layer, prefix + name):
                found.pop(name, None)
            elif self._is_too_deep(prefix + name) or place.count("/") > _LEVELS:
                self._leave_out(prefix + name, "is too deep to be copied")
            else:
                self._levels[prefix + name] = (name in below and not is_alone, True)
                found[name] = status, place
        return found

    def _can_be_copied(self, path: str, status: os.stat_result, place: str) -> bool:
        if self._is_passed(path):
            return False
        if not is_kept(status.st_mode):
            self._leave_out(path, "is a FIFO, socket or device")
            return False
        needed = os.R_OK | (os.X_OK if stat.S_ISDIR(status.st_mode) else 0)
        if not stat.S_ISLNK(status.st_mode) and not os.access(place, needed):
            self._leave_out(path, "cannot be read")
            return False
        if self._is_too_deep(path) or place.count("/") > _LEVELS:
            self._leave_out(path, "is too deep to be copied")
            return False
        return True

    def _is_too_deep(self, path: str) -> bool:
        """Whether a directory has no room for every name, wherever it is: in the workspace, the copy or the layer."""
        longest = max(len(os.fsencode(base)) for base in (self._root, self._copy, self._layer))
        return longest + 1 + len(os.fsencode(path)) > DEEPEST

    def _leave_out(self, path: str, why: str) -> None:
        self.left_out.append((path, f"{why}, and is not in the copy"))
        self._unseen[path] = why

    def _finished(self, source: str, target: str) -> None:
        with self._readable(source):
            super()._finished(source, target)
        if source.startswith(f"{self._layer}/"):
            clean(target)

    def _copied(self, source: str, target: str, status: os.stat_result) -> None:
        with self._readable(source):
            copy_file(source, target, status)
        if not stat.S_ISLNK(status.st_mode):
            clean(target)
            os.chmod(target, stat.S_IMODE(status.st_mode))

    def _readable(self, source: str) -> AbstractContextManager[None]:
        """See that we can read what is to be copied; never of the workspace itself, of which that has been seen."""
        return _opened_up(source) if source.startswith((f"{self._copy}/", f"{self._layer}/")) else nullcontext()

    # -- from the copy to the layer

    def _take(self, path: str) -> None:
        made = self._names(self._copy, path)
        prefix = f"{path}/" if path else ""
        for name in sorted({*made, *self._children.get(path, ())}):
            below, status, known = prefix + name, made.get(name), self._index.get(prefix + name)
            if below == STATE:
                continue
            if status is None:
                self._gone(below)
            elif known is not None and _is_same_directory(known[1], status):
                with _opened_up(f"{self._copy}/{below}"):
                    self._take(below)
                if stat.S_IMODE(status.st_mode) != stat.S_IMODE(known[0][0]):
                    self._show_directories(f"{below}/")
                if is_directory(f"{self._layer}/{below}"):
                    os.chmod(f"{self._layer}/{below}", stat.S_IMODE(status.st_mode))
            elif known is None:
                self._put(below, status, is_known=False)
            elif known[1] != mark(status) and not self._is_index_still_here(below):
                self._put(below, status, is_known=True)

    def _gone(self, path: str) -> None:
        self._show_directories(path)
        remove_tree(f"{self._layer}/{path}")
        if os.path.lexists(f"{self._root}/{path}"):
            _white_out(f"{self._layer}/{path}")
        self._forget(path)

    def _put(self, path: str, status: os.stat_result, *, is_known: bool) -> None:
        """Put something into the layer with all that is in it, in the place of whatever is there."""
        self._show_directories(path)
        self._forget(path)
        pending, closing = [(path, status)], list[tuple[str, int]]()
        try:
            while pending:
                below, status = pending.pop()
                source, target = f"{self._copy}/{below}", f"{self._layer}/{below}"
                if not stat.S_ISDIR(status.st_mode):
                    self._put_one(below, status, is_known=is_known and below == path)
                    self._note(below, target)
                elif self._is_too_deep(below):
                    self._put_deep(below)
                else:
                    closing.append((below, stat.S_IMODE(status.st_mode)))
                    os.chmod(source, stat.S_IMODE(status.st_mode) | 0o700)
                    self._make_over(below)
                    if below == path and os.path.lexists(f"{self._root}/{below}"):
                        os.setxattr(target, _OPAQUE, b"y")
                    pending += [(f"{below}/{name}", inside) for name, inside in self._names(self._copy, below).items()]
        finally:
            for below, mode in reversed(closing):
                with suppress(FileNotFoundError):
                    for base in (self._copy, self._layer):
                        os.chmod(f"{base}/{below}", mode)
                    self._note(below, f"{self._layer}/{below}")

    def _make_over(self, path: str) -> None:
        """Make a directory of the layer anew, but for what was moved there because it is too deep, before wink was killed."""
        source, target = f"{self._copy}/{path}", f"{self._layer}/{path}"
        if not is_directory(target):
            remove_tree(target)
            _make_like(source, target)
            return
        os.chmod(target, 0o700)
        made = self._names(self._copy, path)
        for name, status in self._names(self._layer, path).items():
            stays = stat.S_ISDIR(status.st_mode)
            if name in made:
                stays = stays and stat.S_ISDIR(made[name].st_mode)
            else:
                stays = stays and self._is_too_deep(f"{path}/{name}")
            if not stays:
                remove_tree(f"{target}/{name}")
        for name in os.listxattr(target, follow_symlinks=False):
            if name.startswith("user."):
                os.removexattr(target, name, follow_symlinks=False)
        _look_like(source, target)

    def _put_deep(self, path: str) -> None:
        """Keep what is too deep to be copied: it is refused when it is to be accepted, and not lost until then."""
        source = f"{self._copy}/{path}"
        try:
            remove_tree(f"{self._layer}/{path}")
            os.rename(source, f"{self._layer}/{path}")
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            beside = f"{self.shown.directory}/too-deep-{os.urandom(6).hex()}"
            os.rename(source, beside)
            self.strays.append(beside)

    def _put_one(self, path: str, status: os.stat_result, *, is_known: bool) -> None:
        source, target, draft = f"{self._copy}/{path}", f"{self._layer}/{path}", f"{self._notes}/draft"
        # What the workspace had before: where it is gone from there, somebody else has deleted it.
        was_there = is_known and (not os.path.lexists(target) or _has_origin(target))
        remove_tree(draft)
        if not is_kept(status.st_mode):
            os.mkfifo(draft, 0o600)  # whatever it is, it is named and not kept
        else:
            self._copied(source, draft, status)
            if was_there and stat.S_ISREG(status.st_mode):
                with _opened_up(draft):
                    os.setxattr(draft, _ORIGIN, b"")
        if is_directory(target):
            remove_tree(target)
        os.replace(draft, target)

    def _show_directories(self, path: str) -> None:
        """See that the layer has the directories above a path, to be written to."""
        for place in (path[:at] for at in range(len(path)) if path[at] == "/"):
            layer = f"{self._layer}/{place}"
            if is_directory(layer):
                os.chmod(layer, stat.S_IMODE(os.lstat(layer).st_mode) | 0o700)
            else:
                _make_like(f"{self._copy}/{place}", layer)
                os.setxattr(layer, _ORIGIN, b"")

    def _is_index_still_here(self, path: str) -> bool:
        """Whether this is a git index in which git has noted other times, as those of the copy's own files."""
        if not is_git_index(path):
            return False
        layer = f"{self._layer}/{path}"
        source = layer if os.path.lexists(layer) else f"{self._root}/{path}"
        before, after = (bounded_content(place, _LARGEST) for place in (source, f"{self._copy}/{path}"))
        said = None if before is None else git_index_meaning(before)
        if said is None or after is None or said != git_index_meaning(after):
            return False
        self._note(path, source)
        return True

    def _note(self, path: str, source: str) -> None:
        mine = os.lstat(f"{self._copy}/{path}")
        if is_kept(mine.st_mode):
            self._index[path] = mark(os.lstat(source)), mark(mine)

    def _forget(self, path: str) -> None:
        pending = [path]
        while pending:
            one = pending.pop()
            self._index.pop(one, None)
            pending += [f"{one}/{name}" for name in self._children.get(one, ())]


def _is_same_directory(known: Mark, status: os.stat_result) -> bool:
    return stat.S_ISDIR(known[0]) and stat.S_ISDIR(status.st_mode) and known[1] == status.st_ino


def _make_like(source: str, target: str) -> None:
    """A directory as another one is, but open to its owner, and without the kernel's marks."""
    os.mkdir(target, 0o700)
    _look_like(source, target)


def _look_like(source: str, target: str) -> None:
    status = os.lstat(source)
    shutil.copystat(source, target)
    if os.geteuid() == 0:
        os.chown(target, status.st_uid, status.st_gid)
    os.chmod(target, stat.S_IMODE(status.st_mode) | 0o700)
    clean(target)


def _has_origin(place: str) -> bool:
    with _opened_up(place):
        return has_origin(place)


def _white_out(place: str) -> None:
    """Note that a name is deleted, as the kernel does, or else in the other way that it knows."""
    try:
        os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(0, 0))
    except OSError:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        os.setxattr(place, _WHITEOUT, b"y")


@contextmanager
def _opened_up(place: str) -> Generator[None]:
    """See that we can read, and set attributes of, what a program closed even for its owner."""
    status = os.lstat(place)
    needed = 0o700 if stat.S_ISDIR(status.st_mode) else 0o600 if stat.S_ISREG(status.st_mode) else 0
    is_closed = os.geteuid() != 0 and status.st_mode & needed != needed
    if is_closed:
        os.chmod(place, stat.S_IMODE(status.st_mode) | needed)
    try:
        yield
    finally:
        if is_closed:
            os.chmod(place, stat.S_IMODE(status.st_mode))
