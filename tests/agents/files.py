"""What a repository holds, to compare it before and after."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path


def snapshot(root: Path, *, but: Collection[str] = ()) -> dict[str, bytes]:
    """Every file, git's too, without wink's own state and without those named."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".wink" not in path.relative_to(root).parts and str(path.relative_to(root)) not in but
    }
