"""Worlds to attack, one for each test, and the process that runs commands in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.state.world import Forker, World, adopt, make_known


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    """For all tests."""
    made = Forker()
    yield made
    made.close()


@pytest.fixture
def world(forker: Forker) -> Iterator[World]:
    """A workspace that wink was never used in, with a canary around it."""
    with World(forker) as made:
        (made.work / "a.txt").write_text("one\n")
        yield made


@pytest.fixture(scope="session")
def template(forker: Forker) -> Iterator[World]:
    """A workspace with everything in it, to be copied."""
    with World(forker) as made:
        make_known(made)
        yield made


@pytest.fixture
def known(template: World, forker: Forker) -> Iterator[World]:
    """A copy of it for one test, whose state is known."""
    with World(forker) as made:
        adopt(made, template)
        yield made
