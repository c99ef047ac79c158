"""Keep the packs few and small: each fold leaves one, of whole objects, and whoever looks for an object looks into each.

git puts them into one where it can be started, with deltas: of the versions of a file little more is left than of one of
them. It works on wink's own repository alone, with no settings but wink's, and keeps all objects, also those that only the
record knows. Without git they are put together as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

from wink.errors import HistoryDamaged
from wink_history._git import git_on_store
from wink_history._objects import Malformed
from wink_history._pack_reading import Pack
from wink_history._pack_writing import PackWriter
from wink_history._store import Store

MOST_PACKS: Final = 24
WORTH: Final = 2 << 20
"""So many bytes in packs beside the largest one are worth it too, if they are a quarter of what it has."""
_SMALL: Final = 16 << 20
# With -f, since git takes whole objects of one pack for such that no delta pays for.
_REPACK: Final = (
    *("-c", "pack.threads=1", "-c", "pack.windowMemory=128m", "-c", "repack.writeBitmaps=false"),
    *("repack", "-a", "-d", "-f", "--keep-unreachable", "--quiet", "--window=10", "--depth=50"),
)
_PATIENCE_SECONDS: Final = 300.0


def tidy_packs(store: Store, *, always: bool = False) -> None:
    """Put packs together when it is worth it, or `always` if there are some; the caller has the store's lock."""
    sizes = [pack.size for pack in store.packs()]
    loose = sum(sizes) - max(sizes, default=0)
    if not (
        len(sizes) > MOST_PACKS or loose > max(WORTH, max(sizes, default=0) // 4) or (always and sum(sizes) > WORTH)
    ):
        return
    if not repack(store):
        merge_packs(store)


def repack(store: Store) -> bool:
    """Let git make one pack of all; False where it cannot, with everything as it was."""
    try:
        git = git_on_store(os.path.dirname(store.path), {})
    except HistoryDamaged:
        return False
    program = None if git is None else shutil.which("git", path=git.environment["PATH"])
    if git is None or program is None:
        return False
    command = [program, *git.options, *_REPACK]
    none = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command,
            env=git.environment,
            cwd=git.place,
            timeout=_PATIENCE_SECONDS,
            check=False,
            stdin=none,
            stdout=none,
            stderr=none,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        store.forget_packs()
    return done.returncode == 0


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
