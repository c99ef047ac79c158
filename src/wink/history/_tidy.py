"""Keep the number of packs small: each fold leaves one, and whoever looks for an object looks into each."""

from __future__ import annotations

from typing import Final

from wink.history._objects import Malformed
from wink.history._pack_reading import Pack
from wink.history._pack_writing import PackWriter
from wink.history._store import Store

MOST_PACKS: Final = 24
_SMALL: Final = 16 << 20


def merge_packs(store: Store) -> None:
    """Put small packs together when there are many; the caller has the store's lock."""
    if len(store.packs()) <= MOST_PACKS:
        return
    small = [pack for pack in store.packs() if pack.size <= _SMALL]
    if len(small) < 2:
        return
    writer = store.writer(again=True)
    try:
        merged = [pack.name for pack in small if _copied(pack, writer)]
        name = store.finish(writer)
    finally:
        writer.abandon()
    store.drop_packs([old for old in merged if old != name])


def _copied(pack: Pack, writer: PackWriter) -> bool:
    """Copy all objects of a pack; False where it is broken, so that it is left for people to look at."""
    try:
        for oid in pack.ids():
            offset = pack.find(oid)
            if offset is None:
                return False
            entry = pack.raw(oid, offset)
            if entry is None:
                writer.add(*pack.read(oid, offset))
            else:
                writer.copy(oid, entry)
    except Malformed:
        return False
    return True
