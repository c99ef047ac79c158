"""A workspace on the disk, and a way to run programs over it as a call does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import FileChange, HostFilesystem, program_state
from wink_sandbox import (
    PROGRAMS,
    Command,
    Differences,
    Ended,
    Limits,
    Overlay,
    Profile,
    Sandbox,
    bubblewrap,
    differences,
    fresh_name,
    merge,
    opened,
    words_of,
)


@dataclass
class Ran:
    """What became of a program: how it ended, what it changed, and what the record would say of the merge."""

    ended: Ended
    found: Differences
    shown: tuple[FileChange, ...]
    changes: tuple[FileChange, ...]

    @property
    def stdout(self) -> str:
        return self.ended.stdout.text()

    @property
    def paths(self) -> dict[str, str]:
        return {change.path: change.kind for change in self.changes}


class Place:
    """One workspace; `run` merges what a program did."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = HostFilesystem(root)
        self.sandbox = Sandbox(Profile(home=os.path.expanduser("~"), limits=Limits(memory_bytes=None)))

    def limited(self, **limits: Any) -> Sandbox:
        profile = self.sandbox.profile
        return replace(self.sandbox, profile=replace(profile, limits=replace(profile.limits, **limits)))

    def overlay(self) -> Overlay:
        return Overlay(str(self.root), f"{program_state(self.files)}/{PROGRAMS}/{fresh_name()}")

    def run(
        self, script: str | list[str], *, commit: bool = True, sandbox: Sandbox | None = None, **options: Any
    ) -> Ran:
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        part = self.files.begin()
        self.files.turns.acquire(10)
        try:
            with opened(self.overlay()) as overlay:
                ended = (sandbox or self.sandbox).run(Command(words_of(script), env=environment, **options), overlay)
                found = differences(overlay)
                shown = found.changes()
                try:
                    most = (sandbox or self.sandbox).profile.limits.file_bytes
                    merge(found, part, file_bytes=most if ended.status == 0 else None)
                    changes = part.changes()
                except BaseException:
                    part.undo()
                    raise
                if commit:
                    part.prepare()
                    part.publish()
                else:
                    part.undo()
                return Ran(ended, found, shown, changes)
        finally:
            self.files.turns.release()


@pytest.fixture(scope="session", autouse=True)
def _has_bubblewrap() -> None:
    """These tests are about the real thing: without it they fail, and say what to install."""
    bubblewrap()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    root = tmp_path / "workspace"
    root.mkdir()
    made = Place(root)
    yield made
    made.files.close()
