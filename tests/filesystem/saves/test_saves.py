"""A slice of the saves; `nox -s saves` tries one at every step of everything."""

from __future__ import annotations

import sys

import pytest

from ._editors import WAYS
from ._trial import BACKWARDS, OPERATIONS
from .run import run


@pytest.mark.skipif(sys.platform != "linux", reason="the saves were NOT TRIED: some of their ways are those of Linux")
def test_nothing_that_a_person_saves_is_lost() -> None:
    """Whatever wink does to the file, whenever they save and however: it is there, or kept aside and reported."""
    table = run(every=397, workers=2)

    assert table.problems == []
    assert table.total("lost") == 0
    assert table.total("saves") > 400
    assert {way for way, _ in table.rows} == set(WAYS)
    assert {operation for _, operation in table.rows} >= {operation.name for operation in OPERATIONS}
    assert {operation.partition(" ")[0] for _, operation in table.rows} >= set(BACKWARDS)
    # Neither is empty: else nobody would have met anybody.
    assert table.total("path") > table.total("conflicts") > 10
