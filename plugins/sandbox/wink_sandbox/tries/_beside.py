"""Find what git wrote in a try to repositories outside of the workspace, and accept it there.

The objects and refs of a worktree lie there. The directory that they lie in, or the git directory itself, is a workspace of its own, whose record
has the call and whose `wink undo` takes it back; the rules for what is merged are those for any `.git`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from wink.dataclass import replace
from wink.errors import RecordCorrupt
from wink.filesystem import quoted_path
from wink.state import opened_directory, read_file, replace_file
from wink.workspace import Workspace
from wink_sandbox import (
    Beside,
    GitHome,
    GitOutside,
    Overlay,
    beside,
    changed_meanwhile,
    differences,
    forget,
    git_outside,
    is_directory,
    merge,
    refused,
    with_git_config,
    worktree_in,
)
from wink_sandbox.tries._facts import Facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wink.filesystem import FileTransaction
    from wink_sandbox import Differences, RemoteSetting
    from wink_sandbox.tries.merging import Arrived, RefMerge, Refs

_OUTSIDE: Final = "leads to {}, where git wrote something in the try that cannot be accepted: commit again afterwards"
_UNCONFIRMED: Final = (
    "leads to {}, which does not say that it belongs here; `wink accept --git-dir` takes what git wrote there"
)
_CONFIRMED: Final = "git-directories"
_MOST_BYTES: Final = 1 << 20
_FOREVER = 1 << 62


def outside(overlay: Overlay, facts: Facts) -> tuple[GitOutside, ...]:
    """The git directories outside of the workspace, of it or of what lies in it, that programs have written to."""
    return git_outside(overlay.root, facts.places, facts.read()["git"])


def layers_beside(overlay: Overlay, facts: Facts) -> tuple[tuple[GitHome, Beside], ...]:
    """Where what git wrote in the try is accepted to, each with what was changed there."""
    homes = {one.home: None for one in outside(overlay, facts) if one.home is not None}
    found = ((home, beside(overlay, home, facts.places)) for home in homes)
    return tuple((home, layer) for home, layer in found if layer is not None and is_directory(layer.upper))


def main_trees(
    overlay: Overlay,
    facts: Facts,
    found: Iterable[GitOutside],
    workspace: Workspace,
    opened: ExitStack,
    confirm: Callable[[str], bool] | None,
    name: str,
) -> tuple[tuple[MainTree, ...], tuple[tuple[str, str], ...]]:
    """What what git wrote is accepted to, until `opened` is closed, and what cannot be, with the reasons.

    `confirm` is asked, once and for all, whether a git directory belongs to the workspace that does not say so itself.
    """
    from wink_sandbox.tries.merging import Refs

    mains, stays = dict[GitHome, MainTree](), list[tuple[str, str]]()
    layers = dict(layers_beside(overlay, facts))
    for one in found:
        home = one.home
        if home is None or home not in layers:
            stays.append((one.at, _OUTSIDE.format(quoted_path(one.directory))))
        elif not is_confirmed(workspace, home, confirm):
            stays.append((one.at, _UNCONFIRMED.format(quoted_path(one.directory))))
        elif home not in mains:
            main = opened.enter_context(Workspace.open(home.place, masking=workspace.masking))
            knows = partial(facts.knows, root=home.place)
            # Of what lies outside no bases are kept: what has changed there meanwhile is in doubt.
            refs = Refs(layers[home], lambda _: None, knows, name, worktree_in(f"{overlay.root}/{one.at}"))
            mains[home] = MainTree(main, layers[home], home.inside, one.at, refs, knows)
            opened.callback(mains[home].close)
    return tuple(mains.values()), tuple(stays)


def is_confirmed(workspace: Workspace, home: GitHome, confirm: Callable[[str], bool] | None = None) -> bool:
    """Whether a git directory is known to be the workspace's: it says so, or a person has, who may be asked now."""
    if home.points_back:
        return True
    known: object = []
    with suppress(OSError, ValueError, RecursionError, RecordCorrupt), opened_directory(workspace.state) as place:
        known = json.loads(read_file(place, _CONFIRMED, _MOST_BYTES))
    names = cast("list[object]", known) if isinstance(known, list) else []
    if home.place in names:
        return True
    if confirm is None or not confirm(home.place):
        return False
    with opened_directory(workspace.state) as place:
        replace_file(place, _CONFIRMED, json.dumps([*names, home.place]).encode())
    return True


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

        from wink.workspace import apply  # which most commands do not need

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
