"""Mask what is about to be stored: calls, items of slices, and texts that somebody needs exactly later."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from wink.filesystem import Stamp
from wink.record._masking import Masking
from wink.record._slices import Encoded

if TYPE_CHECKING:
    from wink.transactions import CommitEntry

_log: Final = logging.getLogger("wink.record")
_STAMPS: Final = f"{Stamp.__module__}:{Stamp.__qualname__}"
"""They hold paths and digests, by which files are judged: nothing else."""
_MARK: Final = "masked:"
"""JSON that was masked is stored with this before it, so that it is never taken for what it was."""

_told: Final[set[str]] = set()


def masked(
    masking: Masking, calls: Sequence[CommitEntry], encoded: Sequence[Encoded]
) -> tuple[Sequence[CommitEntry], Sequence[Encoded]]:
    """The same with secrets masked; one search where there are none."""
    texts = [text for _, items in encoded for text in items]
    for call in calls:
        texts += (call.tool, call.arguments, call.rendered)
        if call.error is not None:
            texts.append(call.error)
        texts += [reason for _, _, reason, _ in call.decisions if reason]
    if not masking.finds_in_json(*texts):
        return calls, encoded
    return [masked_call(masking, call) for call in calls], [_items(masking, one) for one in encoded]


def masked_call(masking: Masking, call: CommitEntry) -> CommitEntry:
    """A call with its arguments, its reply, what its exception said and what policies said masked."""
    decisions = tuple(
        (policy, allowed, reason and masking.text(reason), asks) for policy, allowed, reason, asks in call.decisions
    )
    return replace(
        call,
        tool=masking.text(call.tool),  # a model may call anything
        arguments=masking.json(call.arguments),
        rendered=masking.text(call.rendered),
        error=call.error and masking.text(call.error),
        decisions=decisions,
    )


def stored(masking: Masking, text: str) -> tuple[str, bool]:
    """JSON as the record keeps it, and whether what it was has to be held."""
    found = masking.json(text)
    return (text, False) if found == text else (_MARK + found, True)


def shown(text: str) -> str:
    """JSON out of the record, masked or not."""
    return text.removeprefix(_MARK)


def is_masked(text: str) -> bool:
    """Whether JSON in the record is not what it was."""
    return text.startswith(_MARK)


def _items(masking: Masking, one: Encoded) -> Encoded:
    delta, texts = one
    if delta.type_name == _STAMPS:
        return one
    return delta, tuple(_item(masking, item, text) for item, text in zip(delta.items, texts, strict=True))


def _item(masking: Masking, item: object, text: str) -> str:
    """An item of a slice, masked so that it can still be read as what it is."""
    found = masking.json(text)
    if found == text:
        return text
    for candidate in (found, masking.by_looks(text)):
        if _can_be_read(type(item), candidate):
            return candidate
    name = type(item).__qualname__
    if name not in _told:
        _told.add(name)
        _log.warning("%s cannot be read back with its secrets masked, and is kept in the session as it is", name)
    return text


def _can_be_read(kind: type, text: str) -> bool:
    from wink.serde import parse

    try:
        parse(kind, text, extra="ignore")
    except Exception:  # foreign code: `__post_init__` of the item's type
        return False
    return True
