"""What a repository holds, to compare it before and after."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tests.states import paths_of


def snapshot(root: Path, *, but: Collection[str] = ()) -> dict[str, bytes]:
    """Every file, git's too, without wink's own state and without those named."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in paths_of(root)
        if path.is_file() and str(path.relative_to(root)) not in but
    }
