"""Files that an agent has its editor read and write are calls: judged, recorded, undone; an unsaved buffer is what is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plugins.acp.tests.conftest import rules
from plugins.acp.tests.editor import Editor


def test_files_are_written_recorded_and_undone(editor: Editor) -> None:
    """Each prompt that leads to calls is a turn, with its first line; one call and a whole turn go back, and turns by a rewind."""
    a, b = str(editor.root / "a.txt"), str(editor.root / "new/b.txt")

    first = [["read", a], ["write", a, "ONE\n"], ["write", b, "b\n"]]
    second = [["write", b, "b2\n"]]
    found = editor.does(first, "Talk only", second)

    assert found == [["one\ntwo\nthree\n", "written", "written"], [], ["written"]]
    assert editor.status == 0
    assert editor.told == ""
    calls = editor.calls()
    assert [(one["tool"], [change["path"] for change in one["changes"]]) for one in calls] == [
        ("read_file", []),
        ("write_file", ["a.txt"]),
        ("write_file", ["new", "new/b.txt"]),
        ("write_file", ["new/b.txt"]),
    ]
    assert {one["session"] for one in calls} == {"scripted-5e551001"}
    assert {one["prompt"] for one in calls} == {"scripted"}
    log = editor.wink("log")
    assert "turn 1 of scripted: Do it" in log
    assert "turn 2 of scripted: Do it" in log
    assert "the files alone are what they were" in editor.wink("rewind", "--to", "1")
    assert Path(b).read_text() == "b\n"
    editor.wink("undo", "--turn", "1")
    assert (editor.root / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not (editor.root / "new").exists()


def test_the_agent_is_told_what_wink_does_for_it(editor: Editor) -> None:
    """An editor that has neither files nor terminals is in front of an agent that may use both; what else it declares stays."""
    editor.does([])

    assert editor.able["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert editor.able["terminal"] is True
    assert editor.able["auth"] == {"terminal": False}


def test_lines_are_counted_from_one(editor: Editor) -> None:
    """`line` and `limit` are the protocol's."""
    a = str(editor.root / "a.txt")

    found = editor.does([["read", a, 2, 1], ["read", a, 3], ["read", a, None, 1], ["read", a, 9], ["read", a, 0]])

    assert found == ["two\n", "three\n", "one\n", "", "one\ntwo\nthree\n"]


