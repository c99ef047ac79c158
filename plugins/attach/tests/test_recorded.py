"""What an attached agent's calls leave in the record, whatever its hooks tell or do not tell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.attach.tests.conftest import Project

from wink_attach._tree import LARGEST

SECRET = """
[[rules]]
action = "deny"
tools = "run_command"
arguments = { command = "*forbidden*" }
reason = "leave that alone"

[[rules]]
action = "ask"
tools = "run_command"
arguments = { command = "*careful*" }
reason = "look at it"

[[rules]]
action = "deny"
paths = "**/.env"
"""


def test_calls_are_recorded_and_a_turn_is_undone_and_redone(attached: Project) -> None:
    """Files, directories, links, modes and deletions: exactly."""
    before = attached.files()
    attached.prompt("Make a mess\nand more")
    attached.bash("t1", "echo two >> a.txt; mkdir -p d/e; echo x > d/e/f; ln -s a.txt link; chmod 755 src/main.py")
    attached.bash("t2", "rm -r src; mv d dd")
    attached.hook("Stop")
    after = attached.files()

    assert attached.changed() == [
        ("Bash", ["a.txt", "d", "d/e", "d/e/f", "link", "src/main.py"]),
        ("Bash", ["d", "d/e", "d/e/f", "dd", "dd/e", "dd/e/f", "src", "src/main.py"]),
    ]
    assert "-- turn 1 of claude-code: Make a mess\n" in attached.wink("log")
    assert "+two" in attached.wink("diff", "--turn")
    attached.wink("undo", "--turn")
    assert attached.files() == before
    assert (attached.root / "src/main.py").stat().st_mode & 0o111 == 0
    attached.wink("redo")
    assert attached.files() == after
    told = attached.prompt("Go on")
    assert "a.txt" in told["additionalContext"]
    assert attached.prompt("Go on") == {}


def test_each_line_is_blamed_on_its_turn_and_what_the_person_wrote_on_somebody(attached: Project) -> None:
    """No call of an attached agent leaves a gap, since the files are looked at before and after; a move is followed."""
    attached.prompt("First")
    attached.bash("t1", "echo two >> a.txt")
    (attached.root / "a.txt").write_text("one\nmine\ntwo\n")
    attached.prompt("Second")
    attached.bash("t2", "mv a.txt b.txt; true")
    attached.bash("t3", "echo three >> b.txt")
    attached.hook("Stop")

    rows = [json.loads(line) for line in attached.wink("blame", "b.txt", "--json").splitlines()]

    numbers = {call["id"]: call["call"] for call in attached.calls()}
    assert [(row["text"], row["by"], row["agent"], row["turn"]) for row in rows] == [
        ("one", "before", None, None), ("mine", "others", None, None),
        ("two", "call", "claude-code", 1), ("three", "call", "claude-code", 2),
    ]  # fmt: skip
    assert [row["call"] for row in rows[2:]] == [numbers["t1"], numbers["t3"]]
    assert rows[1]["after"] == numbers["t1"]


def test_one_call_of_several_is_undone(attached: Project) -> None:
    """The others stand."""
    attached.prompt("Go")
    attached.bash("t1", "echo 1 > one")
    attached.bash("t2", "rm a.txt")
    attached.bash("t3", "echo 3 > three")

    (deleting,) = [call["call"] for call in attached.calls() if call["id"] == "t2"]
    attached.wink("undo", deleting)

    assert (attached.root / "a.txt").read_text() == "one\n"
    assert (attached.root / "one").exists()
    assert (attached.root / "three").exists()


def test_a_denied_call_is_told_why_and_recorded(project: Project, rules: Callable[[str], None]) -> None:
    """The same rules as everywhere; what is asked about goes to the agent's own dialog."""
    rules(SECRET)
    project.attach()
    project.prompt("Go")

    denied = project.before("t1", "Bash", command="cat forbidden")
    asked = project.before("t2", "Bash", command="careful now")

    assert (denied["permissionDecision"], denied["permissionDecisionReason"]) == (
        "deny",
        "Bash is denied: leave that alone",
    )
    assert (asked["permissionDecision"], asked["permissionDecisionReason"]) == ("ask", "Bash: look at it")
    assert [(call["id"], call["outcome"]) for call in project.calls()] == [("t1", "denied")]


