"""Find where else on the machine the files of a directory are seen: the same filesystem can be mounted at many places."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


class _Shown(NamedTuple):
    """One mount: the number of its filesystem, which directory of that it shows, and where."""

    device: str
    root: str
    target: str


def other_names(root: str, paths: Sequence[str]) -> Iterator[str]:
    """Other paths, from `/` on and without that, of what is at `paths` in `root`, as far as those are there."""
    if not paths:
        return
    mounts = _mounts()
    for path in paths:
        place = f"{root}/{path}" if root != "/" else f"/{path}"
        own = max((one for one in mounts if _is_in(place, one.target)), key=lambda one: len(one.target), default=None)
        if own is None:
            continue
        inside = _below(own.root, place[len(own.target.rstrip("/")) :])
        for one in mounts:
            if one.device == own.device and one is not own and _is_in(inside, one.root):
                other = _below(one.target, inside[len(one.root.rstrip("/")) :])
                if other != place and _is_same(other, place):
                    yield other.lstrip("/")


def _mounts() -> list[_Shown]:
    with open("/proc/self/mountinfo", "rb") as lines:
        fields = [line.split(b" ", 5) for line in lines]
    return [_Shown(one[2].decode(), _plain(one[3]), _plain(one[4])) for one in fields if len(one) > 5]


def _plain(text: bytes) -> str:
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), text))


def _below(directory: str, path: str) -> str:
    return f"{directory.rstrip('/')}/{path.lstrip('/')}"


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except OSError:
        return False
