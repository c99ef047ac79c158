"""Give up the oldest calls: first what they replaced, which nobody is likely to want back, then all that the record has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from wink.dataclass import dataclass
from wink.filesystem import HostFilesystem
from wink.record import Keep, Record
from wink.workspace._upkeep import Upkeep

_SLACK = 10
"""Bounds are held by themselves when a tenth more than they allow has come together, so that it is seldom."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What was freed, or with `dry_run` would be: of how many calls, how many bytes; and how many bytes stay.

    `forgotten` is how many calls left the record.
    """

    calls: int
    bytes: int
    bytes_left: int
    forgotten: int = 0


def collect(
    files: HostFilesystem,
    record: Record,
    upkeep: Upkeep,
    now: datetime,
    *,
    calls: int | None,
    age: timedelta | None,
    most_bytes: int | None,
    dry_run: bool,
) -> Collected:
    """Keep the newest transactions within all limits, and give up the others, but for what checkpoints need.

    The caller holds the lease, so that what the record does not know belongs to nothing that is under way.
    """
    staged, folded = dict(files.preimages()), record.folds.sizes()
    needed: dict[int, int] = {}
    names = record.folds.needed()
    for position, size in names.values():
        needed[position] = needed.get(position, 0) + size
    forgotten, forgets = _beyond(record, now, calls, age, most_bytes)
    kept_calls = kept_bytes = freed = cut = 0
    dropped: list[str] = []
    for past in reversed(record.past()):
        if not past.changes:
            continue  # what it left in staging nobody can ask for
        sizes = staged.pop(past.transaction_id, None), folded.get(past.position)
        if sizes == (None, None):
            continue
        size = sum(size for size in sizes if size is not None)
        fits = (
            past.position > forgotten
            and (calls is None or kept_calls < calls)
            and (age is None or past.at is None or now - past.at <= age)
            and (most_bytes is None or kept_bytes + size <= most_bytes)
        )
        if fits and not cut:
            kept_calls, kept_bytes = kept_calls + 1, kept_bytes + size
            continue
        # All older ones too: a history with holes helps nobody.
        cut = max(cut, past.position)
        stays = min(needed.get(past.position, 0), size)
        kept_bytes += stays
        if stays < size or not stays:
            freed += size - stays
            dropped.append(past.transaction_id)
    if not dry_run:
        cut = max(cut if dropped else 0, record.folds.dropping())
        if cut:
            upkeep.drop(cut, names)
        left = {name.partition("/")[0].rpartition(".")[0] for name in names if record.folds.find(name) is None}
        files.discard_preimages(*(name for name in dropped if name not in left), *staged)
        # Last, since by it the rest is known.
        forgets = record.forgetting.forget(forgotten) if forgotten else 0
    return Collected(len(dropped), freed + sum(staged.values()), kept_bytes, forgets)


def is_due(files: HostFilesystem, record: Record, now: datetime, keep: Keep) -> bool:
    """Whether so much more than is to be kept has come together that it is worth giving up some."""
    found = record.forgetting.first()
    if found is None:
        return False
    first, at, last = found
    calls = last - first + 1 - keep.calls
    if calls * _SLACK > keep.calls or now - at > timedelta(days=keep.days + keep.days // _SLACK + 1):
        return record.forgetting.free(last) > 0
    most = keep.bytes + keep.bytes // _SLACK
    replaced = sum(record.folds.sizes().values()) + sum(dict(files.preimages()).values())
    return replaced > most or record.forgetting.text_bytes() > most


def _beyond(
    record: Record, now: datetime, calls: int | None, age: timedelta | None, most_bytes: int | None
) -> tuple[int, int]:
    """Up to which transaction the record is beyond the limits, as far as it can be forgotten, and how many calls that is."""
    kept_calls = kept_bytes = cut = 0
    beyond: dict[int, int] = {}
    for weight in record.forgetting.weights():
        kept_calls, kept_bytes = kept_calls + weight.calls, kept_bytes + weight.bytes
        fits = (
            (calls is None or kept_calls <= calls)
            and (age is None or now - weight.at <= age)
            and (most_bytes is None or kept_bytes <= most_bytes)
        )
        if not fits:
            cut = max(cut, weight.position)
        if cut:
            beyond[weight.position] = weight.calls
    cut = record.forgetting.free(cut)
    return cut, _count(beyond, cut)


def _count(calls: Mapping[int, int], upto: int) -> int:
    return sum(number for position, number in calls.items() if position <= upto)
