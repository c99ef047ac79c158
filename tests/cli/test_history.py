"""`wink log`, `wink show`, `wink diff` and `wink recover`: what people ask about what was done."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]


@pytest.fixture
def worked(cli: Cli, place: Path) -> Cli:
    """Three calls: c1 reads, c2 writes, c3 is denied."""
    (place / "b.txt").write_text("untouched\n")
    assert cli("call", "read_file", "file_path=a.txt").status == 0
    assert cli("call", "write_file", "file_path=a.txt", "content=one\n2\n").status == 0
    assert cli("call", "write_file", "file_path=b.txt", "content=x").status == 1
    return cli


def test_log_lists_calls_newest_first(worked: Cli) -> None:
    """One line a call: what was asked, what became of it, what it changed."""
    lines = worked("log").out.splitlines()

    assert [line.split()[0] for line in lines] == ["c3", "c2", "c1"]
    assert "denied" in lines[0]
    assert "ok" in lines[1]
    assert lines[1].endswith("[~a.txt]")
    assert "read_file file_path=a.txt" in lines[2]


def test_log_can_be_shortened_and_filtered(worked: Cli) -> None:
    """A session of a thousand calls must fit a screen."""
    assert worked("log", "--limit", "1").out.startswith("c3")
    assert worked("log", "--session", "other").out == "no call fits\n"


def test_log_for_machines_is_one_object_a_line(worked: Cli) -> None:
    """The same facts, to be read by programs."""
    rows = worked("log", "--json").rows

    assert [(row["call"], row["outcome"]) for row in rows] == [("c3", "denied"), ("c2", "ok"), ("c1", "ok")]
    assert rows[1]["arguments"] == {"file_path": "a.txt", "content": "one\n2\n"}
    assert rows[1]["changes"] == [{"path": "a.txt", "kind": "modified"}]


def test_show_tells_all_about_a_call(worked: Cli) -> None:
    """Arguments, what the policies said, the reply, and the change."""
    out = worked("show", "c2").out

    for part in ("c2  write_file  ok", "file_path: a.txt", "read_before_write: allowed", "Overwrote", "-two", "+2"):
        assert part in out


def test_show_for_machines_has_reply_and_diff(worked: Cli) -> None:
    """What `show` prints, as one object."""
    row = json.loads(worked("show", "c2", "--json").out)

    assert row["reply"].startswith("Overwrote")
    assert "-two\n+2\n" in row["changes"][0]["diff"]


def test_diff_of_a_call_and_of_everything(worked: Cli) -> None:
    """`c2`, `c1..`, `c1..c2` and nothing."""
    for arguments in (("c2",), ("c1..",), ("c1..c2",), ("2",), ()):
        out = worked("diff", *arguments).out
        assert out == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", (
            arguments
        )
    assert worked("diff", "c1").out == ""


@pytest.mark.parametrize(
    "arguments",
    [("show", "x"), ("show", "c99"), ("diff", "c1..x"), ("recover", "--keep", "--undo"), ("log", "--limit", "0")],
)
def test_wrong_input_is_one_line(worked: Cli, arguments: tuple[str, ...]) -> None:
    """Status 2, and what to do instead."""
    done = worked(*arguments)

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("wink: ")
    assert done.err.count("\n") == 1


def test_looking_creates_nothing(cli: Cli, place: Path) -> None:
    """A directory in which nothing was done stays as it is."""
    assert cli("log").out == "no calls yet\n"
    assert cli("diff").out == ""
    assert cli("recover").out == "nothing to recover\n"

    assert not (place / ".wink").exists()


def test_what_a_killed_process_left_is_told_in_words(cli: Cli, place: Path) -> None:
    """Whatever command comes next says what was taken back, and names no more paths than can be read."""
    program = (
        "import os\nfrom wink.workspace import Workspace\nfiles = Workspace.open('.').filesystem\n"
        "part = files.begin(transaction_id='cut-short')\n"
        "for number in range(30):\n    part.handle.write(f'{number:02}.txt', 'x')\nos._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=place, check=False)

    told = cli("log").err.splitlines()

    assert told[0] == "wink: a process was killed in the middle of a call:"
    assert told[1].startswith("  took back cut-short: 00.txt, 01.txt, ")
    assert told[1].endswith(", 19.txt and 10 more")
    assert not (place / "00.txt").exists()
