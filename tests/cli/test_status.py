"""`wink status`, and the filters of `wink log`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.workspace.working import call

from wink.cli.past._log import moment_of
from wink.limits import utc_now
from wink.record import CallFilter
from wink.testing import fake_distribution
from wink.workspace import Workspace

Cli = Callable[..., Done]


def test_a_fresh_directory_has_nothing_to_tell(cli: Cli, place: Path) -> None:
    done = cli("status")

    assert done.status == 0
    assert done.out.splitlines() == ["workspace .", "no calls yet", "nothing is tried, waits or runs"]
    assert json.loads(cli("status", "--json").out) == {
        "workspace": str(place), "last_call": None, "approvals": [], "runs": [], "plugins": []
    }  # fmt: skip


def test_the_last_call_is_told(cli: Cli, place: Path) -> None:
    with Workspace.open(place) as workspace:
        call(workspace, lambda files, _: files.write("one.txt", "1"))
        call(workspace, lambda files, _: files.write("two.txt", "2"))

    done = cli("status")

    assert "last call: c2 " in done.out
    assert "[+two.txt]" in done.out
    assert json.loads(cli("status", "--json").out)["last_call"]["call"] == "c2"


def test_plugins_add_lines(cli: Cli, place: Path) -> None:
    """As the sandbox does with what is tried; one that fails costs a line."""
    says = "def books(workspace):\n    return f'{len(list(workspace.calls()))} books\\nand a shelf'\n"
    fails = "def books(workspace):\n    raise OSError('rain')\n"
    with (
        fake_distribution(
            "wink-shelf",
            entry_points={"wink.status": {"shelf.books": "wink_shelf:books"}},
            modules={"wink_shelf": says},
        ),
        fake_distribution(
            "wink-yard", entry_points={"wink.status": {"yard.books": "wink_yard:books"}}, modules={"wink_yard": fails}
        ),
    ):
        lines = cli("status").out.splitlines()

    assert "0 books" in lines
    assert "and a shelf" in lines
    assert any("rain" in line for line in lines)
    assert "nothing is tried, waits or runs" not in lines


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        ((), ["c3", "c2", "c1"]),
        (("--path", "a.t"), ["c1"]),
        (("--path", "*.txt"), ["c3", "c1"]),
        (("--outcome", "rolled back"), ["c2"]),
        (("--outcome", "ok", "--session", "two"), ["c3"]),
        (("--since", "1d"), ["c3", "c2", "c1"]),
        (("--since", "2999-01-01"), []),
        (("--tool", "no_such"), []),
        (("--run", "r9"), []),
    ],
)
def test_the_log_shows_what_fits(cli: Cli, place: Path, words: tuple[str, ...], calls: list[str]) -> None:
    with Workspace.open(place) as workspace:
        call(workspace, lambda files, _: files.write("a.txt", "1"))
        call(workspace, lambda files, _: None, fail=True)
        call(workspace, lambda files, _: files.write("b.txt", "2"), session="two")

    assert [row["call"] for row in cli("log", "--json", *words).rows] == calls
    assert calls or cli("log", *words).out == "no call fits\n"


@pytest.mark.parametrize("text", ["", "yesterday", "2h ago", "-1h", "99999999d", "999999w", "2026-13-01", "0001-01-01"])
def test_what_is_no_time_is_wrong_input(cli: Cli, text: str) -> None:
    done = cli("log", "--since", text)

    assert (done.status, done.out) == (2, "")
    assert "give one like 2h" in done.err


def test_times_are_so_long_ago_or_local() -> None:
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)

    assert moment_of("90m", now) == now - timedelta(minutes=90)
    assert moment_of("2026-11-01", now) == datetime(2026, 11, 1).astimezone()
    assert moment_of("2026-11-01T10:00+02:00", now) == datetime(2026, 11, 1, 8, tzinfo=UTC)


def test_calls_are_asked_for_by_when_they_began(place: Path) -> None:
    with Workspace.open(place) as workspace:
        call(workspace, lambda files, _: files.write("a.txt", "1"))
        (row,) = workspace.record.queries.page()

        assert workspace.record.queries.count(CallFilter(since=row.started_at)) == 1
        assert workspace.record.queries.count(CallFilter(since=row.started_at + timedelta(microseconds=1))) == 0
        assert workspace.record.queries.count(CallFilter(since=utc_now() - timedelta(days=1), tool=row.tool)) == 1
