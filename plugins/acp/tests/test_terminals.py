"""Terminals that an agent asks for are commands in transactions, with their output as it comes."""

from __future__ import annotations

import http.server
import threading

from plugins.acp.tests.conftest import rules
from plugins.acp.tests.editor import Editor


def test_a_command_that_ends_well_is_kept_and_one_that_fails_is_dropped(editor: Editor) -> None:
    """The agent reads below the output what became of its changes."""
    found = editor.does(
        [
            ["run", "cat a.txt; echo out > made.txt"],
            ["run", "printf %s", ["a b", "c"]],
            ["run", "printf", ["%s|", "a b", "c"]],
            ["run", "echo half > half.txt; exit 3"],
            ["run", "kill -9 $$"],
        ]
    )

    assert found[0] == [0, "one\ntwo\nthree\n"]
    assert found[1][0] != 0  # with arguments the command is a program's name
    assert found[2] == [0, "a b|c|"]
    assert found[3][0] == 3
    assert "dropped, the workspace is as it was before" in found[3][1]
    assert "created half.txt" in found[3][1]
    assert found[4][0] == 137
    assert (editor.root / "made.txt").read_text() == "out\n"
    assert not (editor.root / "half.txt").exists()
    assert [one["outcome"] for one in editor.calls()] == ["ok", "rolled back", "ok", "rolled back", "rolled back"]
    editor.wink("undo", "--turn")
    assert not (editor.root / "made.txt").exists()


def test_a_command_has_its_directory_and_its_variables(editor: Editor) -> None:
    """Both as the agent gives them; a directory elsewhere is refused."""
    (editor.root / "sub").mkdir()

    found = editor.does(
        [
            ["inside", "t", 'echo "$GIVEN" in "$(basename "$PWD")"', str(editor.root / "sub"), "this"],
            ["wait", "t"],
            ["output", "t"],
            ["inside", "u", "true", "/etc", "x"],
            ["inside", "v", "true", str(editor.root / "missing"), "x"],
            ["wait", "v"],
            ["output", "v"],
        ]
    )

    assert found[1] == {"exitCode": 0, "signal": None}
    assert found[2]["output"] == "this in sub\n"
    assert "is outside the workspace" in found[3]["error"]
    assert found[5]["exitCode"] == 1
    assert "does not exist" in found[6]["output"]


def test_output_is_seen_while_it_runs_and_a_killed_one_is_taken_back(editor: Editor) -> None:
    """A kill leaves the terminal there to be looked at; a release ends it and forgets it."""
    found = editor.does(
        [
            ["begin", "t", "echo begun; echo half > half.txt; sleep 1000"],
            ["until", "t", "begun"],
            ["output", "t"],
            ["kill", "t"],
            ["wait", "t"],
            ["output", "t"],
            ["release", "t"],
            ["output", "t"],
            ["begin", "u", "sleep 1000"],
            ["release", "u"],
        ]
    )

    assert found[2]["output"] == "begun\n"
    assert found[2].get("exitStatus") is None
    assert found[4] == {"exitCode": None, "signal": "SIGKILL"}
    assert "was taken back" in found[5]["output"]
    assert found[5]["exitStatus"]["signal"] == "SIGKILL"
    assert "there is no terminal" in found[7]["error"]
    assert not (editor.root / "half.txt").exists()
    assert [one["changes"] for one in editor.calls()] == [[]] * len(editor.calls())


def test_output_is_bounded_from_the_beginning_at_a_character(editor: Editor) -> None:
    """As the protocol wants it: the end is kept, and no character is cut."""
    found = editor.does(
        [
            ["limited", "t", "printf 'aäöü'", 5],
            ["wait", "t"],
            ["output", "t"],
            ["limited", "u", "head -c 3000000 /dev/zero | tr '\\0' x", 1 << 40],
            ["wait", "u"],
            ["output", "u"],
        ]
    )

    assert (found[2]["output"], found[2]["truncated"]) == ("öü", True)
    assert len(found[5]["output"]) == 1 << 20
    assert found[5]["truncated"] is True


