"""What one call did to the workspace's files, kept or taken back."""

from __future__ import annotations

from collections.abc import Iterator

from wink.dataclass import dataclass
from wink.filesystem import Conflict, FileChange


@dataclass(frozen=True, slots=True)
class Change:
    """The net changes of one call, in the order of their first touch.

    `rolled_back` says that the files are as they were before the call; the changes then tell what was undone. `guard` is
    what a program ran under (`overlay`, `scan`, `podman`, `none`), None where the call ran none, and `unseen` says in a
    sentence each what that guard cannot see. `conflicts` are what somebody else had saved where the call's changes were
    taken back, and where it is kept. A Change is false when no file changed.
    """

    files: tuple[FileChange, ...] = ()
    rolled_back: bool = False
    guard: str | None = None
    unseen: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files)

    def __iter__(self) -> Iterator[FileChange]:
        return iter(self.files)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that were touched, relative to the workspace."""
        return tuple(change.path for change in self.files)

    def diff(self) -> str:
        """One diff over all files in git's extended format; content above 16 MiB and binary content is summed up in a line."""
        from wink.filesystem.diffs import diff_text

        return diff_text(self.files)

    def kept_aside(self) -> str:
        """What became of other people's work that was in the way, as a sentence; empty when none was."""
        told = [
            f"{one.path} {one.reason}" + (f" and is kept as {one.kept}" if one.kept else "") for one in self.conflicts
        ]
        return f"in wink's state: {'; '.join(told)}" if told else ""

    def without_content(self) -> Change:
        """The same facts, holding no file's content; this is what a session's log keeps."""
        files = tuple([change.without_content() for change in self.files])
        return Change(files, self.rolled_back, self.guard, self.unseen, self.conflicts) if files else self
