"""Keep what of the workspace was in no copy, so that nothing takes its place unseen when a try is accepted."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from wink.errors import RecordCorrupt
from wink.filesystem import quoted_path
from wink.state import opened_directory, read_file, replace_file
from wink_sandbox._merge import Differences
from wink_sandbox._overlay import LEFT_OUT, Overlay, has_left_out
from wink_sandbox._rules import with_parents
from wink_sandbox._upper import has_opaque, is_whiteout

_MOST_BYTES: Final = 64 << 20


def note_left_out(overlay: Overlay, found: Mapping[str, str]) -> None:
    """Keep what the next program does not see, paths with the reasons; what earlier ones did not see counts where they made something."""
    with opened_directory(overlay.directory) as place:
        before = {path: why for path, why in _read(place).items() if _is_covered(overlay.upper, path)}
        if before or found or has_left_out(overlay):
            replace_file(place, LEFT_OUT, json.dumps({**before, **found}).encode("utf-8", "surrogateescape"))


def in_the_place_of_left_out(found: Differences) -> Iterator[tuple[str, str]]:
    """What would take the place, or delete, what no program of the try could see: paths, each with the reason."""
    left: dict[str, str] = {}
    with suppress(OSError, RecordCorrupt), opened_directory(found.overlay.directory) as place:
        left = _read(place)
    above = {one: path for path in left for one in with_parents((path,)) - {path}}
    told: dict[str, str] = {}
    for step in found.steps:
        path = step.path if step.path in left else above.get(step.path) if step.kind != "mode" else None
        if path is not None and os.path.lexists(f"{found.overlay.root}/{path}"):
            what = "was" if path == step.path else f"has {quoted_path(path)} in it, which was"
            told[step.path] = f"{what} not in the copy, since it {left[path]}"
    yield from told.items()


def _is_covered(upper: str, path: str) -> bool:
    """Whether something in a layer stands where a path of the workspace has been, or hides it."""
    for one in sorted(with_parents((path,))):
        place = f"{upper}/{one}"
        try:
            status = os.lstat(place)
        except OSError:
            return False
        if one == path or is_whiteout(place, status) or not stat.S_ISDIR(status.st_mode) or has_opaque(place):
            return True
    return False


def _read(place: int) -> dict[str, str]:
    try:
        found: Any = json.loads(read_file(place, LEFT_OUT, _MOST_BYTES).decode("utf-8", "surrogateescape"))
        return {str(path): str(why) for path, why in found.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
