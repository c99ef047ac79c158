"""Whoever reads while an overlay is changed sees what was or what will be, at every step of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wink.filesystem import InMemoryFilesystem
from wink_overlay import OverlayFilesystem


@pytest.fixture
def at_each_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], list[object]]:
    """Lets something be looked at after each step that the upper layer takes."""

    def arrange(look: Callable[[], object]) -> list[object]:
        seen: list[object] = []
        with InMemoryFilesystem().begin().changing(".") as change_set:
            steps: type[Any] = type(change_set)
        for name in ("put", "delete", "mkdir", "move"):
            original: Any = getattr(steps, name)

            def step(self: object, *args: Any, original: Any = original, **options: Any) -> object:
                done = original(self, *args, **options)
                seen.append(look())
                return done

            monkeypatch.setattr(steps, name, step)
        return seen

    return arrange


def content(files: OverlayFilesystem, path: str) -> str | None:
    """What a file holds, None if it is not there."""
    return files.read(path).content if files.exists(path) else None


def test_a_file_is_overwritten_without_a_moment_in_between(at_each_step: Any) -> None:
    """Neither missing nor half there."""
    lower = InMemoryFilesystem()
    lower.write("dir/a.txt", "old")
    files = OverlayFilesystem(lower)
    seen = at_each_step(lambda: content(files, "dir/a.txt"))

    files.write("dir/a.txt", "new")

    assert len(seen) > 2
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {"old", "new"}


def test_what_is_deleted_does_not_show_what_it_hid(at_each_step: Any) -> None:
    """An old version must not come back for a moment."""
    lower = InMemoryFilesystem()
    lower.write("dir/a.txt", "old")
    files = OverlayFilesystem(lower)
    files.write("dir/a.txt", "new")
    files.write("dir/b.txt", "new")
    seen = at_each_step(lambda: (content(files, "dir/a.txt"), content(files, "dir/b.txt")))

    files.delete("dir/a.txt")
    files.delete("dir", recursive=True)

    assert not [pair for pair in seen if "old" in pair]
    assert seen[-1] == (None, None)
