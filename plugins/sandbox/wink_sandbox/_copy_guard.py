"""Guard programs where no overlay can be mounted: they work on a copy that is kept in step with the workspace."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from wink.errors import MergeConflict
from wink.filesystem import FileChange, FileTransaction, program_state
from wink_sandbox import _rules
from wink_sandbox._copy import WorkspaceCopy
from wink_sandbox._merge import Differences, Notes, merge
from wink_sandbox._overlay import Overlay
from wink_sandbox._sandbox import Sandbox
from wink_sandbox._scratch import Scratch
from wink_sandbox.programs import Command, Ended, OnOutput, Stop

COPIES: Final = "copies"
"""Where in the state the copies are."""

_FOREVER: Final = 1 << 62
"""After this nobody changes anything: who did is found by comparing with the copy's own notes."""


@dataclass(slots=True)
class _Copied:
    part: FileTransaction
    sandbox: Sandbox
    overlay: Overlay
    copy: WorkspaceCopy
    _found: Differences | None = field(default=None, repr=False)

    def run(
        self,
        command: Command,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        beat: Callable[[], object] | None = None,
    ) -> Ended:
        """Run the program to its end."""
        self._found = None
        return self.sandbox.run(command, self.overlay, stop=stop, on_output=on_output, beat=beat)

    def changes(self) -> tuple[FileChange, ...]:
        """What it changed, one entry a path."""
        return self._differences().changes()

    def notes(self) -> Notes:
        """What of it stays out."""
        return self._differences().notes

    def keep(self) -> None:
        """Make it part of the call, which must have its turn; raises `MergeConflict` and `MergeRefused`."""
        self._found = None
        found = self._differences()
        conflicts = self.copy.changed_meanwhile(found.steps)
        if conflicts:
            raise MergeConflict(conflicts)
        merge(found, self.part, file_bytes=self.sandbox.profile.limits.file_bytes)

    def _differences(self) -> Differences:
        if self._found is None:
            steps, notes = self.copy.steps()
            self._found = Differences(self.overlay, steps, notes)
        return self._found


class CopyGuard:
    """Programs work on a copy of the workspace; one scan tells what they changed. What it costs grows with the workspace."""

    @property
    def name(self) -> str:
        """What events call it."""
        return "scan"

    @property
    def unseen(self) -> tuple[str, ...]:
        """What is otherwise than under an overlay."""
        return ("several names of one file are files of their own",)

    @contextmanager
    def open(self, part: FileTransaction, sandbox: Sandbox) -> Generator[_Copied]:
        """Guard the next program of a call, on the first copy that is not in use."""
        state, root = program_state(part), part.tree.store.root
        scratch = Scratch(f"{state}/scratch", sandbox.scratch)
        number = 0
        while True:
            overlay = Overlay(root, f"{state}/{COPIES}/{number}", since=_FOREVER, is_copy=True)
            try:
                overlay.open()
                break
            except BlockingIOError:
                number += 1
        try:
            copy = WorkspaceCopy(overlay, passed=_rules.is_state, is_scratch=scratch.holds)
            copy.bring_up_to_date()
            overlay.since = _FOREVER
            yield _Copied(part, sandbox, overlay, copy)
        finally:
            overlay.close()
