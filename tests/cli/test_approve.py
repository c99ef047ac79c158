"""`wink approvals`, `approve`, `deny`, `runs`, and a run that is suspended and resumed, as people use them."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Done

from wink.workspace import Workspace

Cli = Callable[..., Done]
Write = Callable[[str], str]

RULES = """
[[rules]]
action = "ask"
tools = ["write_file", "edit_file"]
paths = "release/**"
reason = "customers read it"
"""
TURNS = """
[[turn]]
[[turn.call]]
tool = "write_file"
arguments = { file_path = "draft.md", content = "draft\\n" }
[[turn.call]]
tool = "write_file"
arguments = { file_path = "release/notes.md", content = "one\\ntwo\\n" }
[[turn.call]]
tool = "write_file"
arguments = { file_path = "release/more.md", content = "three\\n" }

[[turn]]
text = "Done."
"""


@pytest.fixture
def model(place: Path, script: Write) -> str:
    """A workspace whose rules ask about what is released, and a model that wants to write there."""
    (place / "wink.toml").write_text(RULES)
    return f"scripted:{script(TURNS)}"


def test_a_run_waits_is_answered_and_goes_on(cli: Cli, model: str, place: Path) -> None:
    """Each step says what comes next."""
    waits = cli("run", "Write the notes", "--model", model)
    assert waits.status == 3
    assert waits.err.splitlines() == [
        "wink: the run waits for approval:",
        (
            '  a1  write_file content="one\\ntwo\\n" file_path=release/notes.md: '
            "write_file on 'release/notes.md': customers read it"
        ),
        "  a2  write_file content=\"three\\n\" file_path=release/more.md: write_file on 'release/more.md': customers read it",
        "wink: answer with `wink approve a1` or `wink deny a1`",
        "wink: `wink run --resume r1` goes on with it",
    ]
    assert "asked        a1  write_file  " in waits.out
    assert sorted(os.listdir(place)) == [".wink", "a.txt", "draft.md", "wink.toml"]

    shown = cli("approvals").out
    assert "a1  write_file\n  workspace-rules asks: write_file on 'release/notes.md': customers read it\n" in shown
    assert (
        "  file_path: release/notes.md\n  diff --git a/release/notes.md b/release/notes.md\n  new file mode 100644\n  --- /dev/null\n  +++ b/release/notes.md\n  @@ -0,0 +1,2 @@\n  +one\n"
        in shown
    )
    assert shown.endswith("\nanswer with `wink approve a1` or `wink deny a1`\n")

    assert cli("approve", "a1", "--note", "good").out == (
        "approved a1: write_file\n  `wink run --resume r1` goes on with the run\n"
    )
    assert cli("deny", "a2", "--note", "one file is enough").status == 0
    assert cli("runs").out.startswith("r1  suspended  ")

    goes_on = cli("run", "--resume")
    assert (goes_on.status, goes_on.err) == (0, "")
    assert "approved by a person: good" in goes_on.out
    assert "denied by a person: one file is enough" in goes_on.out
    assert (place / "release" / "notes.md").read_text() == "one\ntwo\n"
    assert not (place / "release" / "more.md").exists()
    assert cli("approvals").out == "nothing waits for approval\n"
    assert cli("runs").out == "no run waits to be resumed\n"


def test_json_tells_machines_the_same(cli: Cli, model: str, place: Path) -> None:
    """What is asked is an event of the run, and a row of the list."""
    events = cli("run", "Write the notes", "--model", model, "--json").rows
    asked = [row for row in events if row["event"] == "approval"]
    listed = cli("approvals", "--json").rows

    assert [row["id"] for row in asked] == [row["id"] for row in listed] == ["a1", "a2"]
    assert listed[0]["arguments"] == {"content": "one\ntwo\n", "file_path": "release/notes.md"}
    assert (listed[0]["run"], listed[0]["session"], listed[0]["tool"]) == ("r1", "default", "write_file")
    assert cli("approve", "a1", "--json").rows == [
        {"id": "a1", "tool": "write_file", "answer": "approved", "run": "r1"}
    ]
    assert [row["answer"] for row in cli("deny", "a2", "--json").rows] == ["denied"]
    (run,) = cli("runs", "--json").rows
    assert (run["run"], run["state"], run["plan"]["task"]) == ("r1", "suspended", "Write the notes")


def test_arguments_can_be_changed_one_by_one_or_all(cli: Cli, model: str, place: Path) -> None:
    """A text stays text; policies are asked about what the person gave."""
    cli("run", "Write the notes", "--model", model)

    assert cli("approve", "a1", "content=shorter\n", "--note", "shorter").status == 0
    assert cli("approve", "a2", "--edit", '{"file_path": "release/b.md", "content": "4"}').status == 0
    done = cli("run", "--resume", "r1")

    # The reason names the path, so that what was approved for one path is asked about again for another.
    assert done.status == 3
    assert (place / "release" / "notes.md").read_text() == "shorter\n"
    (again,) = cli("approvals", "--json").rows
    assert (again["id"], again["arguments"]["file_path"]) == ("a3", "release/b.md")
    cli("approve", "a3")
    assert cli("run", "--resume").status == 0
    assert (place / "release" / "b.md").read_text() == "4"


def test_an_answer_that_no_call_has_used_can_be_given_anew(cli: Cli, model: str, place: Path) -> None:
    """With other arguments, too: whoever approved too early need not deny the call."""
    cli("run", "Write the notes", "--model", model)
    cli("approve", "a1")

    assert cli("approve", "a1", "content=shorter\n").status == 0
    assert cli("approve", "a2").status == 0
    assert cli("run", "--resume").status == 0
    assert (place / "release" / "notes.md").read_text() == "shorter\n"
    assert "a1 has been used by a call" in cli("approve", "a1", "content=longer").err


def test_what_has_changed_is_asked_again_and_says_so(cli: Cli, model: str, place: Path) -> None:
    """Nobody approves unseen what is different now."""
    cli("run", "Write the notes", "--model", model)
    (place / "release").mkdir()
    (place / "release" / "notes.md").write_text("by hand\n")

    refused = cli("approve", "a1")
    assert refused.status == 1
    assert refused.err == (
        "wink: a1 was not answered, since it was asked release/notes.md was made; it is asked again as a3\n"
    )
    assert "-by hand\n  +one" in cli("approvals").out
    assert cli("approve", "a1").err == "wink: a1 does not stand any more; it is asked again as a3; these wait: a2, a3\n"
    assert cli("approve", "a3").status == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("approve", "a9"), "a9 is no request for approval; these wait: a1, a2"),
        (("deny", "x"), "x is no request for approval; these wait: a1, a2"),
        (("approve", "a9", "content=x"), "a9 is no request for approval; these wait: a1, a2"),
        (
            ("approve", "a1", "contend=x"),
            "'contend=x' changes no argument of write_file, as KEY=VALUE; they are: content, ",
        ),
        (("approve", "a1", "content"), "'content' changes no argument"),
        (("approve", "a1", "--edit", "[1]"), "--edit takes a JSON object"),
        (("approve", "a1", "--edit", "{}", "content=x"), "as KEY=VALUE or as --edit JSON, not both"),
        (("run", "More", "--resume"), "leave out the task, or --resume"),
        (("run", "--resume", "r7"), "run 'r7' is not known; these can be resumed: r1"),
        (("run", "--resume", "seven"), "run 'seven' is not known; these can be resumed: r1"),
        (("run", "--resume", "--section", "demo.refactor"), "goes on with the sections that it was begun with"),
        (("run", "--resume", "--model", "nobody:x"), "there is no model 'nobody:x'"),
    ],
)
def test_wrong_input_gets_one_line_and_answers_nothing(
    cli: Cli, model: str, arguments: tuple[str, ...], complaint: str
) -> None:
    """The request and the run stand as they did."""
    cli("run", "Write the notes", "--model", model)

    done = cli(*arguments)

    assert done.status == 2
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert [row["id"] for row in cli("approvals", "--json").rows] == ["a1", "a2"]
    assert cli("runs", "--json").rows[0]["state"] == "suspended"


def test_looking_at_a_fresh_workspace_leaves_no_trace(cli: Cli, place: Path) -> None:
    """There is nothing to see, and nothing is made."""
    assert cli("approvals").out == "nothing waits for approval\n"
    assert cli("runs").out == "no run waits to be resumed\n"
    assert cli("approve", "a1").err == "wink: a1 is no request for approval; no request waits for an answer\n"
    assert os.listdir(place) == ["a.txt"]


def test_a_call_waits_too(cli: Cli, model: str, place: Path) -> None:
    """Outside of a run the call is made again by whoever made it."""
    call = ("call", "write_file", "file_path=release/a.md", "content=x")

    denied = cli(*call, "--no-input")
    assert denied.status == 1
    assert "approve it with `wink approve a1`, then call it again" in denied.err
    assert cli("approve", "1").out == "approved a1: write_file\n  it counts for the next time that this call is made\n"
    assert cli(*call).status == 0
    assert (place / "release" / "a.md").read_text() == "x"


def test_what_a_run_was_begun_with_that_a_workspace_must_not_decide_is_given_again(
    cli: Cli, model: str, place: Path
) -> None:
    """A server that keys are sent to, and texts that the workspace would put into the prompt."""
    with Workspace.open(place) as workspace:
        plan: dict[str, Any] = {"task": "x", "model": model, "sections": [], "policies": []}
        for more in ({"base_url": "http://evil.test"}, {"overrides": "stable"}):
            number = workspace.record.runs.begin("default", json.dumps(plan | more))
            workspace.record.runs.set(number, "stopped", "no model")

    assert "begun with --base-url http://evil.test; give it again" in cli("run", "--resume", "r1").err
    assert "begun with --overrides stable; give it again" in cli("run", "--resume", "r2").err


def test_control_characters_of_a_request_are_written_out(cli: Cli, model: str, place: Path) -> None:
    """What a model wants to write must not play with the terminal of the person who judges it."""
    cli("call", "write_file", "file_path=release/a.md", "content=\x1b[2Jgone\nnext", "--no-input")

    assert "\x1b" not in cli("approvals").out
    assert "+\\x1b[2Jgone\n" in cli("approvals").out


def test_what_is_no_text_hides_nothing_of_what_is_approved(cli: Cli, model: str, place: Path) -> None:
    """With one NUL the diff says only how large the file would be, and the arguments were left out for the diff."""
    (place / "release").mkdir()
    (place / "release" / "b.sh").write_text("# \0\nold\n")
    cli("call", "read_file", "file_path=release/b.sh")
    cli("call", "write_file", "file_path=release/a.sh", "content=# \0\nrm -rf ~\n", "--no-input")
    arguments = ("file_path=release/b.sh", "old_string=old", "new_string=rm -rf /")
    cli("call", "edit_file", *arguments, "--no-input")

    shown = cli("approvals").out

    assert "rm -rf ~" in shown
    assert "\\x00" in shown
    assert "rm -rf /" in shown


def test_no_content_passes_for_lines_of_the_diff(cli: Cli, model: str, place: Path) -> None:
    """Of a form feed or a line separator the diff knows nothing: what stands behind one is added like the rest."""
    content = "good\x0c nice context\u2028-was there before\rrm\n"
    cli("call", "write_file", "file_path=release/a.sh", f"content={content}", "--no-input")

    (line,) = (line for line in cli("approvals").out.splitlines() if "nice" in line)

    assert line.strip() == "+good\\x0c nice context\\u2028-was there before\\rrm"


def test_the_guide_shows_what_is_printed(cli: Cli, place: Path, script: Write) -> None:
    """Its rule, its commands and their output, but for the time of day."""
    import re

    page = (Path(__file__).parents[2] / "docs" / "guide" / "approvals.md").read_text()
    (place / "wink.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    one = TURNS.replace(
        """[[turn.call]]
