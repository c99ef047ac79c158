"""Find what git wrote in a try to repositories outside of the workspace, and where that is accepted to."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

from wink.filesystem import quoted_path
from wink.workspace import Workspace
from wink_sandbox import Beside, GitOutside, Overlay, beside, git_outside, is_directory
from wink_sandbox.tries._facts import Facts

if TYPE_CHECKING:
    from wink_sandbox.tries._worktree import MainTree

_OUTSIDE: Final = "leads to {}, where git wrote something in the try that cannot be accepted: commit again afterwards"


def outside(overlay: Overlay, facts: Facts) -> tuple[GitOutside, ...]:
    """The git directories outside of the workspace, of it or of what lies in it, that programs have written to."""
    return git_outside(overlay.root, facts.places, facts.read()["git"])


def layers_beside(overlay: Overlay, facts: Facts) -> tuple[tuple[str, Beside], ...]:
    """The main working trees that git has written to in the try, each with what was changed there."""
    mains = {one.main: None for one in outside(overlay, facts) if one.main is not None}
    found = ((main, beside(overlay, main, facts.places)) for main in mains)
    return tuple((main, layer) for main, layer in found if layer is not None and is_directory(layer.upper))


def main_trees(
    overlay: Overlay, facts: Facts, found: Iterable[GitOutside], workspace: Workspace, opened: ExitStack
) -> tuple[tuple[MainTree, ...], tuple[tuple[str, str], ...]]:
    """The main working trees that what git wrote is accepted to, until `opened` is closed, and what cannot be, with the reasons."""
    from wink_sandbox.tries._worktree import MainTree

    mains, stays = dict[str, MainTree](), list[tuple[str, str]]()
    layers = dict(layers_beside(overlay, facts))
    for one in found:
        if one.main is None or one.main not in layers:
            stays.append((one.at, _OUTSIDE.format(quoted_path(one.directory))))
        elif one.main not in mains:
            main = opened.enter_context(Workspace.open(one.main, masking=workspace.masking))
            mains[one.main] = MainTree(main, layers[one.main], one.at, partial(facts.knows, root=one.main))
    return tuple(mains.values()), tuple(stays)
