"""What `wink doctor`, `diff`, `gc` and `status` ask: whether programs can be confined here, what is tried, and what was dropped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wink.cli import Checkup, Finding, Pending, fit, paths_of
from wink.errors import SandboxUnavailable, WinkError
from wink.filesystem import quoted_path
from wink_sandbox import probe
from wink_sandbox.tries import PROFILES

if TYPE_CHECKING:
    from wink.workspace import Workspace
    from wink_sandbox.tries import Try


def programs(workspace: str) -> Checkup:
    """Say what this machine can do for programs; where they cannot be confined, that is an error."""
    report = probe()
    guard = report.guard
    found = [Finding("programs", one.name, one.has, one.detail, one.remedy) for one in report.features]
    remedy = "; ".join(report.lacks("scan"))
    found += [*_held(workspace), *_copies()]
    found.append(Finding("programs", "sandbox", guard is not None, f"the {guard} guard" if guard else "none", remedy))
    able = f"programs are run under the {guard} guard"
    if guard is None:
        able = "programs cannot be confined here and are not run, but by `wink try --unconfined`, on a copy"
    return Checkup(tuple(found), able, ok=guard is not None)


def tried(workspace: Workspace, name: str | None, *, home: bool = False, conflicts: bool = False) -> Pending | None:
    """Show what is being tried: what is named, otherwise the only one; with `home` what that has in its home.

    With `conflicts` only what has changed in the workspace too since it began.
    """
    from wink_sandbox.commands._accept import chosen_try
    from wink_sandbox.tries import tries

    if name is None and not tries(workspace):
        return None
    chosen = chosen_try(workspace, name)
    if home:
        return Pending(chosen.home(), f"in the home of the try {chosen.name!r}, where it stays; paths are those in it")
    changes = chosen.differences().changes()
    if conflicts:
        both = set(chosen.conflicts())
        title = f"changed in the workspace (-) and in the try {chosen.name!r} (+) since that began"
        return Pending(
            tuple(change for change in changes if change.path in both), title if both else f"nothing was {title}"
        )
    if name is None and not changes:
        return None  # it has something in its home alone
    title = f"tried as {chosen.name!r}, not real yet; `wink diff c1..` shows what calls changed"
    return Pending(changes, title)


def freed(workspace: Workspace, dry_run: bool) -> str:
    """Free what was dropped, which can then not be brought back, and copies of tries that are gone; a line that says how much that was."""
    from wink_sandbox import copies_left, free_copy
    from wink_sandbox.tries import dropped_tries, free_dropped

    number = len(dropped_tries(workspace)) if dry_run else free_dropped(workspace)
    parts = [_number(number, "try that was dropped", "tries that were dropped")] if number else []
    left = copies_left()
    gone = [one for one in left if not one.unsettled and (dry_run or free_copy(one))]
    if gone:
        parts.append(_number(len(gone), "copy of a try that is gone", "copies of tries that are gone"))
    stays = [quoted_path(one.place) for one in left if one not in gone]
    line = f"{'would free' if dry_run else 'freed'} {' and '.join(parts)}" if parts else ""
    if stays:
        line += f"{'; ' if line else ''}left alone, as there may be in it what is nowhere else: {', '.join(stays)}"
    return line


def _number(number: int, one: str, more: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {more}"


def _held(workspace: str) -> list[Finding]:
    """What settings and rules keep from programs of tries, by number: names of hosts and paths may be secrets."""
    from wink_sandbox.commands._hidden import hiding_of, kept_of
    from wink_sandbox.commands._keeping import persisted
    from wink_sandbox.commands._network import network_of

    root, profile = os.path.realpath(workspace), next(iter(PROFILES))
    try:
        reach, hiding = network_of(profile, (), False, False, root), hiding_of(root)
        kept = kept_of(profile, root, (), persisted(profile, root))
    except WinkError:
        return []  # what is wrong with the settings is told of anyway
    listed = True if reach.network is None else reach.network or ()
    hosts = "all of it" if listed is True else _number(len(listed), "host", "hosts")
    hosts += ", and a person is asked about others" if reach.asks else ""
    found = [Finding("programs", "network of tries", ok=True, detail=hosts)]
    places = "nothing in the home" if kept is None else _number(len(kept.places), "place", "places")
    variables = "" if kept is None else f", {_number(len(kept.variables), 'variable', 'variables')}"
    try:
        paths = "" if hiding is None else f", by rules {paths_of(len(hiding.find(root)))} of the workspace"
    except (SandboxUnavailable, OSError) as error:
        remedy = "`wink explain` lists the rules; begin their patterns with names of directories"
        return [*found, Finding("programs", "hidden from tries", ok=False, detail=str(error), remedy=remedy)]
    return [*found, Finding("programs", "hidden from tries", ok=True, detail=f"{places}{variables}{paths}")]


def _copies() -> list[Finding]:
    """The copies of tries that are gone, which would otherwise stay for ever."""
    from wink_sandbox import copies_left

    left = copies_left()
    if not left:
        return []
    unsettled = [quoted_path(one.place) for one in left if one.unsettled]
    remedy = "`wink gc` frees them"
    if unsettled:
        remedy += f"; look yourself at what a program left in {', '.join(unsettled)}, and delete that"
    what = _number(len(left), "copy of a try that is gone", "copies of tries that are gone")
    return [Finding("programs", "copies", ok=False, detail=what, remedy=remedy)]


def standing(workspace: Workspace) -> str:
    """Say what is being tried, a line each; "" for nothing."""
    from wink_sandbox.tries import tries

    return "\n".join(map(_standing, tries(workspace)))


def _standing(one: Try) -> str:
    named = "" if one.name == "default" else f" --name {one.name}"
    try:
        changed, home = len(one.differences().changes()), len(one.home())
    except (OSError, WinkError) as error:
        return f"the try {one.name!r} cannot be read ({error}); `wink drop{named}` forgets it"
    words = " ".join(one.runs[-1].argv) if one.runs else ""
    running = " (running)" if one.overlay.is_in_use() else ""
    more = f", and {paths_of(home)} in the home" if home else ""
    return f"tried as {one.name!r}{running}: {paths_of(changed)} changed{more} by {fit(words, 40)}; `wink accept{named}` or `wink drop{named}`"
