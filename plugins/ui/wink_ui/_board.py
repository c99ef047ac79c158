"""The board: tries and attached agents side by side, what each does and has changed, what it waits for, and what is in its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response

from wink.dataclass import dataclass, field
from wink.errors import WinkError
from wink.record import CallFilter, CallView, Turn
from wink.runtime import ApprovalRequest, pending_approvals
from wink_sandbox.tries import Conflict, Run, Try, Updated, clashes, tries
from wink_ui._asked import Asked
from wink_ui._pages import answer, redirect

PATHS: Final = 6
"""So many paths are named on a card."""
AGENTS: Final = 8
_TURNS: Final = 200
_CALLS: Final = 500


@dataclass(frozen=True, slots=True)
class Tried:
    """One try: its last program, what it has changed, the paths in the way by what they are in conflict with, and what it asks."""

    name: str
    problem: str = ""
    run: Run | None = None
    is_running: bool = False
    changes: Mapping[str, str] = field(default_factory=dict[str, str])
    in_the_way: tuple[tuple[str, tuple[str, ...]], ...] = ()
    waits: tuple[ApprovalRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class Working:
    """One attached agent: its last turn with its last call, what the turn has changed, the tries in conflict with that, and what it asks."""

    turn: Turn
    last: CallView | None
    calls: int
    changes: Mapping[str, str]
    in_the_way: tuple[tuple[str, tuple[str, ...]], ...]
    waits: tuple[ApprovalRequest, ...]


def board(asked: Asked) -> Response:
    """All of them."""
    listed = tries(asked.workspace)
    found = clashes(listed)
    requests = pending_approvals(asked.workspace)
    agents = _agents(asked, {name: those.get("", ()) for name, those in found.items()}, requests)
    shown = [_tried(one, found.get(one.name, {}), requests) for one in reversed(listed)]
    return answer(asked, "board.html", tries=shown, agents=agents, most=PATHS)


def update_try(asked: Asked) -> Response:
    """Show what an update of a try, or with `undo` taking its last one back, would do; or do it, if it still is what was shown."""
    one, undo = Try(asked.workspace, asked.place["try"]), bool(asked.value("undo"))

    def work(*, dry_run: bool) -> Updated | None:
        return one.undo_update(dry_run=dry_run) if undo else one.update(dry_run=dry_run)

    done, seal = work(dry_run=True), asked.value("seal")
    now = asked.seal((one.name, undo, done))
    moved = bool(seal) and seal != now
    if asked.method == "POST" and seal == now and done is not None:
        work(dry_run=False)
        return redirect(asked, f"/tries/{one.name}")
    status = 409 if moved else 200
    return answer(asked, "update.html", status, tried=one, undo=undo, done=done, seal=now, moved=moved)


def _tried(one: Try, clashing: Mapping[str, Sequence[Conflict]], requests: Sequence[ApprovalRequest]) -> Tried:
    try:
        changes = {change.path: change.kind for change in one.differences().changes()}
    except (OSError, WinkError) as error:
        return Tried(one.name, str(error))
    run = one.runs[-1] if one.runs else None
    return Tried(
        one.name,
        run=run,
        is_running=run is not None and run.status is None and one.overlay.is_in_use(),
        changes=changes,
        in_the_way=tuple((other, tuple(conflict.path for conflict in those)) for other, those in clashing.items()),
        waits=tuple(request for request in requests if request.call_id == f"try {one.name}"),
    )


def _agents(
    asked: Asked, clashing: Mapping[str, Sequence[Conflict]], requests: Sequence[ApprovalRequest]
) -> list[Working]:
    newest: dict[str, Turn] = {}
    for turn in asked.queries.turns(_TURNS):
        newest.setdefault(turn.session, turn)
    found: list[Working] = []
    for turn in list(newest.values())[:AGENTS]:
        calls = asked.queries.page(CallFilter(session=turn.session, run=turn.run), limit=_CALLS, brief=True)
        changes = {change.path: change.kind for call in reversed(calls) for change in call.changes}
        in_the_way = tuple(
            (name, paths)
            for name, those in clashing.items()
            if (paths := tuple(conflict.path for conflict in those if conflict.path in changes))
        )
        waits = tuple(request for request in requests if request.session == turn.session)
        found.append(Working(turn, calls[0] if calls else None, len(calls), changes, in_the_way, waits))
    return found
