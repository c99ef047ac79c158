"""Make calls of the record out of what was found to have changed, so that each can be looked at and taken back like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from wink.dataclass import replace
from wink.errors import WorkspaceBusy
from wink.filesystem import FileTransaction, FileVersion, Stamp, Was, merging
from wink.limits import utc_now
from wink.transactions import CommitEntry, Outcome
from wink.workspace import Workspace, apply
from wink_attach._baseline import Entry
from wink_attach._keeper import Difference, Keeper

_POSITION: Final = "position"
_NAMED: Final = 5
_LOST: Final = "the record has lost {} of its last entries, as when the power is cut: what they changed stays, and cannot be undone"

Choice = Callable[[Sequence[Difference]], Sequence[Difference]]
"""Gives those of the differences that belong to a call."""


class Told(NamedTuple):
    """What is known of a call beside what it changed."""

    tool: str
    arguments: str
    session: str
    call_id: str = ""
    run: str = ""
    prompt: str = ""
    reply: str = ""
    failure: str = ""
    effects: str = "workspace"
    started: datetime | None = None
    decisions: tuple[tuple[str, bool, str | None, bool], ...] = ()
    outcome: Outcome = "committed"


class Recorder:
    """Writes to one workspace's record, and knows up to where what stands in it is wink's own doing."""

    def __init__(self, workspace: Workspace, keeper: Keeper) -> None:
        self._workspace, self._keeper = workspace, keeper
        known, last = keeper.baseline.fact(_POSITION), workspace.record.last_position()
        self._position = last if known is None else min(int(known), last)
        if known is not None and int(known) > last:
            self.unchanged(Told("hook", "{}", "default", failure=_LOST.format(int(known) - last), effects="read"))

    def changed(self, told: Told, choose: Choice = tuple, *, always: bool = True) -> tuple[Difference, ...]:
        """Record a call with what is found to have changed and `choose` leaves to it; without `always` only if anything has.

        Gives what it changed. A workspace that is busy for long leaves the changes to the next call.
        """
        if not self._keeper.has_news():
            if always:
                self.unchanged(told)
            return ()
        chosen: list[Difference] = []
        lost: list[str] = []

        def work(part: FileTransaction) -> None:
            found = self._foreign(self._keeper.differences())
            chosen.extend(choose(found))
            for one in chosen:
                if not self._note(part, one):
                    lost.append(one.path)

        def entry(made: CommitEntry) -> CommitEntry | None:
            secrets = [one.path for one in chosen if one.is_secret]
            beside = [one.path for one in chosen if one.is_beside]
            if not (made.changes or secrets or always or (beside and told.failure)):
                return None
            return self._entry(told, made, secrets, lost, beside)

        try:
            apply(self._workspace, told.tool or "unknown", {}, work, session=told.session, told=entry)
        except WorkspaceBusy as error:
            if always:
                self.unchanged(
                    told._replace(failure=f"{told.failure}; what it changed comes with the next call: {error}")
                )
            return ()
        self._keeper.take(chosen)
        self._advance()
        return tuple(chosen)

    def unchanged(self, told: Told) -> None:
        """Record a call that has changed nothing, or was not let run."""
        record, now = self._workspace.record, utc_now()
        started = told.started or now
        identity = f"attached-{now.timestamp():.6f}-{told.call_id}"
        made = CommitEntry(
            identity, told.session, identity, told.tool, "", "{}", told.outcome, "", started, now - started, (), (), ()
        )
        made = self._entry(told, made)
        if told.outcome == "committed":
            record.commit(made)
        else:
            record.attempt(made)
        self._advance()

    def taken_back(self, since: int) -> tuple[int, tuple[str, ...]]:
        """The paths that undos have changed after a position, and the last position now."""
        record = self._workspace.record
        found = [past for past in record.past(since + 1) if past.reverts]
        paths = {change.path for past in found for _, change in record.changes(past.position, past.position)}
        return record.last_position(), tuple(sorted(paths))

    def position(self) -> int:
        """The last position of the record."""
        return self._workspace.record.last_position()

    def _entry(
        self,
        told: Told,
        made: CommitEntry,
        secrets: Sequence[str] = (),
        lost: Sequence[str] = (),
        beside: Sequence[str] = (),
    ) -> CommitEntry:
        hidden = f"not kept, since a rule denies to read it: {_named(secrets)}" if secrets else ""
        large = f"not kept as it was before, and cannot be undone: {_named(lost)}" if lost else ""
        builds = f"not kept: what has changed in {_named(beside)}" if beside else ""
        failure = "; ".join(filter(None, (told.failure, hidden, large, builds)))
        now = utc_now()
        started = told.started or now
        return replace(
            made,
            call_id=told.call_id or made.call_id,
            tool=told.tool,
            arguments=told.arguments,
            prompt=told.prompt,
            outcome=told.outcome,
            rendered=told.reply or (made.rendered if not told.call_id else ""),
            run=told.run,
            error=failure or None,
            effects=told.effects,
            started_at=started,
            duration=max(now - started, timedelta(0)),
            decisions=told.decisions,
        )

    def _foreign(self, found: Sequence[Difference]) -> list[Difference]:
        """What wink itself has not made: a call of its own tools, or an undo, stands in the record already."""
        left: dict[str, FileVersion | None] = {}
        for _, change in self._workspace.record.changes(self._position + 1):
            left[change.path] = change.after
        own = [one for one in found if one.path in left and _is_as_left(left[one.path], one.after)]
        self._keeper.take(own)
        known = {one.path for one in own}
        return [one for one in found if one.path not in known]

    def _note(self, part: FileTransaction, one: Difference) -> bool:
        """Put a change into the call's, unless it is only named; whether what was there before is kept."""
        if one.is_secret or one.is_beside:
            return True
        before, after = one.before, one.after
        content = self._keeper.baseline.content(before) if before is not None and before.status.is_file else None
        with merging(part, one.path) as steps:
            steps.note_change(
                one.path,
                None if before is None else _was(before, content),
                None if after is None else _was(after, None),
            )
        if after is not None and after.status.is_file and after.digest:
            part.observe(one.path, Stamp(one.path, after.digest.hex(), after.status.size, (), complete=True))
        return content is not None or before is None or not before.status.is_file

    def _advance(self) -> None:
        self._position = self._workspace.record.last_position()
        self._keeper.baseline.note(_POSITION, str(self._position))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def _was(entry: Entry, content: bytes | None) -> Was:
    status = entry.status
    return Was(
        status.mode,
        status.size,
        status.modified_ns,
        content,
        entry.target,
        (status.owner, status.group),
        status.inode,
    )


def _is_as_left(left: FileVersion | None, now: Entry | None) -> bool:
    if left is None or now is None:
        return left is now is None
    if left.kind != "file" or left.kept is None:
        return (left.kind == "directory") == now.status.is_directory and (left.target or "") == now.target
    if left.kept.digest is not None and now.digest:
        return left.kept.digest == now.digest.hex() and left.mode == now.status.mode & 0o7777
    status = now.status
    return (left.size, left.kept.inode, left.kept.modified_ns) == (status.size, status.inode, status.modified_ns)