def test_what_may_not_be_read_is_seen_to_change_and_not_kept(project: Project, rules: Callable[[str], None]) -> None:
    """No copy of it is anywhere in the state."""
    (project.root / ".env").write_text("TOKEN=supersecretvalue\n")
    rules(SECRET)
    project.attach()
    project.prompt("Go")
    project.bash("t1", "echo TOKEN=anothersecretvalue > .env; echo x > b.txt")

    assert project.changed() == [("Bash", ["b.txt"])]
    assert "not kept, since a rule denies to read it: .env" in project.wink("show", "c1")
    kept = b"".join(path.read_bytes() for path in project.root.glob(".wink/**/*") if path.is_file())
    assert b"supersecretvalue" not in kept
    assert b"anothersecretvalue" not in kept


def test_links_are_no_content_and_what_is_not_kept_is_named_by_log_and_undo(
    project: Project, rules: Callable[[str], None]
) -> None:
    """Wherever they lead: a rule about paths kept those that lead out from being taken back, without a word."""
    for name, target in (("out", "/etc/hostname"), ("up", "../un"), ("gone", "/etc/hosts"), ("in", "a.txt")):
        (project.root / name).symlink_to(target)
    (project.root / ".env").write_text("K\n")
    (project.root / "hidden").mkdir()
    rules(f'{SECRET}\n[[rules]]\naction = "deny"\npaths = "hidden/**"\n')
    project.attach()
    before = project.files()
    project.prompt("Go")
    project.bash("t1", "ln -sfn /etc/passwd out; rm gone; ln -sfn ../at up; ln -sfn b in; ln -s /etc/hosts new")
    project.bash("t2", "echo z >> .env; rm up; echo file > up")
    project.bash("t3", "ln -s /etc/hosts hidden/link")
    project.hook("Stop")

    log = project.wink("log")
    assert [line.endswith("  not kept") for line in log.splitlines() if " ok " in line] == [True, True, False], log
    undone = project.wink("undo", "--turn")

    assert "  c2 is not all taken back: not kept, since a rule denies to read it: .env\n" in undone
    assert "  c3 is not all taken back: not kept, since a rule denies to read it: hidden/link\n" in undone
    assert (project.root / ".env").read_text() == "K\nz\n"
    (project.root / ".env").write_text("K\n")
    (project.root / "hidden/link").unlink()
    assert project.files() == before


def test_a_call_says_which_of_its_changes_cannot_be_undone(project: Project) -> None:
    """What was too large to be kept, as soon as it has changed, and not when somebody wants it back."""
    with (project.root / "large.bin").open("wb") as file:
        file.truncate(LARGEST + 1)
    project.attach()
    project.bash("t1", "echo x >> large.bin; echo x > new.txt")

    assert project.changed() == [("Bash", ["large.bin", "new.txt"])]
    assert "not kept as it was before, and cannot be undone: large.bin" in project.wink("show", "c1")
    project.bash("t2", "echo y >> new.txt")
    assert "cannot be undone" not in project.wink("show", "c2")


def test_a_call_says_that_it_has_changed_what_is_not_kept(project: Project) -> None:
    """Once, whatever it has installed; of what others install in between nothing is said, nor of a tool's cache."""
    packages = project.root / "node_modules"
    packages.mkdir()
    (packages / "old").write_text("old\n")
    project.attach()
    project.prompt("Go")
    project.bash("t1", "mkdir -p node_modules/p/q .venv; echo 1 > node_modules/p/q/r; echo 2 >> node_modules/old")
    project.bash("t2", "test -d node_modules; mkdir __pycache__; echo x > a.txt")
    (packages / "old").write_text("mine\n")
    for call, path in (("t3", project.root / "new"), ("t4", packages / "new")):
        project.before(call, "Write", file_path=str(path), content="y")
        path.write_text("y")
        (packages / "old").write_text(f"mine, at {call}\n")
        project.after(call, "Write", file_path=str(path), content="y")
    project.hook("Stop")

    assert "not kept: what has changed in .venv, node_modules" in project.wink("show", "c1")
    assert "not kept: what has changed in node_modules" in project.wink("show", "c4")
    log = project.wink("log")
    assert log.count("not kept") == 2, log
    assert [call["tool"] for call in project.calls()] == ["Bash", "Bash", "Write", "Write"]
    undone = project.wink("undo", "--turn")
    assert "  c1 is not all taken back: not kept: what has changed in .venv, node_modules\n" in undone


