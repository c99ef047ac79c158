"""Free the oldest pre-images, which nobody is likely to want back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from wink.filesystem import HostFilesystem
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
    now: datetime,
    *,
    calls: int | None,
    age: timedelta | None,
    most_bytes: int | None,
    dry_run: bool,
) -> Collected:
    """Keep the pre-images of the newest transactions within all limits, and free the others.

    The caller holds the lease, so that what the record does not know belongs to nothing that is under way.
    """
    sizes = dict(files.preimages())
    kept_calls = kept_bytes = freed = 0
    dropped: list[str] = []
    for past in reversed(record.past()):
        size = sizes.pop(past.transaction_id, None)
        if size is None:
            continue
        fits = (
            (calls is None or kept_calls < calls)
            and (age is None or past.at is None or now - past.at <= age)
            and (most_bytes is None or kept_bytes + size <= most_bytes)
        )
        if fits and not dropped:
            kept_calls, kept_bytes = kept_calls + 1, kept_bytes + size
        else:
            # All older ones too: a history with holes helps nobody.
            dropped.append(past.transaction_id)
            freed += size
    if not dry_run:
        files.discard_preimages(*dropped, *sizes)
    return Collected(len(dropped), freed + sum(sizes.values()), kept_bytes)
