"""`wink events` and `wink watch`: what happens, as it happens, for programs and for people."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import jsonschema
import pytest
from tests.cli.conftest import Done
from tests.states import state_of

from wink.transactions import CommitEntry
from wink.workspace import Workspace

Cli = Callable[..., Done]


@pytest.fixture
def worked(cli: Cli, place: Path, script: Callable[[str], str]) -> Cli:
    """A read, a write, a denied call, a run that asks, is approved and ends, an undo, a checkpoint."""
    (place / "b.txt").write_text("untouched\n")
    (place / "wink.toml").write_text('[[rules]]\naction = "ask"\npaths = "release/**"\n')
    cli("call", "read_file", "file_path=a.txt")
    cli("call", "write_file", "file_path=a.txt", "content=new\n")
    cli("call", "write_file", "file_path=b.txt", "content=x")
    call = 'tool = "write_file"\narguments = { file_path = "release/n.md", content = "hello" }'
    path = script(f'[[turn]]\n[[turn.call]]\n{call}\n\n[[turn]]\ntext = "done"\n')
    assert cli("run", "Write notes", "--model", f"scripted:{path}", "--no-input").status == 3
    assert cli("approve", "a1", "--note", "good").status == 0
    assert cli("run", "--resume", "--no-input").status == 0
    cli("undo", "c2")
    cli("checkpoint", "here")
    return cli


def test_the_stream_tells_all_that_happened_and_fits_its_schema(worked: Cli) -> None:
    """Programs are built on these lines: what the schema says has to be so."""
    rows = worked("events").rows
    schema = json.loads(worked("events", "--schema").out)

    for row in rows:
        jsonschema.validate(row, schema, format_checker=jsonschema.FormatChecker())
    kinds = [row["event"] for row in rows]
    assert kinds[:3] == ["call"] * 3
    for kind in ("run-begun", "run-prompt", "run-turn", "approval-asked", "run-suspended", "approval-answered"):
        assert kind in kinds
    assert kinds[-3:] == ["run-ended", "call", "checkpoint"]
    assert kinds.index("run-suspended") < kinds.index("approval-answered") < kinds.index("run-resumed")
    assert [row["outcome"] for row in rows if row["event"] == "call"][:3] == ["ok", "ok", "denied"]
    assert [row["run"] for row in rows if row["event"] == "approval-asked"] == ["r1"]
    used = next(row for row in rows if row["event"] == "call" and row["approval"])
    assert (used["approval"], used["run"], used["changes"][-1]["path"]) == ("a1", "r1", "release/n.md")


def test_the_schema_refuses_what_is_no_such_line(worked: Cli) -> None:
    """A schema that takes anything would say nothing."""
    schema = json.loads(worked("events", "--schema").out)
    row = worked("events").rows[0]
    for wrong in ({"v": 2}, {"place": "1"}, {"outcome": "fine"}, {"call": 1}, {"milliseconds": -1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(row | wrong, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({key: value for key, value in row.items() if key != "reply"}, schema)


def test_the_stream_goes_on_after_any_place(worked: Cli) -> None:
    """Whoever was stopped says where, and gets the rest."""
    rows = worked("events").rows

    for at, row in enumerate(rows):
        assert worked("events", "--since", row["place"]).rows == rows[at + 1 :]
    assert worked("events", "--since", "c3").rows == rows[3:]
    assert worked("events", "--since", "now").rows == []
    assert {row["session"] for row in worked("events", "--session", "default").rows} == {"default"}
    for place in ("99.0", "x", "c99"):
        assert worked("events", "--since", place).status == 2


def test_a_workspace_without_calls_has_no_events(cli: Cli, place: Path) -> None:
    """And none appears, nor anything on the disk, because somebody looked."""
    assert (cli("events").status, cli("events").out) == (0, "")
    assert not (place / ".wink").exists()


@contextmanager
def following(*arguments: str, into: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """`wink` in a process of its own, ended in any case."""
    command = [sys.executable, "-m", "wink", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE if into is None else into, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


def work(place: Path, session: str, number: int) -> None:
    """A call, from this process."""
    from datetime import timedelta

    from wink.limits import utc_now

    with Workspace.open(place) as workspace:
        workspace.record.commit(
            CommitEntry(
                f"tx-{session}-{number}", session, f"id-{number}", "grep", "p", "{}", "committed", f"found {number}",
                utc_now(), timedelta(0), (), (), (),
            )
        )  # fmt: skip


def test_calls_of_other_processes_are_seen_when_they_happen(place: Path) -> None:
    """In whatever session, also in a workspace where nothing had happened; Ctrl-C is the usual end, and no failure."""
    with following("events", "--follow") as process:
        for number, session in enumerate(("one", "two", "one"), 1):
            work(place, session, number)
            row = json.loads(_line(process.stdout))
            assert (row["call"], row["session"], row["reply"]) == (f"c{number}", session, f"found {number}")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_watching_shows_lines_and_ends_with_the_reader(worked: Cli, place: Path) -> None:
    """`wink watch | head -1` must not stay behind for ever, even if nothing more happens."""
    work(place, "other", 1)
    with following("watch", "--since", "beginning") as process:
        lines = [_line(process.stdout) for _ in range(3)]
        assert [line.split()[:3] for line in lines] == [
            ["c1", "ok", "read_file"],
            ["c2", "ok", "write_file"],
            ["c3", "denied", "write_file"],
        ]
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() in (0, 141)


def test_watching_tells_which_programs_ran(place: Path) -> None:
    """In a line each, before the call that ran them has ended; what makes no sense is left out."""
    told = {
        "tool": "run_command",
        "argv": ["sh", "-c", "x\x1b[2J"],
        "status": None,
        "reason": "timed out",
        "guard": "copy",
    }
    with Workspace.open(place) as workspace:
        workspace.record.note("program-ended", "default", {**told, "seconds": 2.04})
        workspace.record.note("program-ended", "default", told)
    with following("watch", "--since", "beginning") as process:
        lines = [_line(process.stdout) for _ in range(2)]

    assert " ".join(lines[0].split()[:-1]) == ("… run_command ran sh -c 'x\\x1b[2J': timed out after 2.0 s, guard copy")
    assert lines[1].split()[:5] == ["…", "run_command", "ran", "a", "program"]


def test_watching_takes_no_turn_and_leaves_the_rest_of_the_state_alone(worked: Cli, place: Path) -> None:
    """Whoever looks must never be the one that others wait for."""
    before = {path.name: path.stat().st_mtime_ns for path in state_of(place).iterdir() if "record" not in path.name}
    with following("watch", "--json") as process:
        row = json.loads(_line(process.stdout))
        assert row["event"] == "call"
        work(place, "other", 1)
    after = {path.name: path.stat().st_mtime_ns for path in state_of(place).iterdir() if "record" not in path.name}
    assert before == after


def test_a_terminal_is_shown_colours_and_what_waits(worked: Cli, place: Path, script: Callable[[str], str]) -> None:
    """With the line that says how to answer, and no control characters of a tool's making."""
    call = 'tool = "write_file"\narguments = { file_path = "release/x.md", content = "a\\u001b[2Jb" }'
    path = script(f"[[turn]]\n[[turn.call]]\n{call}\n")
    assert worked("run", "More", "--model", f"scripted:{path}", "--no-input").status == 3
    master, slave = os.openpty()
    try:
        with following("watch", into=slave) as process:
            os.close(slave)
            seen = b""
            while b"wink approve a2" not in seen:
                seen += os.read(master, 4096)
            process.send_signal(signal.SIGINT)
            while process.poll() is None:
                try:
                    seen += os.read(master, 4096)
                except OSError:
                    break
            assert process.wait() == 0
    finally:
        os.close(master)
    assert b"\x1b[1;32m" in seen or b"\x1b[" in seen
    assert b"\x1b[2Jb" not in seen


def test_a_record_that_takes_the_place_of_another_is_followed(place: Path) -> None:
    """Somebody has moved the state away and gone on."""
    work(place, "one", 1)
    with following("events", "--follow") as process:
        assert json.loads(_line(process.stdout))["call"] == "c1"
        (place / ".wink").rename(place / "aside")
        work(place, "fresh", 1)
        assert json.loads(_line(process.stdout))["session"] == "fresh"