def test_writes_and_terminals_do_not_wait_for_each_other(editor: Editor) -> None:
    """A terminal that runs holds up no write, and two of them run at once; what both have changed goes to the first."""
    a, stop = str(editor.root / "a.txt"), str(editor.root / "stop.txt")
    found = editor.does(
        [
            ["begin", "t", "echo t > t.txt; echo up; sleep 1000 & wait"],
            ["begin", "u", "echo up; read x < /dev/null; echo u > u.txt"],
            ["begin", "v", "echo up; sleep 2; echo mine > a.txt"],
            ["until", "t", "up"],
            ["until", "v", "up"],
            ["together", ["write", a, "written\n"], ["write", stop, ""], ["read", a], ["wait", "u"]],
            ["wait", "v"],
            ["output", "v"],
            ["kill", "t"],
            ["read", a],
        ]
    )

    assert found[5][0] == "written"
    assert found[5][3]["exitCode"] == 0
    assert found[6]["exitCode"] == 1  # it exited with 0, and nothing of it was kept
    assert "a.txt" in found[7]["output"]
    assert found[9] == "written\n"
    assert (editor.root / "u.txt").exists()
    assert not (editor.root / "t.txt").exists()


def test_rules_deny_commands_and_a_person_is_asked(editor: Editor) -> None:
    """A denied terminal is never made; rules see arguments as a shell would write them."""
    rules(
        editor,
        """
[[rules]]
action = "deny"
tools = "run_command"
arguments = { command = "rm *" }
reason = "nothing is deleted"
[[rules]]
action = "ask"
tools = "run_command"
arguments = { command = "git push*" }
""",
    )

    found = editor.does([["run", "rm a.txt"], ["run", "rm", ["a.txt"]], ["run", "git push --help >/dev/null; true"]])

    assert "nothing is deleted" in found[0]["error"]
    assert "nothing is deleted" in found[1]["error"]
    assert found[2][0] == 0
    assert [one.kind for one in editor.asked] == ["execute"]
    assert (editor.root / "a.txt").exists()


def test_the_editor_is_asked_about_a_host_that_a_command_wants(editor: Editor) -> None:
    """While the command waits, as about a call."""
    rules(editor, '[plugins.shell]\nnetwork_default = "ask"\n')
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    line = f"curl -s -o /dev/null -w '%{{http_code}}' --noproxy '' http://localhost:{server.server_port}/"

    found = editor.does([["run", f"{line}; {line}"]])

    server.shutdown()
    server.server_close()
    assert found[0][1].startswith("200200"), found
    (asked,) = editor.asked
    assert f"wants to connect to localhost:{server.server_port}, which is not listed" in asked.title


def test_an_editor_is_shown_the_output_of_terminals_that_it_does_not_have(editor: Editor) -> None:
    """Where an agent shows a terminal, the editor gets its text, and again when it has ended; no id of wink's reaches it."""
    editor.does(
        [
            ["begin", "t", "echo said; sleep 1"],
            ["until", "t", "said"],
            ["show", "t"],
            ["wait", "t"],
            ["release", "t"],
            ["show", "t"],
        ]
    )

    shown = [one for one in editor.updates if one["toolCallId"] == "shown"]
    texts = [one["content"][0]["content"]["text"] for one in shown]
    assert texts == ["```\n$ echo said; sleep 1\nsaid\n```"] * 3


def test_a_terminal_that_does_not_exist_is_refused(editor: Editor) -> None:
    """So are parameters that do not fit, each with what is wrong."""
    root, session = str(editor.root), "5e551001-aaaa"
    found = editor.does(
        [
            ["call", "terminal/output", {"sessionId": session, "terminalId": "x"}],
            ["call", "terminal/output", {"sessionId": session}],
            ["call", "terminal/create", {"sessionId": session, "command": 5}],
            ["call", "terminal/create", {"sessionId": session, "command": "a\0b"}],
            ["call", "terminal/create", {"sessionId": "other", "command": "true"}],
            ["call", "fs/write_text_file", {"sessionId": session, "path": root}],
            ["call", "fs/write_text_file", None],
        ]
    )

    told = ["no terminal", "terminalId", "command", "NUL", "no session", "content", "no object"]
    for one, expected in zip(found, told, strict=True):
        assert expected in one["error"]
        assert one["code"] == -32602


def test_programs_see_no_home(editor: Editor) -> None:
    """The sandbox is that of `run_command`."""
    (editor.home / "secret").write_text("secret\n")

    found = editor.does([["run", f"cat {editor.home}/secret"]])

    assert found[0][0] != 0
    assert "secret\n" not in found[0][1].splitlines()
