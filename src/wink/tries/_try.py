"""One try: an overlay with a name, the programs that ran in it, and what of it becomes the workspace's."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from wink.errors import MergeConflict, NothingTried, SessionNameError, TryBusy, TryConflict, UnknownTry
from wink.filesystem import FileChange, FilePart, git_index_meaning, is_git_index, workspace_path
from wink.sandbox import (
    Differences,
    Overlay,
    changed_meanwhile,
    differences,
    forget,
    is_directory,
    merge,
    overlays_in,
    steering,
)
from wink.sandbox._deep import remove, tree
from wink.sandbox._upper import DEEPEST
from wink.state import DIRECTORY as STATE
from wink.state import make, opened_directory, read_file, replace_file
from wink.workspace import apply, session_name

if TYPE_CHECKING:
    from wink.workspace import Workspace

DIRECTORY: Final = "tries"
"""Where tries are, in the workspace's state."""

_FACTS: Final = "try.json"
_MOST_BYTES: Final = 256 << 20
_FOREVER: Final = 1 << 62
_MODE: Final = 3
"""Where in a mark is the mode."""
_CHANGED: Final = 4
"""Where in a mark is the time of the last change of anything."""
_LARGEST: Final = 64 << 20
"""Larger content is not read to be known again: whatever happens to such a file in the workspace is in the way."""


@dataclass(frozen=True, slots=True)
class Run:
    """A program that ran in a try; `status` is its exit status, None where it was ended from outside."""

    argv: tuple[str, ...]
    started_at: datetime
    seconds: float
    status: int | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became the workspace's: `call` is its number in the log, None where nothing changed or for a dry run."""

    call: int | None
    changes: tuple[FileChange, ...]
    notes: tuple[tuple[str, str], ...] = ()
    is_over: bool = False


