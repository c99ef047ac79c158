"""What can be done from the page: each act is shown first, and done only if it still is what was shown.

A preview is sealed: the digest of everything that would happen, under a key that only this process has. Who confirms sends
the seal back, and when nobody else can change anything any more it is made anew from what is about to happen. Where the
two differ nothing is done, and what would happen now is shown.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Final

from starlette.responses import Response

from wink.dataclass import dataclass
from wink.errors import MergeRefused, TryConflict, UndoConflict, UnknownCheckpoint, WinkError
from wink.filesystem import DIFFABLE_BYTES, FileChange, FileVersion
from wink.workspace import Reverted
from wink_sandbox.tries import Accepted, CheckFailed, Try
from wink_ui._asked import Asked, path_of
from wink_ui._groups import LISTED, listed, sort_out
from wink_ui._pages import address, answer, redirect
from wink_ui._words import plural

Done = Reverted | Accepted
_OUTPUT: Final = 20_000
ROWS: Final = 6000
"""So many rows of diffs are shown before an act; of the other files only the names."""


class Moved(Exception):
    """What would happen now is not what was shown."""


@dataclass(frozen=True, slots=True)
class Act:
    """One thing to do: `run` does it, or only tells with `dry_run`; `fields` are what the form has to send again."""

    verb: str
    title: str
    lead: str
    button: str
    back: str
    fields: tuple[tuple[str, str], ...]
    run: Callable[[bool, Callable[[Done], object] | None], Done]
    marks: Callable[[Done], object]


def act(asked: Asked) -> Response:
    """Show what an act would do, or do it if it is confirmed and still is what was shown."""
    wanted = _ACTS[asked.place["act"]](asked)
    seal = asked.value("seal")
    if asked.method != "POST" or not seal:
        return _preview(asked, wanted)

    def confirm(done: Done) -> None:
        if asked.seal(_facts(wanted, done)) != seal:
            raise Moved

    try:
        done = wanted.run(False, confirm)
    except Moved:
        return _preview(asked, wanted, moved=True)
    except (UndoConflict, TryConflict, MergeRefused) as error:
        return _conflict(asked, wanted, error)
    except CheckFailed as error:
        title = "The check has not passed; nothing was accepted"
        text = f"{error}\n\n{error.output[-_OUTPUT:]}"
        return answer(asked, "conflict.html", 409, act=wanted, text=text, conflicts=(), title=title)
    return redirect(asked, _after(wanted, done))


def _preview(asked: Asked, wanted: Act, *, moved: bool = False) -> Response:
    try:
        done = wanted.run(True, None)
    except (UndoConflict, TryConflict, MergeRefused) as error:
        return _conflict(asked, wanted, error)
    except WinkError as error:
        if not moved:
            raise
        return answer(
            asked, "conflict.html", 409, act=wanted, text=str(error), conflicts=(), title="It was done already"
        )
    found = sort_out(asked.workspace, done.changes)
    return answer(
        asked,
        "preview.html",
        409 if moved else 200,
        act=wanted,
        moved=moved,
        seal=asked.seal(_facts(wanted, done)),
        files=listed(found.files, done.changes, ROWS),
        files_left=max(len(found.files) - LISTED, 0),
        groups=found.groups,
        paths=plural(len(done.changes), "path"),
        calls=done.calls if isinstance(done, Reverted) else (),
        types=[name.rpartition(":")[2] for name in done.types] if isinstance(done, Reverted) else (),
        kept=done.kept if isinstance(done, Reverted) else (),
        notes=done.notes if isinstance(done, Accepted) else (),
    )


def _conflict(asked: Asked, wanted: Act, error: UndoConflict | TryConflict | MergeRefused) -> Response:
    if isinstance(error, UndoConflict):
        found: Sequence[tuple[str, str]] = error.conflicts
    elif isinstance(error, TryConflict):
        found = [(path, "has changed in the workspace since the try began") for path in error.paths]
    else:
        found = error.problems
    title = "Something is in the way; nothing was changed"
    return answer(asked, "conflict.html", 409, act=wanted, text="", conflicts=found, title=title)


def _after(wanted: Act, done: Done) -> str:
    if done.call is not None:
        return address(f"/calls/{done.call}", done=wanted.verb)
    tried = dict(wanted.fields).get("try")
    return (
        f"/tries/{tried}"
        if tried and isinstance(done, Accepted) and not done.is_over
        else "/board"
        if tried
        else "/waiting"
    )


# -- the acts


def _undo(asked: Asked) -> Act:
    call, n, workspace = asked.exact_number("call"), asked.exact_number("n"), asked.workspace
    n = 1 if n is None else n

    def run(dry_run: bool, confirm: Callable[[Done], object] | None) -> Done:
        return workspace.undo(call, n=n, dry_run=dry_run, confirm=confirm)

    what = f"c{call}" if call is not None else "the last call" if n == 1 else f"the last {n} calls"
    lead = "Files and session state go back together. Whatever was done since stays, and this can be undone too."
    fields = (("call", str(call)),) if call is not None else (("n", str(n)),)
    back = f"/calls/{call}" if call is not None else "/back"
    return Act("undo", f"Undo {what}", lead, f"Undo {what}", back, fields, run, _no_marks)


def _redo(asked: Asked) -> Act:
    workspace = asked.workspace

    def run(dry_run: bool, confirm: Callable[[Done], object] | None) -> Done:
        return workspace.redo(dry_run=dry_run, confirm=confirm)

    lead = "Takes back the last undo that stands: what it took back is done again."
    return Act("redo", "Redo the last undo", lead, "Redo", "/back", (), run, _no_marks)


def _restore(asked: Asked) -> Act:
    workspace, name, call = asked.workspace, asked.value("checkpoint"), asked.exact_number("call")
    to: str | int = call if call is not None else name
    if call is None and not name:
        raise UnknownCheckpoint(name, tuple(one.name for one in workspace.checkpoints()))

    def run(dry_run: bool, confirm: Callable[[Done], object] | None) -> Done:
        return workspace.restore(to, dry_run=dry_run, confirm=confirm)

    what = f"checkpoint {name}" if call is None else f"the state after c{call}"
    lead = "Takes back everything that calls have done since, as one call that can be undone."
    fields = (("checkpoint", name),) if call is None else (("call", str(call)),)
    back = "/back" if call is None else f"/calls/{call}"
    return Act("restore", f"Go back to {what}", lead, "Go back", back, fields, run, _no_marks)


def _accept(asked: Asked) -> Act:
    tried, paths, fields, what = _tried(asked)

    def run(dry_run: bool, confirm: Callable[[Done], object] | None) -> Done:
        from wink.cli import (  # which reads many modules, and looking at a page needs none of them
            path_denials,
            rule_policies,
            settings_problem,
        )
        from wink_sandbox.hiding import hiding_by
        from wink_sandbox.tries import check_of

        asked.check_settings()
        command, root = asked.value("check").strip(), asked.workspace.root
        hiding = hiding_by(rule_policies(root), "run_command") if command else None
        return tried.accept(
            *paths,
            dry_run=dry_run,
            confirm=confirm,
            portable_names=asked.portable_names(),
            settings=settings_problem,
            denial=path_denials(root),
            check=check_of(("/bin/sh", "-c", command), hiding) if command and not dry_run else None,
        )

    lead = "Makes what was tried the workspace's, as one call that can be undone."
    title = f"Accept {what} of the try {tried.name}"
    return Act(
        "accept", title, lead, f"Accept {what}", f"/tries/{tried.name}", fields, run, lambda done: _marks(tried, done)
    )


def _drop(asked: Asked) -> Act:
    tried, paths, fields, what = _tried(asked)

    def run(dry_run: bool, confirm: Callable[[Done], object] | None) -> Done:
        return tried.drop(*paths, dry_run=dry_run, confirm=confirm)

    lead = "Forgets what was tried. Until others have been dropped after it, `wink drop --undo` brings it back."
    title = f"Drop {what} of the try {tried.name}"
    return Act(
        "drop", title, lead, f"Drop {what}", f"/tries/{tried.name}", fields, run, lambda done: _marks(tried, done)
    )


def _tried(asked: Asked) -> tuple[Try, tuple[str, ...], tuple[tuple[str, str], ...], str]:
    tried = Try(asked.workspace, asked.value("try"))
    if asked.value("scope") != "chosen":
        return tried, (), (("try", tried.name),), "all"
    chosen = asked.values("path")
    groups = asked.values("places")  # which are several paths each, with spaces between
    paths = (*chosen, *(place for places in groups for place in places.split()))
    if not paths:
        raise ValueError(
            f"no path of the try {tried.name} was chosen; go back and tick those that you mean, or take all"
        )
    ticked = (*(("path", path) for path in chosen), *(("places", places) for places in groups))
    what = plural(len(chosen), "path") if not groups else "what is ticked"
    return tried, tuple(map(path_of, paths)), (("try", tried.name), ("scope", "chosen"), *ticked), what


_ACTS: Final[dict[str, Callable[[Asked], Act]]] = {
    "undo": _undo,
    "redo": _redo,
    "restore": _restore,
    "accept": _accept,
    "drop": _drop,
}
ACTS: Final = tuple(_ACTS)


# -- what a seal is put on


def _facts(wanted: Act, done: Done) -> object:
    told = (done.calls, done.types, done.kept) if isinstance(done, Reverted) else done.notes
    return wanted.verb, wanted.fields, told, [_change(change) for change in done.changes], wanted.marks(done)


def _change(change: FileChange) -> object:
    return change.path, change.moved_from, _version(change.before), _version(change.after)


def _version(version: FileVersion | None) -> object:
    if version is None:
        return None
    kept, content = version.kept, version.content(DIFFABLE_BYTES)
    digest = None if content is None else hashlib.sha256(content).hexdigest()
    mark = None if kept is None else (kept.inode, kept.modified_ns, kept.staged, kept.digest)
    return version.kind, version.size, version.mode, version.target, mark, digest


def _no_marks(done: Done) -> object:
    del done  # what it changes says all
    return None


def _marks(tried: Try, done: Done) -> object:
    """By what the files of a try are known again, which may be too large to be read."""
    return [
        _mark(os.path.join(place, change.path))
        for change in done.changes
        for place in (tried.overlay.root, tried.overlay.upper)
    ]


def _mark(place: str) -> object:
    try:
        found = os.lstat(place)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode
