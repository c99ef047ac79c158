"""`wink doctor`, on this machine and on one that has nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.cli.conftest import Done

from wink.sandbox import Feature, Report

Cli = Callable[..., Done]


def test_it_says_what_this_machine_has(cli: Cli) -> None:
    """The tests of programs need all of it, so it must be there."""
    done = cli("doctor")
    assert done.status == 0, done.out
    assert "programs are run under the overlay guard" in done.out
    assert {row["name"]: row["ok"] for row in cli("doctor", "--json").rows}["bubblewrap"]


def test_what_is_missing_comes_with_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words that can be typed."""
    features = (
        Feature("linux", True, "6.1"),
        Feature("bubblewrap", False, "", "apt-get install bubblewrap"),
        Feature("user namespaces", True),
        Feature("overlayfs", True),
    )
    monkeypatch.setattr("wink.cli._doctor.probe", lambda: Report(features))
    done = cli("doctor")
    assert done.status == 1
    assert "apt-get install bubblewrap" in done.out
    assert "not run" in done.out


def test_a_workspace_that_is_none_is_one_line(cli: Cli) -> None:
    """Nothing else is looked at."""
    done = cli("doctor", "--workspace", "nowhere")
    assert (done.status, "nowhere" in done.err) == (2, True)
