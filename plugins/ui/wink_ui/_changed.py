"""Show all that a run, a session or a try has changed together, with a tree of the files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from wink.dataclass import dataclass
from wink.errors import NothingTried, UnknownRun
from wink.filesystem import FileChange
from wink.record import CallFilter
from wink_sandbox.tries import Try
from wink_ui._asked import Asked, path_field, path_of
from wink_ui._diffs import LONGEST, FileDiff, Row, file_diff
from wink_ui._groups import Group, Sorted, sort_out
from wink_ui._pages import address, answer, picture

FILES: Final = 50
"""So many diffs are shown at once."""
_ROWS: Final = 120
_LISTED: Final = 2000


@dataclass(frozen=True, slots=True)
class Shown:
    """One file of the tree; `mark` is another one when the change is another, so that it is not taken for viewed."""

    change: FileChange
    mark: str

    @property
    def field(self) -> str:
        """The path, for an address."""
        return path_field(self.change.path)


def all_changes(asked: Asked) -> Response:
    """The tree of files, and the diffs of the first of them that the filter leaves; or of one group alone."""
    wanted, title, back = _wanted(asked)
    text, of_group = asked.value("path").strip(), asked.value("group")
    # All are sorted before they are filtered: what rules a change brings along must not depend on what somebody looks for.
    sorted_out = sort_out(asked.workspace, _all(asked))
    files = _of_group(sorted_out, path_of(of_group)) if of_group else sorted_out.files
    found, groups = _fitting(files, text), [] if of_group else _fitting_groups(sorted_out.groups, text)
    start = min(asked.number("from") or 0, len(found))
    shown = found[start : start + FILES]
    is_wide = asked.value("view") == "side"
    query = {**wanted, "path": text, "group": of_group, "view": "side" if is_wide else ""}
    values: dict[str, object] = {
        "files": [(one, _laid_out(one.change, _ROWS, is_wide=is_wide)) for one in map(_shown, shown)],
        "next": address("/changes", query, **{"from": start + FILES}) if start + FILES < len(found) else None,
        "is_wide": is_wide,
        "wanted": wanted,
    }
    if asked.is_part:
        return answer(asked, "changed_files.html", **values)
    return answer(
        asked,
        "changes.html",
        **values,
        title=title,
        back=address("/changes", {**query, "group": ""}) if of_group else back,
        query=query,
        group=path_of(of_group),
        groups=groups,
        tree=_tree([_shown(change) for change in found[:_LISTED]]),
        total=len(found) + sum(len(_fitting(one.changes, text)) for one in groups),
        left=max(len(found) - _LISTED, 0),
    )


def one_change(asked: Asked) -> Response:
    """One file of them, whole."""
    wanted, _, _ = _wanted(asked)
    path = path_of(asked.value("file"))
    found = next((change for change in _all(asked) if change.path == path), None)
    if found is None:
        raise NothingTried(path, "what was changed")
    if asked.value("side"):
        return picture(asked, found)
    is_wide = asked.value("view") == "side"
    diff = _laid_out(found, LONGEST, is_wide=is_wide)
    return answer(
        asked, "changed_file.html", one=_shown(found), laid=diff, is_wide=is_wide, wanted=wanted,
        back=address("/changes", wanted),
    )  # fmt: skip


def _wanted(asked: Asked) -> tuple[dict[str, str], str, str]:
    """What the changes are of, as fields of an address; a title; and where one came from."""
    if run := asked.value("run"):
        return {"run": run}, f"All changes of run {run}", f"/runs/{run.removeprefix('r')}"
    if tried := asked.value("try"):
        return {"try": tried}, f"All changes of the try {tried}", f"/tries/{tried}"
    session = asked.value("session") or "default"
    return {"session": session}, f"All changes of session {session}", "/"


def _all(asked: Asked) -> Sequence[FileChange]:
    workspace = asked.workspace
    if tried := asked.value("try"):
        return Try(workspace, tried).differences().changes()
    if run := asked.value("run"):
        if not any(f"r{row.number}" == run for row in workspace.record.runs.rows()):
            raise UnknownRun(run, "is not known", ())
        wanted = CallFilter(run=run, outcome="ok", changed=True)
    else:
        wanted = CallFilter(session=asked.value("session") or "default", outcome="ok", changed=True)
    calls = asked.queries.page(wanted, limit=None, brief=True)
    if not calls:
        return ()
    # Others may have written in between: only what these calls have touched is theirs.
    touched = {change.path for call in calls for change in call.changes}
    changes = workspace.diff(calls[-1].position, calls[0].position)
    return tuple(change for change in changes if change.path in touched)


def _fitting(changes: Sequence[FileChange], text: str) -> list[FileChange]:
    text = text.lower()
    return [change for change in changes if text in change.path.lower()] if text else list(changes)


def _of_group(found: Sorted, directory: str) -> tuple[FileChange, ...]:
    """The changes of one group; none where there is no such group any more."""
    return tuple(change for one in found.groups if one.directory == directory for change in one.changes)


def _fitting_groups(groups: Sequence[Group], text: str) -> list[Group]:
    """What is left of the groups."""
    return [one for one in groups if not text or _fitting(one.changes, text)]


def _shown(change: FileChange) -> Shown:
    sides = [
        (one.kind, one.size, one.mode, one.kept and one.kept.digest) if one else None
        for one in (change.before, change.after)
    ]
    mark = repr((change.path, sides)).encode("utf-8", "backslashreplace")
    return Shown(change, hashlib.sha256(mark).hexdigest()[:16])


def _tree(files: Sequence[Shown]) -> list[tuple[str, list[Shown]]]:
    """The files by directory, in the order of their names."""
    found: dict[str, list[Shown]] = {}
    for one in files:
        found.setdefault(one.change.path.rpartition("/")[0], []).append(one)
    return sorted(found.items())


Laid = tuple[FileDiff, list[tuple[Row | None, Row | None]]]


def _laid_out(change: FileChange, limit: int, *, is_wide: bool) -> Laid:
    diff = file_diff(change, limit)
    return diff, beside(diff.rows) if is_wide else []


def beside(rows: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """Rows side by side: what was removed beside what came in its place; the same row twice where it is for both."""
    found: list[tuple[Row | None, Row | None]] = []
    left: list[Row] = []
    right: list[Row] = []

    def settle() -> None:
        for at in range(max(len(left), len(right))):
            found.append((left[at] if at < len(left) else None, right[at] if at < len(right) else None))
        left.clear()
        right.clear()

    for row in rows:
        if row.kind == "del":
            if right:
                settle()
            left.append(row)
        elif row.kind == "add":
            right.append(row)
        else:
            settle()
            found.append((row, row))
    settle()
    return found
