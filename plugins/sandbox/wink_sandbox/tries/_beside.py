"""Find what git wrote in a try to repositories outside of the workspace, and where that is accepted to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from wink.errors import RecordCorrupt
from wink.filesystem import quoted_path
from wink.state import opened_directory, read_file, replace_file
from wink.workspace import Workspace
from wink_sandbox import Beside, GitHome, GitOutside, Overlay, beside, git_outside, is_directory, worktree_in
from wink_sandbox.tries._facts import Facts

if TYPE_CHECKING:
    from wink_sandbox.tries._worktree import MainTree

_OUTSIDE: Final = "leads to {}, where git wrote something in the try that cannot be accepted: commit again afterwards"
_UNCONFIRMED: Final = (
    "leads to {}, which does not say that it belongs here; `wink accept --git-dir` takes what git wrote there"
)
_CONFIRMED: Final = "git-directories"
_MOST_BYTES: Final = 1 << 20


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
    from wink_sandbox.tries._refs import Refs
    from wink_sandbox.tries._worktree import MainTree

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
