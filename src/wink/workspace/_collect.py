"""Free the oldest pre-images, which nobody is likely to want back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from wink.filesystem import HostFilesystem
from wink.history import Folding
from wink.record import Record


@dataclass(frozen=True, slots=True)
class Collected:
    """What was freed, or with `dry_run` would be: of how many calls, how many bytes; and how many bytes stay."""

    calls: int
    bytes: int
    bytes_left: int


def collect(
    files: HostFilesystem,
    record: Record,
    folding: Folding,
    now: datetime,
    *,
    calls: int | None,
    age: timedelta | None,
    most_bytes: int | None,
    dry_run: bool,
) -> Collected:
    """Keep the pre-images of the newest transactions within all limits, and free the others, but for what checkpoints need.

    The caller holds the lease, so that what the record does not know belongs to nothing that is under way.
    """
    staged, folded = dict(files.preimages()), record.folds.sizes()
    needed: dict[int, int] = {}
    names = record.folds.needed()
    for position, size in names.values():
        needed[position] = needed.get(position, 0) + size
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
            (calls is None or kept_calls < calls)
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
            folding.drop(cut, names)
        left = {name.partition("/")[0].rpartition(".")[0] for name in names if record.folds.find(name) is None}
        files.discard_preimages(*(name for name in dropped if name not in left), *staged)
    return Collected(len(dropped), freed + sum(staged.values()), kept_bytes)