class Try:
    """Changes that are not real yet. Made by `tries`, or by the first `use` of a new name."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.name = session_name(name, "try")
        self._workspace = workspace
        self.overlay = Overlay(os.path.realpath(workspace.root), os.path.join(workspace.state, DIRECTORY, self.name))

    @property
    def exists(self) -> bool:
        """Whether something has been tried under this name and neither been accepted nor dropped as a whole."""
        return is_directory(self.overlay.upper)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The programs that ran in it, oldest first."""
        return tuple(run for one in self._facts()["runs"] if (run := _run(one)) is not None)

    @contextmanager
    def use(self) -> Generator[Overlay]:
        """The overlay, to run programs over, and nobody else's meanwhile; raises `TryBusy`."""
        os.close(make(self._workspace.state))
        with self._held():
            try:
                yield self.overlay
            finally:
                if self.exists:
                    # What these files are now is what was changed: if they are that again, nobody is in the way.
                    found = _seen(self.overlay)
                    self._remember({step.path: None for step in found.steps}, until=self.overlay.since)

    @contextmanager
    def _held(self) -> Generator[None]:
        try:
            self.overlay.open()
        except BlockingIOError:
            raise TryBusy(self.name) from None
        try:
            _let_go_of_accepted(self.overlay)
            yield
        finally:
            self.overlay.close()

    def note(self, run: Run) -> None:
        """Keep that a program runs, or how it ended if it is the one that was noted last, while the try is in use."""
        facts = self._facts()
        runs = [one for one in facts["runs"] if _run(one) is not None]
        noted = {
            "argv": self._workspace.masking.value(run.argv),
            "started_at": run.started_at.isoformat(),
            "seconds": round(run.seconds, 3),
            "status": run.status,
        }
        if runs and runs[-1]["started_at"] == noted["started_at"]:
            runs.pop()
        self._keep({**facts, "runs": [*runs, noted]})

    def differences(self) -> Differences:
        """What was changed in it so far; raises `UnknownTry`."""
        self._must_exist()
        return _seen(self.overlay)

    def accept(
        self,
        *paths: str,
        session: str = "default",
        dry_run: bool = False,
        confirm: Callable[[Accepted], object] | None = None,
    ) -> Accepted:
        """Make all of it, or what is at and beneath some paths, the workspace's: one call, which can be undone.

        What is not accepted stays in the try; when nothing is left there is no try any more. `confirm` is told what is about
        to be done, when nobody else can change it any more; where it raises, nothing is. Raises `UnknownTry`,
        `TryBusy`, `TryConflict` where the workspace has changed there meanwhile, and `MergeRefused` for what must not
        become a workspace's; then nothing was changed.
        """
        self._must_exist()
        with self._held():
            found = self._chosen(paths)
            told = self._told(found)
            if dry_run:
                self._check(found)
                return Accepted(None, found.changes(), told)
            said = {"try": self.name, **({"paths": list(paths)} if paths else {})}
            last = self.runs[-1:]
            if last:
                said["command"] = list(last[0].argv)

            contents: dict[str, str | None] = {}

            def take(part: FilePart) -> None:
                nonlocal found, told
                found = self._chosen(paths)  # as of now: others had their turns before this one
                told = self._told(found)
                self._check(found)
                if confirm is not None:
                    confirm(Accepted(None, found.changes(), told))
                for step in found.steps:
                    base = self.overlay.root if step.kind == "mode" else self.overlay.upper
                    contents[step.path] = None if step.kind == "drop" else _digest(f"{base}/{step.path}")
                try:
                    # Kept until it is committed: a failure must leave the try as it was.
                    merge(self._unchanged(found), part, keep=True)
                except MergeConflict as error:
                    raise TryConflict(self.name, error.paths) from error

            call, changes = apply(self._workspace, "accept", said, take, session=session)
            forget(found)
            self._remember(contents)
            return Accepted(call, changes, told, self._end_if_empty())

    def drop(self, *paths: str, dry_run: bool = False, confirm: Callable[[Accepted], object] | None = None) -> Accepted:
        """Forget all of it, or what is at and beneath some paths; what was accepted stays. Raises like `accept`."""
        self._must_exist()
        with self._held():
            found = self._chosen(paths)
            changes = found.changes()
            if dry_run:
                return Accepted(None, changes)
            if confirm is not None:
                confirm(Accepted(None, changes))
            if not paths:
                self.overlay.drop()
                return Accepted(None, changes, is_over=True)
            forget(found)
            return Accepted(None, changes, is_over=self._end_if_empty())

    def _told(self, found: Differences) -> tuple[tuple[str, str], ...]:
        return (*steering(found.changes(), self.overlay.root), *found.notes)

    def _chosen(self, paths: Sequence[str]) -> Differences:
        found = _seen(self.overlay)
        if not paths:
            return found
        places = [str(workspace_path(path)) for path in paths]
        chosen = found.only(places)
        for path, place in zip(paths, places, strict=True):
            if place and not any(step.path == place or step.path.startswith(f"{place}/") for step in found.steps):
                raise NothingTried(path, self.name)
        return chosen

    def _check(self, found: Differences) -> None:
        conflicts = [path for path in changed_meanwhile(found) if not self._knows(path)]
        if conflicts:
            raise TryConflict(self.name, conflicts)

    def _unchanged(self, found: Differences) -> Differences:
        """The same, as of now: that nobody else has changed these files has just been seen, with the turn held."""
        own = any(self._knows(path) for path in changed_meanwhile(found))
        return replace(found, overlay=replace(found.overlay, since=_FOREVER)) if own else found

    def _end_if_empty(self) -> bool:
        if _seen(self.overlay):
            return False
        self.overlay.drop()
        return True

    # -- what is kept beside the overlay

    def _facts(self) -> dict[str, Any]:
        try:
            with opened_directory(self.overlay.directory) as place:
                found: object = json.loads(read_file(place, _FACTS, _MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            found = None
        facts = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        runs, known = facts.get("runs"), facts.get("known")
        facts["runs"] = cast("list[Any]", runs) if isinstance(runs, list) else []
        marks = cast("dict[str, Any]", known) if isinstance(known, dict) else {}
        facts["known"] = {path: mark for path, mark in marks.items() if isinstance(mark, list)}
        return facts

    def _keep(self, facts: Mapping[str, object]) -> None:
        with opened_directory(self.overlay.directory) as place:
            replace_file(place, _FACTS, json.dumps(facts).encode())

    def _remember(self, contents: Mapping[str, str | None], *, until: int = _FOREVER) -> None:
        """Know again what is at some paths of the workspace; their content's digests, None where that is yet to be read.

        What has changed after `until` is somebody else's.
        """
        facts = self._facts()
        known = facts["known"]
        for path, digest in contents.items():
            mark = _mark(f"{self.overlay.root}/{path}", digest, known.get(path))
            if mark is not None and mark[_CHANGED] <= until:
                known[path] = mark
        self._keep(facts)

    def _knows(self, path: str) -> bool:
        """Whether a path is as it is known: it was accepted from here, or changed and exactly put back, as a rollback does.

        Its time alone does not say so: people keep that when they copy a file. Content decides, and where that is not
        read, whether nothing at all has happened to the file.
        """
        known, mark = self._facts()["known"].get(path), _mark(f"{self.overlay.root}/{path}")
        if not isinstance(known, list) or len(cast("list[object]", known)) <= _CHANGED or mark is None:
            return False
        known = cast("list[object]", known)
        if is_git_index(path) and mark[-1] is not None:
            return (known[_MODE], known[-1]) == (mark[_MODE], mark[-1])  # git writes it anew, and it says the same
        if known[:_CHANGED] != mark[:_CHANGED]:
            return False
        return known[-1] == mark[-1] if mark[-1] is not None else known == mark

    def _must_exist(self) -> None:
        if not self.exists:
            raise UnknownTry(self.name, [one.name for one in tries(self._workspace)])


def tries(workspace: Workspace) -> tuple[Try, ...]:
    """What is being tried, the one that was used last at the end."""
    names = overlays_in(os.path.join(workspace.state, DIRECTORY))
    found = [Try(workspace, name) for name in names if _is_name(name)]
    return tuple(sorted((one for one in found if one.exists), key=lambda one: (_last_use(one), one.name)))


def _run(noted: Any) -> Run | None:
    """A program that was noted, unless what stands there is none."""
    try:
        started = datetime.fromisoformat(noted["started_at"])
        return Run(tuple(map(str, noted["argv"])), started, float(noted["seconds"]), noted["status"])
    except (KeyError, TypeError, ValueError):
        return None


def _last_use(one: Try) -> float:
    runs = one.runs
    return runs[-1].started_at.timestamp() if runs else 0.0


def _is_name(text: str) -> bool:
    try:
        session_name(text)
    except SessionNameError:
        return False
    return True


def _seen(overlay: Overlay) -> Differences:
    """What was changed; that wink's state was covered up leaves a trace in the overlay, and is not worth a word."""
    found = differences(overlay)
    return replace(found, notes=tuple(note for note in found.notes if note[0] != STATE))


def _let_go_of_accepted(overlay: Overlay) -> None:
    """See that no file in it is the workspace's too, as after a crash: a program would write into both.

    What the workspace has at the same path was accepted, and goes; any other that has a name elsewhere becomes a copy.
    """
    names: dict[int, list[str]] = {}
    for path, found in tree(overlay.upper):
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            place = f"{overlay.upper}/{path}"
            with suppress(OSError):
                if os.path.samestat(found, os.lstat(f"{overlay.root}/{path}")):
                    os.unlink(place)
                    continue
            names.setdefault(found.st_ino, []).append(place)
    for first, *others in names.values():
        # What is too deep to have a path was never taken over, nor was any file that has such a name.
        is_reached = all(len(os.fsencode(place)) <= DEEPEST for place in (first, *others))
        if is_reached and os.lstat(first).st_nlink > 1 + len(others):
            from wink.sandbox._copy import copy_file

            apart = f"{overlay.directory}/apart"
            remove(apart)
            copy_file(first, apart, os.lstat(first))
            os.replace(apart, first)
            for other in others:
                os.unlink(other)
                os.link(first, other)


def _mark(place: str, digest: str | None = None, known: Sequence[Any] | None = None) -> list[Any] | None:
    """By what a file is known again: inode, time, size and mode, the time of any change, and the content's digest.

    With `digest` that is the content; without it nothing is read where all else is as in the mark `known`.
    """
    try:
        found = os.lstat(place)
        facts = [found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_ctime_ns]
        if digest is None and known and known[:-1] == facts:
            return list(known)
        digest = digest if digest is not None else _digest(place)
        return [*facts, digest if os.lstat(place).st_ctime_ns == found.st_ctime_ns else None]
    except OSError:
        return None


def _digest(place: str) -> str | None:
    """What tells the content of a file, link or directory from another; None for what is too large or cannot be read.

    Of a git index that is what it says, whatever times git has noted in it.
    """
    try:
        found = os.lstat(place)
        if stat.S_ISLNK(found.st_mode):
            return os.readlink(place)
        if not stat.S_ISREG(found.st_mode):
            return ""  # what is in it has marks of its own
        if found.st_size > _LARGEST:
            return None
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            said = git_index_meaning(file.read()) if is_git_index(place) else None
            file.seek(0)
            return said or hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
