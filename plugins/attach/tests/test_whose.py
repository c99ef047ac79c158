"""A person works beside an agent: what may be the person's is not taken back with a turn of the agent's, and that is said."""

from __future__ import annotations

import subprocess

import pytest
from plugins.attach.tests.conftest import Project


def save(project: Project, *names: str) -> None:
    """What a person does in an editor."""
    for name in names:
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).write_text("mine\n")


@pytest.mark.parametrize("how", ["prompt", "Stop", "SessionEnd", "batch"])
def test_a_call_whose_end_nobody_told_gets_what_it_names_and_no_more(attached: Project, how: str) -> None:
    """After Esc a person goes on by hand, until the next prompt settles the call: `wink undo --turn` must leave that work alone."""
    attached.prompt("Go")
    attached.before("t1", "Bash", command="rm -r src; echo half > out/half; sleep 100")
    subprocess.run("rm -r src; mkdir out; echo half > out/half", shell=True, cwd=attached.root, check=True)
    save(attached, "mine.txt", "alf", "out/mine.txt", "a.txt")
    if how == "prompt":
        attached.prompt("Something else")
    elif how == "batch":
        attached.hook("PostToolBatch", tool_calls=[{"tool_name": "Bash", "tool_use_id": "t1"}])
    else:
        attached.hook(how)

    assert attached.changed() == [
        ("Bash", ["out", "out/half", "src", "src/main.py"]), ("between", ["a.txt", "alf", "mine.txt", "out/mine.txt"]),
    ]  # fmt: skip
    assert "guessed: of Bash, the agent told nothing of its end" in attached.wink("show", "c2")
    shown = attached.wink("undo", "--turn", "1", "--dry-run")
    said = attached.wink("undo", "--turn", "1")
    assert "c2 stays, guessed: of Bash, the agent told nothing of its end; `wink undo c2` takes it back" in said
    assert "c2 stays, guessed" in shown
    assert (attached.root / "src/main.py").read_text() == "print('hello')\n"
    assert not (attached.root / "out/half").exists()
    for name in ("mine.txt", "alf", "out/mine.txt", "a.txt"):
        assert (attached.root / name).read_text() == "mine\n"
    assert "nothing to undo in any turn" in attached.wink("undo", "--turn", fails=True)
    attached.wink("undo", "c2")
    assert (attached.root / "a.txt").read_text() == "one\n"
    assert not (attached.root / "mine.txt").exists()


def test_a_turn_of_guesses_alone_is_not_taken_back_and_neither_is_the_one_before(attached: Project) -> None:
    """Without a number the last turn is meant, and not another one for want of anything sure in it."""
    attached.prompt("Go")
    attached.bash("t1", "echo 1 > one")
    attached.prompt("And on")
    attached.before("t2", "Bash", command="sleep 100")
    save(attached, "mine.txt")
    attached.hook("Stop")

    assert "in turn 2 may be somebody else's; `wink undo c3` takes it back" in attached.wink(
        "undo", "--turn", fails=True
    )
    assert (attached.root / "one").exists()
    assert (attached.root / "mine.txt").exists()


def test_a_call_whose_beginning_was_not_seen_gets_what_it_names(attached: Project) -> None:
    """Nobody knows since when it ran."""
    attached.prompt("Go")
    attached.bash("t1", "echo 1 > one")
    save(attached, "mine.txt", "two")
    attached.after("t2", "Bash", command="echo 2 > two")

    assert attached.changed() == [("Bash", ["one"]), ("Bash", ["two"]), ("between", ["mine.txt"])]


def test_a_tool_that_writes_files_gets_those_that_it_names(attached: Project) -> None:
    """While the agent's dialog asks whether a file may be written, a person saves another one."""
    attached.prompt("Go")
    new = str(attached.root / "deep/er/new.txt")
    attached.before("t1", "Write", file_path=new, content="x")
    save(attached, "mine.txt")
    (attached.root / "deep/er").mkdir(parents=True)
    (attached.root / "deep/er/new.txt").write_text("x")
    attached.after("t1", "Write", file_path=new, content="x")
    attached.hook("Stop")
    attached.prompt("On")

    assert attached.changed() == [("Write", ["deep", "deep/er", "deep/er/new.txt"]), ("between", ["mine.txt"])]
    attached.wink("undo", "--turn")
    assert (attached.root / "mine.txt").exists()
    assert not (attached.root / "deep").exists()


def test_a_call_left_open_in_another_session_is_no_reason_to_take_what_was_there_before(attached: Project) -> None:
    """One terminal was left with Esc, a person has worked, and another terminal goes on."""
    attached.prompt("Go")
    attached.before("t1", "Bash", command="sleep 100")
    save(attached, "mine.txt", "both.txt")
    attached.session = "6f662122-bbbb"
    attached.prompt("Something else")
    attached.bash("t2", "echo 2 > two; echo 2 >> both.txt")

    assert attached.changed() == [("Bash", ["both.txt", "two"])]
    said = attached.wink("undo", "--turn")
    assert "is guessed: it ran at the same time as Bash" in said
    assert (attached.root / "mine.txt").exists()
