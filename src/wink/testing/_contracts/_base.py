"""What the contracts of sections, tools and policies stand on: fresh harnesses, with what the class declares in them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from wink.testing._harness import Harness
from wink.testing._promise import Promised

Fresh = Callable[..., Harness]
"""Makes a harness over files and a session of their own; with `audit=True` it holds handlers to their effects."""


class Contract(Promised):
    """Promises about something that works in a prompt."""

    fs: ClassVar[Literal["memory", "disk"]] = "memory"
    """Where the files are: in memory, or in a workspace on the disk."""

    files: ClassVar[Mapping[str, str | bytes]] = {}
    """The files that are there before anything is called."""

    allow: ClassVar[Sequence[str]] = ()
    """Paths beneath which handlers may read, change and start things in spite of their effects, such as a worker's program."""

    def prepare(self, harness: Harness) -> None:
        """Do to each harness what the class cannot declare, such as `harness.bind(...)`; called before the first call."""

    @pytest.fixture
    def fresh(self, tmp_path: Path) -> Generator[Fresh]:
        """Makes harnesses, and closes them after the test."""
        made: list[Harness] = []

        def make(*, fs: str | None = None, audit: bool = False) -> Harness:
            root = None
            if (fs or self.fs) == "disk":
                root = tmp_path / f"workspace-{len(made)}"
                root.mkdir()
            harness = Harness(root=root, audit=audit, allow=self.allow)
            made.append(harness)
            for path, content in self.files.items():
                harness.write(path, content)
            self.prepare(harness)
            return harness

        yield make
        for harness in made:
            harness.close()


def declared(contract: object, request: pytest.FixtureRequest, name: str, missing: Any) -> Any:
    """What a class declares under `name`, as a plain attribute or as a fixture."""
    value = getattr(type(contract), name, missing)
    if value is missing or isinstance(value, (str, Mapping, tuple, list)):
        return value  # pyright: ignore[reportUnknownVariableType]
    return request.getfixturevalue(name)
