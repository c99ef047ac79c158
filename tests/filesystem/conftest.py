"""Filesystems of every kind, so that one test holds for all of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem

Make = Callable[..., Filesystem]


@pytest.fixture(params=["memory", "disk"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes empty filesystems, with the options that both kinds have."""
    made: list[HostFilesystem] = []

    def make_one(**options: bool) -> Filesystem:
        if request.param == "memory":
            return InMemoryFilesystem(**options)
        root = tmp_path / f"root{len(made)}"
        root.mkdir()
        made.append(HostFilesystem(root, **options))
        return made[-1]

    yield make_one
    for files in made:
        files.close()


@pytest.fixture
def files(make: Make) -> Filesystem:
    """One empty filesystem of each kind."""
    return make()


@pytest.fixture
def memory() -> InMemoryFilesystem:
    """An empty filesystem in memory, for what does not depend on the kind."""
    return InMemoryFilesystem()
