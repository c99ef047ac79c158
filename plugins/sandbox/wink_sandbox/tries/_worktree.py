"""Accept what git wrote to a repository outside of the workspace, as a call of its main working tree, or of the git directory itself.

The objects and refs of a worktree lie there. That directory is a workspace of its own, whose record has the call and whose
`wink undo` takes it back; the rules for what is merged are those for any `.git`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.dataclass import replace
from wink.filesystem import FileTransaction, quoted_path
from wink.workspace import Workspace, apply
from wink_sandbox import Differences, changed_meanwhile, differences, forget, merge, refused, with_git_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wink_sandbox import Overlay, RemoteSetting
    from wink_sandbox.tries._refs import Arrived, RefMerge, Refs

_FOREVER = 1 << 62


class MainTree:
    """A directory, open, and an overlay with what was changed in it; `inside` it all lies that is accepted, `at` is the `.git` that leads there.

    A path that the try `knows` is as it has seen or accepted it.
    """

    def __init__(
        self, workspace: Workspace, overlay: Overlay, inside: str, at: str, refs: Refs, knows: Callable[[str], bool]
    ) -> None:
        self._workspace, self._overlay, self._inside, self._at, self._knows = workspace, overlay, inside, at, knows
        self._refs = refs
        self.confirmed: frozenset[RemoteSetting] = frozenset()

    @property
    def place(self) -> str:
        """Where it is."""
        return self._overlay.root

    @property
    def asked(self) -> tuple[RemoteSetting, ...]:
        """What a person has to confirm of its settings."""
        return self._found().asked

    def close(self) -> None:
        """Remove what was merged."""
        self._refs.close()

    def problems(self, part: FileTransaction | None = None) -> Sequence[tuple[str, str]]:
        """Why what git wrote cannot be accepted, as problems of the worktree's `.git`."""
        return self._problems(self._merged(), part or self._workspace.filesystem.begin())

    def accept(
        self,
        said: Mapping[str, object],
        session: str,
        confirm: Callable[[Differences, Sequence[tuple[str, str]]], object],
    ) -> tuple[int | None, tuple[Arrived, ...]]:
        """Make it the main tree's: the number of the call there, and the refs that have other names there.

        `confirm` is told what, and raises what the problems call for.
        """
        merged = self._merged()

        def take(part: FileTransaction) -> None:
            nonlocal merged
            merged = self._merged()
            confirm(merged.found, self._problems(merged, part))
            # That nobody else has changed it has just been seen, with the turn held.
            found = merged.found
            merge(replace(found, overlay=replace(found.overlay, since=_FOREVER)), part, keep=True)

        call, _ = apply(self._workspace, "accept", said, take, session=session)
        forget(merged.found)
        forget(replace(merged.found, steps=merged.same))
        return call, merged.arrived

    def _found(self) -> Differences:
        return with_git_config(differences(self._overlay).only([self._inside]), self.confirmed)

    def _merged(self) -> RefMerge:
        found = self._found()
        return self._refs.of(found, self._changed(found))

    def _problems(self, merged: RefMerge, part: FileTransaction) -> Sequence[tuple[str, str]]:
        problems = dict(refused(merged.found, part))
        reasons = {one.path: one.reason for one in merged.conflicts}
        for path in self._changed(merged.found):
            why = "was changed by somebody else since the try began"
            problems[path] = f"{why}, {reasons[path]}" if path in reasons else why
        shown = quoted_path(self._overlay.root)
        return [(self._at, f"leads to {shown}, where {quoted_path(path)} {why}") for path, why in problems.items()]

    def _changed(self, found: Differences) -> list[str]:
        return [path for path in changed_meanwhile(found) if not self._knows(path)]
