"""`wink call`: one tool through the whole pipeline, from a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]


def wink(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run wink as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "wink", *arguments], cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=False
    )


def test_a_call_prints_what_a_model_would_read(cli: Cli) -> None:
    """The reply and nothing else, so that it can be piped on."""
    done = cli("call", "read_file", "file_path=a.txt")

    assert (done.status, done.err) == (0, "")
    assert done.out == "a.txt: 2 lines\n\n     1\tone\n     2\ttwo\n"


def test_arguments_can_be_json(cli: Cli) -> None:
    """For programs, and for values that a shell makes hard to write."""
    done = cli("call", "read_file", "--json", '{"file_path": "a.txt", "limit": 1}')

    assert done.status == 0
    assert "one" in done.out
    assert "two" not in done.out


def test_text_is_taken_as_it_stands_and_the_rest_as_json(cli: Cli, place: Path) -> None:
    """`content=3` means the text 3, `recursive=true` means true."""
    assert cli("call", "write_file", "file_path=d/three.txt", "content=3").status == 0
    assert (place / "d/three.txt").read_text() == "3"

    assert cli("call", "rm", "path=d", "recursive=true").status == 0
    assert not (place / "d").exists()


def test_a_read_in_one_process_blesses_a_write_in_the_next(place: Path) -> None:
    """The session lives in the workspace, not in a process."""
    refused = wink("call", "write_file", "file_path=a.txt", "content=new", cwd=place)
    read = wink("call", "read_file", "file_path=a.txt", cwd=place)
    written = wink("call", "write_file", "file_path=a.txt", "content=new", cwd=place)

    assert [refused.returncode, read.returncode, written.returncode] == [1, 0, 0]
    assert "has not been read" in refused.stderr
    assert (place / "a.txt").read_text() == "new"


def test_sessions_do_not_share_what_they_read(cli: Cli, place: Path) -> None:
    """Another session is another agent."""
    cli("call", "read_file", "file_path=a.txt", "--session", "one")

    assert cli("call", "write_file", "file_path=a.txt", "content=x", "--session", "two").status == 1
    assert cli("call", "write_file", "file_path=a.txt", "content=x", "--session", "one").status == 0


def test_many_calls_at_once_all_happen(place: Path) -> None:
    """Processes take turns on one workspace."""
    calls = [
        subprocess.Popen(
            [sys.executable, "-m", "wink", "call", "write_file", f"file_path=f{n}", "content=x"], cwd=place
        )
        for n in range(4)
    ]

    assert [call.wait() for call in calls] == [0] * 4
    assert sorted(path.name for path in place.glob("f*")) == ["f0", "f1", "f2", "f3"]


@pytest.mark.parametrize(
    ("arguments", "reply"),
    [
        (("read_file", "file_path=gone.txt"), "'gone.txt' does not exist"),
        (("read_file", "file_path=../x"), "is outside the workspace"),
        (("write_file", "file_path=a.txt", "content=x"), "call read_file on it first"),
        (("write_file", "file_path=.git/config", "content=x"), ".git"),
    ],
)
def test_a_failed_tool_exits_1_and_says_why_on_standard_error(
    cli: Cli, place: Path, arguments: tuple[str, ...], reply: str
) -> None:
    """The question was right, so it is not the exit status of wrong input."""
    done = cli("call", *arguments)

    assert (done.status, done.out) == (1, "")
    assert reply in done.err
    assert (place / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "missing argument 'TOOL'; `wink call --help` shows what it takes"),
        (("read_fil",), "there is no tool 'read_fil'; did you mean 'read_file'?"),
        (("xyz",), "there is no tool 'xyz'; the tools are: "),
        (("read_file",), "the arguments of read_file are not valid: $.file_path: is required"),
        (("read_file", "a.txt"), "'a.txt' is not KEY=VALUE; read_file takes file_path, offset, limit"),
        (("read_file", "path=a.txt"), "read_file has no 'path'; did you mean 'file_path'?"),
        (("read_file", "zzz=a.txt"), "read_file has no 'zzz'; it takes file_path, offset, limit"),
        (("read_file", "file_path=a", "file_path=b"), "'file_path' is given twice"),
        (("read_file", "file_path=a", "limit=x"), "limit='x' is not JSON (Expecting value); limit is no text field"),
        (("read_file", "file_path=a", "limit=" + "[" * 10**5), "is not JSON"),
        (("read_file", "file_path=a", "limit=" + "1" * 5000), "is not JSON"),
        (("read_file", "file_path=a\udcff"), "the value of file_path is not valid Unicode; give text in UTF-8"),
        (("read_file", "--json", "{"), "$: is not valid JSON"),
        (("read_file", "--json", "[]"), "$: must be an object, not an array"),
        (("read_file", "file_path=a", "--json", "{}"), "give the arguments as KEY=VALUE or as --json, not both"),
        (("ls", "--workspace", "gone"), "'gone' cannot be a workspace, it does not exist"),
        (("ls", "--workspace", "a.txt"), "'a.txt' cannot be a workspace, it is not a directory"),
        (("ls", "--session", "../x"), "'../x' cannot name a session; use 1 to 64 of a-z"),
        (("ls", "--section", "no.such"), "no plugin offers a section 'no.such'; `wink plugins` lists"),
        (("ls", "--policy", "no.such"), "no plugin offers a policy 'no.such'; `wink plugins` lists"),
        (("ls", "--wrong"), "no such option '--wrong'"),
    ],
)
def test_wrong_input_gets_one_line_and_changes_nothing(
    cli: Cli, place: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    """Exit status 2, one line that says what to do, and no trace in the workspace."""
    done = cli("call", *arguments)

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("wink: ")
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert os.listdir(place) == ["a.txt"]


def test_settings_that_cannot_be_read_stop_everything(cli: Cli, place: Path) -> None:
    """They may switch a plugin off; going on without them would be the less careful guess."""
    (place / "wink.toml").write_text("[plugins\n")

    done = cli("call", "ls")

    assert done.status == 2
    assert done.err.startswith("wink: wink.toml: is not TOML: ")
    assert not (place / ".wink").exists()


def test_text_that_a_terminal_would_obey_is_written_out(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file must not be able to clear the screen of whoever looks at it; a pipe gets the file as it is."""
    (place / "evil.txt").write_text("\x1b[2Jgone\n")
    assert "\x1b[2J" in cli("call", "read_file", "file_path=evil.txt").out

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\\x1b[2Jgone" in cli("call", "read_file", "file_path=evil.txt").out


RAISING = """
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolResult

def trip(params: None, *, context) -> ToolResult[None]:
    context.filesystem.write("half.txt", "half")
    raise KeyError("a\\nsecret")

def section():
    '''Trip.'''
    return ToolsSection("Tripping", [Tool[None, None]("trip", "Trip.", trip)])
"""


def test_a_tool_that_raises_is_told_in_one_line_and_leaves_nothing(
    place: Path, section_of: Callable[[str], dict[str, str]]
) -> None:
    """The model is not shown what was raised; the person at the shell is, and with --debug also where."""
    environment = section_of(RAISING)
    call = ["call", "trip", "--section", "odd.odd"]

    done = wink(*call, cwd=place, env=environment)
    debugged = wink("--debug", *call, cwd=place, env=environment)

    told, reply = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert told.startswith("wink: ")
    assert "KeyError: 'a\\nsecret'; `wink --debug …` shows where" in told
    assert "trip" in reply
    assert "secret" not in reply
    assert not (place / "half.txt").exists()
    assert "Traceback" in debugged.stderr