def test_writing_needs_reading_by_content(attached: Project) -> None:
    """The agent's own reads count, and what somebody has changed since has to be read again."""
    path = str(attached.root / "a.txt")
    attached.prompt("Go")
    assert (
        "has not been read" in attached.before("t1", "Write", file_path=path, content="x")["permissionDecisionReason"]
    )
    attached.before("t2", "Read", file_path=path)
    attached.after("t2", "Read", file_path=path)
    assert attached.before("t3", "Write", file_path=path, content="x") == {}
    (attached.root / "a.txt").write_text("x")
    attached.after("t3", "Write", file_path=path, content="x")
    assert attached.before("t4", "Edit", file_path=path, old_string="x", new_string="y") == {}
    attached.after("t4", "Edit", file_path=path, old_string="x", new_string="y")
    (attached.root / "a.txt").write_text("mine")
    assert attached.before("t5", "Write", file_path=path, content="z") != {}
    assert attached.before("t6", "Write", file_path="/somewhere/else.txt", content="z") == {}


def test_what_changes_between_calls_is_nobodys(attached: Project) -> None:
    """A save of the person's is recorded, is not shown as the turn's, nor taken back with it or by counting calls."""
    attached.prompt("Go")
    attached.bash("t1", "echo 1 > one")
    (attached.root / "mine.txt").write_text("mine\n")
    attached.bash("t2", "echo 2 > two")
    (attached.root / "mine.txt").write_text("mine, too\n")
    attached.hook("Stop")
    attached.prompt("On")

    assert attached.changed() == [
        ("Bash", ["one"]), ("between", ["mine.txt"]), ("Bash", ["two"]), ("between", ["mine.txt"]),
    ]  # fmt: skip
    for which in ([], ["1"]):
        assert attached.wink("diff", "--name-only", "--turn", *which).split() == ["one", "two"]
    assert "turn 2 has changed nothing" in attached.wink("diff", "--turn", "2", fails=True)
    attached.wink("undo", "--turn")
    assert {path for path in attached.files() if path in ("one", "two", "mine.txt")} == {"mine.txt"}
    assert (attached.root / "mine.txt").read_text() == "mine, too\n"


def test_overlapping_calls_are_told_apart_by_the_paths_that_they_name_and_said_to_be_guessed(attached: Project) -> None:
    """Nobody can know who wrote; a path that one names is that one's."""
    attached.prompt("Go")
    attached.before("t1", "Bash", command="sleep 1; echo > first.txt")
    attached.before("t2", "Bash", command="sleep 1; echo > second.txt")
    for name in ("first.txt", "second.txt", "other.txt"):
        (attached.root / name).write_text("x")
    attached.after("t1", "Bash", command="sleep 1; echo > first.txt")
    attached.after("t2", "Bash", command="sleep 1; echo > second.txt")

    assert attached.changed() == [("Bash", ["first.txt", "other.txt"]), ("Bash", ["second.txt"])]
    assert attached.wink("log").count("guessed") == 2


def test_a_call_of_whose_end_nobody_tells_is_settled_by_what_comes_next(attached: Project) -> None:
    """After Esc there is no event at all."""
    attached.prompt("Go")
    attached.before("t1", "Bash", command="echo half > half")
    (attached.root / "half").write_text("half\n")
    attached.prompt("Something else")

    assert attached.changed() == [("Bash", ["half"])]
    assert "the agent told nothing of its end" in attached.wink("show", "c1")


def test_what_goes_on_in_the_background_is_shown_as_a_guess_of_its_turn(attached: Project) -> None:
    """A background command tells when it begins, and never when it ends."""
    attached.prompt("Go")
    attached.before("t1", "Bash", command="build", run_in_background=True)
    attached.hook(
        "PostToolUse",
        tool_name="Bash",
        tool_input={},
        tool_use_id="t1",
        tool_response={"stdout": "", "backgroundTaskId": "b"},
    )
    (attached.root / "built").write_text("x")
    attached.hook("Stop")
    attached.hook("UserPromptSubmit", prompt="<task-notification>done</task-notification>")

    assert attached.changed() == [("between", ["built"])]
    log = attached.wink("log")
    assert "guessed" in log
    assert "turn 2" not in log
    assert "may be somebody else's; `wink undo c2` takes it back" in attached.wink("undo", "--turn", fails=True)
    attached.wink("undo", "c2")
    assert not (attached.root / "built").exists()