def test_an_unsaved_buffer_is_what_is_read_and_the_editor_hears_of_what_is_written(editor: Editor) -> None:
    """What is not in a buffer is read from the disk; a write is forwarded once it is committed."""
    a, b = str(editor.root / "a.txt"), str(editor.root / "b.txt")
    (editor.root / "b.txt").write_text("saved\n")
    editor.reads = editor.writes = True
    editor.buffers[a] = "unsaved\n"

    found = editor.does([["read", a], ["read", b], ["write", a, "new\n"], ["read", a]])

    assert found == ["unsaved\n", "saved\n", "written", "new\n"]
    assert editor.written == [a]
    assert editor.buffers[a] == "new\n"
    editor.wink("undo", "--turn")
    assert (editor.root / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_what_the_editor_makes_of_a_file_when_it_saves_it_goes_back_with_the_turn(editor: Editor) -> None:
    """Many format what they save: that is one more call of the turn, and of one call when only that is taken back."""
    a, b = str(editor.root / "a.txt"), str(editor.root / "new/b.txt")
    editor.writes = True
    editor.formats = str.upper

    editor.does([["write", a, "new\n"], ["write", b, "b\n"], ["write", a, "NEWER\n"]])

    assert (editor.root / "a.txt").read_text() == "NEWER\n"
    told = [(one["tool"], [change["path"] for change in one["changes"]]) for one in editor.calls()]
    assert told == [
        ("write_file", ["a.txt"]),
        ("save", ["a.txt"]),
        ("write_file", ["new", "new/b.txt"]),
        ("save", ["new/b.txt"]),
        ("write_file", ["a.txt"]),
    ]
    editor.wink("undo", "c4")
    assert (editor.root / "new/b.txt").read_text() == "b\n"
    editor.wink("redo")
    editor.wink("undo", "--turn")
    assert (editor.root / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not (editor.root / "new").exists()


def test_rules_deny_and_a_person_is_asked(editor: Editor) -> None:
    """A denial is an error that says why; a question goes to the editor with the difference, and both answers are recorded."""
    rules(
        editor,
        """
[[rules]]
action = "deny"
paths = "kept/**"
reason = "kept is kept"
[[rules]]
action = "ask"
tools = "write_file"
paths = "a.txt"
reason = "a is special"
""",
    )
    a, kept = str(editor.root / "a.txt"), str(editor.root / "kept/x.txt")

    found = editor.does([["write", kept, "x"], ["read", kept], ["write", a, "new\n"]])
    editor.allows = "reject_once"
    refused = editor.does([["write", a, "newer\n"]])
    editor.allows = "none"
    cancelled = editor.does([["write", a, "newer\n"]])

    assert "kept is kept" in found[0]["error"]
    assert "kept is kept" in found[1]["error"]
    assert found[2] == "written"
    assert "denied" in refused[0]["error"]
    assert "cancelled" in cancelled[0]["error"]
    assert (editor.root / "a.txt").read_text() == "new\n"
    (asked, *_) = editor.asked
    assert asked.title == "write_file on 'a.txt': a is special"
    assert asked.kind == "edit"
    assert (asked.content[0].old_text, asked.content[0].new_text) == ("one\ntwo\nthree\n", "new\n")
    told = [one.get("status") for one in editor.updates if one["toolCallId"].startswith("wink-")]
    assert told == ["pending", "completed", "pending", "failed", "pending", "failed"]
    outcomes = [one["outcome"] for one in editor.calls()]
    assert outcomes == ["denied", "denied", "ok", "denied", "denied"]


def test_rules_of_a_later_turn_are_those_of_then(editor: Editor) -> None:
    """Settings are read again for each prompt; ones that nobody can read deny everything."""
    a = str(editor.root / "a.txt")
    settings = editor.root / "wink.toml"

    found = editor.does(
        [["write", str(settings), '[[rules]]\naction = "deny"\npaths = "a.txt"\n']], [["write", a, "x"]]
    )

    assert found[0] == ["written"]
    assert "denied by a rule" in found[1][0]["error"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "is outside the workspace"),
        ("a.txt", "is no absolute path"),
        ("{root}/../other.txt", "is outside the workspace"),
        ("{root}/.wink/x", "wink's own state"),
        ("{root}/out/x.txt", "leads out of"),
        ("{root}/nul\0", "NUL"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused(editor: Editor, path: str, reason: str) -> None:
    """For reading as for writing, also where the editor would follow a link."""
    (editor.root / "out").symlink_to(editor.home)
    (editor.home / "x.txt").write_text("outside\n")
    whole = path.replace("{root}", str(editor.root))
    editor.reads = editor.writes = True
    editor.buffers[whole] = "outside\n"

    found = editor.does([["read", whole], ["write", whole, "new\n"]])

    for one in found:
        assert reason in one["error"]
    assert editor.written == []
    assert (editor.home / "x.txt").read_text() == "outside\n"


def test_what_is_no_file_is_told(editor: Editor) -> None:
    """A directory, and a path through a file."""
    root = str(editor.root)

    found = editor.does(
        [["read", root], ["write", root, "x"], ["read", f"{root}/a.txt/x"], ["write", f"{root}/a.txt/x", "x"]]
    )

    assert all("error" in one for one in found)


def test_a_missing_file_is_told_as_the_agent_understands_it(editor: Editor) -> None:
    """The protocol's error; to gemini-cli an empty text, since it makes no new file otherwise."""
    missing = str(editor.root / "missing.txt")

    told = editor.does([["read", missing]])
    editor.environment = {"AGENT_NAME": "gemini-cli"}
    to_gemini = editor.does([["read", missing]])

    assert told == [{"error": "missing.txt does not exist", "code": -32002}]
    assert to_gemini == [""]


def test_contents_that_cannot_be_text_are_refused(editor: Editor) -> None:
    """Half of a pair of surrogates cannot be written, and bytes cannot be read."""
    (editor.root / "b.bin").write_bytes(b"\xff\xfe\0")

    found = editor.does([["write", str(editor.root / "c.txt"), "\ud800"], ["read", str(editor.root / "b.bin")]])

    assert "UTF-8" in found[0]["error"]
    assert "b.bin" in found[1]["error"]
    assert not (editor.root / "c.txt").exists()


def test_a_write_through_a_planted_state_is_refused(editor: Editor) -> None:
    """A `.wink` that somebody else has made is no state of this user's: the session is not opened."""
    (editor.root / ".wink").mkdir()
    (editor.root / ".wink/record.db").write_bytes(b"planted")
    os.chmod(editor.root / ".wink/record.db", 0o644)

    with pytest.raises(Exception, match="wink cannot work in"):
        editor.does([["write", str(editor.root / "a.txt"), "x"]])

    assert (editor.root / "a.txt").read_text() == "one\ntwo\nthree\n"
