"""What stands between a program and the workspace, so that what it did can be kept as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from wink.errors import SandboxUnavailable
from wink.filesystem import FileChange, FileTransaction, program_state
from wink_sandbox._lay import check_mounts, foreign, objection
from wink_sandbox._merge import Differences, Notes, differences, merge
from wink_sandbox._overlay import Overlay, is_directory, overlays_in, spare
from wink_sandbox._sandbox import PROGRAMS, Sandbox, bubblewrap
from wink_sandbox._scratch import Scratch
from wink_sandbox.programs import Command, Ended, OnOutput, Stop, launcher


class Guarded(Protocol):
    """One program under a guard: `run` it, then either `keep` what it did, or leave the guard, which drops it."""

    def run(
        self,
        command: Command,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        beat: Callable[[], object] | None = None,
    ) -> Ended:
        """Run the program to its end."""
        ...

    def changes(self) -> tuple[FileChange, ...]:
        """What it changed, one entry a path."""
        ...

    def notes(self) -> Notes:
        """What of it stays out."""
        ...

    def keep(self) -> None:
        """Make it part of the call, which must have its turn; raises `MergeConflict` and `MergeRefused`."""
        ...


class Guard(Protocol):
    """One way to guard programs. `name` is what events call it, `unseen` what of a program's doings it cannot see."""

    @property
    def name(self) -> str:
        """`overlay`, or another."""
        ...

    @property
    def unseen(self) -> tuple[str, ...]:
        """What it does not notice, in words."""
        ...

    def open(self, part: FileTransaction, sandbox: Sandbox) -> AbstractContextManager[Guarded]:
        """Guard the next program of a call; what is not kept when the block ends is dropped."""
        ...


@dataclass(slots=True)
class _Overlaid:
    part: FileTransaction
    sandbox: Sandbox
    overlay: Overlay
    _lent: frozenset[str] = frozenset()
    _found: Differences | None = None

    def run(
        self,
        command: Command,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        beat: Callable[[], object] | None = None,
    ) -> Ended:
        self._found = None
        return self.sandbox.run(command, self.overlay, stop=stop, on_output=on_output, beat=beat)

    def changes(self) -> tuple[FileChange, ...]:
        return self._differences().changes()

    def notes(self) -> Notes:
        found = self._differences()
        fresh = [path for path in found.scratch if path not in self._lent]
        return (
            *foreign(self.overlay.root),
            *found.notes,
            *((path, "is scratch, kept for the next program only") for path in fresh),
        )

    def keep(self) -> None:
        # Read again: since the turn was taken, the workspace is what it will be merged into.
        self._found = None
        merge(self._differences(), self.part, file_bytes=self.sandbox.profile.limits.file_bytes)

    def _differences(self) -> Differences:
        if self._found is None:
            self._found = differences(self.overlay)
        return self._found


class OverlayGuard:
    """Programs work on an overlayfs over the workspace: what they changed is exactly its upper layer."""

    @property
    def name(self) -> str:
        """What events call it."""
        return "overlay"

    @property
    def unseen(self) -> tuple[str, ...]:
        """Nothing escapes it."""
        return ()

    @contextmanager
    def open(self, part: FileTransaction, sandbox: Sandbox) -> Generator[Guarded]:
        """Guard the next program of a call."""
        state = program_state(part)
        programs = f"{state}/{PROGRAMS}"
        root = part.tree.store.root
        check_mounts(root)
        scratch = Scratch(f"{state}/scratch", sandbox.scratch) if sandbox.scratch else None
        with spare(programs, root, scratch) as overlay:
            yield _Overlaid(part, sandbox, overlay, frozenset(differences(overlay).scratch))


def usual_guard(part: FileTransaction | None = None) -> Guard:
    """The first of the guards that this host can do, for these files: an overlay, or else a copy.

    Raises `SandboxUnavailable`.
    """
    if part is not None and _can_mount(program_state(part)):
        return OverlayGuard()
    from wink_sandbox._probe import probe

    report = probe()
    if report.guard is None:
        raise SandboxUnavailable("overlay", report.lacks("overlay"))
    if report.guard == "overlay" and part is None:
        return OverlayGuard()
    from wink_sandbox._copy_guard import CopyGuard

    return CopyGuard()


@cache
def _can_mount(state: str) -> bool:
    """Whether overlays can be mounted over this state directory, told by an earlier one or else by trying."""
    programs = f"{state}/{PROGRAMS}"
    try:
        bubblewrap()
        launcher.start()
        # The kernel made this one in there, when it had mounted it.
        if any(is_directory(f"{programs}/{name}/work/work") for name in overlays_in(programs)):
            return True
        return not objection(state)
    except SandboxUnavailable:
        return False
