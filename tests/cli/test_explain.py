"""`wink explain`: which rule would decide about a call, without making it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]
RULES = """\
[[rules]]
action = "deny"
paths = "**/.env"
reason = "it is secret"

[[rules]]
action = "ask"
tools = ["write_file", "rm"]
reason = "look first"

[[rules]]
action = "allow"
tools = "*"

[[rules]]
tools = "ls"
at_most = 1
"""


@pytest.fixture
def ruled(place: Path) -> Path:
    """A workspace with rules."""
    (place / "wink.toml").write_text(RULES)
    return place


def test_an_allowed_call_is_explained(cli: Cli, ruled: Path) -> None:
    """Exit status 0 is for what would be done."""
    done = cli("explain", "read_file", "file_path=a.txt")

    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "read_file: allowed\n"
        "  read_before_write allows\n"
        "  workspace-rules allows\n"
        '    decided by wink.toml:11 allow tools = "*": the tool fits\n'
    )


def test_a_denied_call_is_explained_with_all_that_lost(cli: Cli, ruled: Path) -> None:
    """The rule that decided comes first, with its place, its words and why it fits."""
    done = cli("explain", "write_file", "file_path=./x/../.env", "content=x")

    assert done.status == 1
    assert done.out == (
        "write_file: denied\n"
        "  read_before_write allows\n"
        "  workspace-rules denies: write_file on '.env' is denied: it is secret\n"
        '    decided by wink.toml:1 deny tools = "*", paths = "**/.env": \'.env\' fits\n'
        '    loses: wink.toml:6 ask tools = ["write_file", "rm"]: the tool fits\n'
        '    loses: wink.toml:11 allow tools = "*": the tool fits\n'
    )


def test_a_call_that_a_person_is_asked_about_is_explained(cli: Cli, ruled: Path) -> None:
    """It would not be done as it stands, so the exit status is that of a denial."""
    done = cli("explain", "write_file", "file_path=b.txt", "content=x")

    assert done.status == 1
    assert done.out.startswith("write_file: needs a person's approval\n")
    assert "workspace-rules asks: write_file: look first" in done.out


def test_other_policies_say_their_reasons_too(cli: Cli, place: Path) -> None:
    """Rules are not all that governs a tool."""
    before = cli("explain", "write_file", "file_path=a.txt", "content=x")
    assert before.status == 1
    assert "read_before_write denies: a.txt exists and has not been read in this session" in before.out

    cli("call", "read_file", "file_path=a.txt")
    assert cli("explain", "write_file", "file_path=a.txt", "content=x").status == 0


def test_the_default_is_named_where_no_rule_fits(cli: Cli, place: Path) -> None:
    """Then it is what decided, and it has a place as well."""
    (place / "wink.toml").write_text('rules_default = "deny"\n')

    done = cli("explain", "ls")

    assert done.status == 1
    assert '    decided by rules_default = "deny" (wink.toml:1): no rule fits\n' in done.out


def test_a_limit_is_explained_before_and_after_it_is_reached(cli: Cli, ruled: Path) -> None:
    """What keeps to a limit is told as well: the next call may not."""
    before = cli("explain", "ls")
    assert before.status == 0
    assert 'a limit that is kept: wink.toml:15 limit tools = "ls", at_most = 1' in before.out

    cli("call", "ls")
    after = cli("explain", "ls")
    assert after.status == 1
    assert 'decided by wink.toml:15 limit tools = "ls", at_most = 1: ls may succeed once' in after.out


def test_it_comes_as_json(cli: Cli, ruled: Path) -> None:
    """With stable keys, for programs."""
    done = cli("explain", "rm", "path=.env", "--json")

    found = json.loads(done.out)
    assert done.status == 1
    assert (found["tool"], found["arguments"], found["answer"]) == ("rm", {"path": ".env"}, "deny")
    rules = found["policies"][-1]
    assert (rules["policy"], rules["answer"], rules["decided"]) == ("workspace-rules", "deny", "wink.toml:1")
    assert [(rule["origin"], rule["verdict"], rule["decided"]) for rule in rules["rules"]] == [
        ("wink.toml:1", "deny", True),
        ("wink.toml:6", "ask", False),
        ("wink.toml:11", "allow", False),
    ]
    assert rules["rules"][0]["rule"] == {"action": "deny", "tools": "*", "paths": "**/.env"}


def test_arguments_may_come_as_one_json_object(cli: Cli, ruled: Path) -> None:
    """For values that a shell makes hard to write; `--json` is about the output here."""
    assert cli("explain", "rm", "--arguments", '{"path": ".env"}').status == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["read_fil"], "did you mean 'read_file'?"),
        (["read_file", "path=a"], "did you mean 'file_path'?"),
        (["read_file"], "the arguments of read_file are not valid"),
        (["rm", "path=a", "--arguments", "{}"], "not both"),
        (["rm", "--path", "a"], "give one of TOOL, --path, --host and --command"),
        (["--host", "a", "--command", "ls"], "give one of TOOL, --path, --host and --command"),
        (["--path", "a", "--arguments", "{}"], "--arguments are those of a TOOL"),
        (["--path", ""], "'' is no path"),
    ],
)
def test_what_is_no_call_is_wrong_input(cli: Cli, ruled: Path, arguments: list[str], problem: str) -> None:
    """It can be neither allowed nor denied."""
    done = cli("explain", *arguments)

    assert (done.status, done.out) == (2, "")
    assert problem in done.err


def test_nothing_is_executed_and_nothing_written(cli: Cli, ruled: Path, tmp_path: Path) -> None:
    """Not in a workspace that was never used, and not in one that has a record."""
    cli("log")  # the user's own key is made by the first look at any workspace
    before = digest(tmp_path)
    cli("explain", "write_file", "file_path=b.txt", "content=x")
    cli("explain", "read_file", "file_path=a.txt")
    assert digest(tmp_path) == before

    cli("call", "read_file", "file_path=a.txt")
    calls = cli("log", "--json").out
    cli("explain", "rm", "path=a.txt")
    assert cli("log", "--json").out == calls
    assert (ruled / "a.txt").exists()


def digest(directory: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        found.update(f"{path.relative_to(directory)}\0".encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def test_it_says_what_the_call_then_does(cli: Cli, ruled: Path) -> None:
    """An explanation that differs from what happens would be worse than none."""
    for arguments in (["ls"], ["read_file", "file_path=a.txt"], ["read_file", "file_path=.env"], ["rm", "path=a.txt"]):
        assert cli("explain", *arguments).status == cli("call", *arguments).status, arguments


def test_without_a_tool_the_rules_are_listed(cli: Cli, ruled: Path) -> None:
    """To see at a glance what holds here."""
    done = cli("explain")

    assert done.status == 0
    assert done.out.splitlines()[:2] == [
        "workspace-rules, what no rule is about: allow",
        '  wink.toml:1 deny tools = "*", paths = "**/.env": it is secret',
    ]
    assert [rule["origin"] for rule in json.loads(cli("explain", "--json").out)[0]["rules"]] == [
        "wink.toml:1", "wink.toml:6", "wink.toml:11", "wink.toml:15",
    ]  # fmt: skip


def test_where_there_are_no_rules_that_is_said(cli: Cli) -> None:
    """Silence would look like a mistake."""
    assert "there are no rules" in cli("explain").out


def test_a_terminal_is_shown_no_control_characters(cli: Cli, place: Path) -> None:
    """Rules and reasons of a workspace are written by anybody."""
    (place / "wink.toml").write_text('[[rules]]\naction = "deny"\nreason = "\\u001b[2J"\n')

    assert "\x1b" not in cli("explain", "ls").out