def test_git_is_followed_and_goes_back(attached: Project) -> None:
    """Refs and index are where they were; the objects of a commit that is undone stay."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=attached.root, check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], cwd=attached.root, check=True, capture_output=True).stdout
    attached.prompt("Commit it")
    attached.bash(
        "t1", "echo 2 >> a.txt; git -c user.name=n -c user.email=e@x commit -qam second; git checkout -q -b other"
    )

    paths = attached.changed()[-1][1]
    assert {".git/HEAD", ".git/index", ".git/refs/heads/other", "a.txt"} <= set(paths)
    attached.wink("undo", "--turn")

    assert (
        subprocess.run([*git, "rev-parse", "HEAD"], cwd=attached.root, check=True, capture_output=True).stdout == head
    )
    assert (
        subprocess.run(
            [*git, "status", "--porcelain", "-uno"], cwd=attached.root, check=True, capture_output=True
        ).stdout
        == b""
    )
    assert (
        subprocess.run([*git, "fsck", "--strict"], cwd=attached.root, check=False, capture_output=True).returncode == 0
    )


def test_what_git_has_too_comes_back_without_git(attached: Project) -> None:
    """A call may take the repository away with the files: what is kept leans on no object in it."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x"]
    before = attached.files()
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=attached.root, check=True)
    attached.prompt("Begin anew")
    attached.bash("t1", "rm -rf .git; rm -r a.txt src; git init -q")
    attached.wink("undo", "--turn")

    assert {path: content for path, content in attached.files().items() if not path.startswith(".git")} == before


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe",
        b'{"hook_event_name": 7, "tool_input": []}',
        b"[" * 100_000,
        b'{"hook_event_name": "New"}',
    ],
)
def test_an_event_that_nobody_understands_stops_no_agent(attached: Project, payload: bytes) -> None:
    """An agent newer than what was tried goes on, and the helper too."""
    done = attached.raw("PreToolUse", payload)

    assert (done.returncode, done.stdout) == (0, b"")
    attached.prompt("Go")
    attached.bash("t1", "echo 1 > one")
    assert attached.changed() == [("Bash", ["one"])]


def test_a_hostile_event_gains_nothing(attached: Project, tmp_path: Path) -> None:
    """Paths out of the workspace, names with escapes, arguments without end: a call like any other, and nothing else is touched."""
    outside = tmp_path / "outside.txt"
    outside.write_text("outside\n")
    attached.prompt("\x1b]0;title\x07 \u202e prompt")
    attached.before("../../x", "Write\x1b[31m", file_path="../outside.txt", content="x" * 3_000_000, deep=[[[]]])
    attached.after("../../x", "Write\x1b[31m", file_path="../outside.txt", content="x" * 3_000_000, deep=[[[]]])

    assert outside.read_text() == "outside\n"
    assert "\x1b" not in attached.wink("log") + attached.wink("show", "c1")
    assert len(json.dumps(attached.calls())) < 200_000


def test_nothing_of_a_hooks_environment_is_stored(attached: Project) -> None:
    """An agent's own token is in it."""
    told = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "true"}}
    attached.raw("PreToolUse", json.dumps(told).encode(), CLAUDE_CODE_TOKEN="tokenofanagent")

    everything = [*attached.root.glob(".wink/**/*"), *attached.home.glob("**/*")]
    assert not [path for path in everything if path.is_file() and b"tokenofanagent" in path.read_bytes()]


def test_links_that_lead_out_are_not_followed(attached: Project, tmp_path: Path) -> None:
    """Neither a directory that became a link, nor what is behind it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("theirs\n")
    attached.prompt("Go")
    attached.before("t1", "Bash", command="ln")
    shutil.rmtree(attached.root / "src")
    os.symlink(outside, attached.root / "src")
    attached.after("t1", "Bash", command="ln")

    assert attached.changed() == [("Bash", ["src", "src/main.py"])]
    attached.wink("undo", "--turn")
    assert (attached.root / "src/main.py").read_text() == "print('hello')\n"
    assert (outside / "main.py").read_text() == "theirs\n"
