"""Carry the chain of a record along with one session of it, so that whoever reads the bundle can see that it fits.

Of the session's own entries the pieces are there, each with its salt: arguments and replies with the calls, the rest here. Of
other sessions' entries, and of what had to be masked once more, there are only the commitments, from which nothing can be
guessed. See `wink.record` for how they are put together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from wink.record import HASH, MASK, SALT, as_text, chained, commitment
from wink_bundles._rows import Call, Change, Exported, Link, Piece, Side
from wink_verify import Entry, Mismatch, entries, last_of, start_of

if TYPE_CHECKING:
    from wink.workspace import Workspace

_TOLD: Final = 2
"""The pieces before those of the calls where something was changed; one less otherwise."""
_SESSION, _NUMBER, _ROWS = 2, 8, 9
_CONTENT: Final = 15
_DIGEST: Final = 64


def links_of(workspace: Workspace, session: str, calls: Sequence[Call]) -> tuple[Link, ...]:
    """The chain of the record, with what the entries of a session say; empty where there is none, or it is damaged."""
    of_each: dict[int, list[Call]] = {}
    for call in calls:
        of_each.setdefault(call.transaction, []).append(call)
    found: list[Link] = []
    with workspace.record.queries.reading() as ask:
        try:
            start = start_of(ask)
            found.append(Link(start.position, start.entry.hex(), ()))
            for entry in entries(ask, start, last_of(ask)):
                if entry.chain is None:
                    found = [Link(entry.position, "", ())]
                    continue
                is_own = json.loads(entry.pieces[0])[_SESSION] == session
                told = (
                    _told(workspace, entry, of_each.get(entry.position, ())) if is_own else [None] * len(entry.pieces)
                )
                pieces = tuple(_piece(entry, at, text) for at, text in enumerate(told))
                found.append(Link(entry.position, entry.chain[:HASH].hex(), pieces))
        except Mismatch:
            return ()
    return tuple(found) if len(found) > 1 else ()


def check_links(session: Exported) -> str | None:
    """What does not fit, in words; None where all of it does."""
    links = session.chain
    if not links:
        return None
    of_each: dict[int, list[Call]] = {}
    for call in session.calls:
        of_each.setdefault(call.transaction, []).append(call)
    try:
        for before, link in pairwise(links):
            if link.position != before.position + 1:
                return f"entry {before.position + 1} is missing"
            calls = of_each.pop(link.position, [])
            found = b"".join(_commitment(piece, texts) for piece, texts in _texts(link, calls))
            if chained(bytes.fromhex(before.entry), found).hex() != link.entry:
                return f"entry {link.position} is not what was written"
            problem = _told_otherwise(session, link, calls)
            if problem is not None:
                return f"entry {link.position} is told otherwise: {problem}"
        late = [position for position in of_each if position > links[0].position]
        return f"entry {late[0]} is in no chain" if late else None
    except (ValueError, TypeError, LookupError, RecursionError):
        return "its chain makes no sense"


def _told(workspace: Workspace, entry: Entry, calls: Sequence[Call]) -> list[str | None]:
    """The text of each piece that can be told; empty for one that stands with a call, None for one that has to stay hidden."""
    masking, texts = workspace.masking, [piece.decode("utf-8", "surrogatepass") for piece in entry.pieces]
    told: list[str | None] = []
    for text in texts[: 1 + bool(entry.changed)]:
        is_plain = as_text(json.loads(masking.json(text))) == as_text(json.loads(text))
        told.append(text if is_plain else None)
    if entry.changed and any(row[_CONTENT] is not None for row in json.loads(entry.changed)[1:]):
        told[1] = None  # what a call had written that was rolled back is masked by what was a secret then
    given = [text for call in calls for text in (call.arguments, call.reply)]
    stored = texts[len(told) :]
    return told + ["" if given[at : at + 1] == [text] else None for at, text in enumerate(stored)]


def _piece(entry: Entry, at: int, text: str | None) -> Piece:
    assert entry.chain is not None, "it was looked at"
    salt = entry.chain[HASH + SALT * at : HASH + SALT * (at + 1)]
    if text is None:
        return Piece(commitment=commitment(salt, entry.pieces[at]).hex())
    return Piece(salt=salt.hex(), text=text)


def _texts(link: Link, calls: Sequence[Call]) -> Iterator[tuple[Piece, str]]:
    """Each piece with its text, wherever that stands."""
    given = [text for call in calls for text in (call.arguments, call.reply)]
    told = len(link.pieces) - len(given) if calls else _TOLD
    for at, piece in enumerate(link.pieces):
        yield piece, piece.text or (given[at - told] if piece.salt and at >= told >= 1 else "")


def _commitment(piece: Piece, text: str) -> bytes:
    if piece.commitment:
        return bytes.fromhex(piece.commitment)
    return commitment(bytes.fromhex(piece.salt), text.encode("utf-8", "surrogatepass"))


def _told_otherwise(session: Exported, link: Link, calls: Sequence[Call]) -> str | None:
    """What calls are said to have been that their entry does not say."""
    facts: list[Any] = json.loads(link.pieces[0].text or "null") or []
    if not facts:
        return None
    if facts[0] != link.position or facts[2:5] != [session.session, session.session_id, session.created_at]:
        return "the session"
    rows = [_facts(call) for call in calls]
    if calls and (rows != facts[_ROWS] or [call.number for call in calls] != _numbers(facts)):
        return "the calls"
    if any(call.committed != bool(facts[5]) or list(call.takes_back) != json.loads(facts[7] or "[]") for call in calls):
        return "whether they stand"
    has_changes = len(link.pieces) - 2 * len(calls) == _TOLD
    changed = json.loads(link.pieces[1].text or "null") if has_changes and calls else None
    if changed is not None and not _changed(calls[-1].changes, *changed):
        return "what was changed"
    return "what was changed" if calls and not has_changes and calls[-1].changes else None


def _numbers(facts: Sequence[Any]) -> list[int]:
    return [facts[_NUMBER] + at for at in range(1, len(facts[_ROWS]) + 1)]


def _facts(call: Call) -> list[Any]:
    decisions = as_text(call.decisions) if call.decisions else "[]"
    asked = call.call_id, call.tool, call.prompt, call.outcome, call.started_at, call.duration, decisions
    return [*asked, call.effects, call.run or None, call.approval or None, call.error, call.plugin or None]


def _changed(changes: Sequence[Change], names: Sequence[Any], *rows: Sequence[Any]) -> bool:
    """Whether changes are those that an entry tells of."""
    if [change.path for change in changes] != list(names[: len(rows)]) or len(changes) != len(rows):
        return False
    return all(
        change.moved_from == row[0]
        and _side(change.before) == list(row[1:5])
        and _side(change.after) == list(row[8:12])
        and _has_digest(change.after, row[14])
        for change, row in zip(changes, rows, strict=True)
    )


def _side(side: Side | None) -> list[Any]:
    return [None] * 4 if side is None else [side.kind, side.size, side.mode, side.target]


def _has_digest(side: Side | None, known: str | None) -> bool:
    """Whether a content is that of a digest, as far as both are there, and nothing was masked in it."""
    digest = (known or "")[:_DIGEST].strip()
    if side is None or not digest or (side.content is None and side.digest is None):
        return True
    if side.content is None:
        return side.digest == digest
    return MASK in side.content or sha256(side.content.encode("utf-8", "surrogatepass")).hexdigest() == digest
