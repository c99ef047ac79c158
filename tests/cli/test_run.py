"""`wink run`: a model works on a repository, and it is shown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]
Write = Callable[[str], str]

EDIT = """
[[turn]]
text = "I look first."
[[turn.call]]
tool = "read_file"
arguments = { file_path = "a.txt" }

[[turn]]
[[turn.call]]
tool = "edit_file"
arguments = { file_path = "a.txt", old_string = "two", new_string = "three" }
expect = { success = true }

[[turn]]
text = "Three it is."
"""


def test_a_run_is_told_step_by_step_and_ends_with_the_diff(cli: Cli, script: Write, place: Path) -> None:
    """Whoever reads it sees what the model said, what it did, and what is different now."""
    done = cli("run", "Make it three", "--model", f"scripted:{script(EDIT)}")

    assert (done.status, done.err) == (0, "")
    assert (place / "a.txt").read_text() == "one\nthree\n"
    words = [line.split()[0] for line in done.out.splitlines() if line[:1].strip()]
    assert words[:6] == ["A", "model", "ok", "ok", "model", "changed"]
    assert done.out.endswith("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
    assert not any(line.endswith(" ") for line in done.out.splitlines())


def test_json_is_one_object_a_line(cli: Cli, script: Write, place: Path) -> None:
    """For machines: everything that happened, with the changes of each call."""
    done = cli("run", "Make it three", "--model", f"scripted:{script(EDIT)}", "--json")
    events = [row["event"] for row in done.rows]

    assert events == ["begin", "prompt", "tools", "model", "call", "model", "call", "model", "end"]
    edit, end = done.rows[6], done.rows[-1]
    assert (edit["tool"], edit["outcome"], edit["changes"][0]["path"]) == ("edit_file", "ok", "a.txt")
    assert (end["success"], end["text"], end["problem"], end["changed"]) == (True, "Three it is.", None, ["a.txt"])


def test_what_was_denied_or_rolled_back_is_said(cli: Cli, script: Write, place: Path) -> None:
    """The word in front tells how each call ended."""
    (place / "b.py").write_text("good = 1\n")
    turns = script("""
[[turn]]
[[turn.call]]
tool = "write_file"
arguments = { file_path = "a.txt", content = "x" }
[[turn.call]]
tool = "no_such_tool"
[[turn.call]]
tool = "rename_word"
arguments = { old = "good", new = "no-name = ", files = ["b.py"] }
[[turn.call]]
tool = "ls"
arguments = "not json"
[[turn]]
text = "Well."
""")
    done = cli("run", "Try", "--model", f"scripted:{turns}", "--section", "demo.refactor")

    assert done.status == 0
    told = [line.split("  ")[0] for line in done.out.splitlines() if line[:1].strip()][1:]
    assert told == ["denied", "refused", "rolled back", "refused", "model", "changed"]
    logged = [row["outcome"] for row in cli("log", "--json").rows]
    assert sorted(logged) == ["denied", "refused", "refused", "rolled back"]
    assert "taken back; nothing of this stayed:" in done.out
    assert (place / "b.py").read_text() == "good = 1\n"


def test_a_script_that_expected_something_else_ends_the_run(cli: Cli, script: Write) -> None:
    """Status 1, and one line that says which turn and call it was."""
    turns = script('[[turn]]\n[[turn.call]]\ntool = "ls"\nexpect = { success = false }\n')

    done = cli("run", "Look", "--model", f"scripted:{turns}", "--json")

    assert done.status == 1
    assert done.err.startswith(f"wink: the run ended early: {turns}, turn 1, call 1 (ls): expected a failure")
    assert done.err.count("\n") == 1
    assert done.rows[-1]["success"] is False


def test_lone_surrogates_are_no_reason_to_stop(cli: Cli, script: Write) -> None:
    """A model may send them; JSON can carry them, and so must the output."""
    turns = script("""
[[turn]]
[[turn.call]]
tool = "write_file"
arguments = '{"file_path": "b.txt", "content": "\\ud800"}'
[[turn]]
text = "Done."
""")
    done = cli("run", "Write", "--model", f"scripted:{turns}", "--json")

    assert done.status == 0
    assert done.rows[-2]["text"] == "Done."


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "missing argument 'TASK'"),
        (("  ",), "the task is empty; say what is to be done"),
        (("x",), "say which model is to do it, for example --model openai:NAME, or --model scripted:turns.toml"),
        (("x", "--model", "gpt"), "there is no model 'gpt'; the models are: scripted:FILE"),
        (("x", "--model", "scripted:"), "needs a file, as in --model scripted:turns.toml"),
        (("x", "--model", "scripted:gone"), "cannot read the script 'gone': No such file or directory"),
        (("x", "--model", "scripted:."), "cannot read the script '.': Is a directory"),
        (("x", "--model", "scripted:../binary"), "cannot read the script '../binary': it is not UTF-8 text"),
        (("x", "--model", "scripted:a.txt"), "a.txt: not valid TOML: "),
        (("x", "--model", "scripted:../empty"), "../empty: has no turns; begin one with [[turn]]"),
        (("x", "--model", "scripted:../ok", "--workspace", "gone"), "'gone' cannot be a workspace"),
        (("x", "--model", "scripted:../ok", "--workspace", "a.txt"), "'a.txt' cannot be a workspace"),
        (("x", "--model", "scripted:../ok", "--session", "A B"), "'A B' cannot name a session"),
        (("x", "--model", "scripted:../ok", "--section", "no.such"), "no plugin offers a section 'no.such'"),
        (("x", "--model", "scripted:../ok", "--policy", "no.such"), "no plugin offers a policy 'no.such'"),
    ],
)
def test_wrong_input_gets_one_line_and_changes_nothing(
    cli: Cli, place: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    """Exit status 2, and no trace in the workspace."""
    (place.parent / "binary").write_bytes(b"\xff\xfe")
    (place.parent / "empty").write_bytes(b"")
    (place.parent / "ok").write_text('[[turn]]\ntext = "Hello."\n')

    done = cli("run", *arguments)

    assert (done.status, done.out) == (2, "")
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert os.listdir(place) == ["a.txt"]


def test_a_workspace_inside_a_repository_leaves_git_alone(cli: Cli, script: Write, place: Path) -> None:
    """wink's own files are ignored by git, wherever the repository begins."""
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    (place / "sub").mkdir()
    (place / "a.txt").rename(place / "sub" / "a.txt")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "begin"]):
        subprocess.run([*git, *command], check=True)

    done = cli("run", "Make it three", "--model", f"scripted:{script(EDIT)}", "--workspace", "sub")

    status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    assert (done.status, status) == (0, " M sub/a.txt\n")


SLOW = """
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolResult
import time

def stall(params: None, *, context) -> ToolResult[None]:
    context.filesystem.write("half.txt", "half")
    print("stalling", flush=True)
    time.sleep(60)
    return ToolResult.ok(None)

def section():
    '''Take long.'''
    return ToolsSection("Slow", [Tool[None, None]("stall", "Take long.", stall)])
"""


def test_ctrl_c_takes_back_the_call_in_the_middle(place: Path, section_of: Callable[[str], dict[str, str]]) -> None:
    """What had been committed stays, half a call does not; exit status 130 and one line."""
    with subprocess.Popen(
        [sys.executable, "-m", "wink", "call", "stall", "--section", "odd.odd"],
        cwd=place,
        env=section_of(SLOW),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stalling\n"
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate()

    assert process.returncode == 130
    assert complaint.splitlines() == [complaint.strip()]
    assert complaint.startswith("wink: interrupted")
    assert not (place / "half.txt").exists()
