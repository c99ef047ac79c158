"""What was called otherwise before batches became a plugin goes on working for one release."""

from __future__ import annotations

import importlib

import pytest

import wink_batch
from wink_batch import Plan


def test_the_old_package_has_the_same_objects() -> None:
    """With a warning, once something of it is used; so an `isinstance` holds whichever name was imported."""
    old = importlib.import_module("wink.batch")

    for name in wink_batch.__all__:
        with pytest.warns(DeprecationWarning, match="wink_batch now"):
            assert getattr(old, name) is getattr(wink_batch, name)
    with pytest.warns(DeprecationWarning, match="wink_batch now"):
        from wink.cli import assemble
    assert assemble is wink_batch.assemble
    with pytest.raises(AttributeError, match="nothing"):
        _ = old.nothing
    assert not hasattr(old, "__wrapped__")


def test_a_batch_that_was_begun_before_goes_on() -> None:
    """Its plan names the function that puts prompt and model together by where it was."""
    written = {**Plan("b", "wink.cli._batch_assembly:assemble").to_json()}

    assert Plan.from_json(written).assembly == "wink_batch:assemble"
    assert Plan.from_json({**written, "assembly": "mine:own"}).assembly == "mine:own"
