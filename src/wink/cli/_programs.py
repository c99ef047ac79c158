"""Say which programs a call has run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from wink.cli._shorten import one_line
from wink.record import CallFilter, CallView

if TYPE_CHECKING:
    from wink.record import Noted, Queries

PROGRAM: Final = "program-ended"
"""The kind of event that tells of a program."""
_KEYS: Final = ("argv", "status", "reason", "seconds", "guard")
_GUARDS: Final = {"overlay": "", "try": ", in a try", "check": ", as the check"}
_PAGES: Final = 20
"""So many pages of earlier calls are looked at for one that had ended before a call began."""


def programs_of(queries: Queries, call: CallView) -> tuple[dict[str, Any], ...]:
    """The programs that wink started for a call, oldest first: `argv`, `status`, `reason`, `seconds` and `guard` of each."""
    found: list[dict[str, Any]] = []
    for _, one in queries.whole_stream(queries.place_of(_before(queries, call)), session=call.session):
        if not isinstance(one, CallView):
            found += told_of(one.data) if _is_of(one, call) else []
        elif one.position >= call.position:
            break
    return tuple(found)


def told_of(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an event tells of a program; nothing where a record that came from somewhere says what makes no sense."""
    argv, seconds = data.get("argv"), data.get("seconds")
    if not isinstance(argv, list) or not isinstance(seconds, int | float):
        return []
    return [{key: data.get(key) for key in _KEYS}]


def program_lines(programs: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The same for a person, a line each."""
    for one in programs:
        status = one["status"]
        ended = f"exit status {status}" if status is not None else str(one["reason"])
        guard = _GUARDS.get(str(one["guard"]), f", guard {one['guard']}")
        yield one_line(f"{shlex.join(map(str, one['argv']))}: {ended} after {one['seconds']:.1f} s{guard}")


def _is_of(noted: Noted, call: CallView) -> bool:
    told = noted.data
    is_it = noted.kind == PROGRAM and told.get("transaction") == call.transaction_id
    return is_it and told.get("call_id") == call.call_id


def _before(queries: Queries, call: CallView) -> int:
    """A call that had ended before this one began, so that what this one did was noted after it; 0 where there is none."""
    first = call.position
    for _ in range(_PAGES):
        page = queries.page(CallFilter(session=call.session), before=first, limit=50, brief=True)
        for one in page:
            if one.started_at + one.duration <= call.started_at:
                return one.position
        if not page:
            break
        first = page[-1].position
    return 0
