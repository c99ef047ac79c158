"""The real thing that a model is held against: a workspace on a disk, and tries over it in which programs run."""

from __future__ import annotations

import io
import os
import shlex
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from plugins.sandbox.tests.tries_laws.edits import Action, File, Tree, first_tree
from plugins.sandbox.tests.tries_laws.model import Told

from wink.errors import MergeRefused, NothingTried, TryConflict, UndoConflict, UnknownTry, WinkError
from wink.workspace import Workspace
from wink_sandbox import Command, Limits, Profile, Sandbox
from wink_sandbox.tries import AcceptRefused, Choice, Try, bring_back, dropped_tries

STATE = ".wink"
_SHOW = f"tar -cf - --exclude=./{STATE} ."


class World:
    """A workspace in a directory, and what is done to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, file in first_tree().items():
            self._save(Action("write", path, file.content, file.mode))
        self.workspace = Workspace.open(root)
        self.numbers: list[int] = []
        self._sandbox = Sandbox(Profile(limits=Limits(memory_bytes=None)))

    def close(self) -> None:
        self.workspace.close()

    def tree(self) -> Tree:
        """Every file of the workspace."""
        return {path: File(stat.S_IMODE(found.st_mode), place.read_bytes()) for path, place, found in _files(self.root)}

    def times(self) -> dict[str, int]:
        """When each file of the workspace was written."""
        return {path: found.st_mtime_ns for path, _, found in _files(self.root)}

    def marks(self) -> dict[str, tuple[int, ...]]:
        """What changes whenever anything happens to a file of the workspace, or of a try's layer."""
        places = [self.root, *(Path(Try(self.workspace, name).overlay.upper) for name in self.names())]
        return {
            str(place): (found.st_ino, found.st_mode, found.st_ctime_ns, found.st_mtime_ns)
            for above in places
            for _, place, found in _files(above)
        }

    def names(self) -> list[str]:
        """The tries."""
        place = Path(self.workspace.state, "tries")
        return sorted(one.name for one in place.iterdir() if not one.name.startswith(".")) if place.is_dir() else []

    def view(self, name: str) -> Tree:
        """What a try shows, of the layers as they lie there."""
        shown, upper = self.tree(), Path(Try(self.workspace, name).overlay.upper)
        for path, place, found in _files(upper):
            shown.pop(path, None)
            if stat.S_ISREG(found.st_mode):
                shown[path] = File(stat.S_IMODE(found.st_mode), place.read_bytes())
        return shown

    def changed(self, name: str) -> list[str]:
        """The paths that a try has changed."""
        return sorted(step.path for step in Try(self.workspace, name).differences().steps)

    def do(self, operation: Sequence[Any], expected: Told) -> Told:
        """Do one operation, of which the model gives what it comes to; what it came to."""
        verb, *given = operation
        return getattr(self, f"_{verb}")(expected, *given)

    # -- what people and programs do

    def _person(self, expected: Told, edits: object) -> Told:
        del edits
        for action in cast("Iterable[Action]", expected[1]):
            self._save(action)
        return expected

    def _save(self, action: Action) -> None:
        place = self.root / action.path
        if action.verb == "write":
            to = place if action.in_place else place.with_name(f"{place.name}~")
            to.parent.mkdir(exist_ok=True)
            to.write_bytes(action.content)
            to.chmod(action.mode)
            to.rename(place)
        elif action.verb == "delete":
            place.unlink()
        elif action.verb == "move":
            place.rename(self.root / action.target)
        elif action.verb == "mode":
            place.chmod(action.mode)

    def _run(self, expected: Told, name: str, edits: object) -> Told:
        """A program in the real overlay, which shows at the end what it sees."""
        del edits
        script = "\n".join(("umask 022", *map(_line, cast("Iterable[Action]", expected[1])), _SHOW))
        with Try(self.workspace, name).use() as overlay:
            ended = self._sandbox.run(Command(("/bin/sh", "-ec", script), env={"PATH": "/usr/bin:/bin"}), overlay)
        if ended.status != 0:
            return ("failed", ended.status, ended.stderr.text())
        return (*expected, _unpacked(ended.stdout.head + ended.stdout.tail))

    # -- merging, forgetting, and going back

    def _accept(
        self, expected: Told, name: str, paths: Sequence[str], without: Sequence[str], choice: Choice | None, rest: bool
    ) -> Told:
        def accept() -> Told:
            done = Try(self.workspace, name).accept(*paths, without=without, choice=choice, rest=rest)
            self._note(done.call)
            left = sorted(path for path, _ in done.left)
            told = {"merged": sorted(done.merged), "marked": sorted(done.marked), "aside": sorted(done.aside)}
            return ("accepted", {"call": done.call is not None, "over": done.is_over, "left": left, **told})

        return _told(accept)

    def _update(self, expected: Told, name: str) -> Told:
        def update() -> Told:
            done = Try(self.workspace, name).update()
            return (
                "updated",
                *map(sorted, (done.merged, done.marked, done.same, (one.path for one in done.conflicts))),
            )

        return _told(update)

    def _undo_update(self, expected: Told, name: str) -> Told:
        def undo() -> Told:
            done = Try(self.workspace, name).undo_update()
            return ("nothing",) if done is None else ("undone", sorted(done.merged), sorted(done.same))

        return _told(undo)

    def _drop(self, expected: Told, name: str, paths: Sequence[str]) -> Told:
        return _told(lambda: ("dropped", Try(self.workspace, name).drop(*paths).is_over))

    def _bring_back(self, expected: Told) -> Told:
        last = dropped_tries(self.workspace)[-1:]
        return ("back", bring_back(self.workspace, last[0][0])) if last else ("nothing",)

    def _undo(self, expected: Told, at: int) -> Told:
        del at
        if expected == ("nothing",):
            return expected
        try:
            done = self.workspace.undo(self.numbers[expected[1]])
        except UndoConflict as error:
            return ("UndoConflict", expected[1], sorted(error.paths))
        self._note(done.call)
        return ("undone", expected[1])

    def _note(self, call: int | None) -> None:
        if call is not None:
            self.numbers.append(call)


