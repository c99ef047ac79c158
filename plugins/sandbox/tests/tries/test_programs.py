"""Which programs a call has run is recorded with it: what wink started, with arguments, exit status and seconds."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import jsonschema
import pytest
from plugins.sandbox.tests.tries.conftest import Wink

from wink_sandbox.programs import note_program

RUN = ("call", "run_command", "--section", "shell.commands")
SECRET = "ghp_0123456789abcdef0123456789abcdef0123"


def programs(wink: Wink, call: str) -> list[dict[str, object]]:
    return json.loads(wink("show", call, "--json").stdout)["programs"]


def test_a_call_tells_what_it_ran(wink: Wink) -> None:
    """In the order of the calls, of which one tells nothing of another's; what was taken back did run."""
    wink(*RUN, "command=echo a | wc -c")
    wink(*RUN, f"command=: {SECRET}; exit 3")
    wink("call", "read_file", "file_path=a.txt")

    assert programs(wink, "c1")[0]["argv"] == ["/bin/sh", "-c", "echo a | wc -c"]
    (second,) = programs(wink, "c2")
    assert (second["status"], second["reason"], second["guard"]) == (3, "exited", "overlay")
    shown = wink("show", "c2").stdout
    assert "\nprograms:\n  /bin/sh -c ': [masked]; exit 3': exit status 3 after 0." in shown
    assert SECRET not in shown + wink("events").stdout
    assert programs(wink, "c3") == []
    assert "programs:" not in wink("show", "c3").stdout


def test_an_accept_tells_what_ran_in_the_try_and_what_checked_it(wink: Wink) -> None:
    wink("try", "--", "sh", "-c", "echo x > new; exit 1")
    wink("try", "--", "touch", "other")
    assert wink("accept", "--check", "test -f new").returncode == 0

    assert [(one["argv"], one["status"], one["guard"]) for one in programs(wink, "c1")] == [
        (["sh", "-c", "echo x > new; exit 1"], 1, "try"),
        (["touch", "other"], 0, "try"),
        (["/bin/sh", "-c", "test -f new"], 0, "check"),
    ]
    assert "touch other: exit status 0 after " in wink("show", "c1").stdout


def test_the_stream_of_events_has_them_before_their_call(wink: Wink) -> None:
    wink(*RUN, "command=true")
    rows = [json.loads(line) for line in wink("events").stdout.splitlines()]
    schema = json.loads(wink("events", "--schema").stdout)

    assert [row["event"] for row in rows] == ["program-ended", "call"]
    for row in rows:
        jsonschema.validate(row, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(rows[0] | {"argv": "true"}, schema)


def test_arguments_are_bounded(place: Path, wink: Wink) -> None:
    wink(*RUN, f"command=: {'x' * 20_000}")
    (one,) = programs(wink, "c1")

    assert str(one["argv"])[-30:].endswith(" more characters)']")
    assert len(json.dumps(one)) < 5000


def test_what_a_record_tells_that_makes_no_sense_is_left_out(place: Path, wink: Wink) -> None:
    """A record may have come with the workspace from anywhere."""
    wink(*RUN, "command=true")
    (state,) = place.glob(".wink/*/record.db")
    for wrong in ('"argv":7', '"argv":[{}],"seconds":"x"', '"argv":["\\u001b[2J"],"seconds":1'):
        with sqlite3.connect(state) as database:
            (data,) = database.execute("SELECT data FROM events WHERE kind = 'program-ended'").fetchone()
            told = {**json.loads(data), **json.loads(f"{{{wrong}}}")}
            database.execute("UPDATE events SET data = ? WHERE kind = 'program-ended'", (json.dumps(told),))
        database.close()
        for command in (("show", "c1"), ("show", "c1", "--json")):
            done = wink(*command)
            assert (done.returncode, done.stderr, "\x1b" in done.stdout) == (0, "", False)


def test_without_a_record_nothing_is_noted() -> None:
    """As in memory."""
    note_program(
        None, "s", transaction="t", call_id="c", tool="x", argv=[], status=0, reason="exited", seconds=0, guard="none"
    )