tool = "write_file"
arguments = { file_path = "release/more.md", content = "three\\n" }
""",
        "",
    )
    waits = cli("run", "Write the release notes", "--model", f"scripted:{script(one)}")
    shown = cli("approvals")
    answered = cli("approve", "a1", "--note", "good")

    assert waits.err in page
    assert re.sub(r"asked [0-9:]+ in", "asked 12:00:00 in", shown.out) in page
    assert answered.out in page
    assert cli("run", "--resume").status == 0


class Terminal:
    """A person at a terminal, in front of a program."""

    def __init__(self, *arguments: str) -> None:
        self.screen, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wink", *arguments],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: _take_terminal(slave),
        )
        os.close(slave)
        self.shown = ""

    def until(self, text: str) -> None:
        """Wait until something is on the screen."""
        while text not in self.shown:
            ready, _, _ = select.select([self.screen], [], [], 60)
            assert ready, f"nothing more comes: {self.shown}"
            try:
                data = os.read(self.screen, 4096)
            except OSError:  # the program has ended
                data = b""
            assert data, f"it ended: {self.shown}"
            self.shown += data.decode()

    def type(self, question: str, answer: str) -> None:
        """Answer a question when it is there."""
        self.until(question)
        self.shown = self.shown.partition(question)[2]
        os.write(self.screen, answer.encode())

    def end(self) -> tuple[int, str]:
        """The exit status, and what was printed."""
        out, _ = self.process.communicate(timeout=60)
        os.close(self.screen)
        return self.process.returncode, out.decode()


def _take_terminal(terminal: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


QUESTION = "Let it run? [y]es / [n]o / [e]dit / [s]uspend: "


def test_a_person_at_the_terminal_answers_at_once(model: str, place: Path) -> None:
    """What is not a clear yes runs nothing; arguments can be changed on the way."""
    person = Terminal("run", "Write the notes", "--model", model)
    person.type(QUESTION, "\n")
    person.type(QUESTION, "sure\n")
    person.type(QUESTION, "e\n")
    person.type("Arguments, as KEY=VALUE or all of them as JSON: ", "contents=x\n")
    person.type(QUESTION, "e\n")
    person.type("Arguments, as KEY=VALUE or all of them as JSON: ", "content=better\n")
    person.type(QUESTION, "y\n")
    person.type(QUESTION, "n\n")
    person.type("Why not? The model is told (Enter for nothing): ", "no more\n")
    status, out = person.end()

    assert status == 0
    assert (place / "release" / "notes.md").read_text() == "better"
    assert "denied by a person: no more" in out


@pytest.mark.parametrize("answer", ["s\n", "\x04", "\x03"], ids=["suspend", "end of input", "interrupt"])
def test_a_person_at_the_terminal_may_put_it_off(cli: Cli, model: str, place: Path, answer: str) -> None:
    """The run is suspended whole, and goes on when they come back."""
    person = Terminal("run", "Write the notes", "--model", model)
    person.type(QUESTION, answer)
    person.type(QUESTION, answer)
    status, _ = person.end()

    assert status == 3
    assert not (place / "release").exists()
    assert [row["id"] for row in cli("approvals", "--json").rows] == ["a1", "a2"]


def test_no_input_asks_nobody(model: str, place: Path) -> None:
    """Also where somebody could be asked."""
    person = Terminal("run", "Write the notes", "--model", model, "--no-input")
    person.until("`wink run --resume r1` goes on with it")
    assert person.end()[0] == 3
    assert "Let it run?" not in person.shown


def test_a_run_that_was_killed_goes_on(model: str, place: Path, cli: Cli, tmp_path: Path) -> None:
    """What its calls did stays, and is not done again."""
    person = Terminal("run", "Write the notes", "--model", model)
    person.until(QUESTION)
    os.kill(person.process.pid, signal.SIGKILL)
    person.process.communicate(timeout=60)
    (run,) = cli("runs", "--json").rows
    assert run["state"] == "interrupted"

    assert cli("run", "--resume").status == 3
    assert len([call for call in cli("log", "--json").rows if call["arguments"].get("file_path") == "draft.md"]) == 1
