"""`wink rewind`: what later turns did goes with what was said in them, or nothing changes at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from plugins.attach.tests.conftest import Project

from wink_attach._calls import session_name

UUID = "0f5a0ab4-e28d-4c93-8cc8-0c068fff1473"


def line(one: str, before: str | None, kind: str, **more: object) -> str:
    """A line of a transcript of Claude Code's."""
    return json.dumps({"uuid": one, "parentUuid": before, "type": kind, **more})


TRANSCRIPT = "\n".join(
    (
        '{"type": "queue-operation"}',
        line("u1", None, "user", promptId="p1"),
        "no JSON at all",
        line("a1", "u1", "assistant"),
        line("t1", "a1", "user", promptId="p1"),
        line("a2", "t1", "assistant"),
        line("s1", "a2", "assistant", isSidechain=True),
        line("h1", "s1", "system"),
        line("u2", "h1", "user", promptId="p2"),
        line("a3", "u2", "assistant"),
        line("u3", "a3", "user", promptId="p3"),
        line("a4", "u3", "assistant"),
    )
)


@pytest.fixture
def three(attached: Project) -> Project:
    """Three turns, each of which has changed something, and what Claude Code keeps of them."""
    attached.session = UUID
    place = attached.home / f".claude/projects/-x/{UUID}.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text(TRANSCRIPT)
    for number, command in enumerate(("echo two >> a.txt", "echo new > new.txt", "echo three >> a.txt"), 1):
        attached.hook("UserPromptSubmit", prompt=f"Ask {number}", prompt_id=f"p{number}")
        attached.bash(f"t{number}", command)
    return attached


def rewound(project: Project, *arguments: str) -> dict[str, object]:
    """What the command says as JSON."""
    return json.loads(project.wink("rewind", "--json", *arguments))


def test_later_turns_go_and_come_back(three: Project) -> None:
    """Files and the place in the conversation are those of the end of the turn; a redo brings the files forward."""
    third = three.files()
    (three.root / "mine.txt").write_text("mine")

    shown = three.wink("rewind", "--to", "1", "--dry-run")
    assert shown.startswith("turn 2 would go: Ask 2\nturn 3 would go: Ask 3\nwould undo c2, c3\n")
    assert three.files() == third | {"mine.txt": b"mine"}
    told = rewound(three, "--to", "1", "--", "-p", "Otherwise")

    assert (told["to"], told["turns"], told["ready"]) == (1, [2, 3], True)
    command = told["command"]
    assert isinstance(command, list)
    assert command[:6] == ["claude", "--resume", UUID, "--resume-session-at", "a2", "--fork-session"]
    assert command[-2:] == ["-p", "Otherwise"]
    assert command[7] in str(told["note"])
    first = three.files()
    assert first["a.txt"] == b"one\ntwo\n"
    assert "new.txt" not in first
    assert first["mine.txt"] == b"mine"
    three.wink("redo")
    assert three.files() == third | {"mine.txt": b"mine"}


def test_what_is_missing_in_the_command_is_said(three: Project) -> None:
    """On its screen Claude Code shows the whole conversation again: `--go` starts nothing then, and changes nothing."""
    third = three.files()
    assert "only with -p" in three.wink("rewind", "--to", "2", "--go", fails=True)
    assert three.files() == third
    told = three.wink("rewind", "--to", "2", "--in-place")
    assert f"claude --resume {UUID} --resume-session-at a3 -p 'what to do instead'" in told
    assert f"afterwards `claude --resume {UUID}`" in told
    assert three.files()["a.txt"] == b"one\ntwo\n"


def test_the_agent_is_started_there(three: Project) -> None:
    """With the words of the person, in the conversation's copy, attached as it was."""
    programs = three.home / "bin"
    programs.mkdir()
    (programs / "claude").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {three.home}/given\n')
    (programs / "claude").chmod(0o755)
    os.environ["PATH"], path = f"{programs}:{os.environ['PATH']}", os.environ["PATH"]
    try:
        three.wink("rewind", "--to", "1", "--go", "--", "-p", "Otherwise")
    finally:
        os.environ["PATH"] = path
    given = (three.home / "given").read_text().splitlines()
    assert given[:4] == ["--resume", UUID, "--resume-session-at", "a2"]
    assert given[-2:] == ["-p", "Otherwise"]
    assert "new.txt" not in three.files()


def test_for_one_run_it_is_attached_again(three: Project) -> None:
    """Nothing of what it does then would be recorded otherwise."""
    three.wink("detach", three.agent)
    told = rewound(three, "--to", "2", "--", "-p", "Otherwise")
    assert isinstance(told["command"], list)
    assert told["command"][:5] == ["wink", "attach", "claude-code", "--", "claude"]


def test_where_somebody_has_built_on_it_nothing_changes(three: Project) -> None:
    """The path is named, and the conversation stays too."""
    (three.root / "a.txt").write_text("mine\n")
    third = three.files()
    assert "a.txt" in three.wink("rewind", "--to", "1", fails=True)
    assert three.files() == third


def test_a_turn_that_changed_no_file_is_forgotten_too(three: Project) -> None:
    """Only the conversation goes back then."""
    three.wink("undo", "--turn", "3")
    told = rewound(three, "--to", "2")
    assert told["undone"] is None
    assert "no file changes" in three.wink("rewind", "--to", "2")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--to", "9"), "there is no turn 9"),
        (("--to", "3"), "turn 3 is the last of its conversation"),
        (("--to", "0"), "there is no turn 0"),
        ((), "missing option '--to'"),
        (("--to", "1", "--go", "--json"), "not both"),
        (("--to", "1", "--go", "--dry-run"), "not both"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(three: Project, arguments: tuple[str, ...], problem: str) -> None:
    """With what is wrong."""
    third = three.files()
    assert problem in three.wink("rewind", *arguments, fails=True)
    assert three.files() == third


def damage(transcript: Path, what: str) -> None:
    """Make a transcript that leads nowhere."""
    match what:
        case "gone":
            transcript.unlink()
        case "empty":
            transcript.write_text("")
        case "a circle":
            transcript.write_text(
                "\n".join((line("x", "y", "user"), line("y", "x", "user"), line("u2", "x", "user", promptId="p2")))
            )
        case _:
            transcript.write_text(line("u2", None, "user", promptId="p2"))


@pytest.mark.parametrize("what", ["gone", "empty", "a circle", "no answer"])
def test_a_conversation_that_is_not_there_is_said_before_anything_changes(three: Project, what: str) -> None:
    """The files alone can be taken back, and how is said."""
    damage(three.home / f".claude/projects/-x/{UUID}.jsonl", what)
    third = three.files()
    said = three.wink("rewind", "--to", "1", fails=True)
    assert "`wink undo --turn` takes the files back alone" in said
    assert three.files() == third


def test_a_place_that_was_not_recorded_is_said(attached: Project) -> None:
    """As of an agent of another version, which tells no ids of turns."""
    for number in (1, 2):
        attached.prompt(f"Ask {number}")
        attached.bash(f"t{number}", f"echo {number} >> a.txt")
    assert "recorded without its place in the conversation" in attached.wink("rewind", "--to", "1", fails=True)
    assert (attached.root / "a.txt").read_text() == "one\n1\n2\n"


def test_conversations_of_one_minute_are_not_one() -> None:
    """Ids that begin with the time have the same first digits."""
    assert session_name("codex", "01a22cc2-e19b-7e72-9d4f-ac97d2f1907a") == "codex-d2f1907a"
    assert session_name("codex", "01a22cc2-e19b-7e72-9d4f-ac97d2f1907b") != session_name("codex", UUID)