def _told(act: Callable[[], Told]) -> Told:
    try:
        return act()
    except (UnknownTry, NothingTried) as error:
        return (type(error).__name__,)
    except (TryConflict, AcceptRefused, MergeRefused) as error:
        return (type(error).__name__, sorted(error.paths))
    except (WinkError, OSError) as error:
        return (type(error).__name__, str(error))


def _files(above: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Everything in a directory that is none, but for what wink keeps there."""
    for place, directories, names in os.walk(above):
        directories[:] = [name for name in directories if name != STATE]
        for name in names:
            path = Path(place, name)
            yield str(path.relative_to(above)), path, path.lstat()


def _line(action: Action) -> str:
    """What does the same in a shell."""
    path = shlex.quote(action.path)
    if action.verb == "write":
        octal = "".join(
            chr(byte) if 32 < byte < 127 and byte not in b"\\%'" else f"\\{byte:03o}" for byte in action.content
        )
        to = path if action.in_place else shlex.quote(f"{action.path}~")
        return f"printf '{octal}' > {to}; chmod {action.mode:o} {to}" + (
            "" if action.in_place else f"; mv -f {to} {path}"
        )
    if action.verb == "delete":
        return f"rm {path}"
    if action.verb == "move":
        return f"mv -f {path} {shlex.quote(action.target)}"
    return f"chmod {action.mode:o} {path}" if action.verb == "mode" else f": >> {path}"


def _unpacked(archive: bytes) -> Tree:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {member.name.removeprefix("./"): member for member in tar if member.isreg()}
        return {path: File(one.mode, cast("Any", tar.extractfile(one)).read()) for path, one in found.items()}
