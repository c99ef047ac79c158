"""`wink rules test`: a table of expectations, held against what rules do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from wink.cli import run

RULES = """\
network = [
  "example.org",
]

[[rules]]
action = "deny"
paths = ["**/.env", "secrets/**"]
reason = "secrets stay"

[[rules]]
action = "ask"
tools = ["rm", "write_file"]
paths = "docs/**"

[[rules]]
action = "ask"
tools = "run_command"
arguments = { command = "git push*" }
"""
GOOD = """\
[[test]]
read = [".env", "src/.env", "secrets/key"]
expect = "deny"
reason = "secrets stay"
rule = "wink.toml:5"

[[test]]
write = "src/a.py"
expect = "allow"

[[test]]
write = "docs/a.md"
by = "write_file"
expect = "ask"

[[test]]
host = ["example.org", "example.org:80"]
by = "wink try"
expect = "allow"

[[test]]
host = ["evil.example", "10.0.0.1", "localhost:8080"]
expect = "deny"

[[test]]
command = ["git push", "cd src && CI=1 git push"]
expect = "ask"

[[test]]
tool = "rm"
arguments = { path = "secrets/key" }
expect = "deny"
"""


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    status: int
    out: str
    err: str


Check = Callable[..., Done]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with rules, of somebody without settings; none of the files that rules are about is there."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "WINK_PLUGINS", "WINK_DISABLE_PLUGINS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    directory = tmp_path / "place"
    directory.mkdir()
    (directory / "wink.toml").write_text(RULES)
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def check(place: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Write a table and hold the rules against it."""

    def call(table: str | bytes, *options: str) -> Done:
        (place / "expected.toml").write_bytes(table.encode() if isinstance(table, str) else table)
        return Done(run(("rules", "test", "expected.toml", *options)), *capsys.readouterr())

    return call


def test_all_as_expected(check: Check) -> None:
    """A line, and the status for CI."""
    assert check(GOOD) == (0, "13 of 13 as expected\n", "")


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        (
            'read = ".env"\nexpect = "allow"',
            [
                "expected.toml:1: read '.env': expected allow",
                "  read_file: deny: read_file on '.env' is denied: secrets stay",
                '    decided by wink.toml:5 deny tools = "*", paths = ["**/.env", "secrets/**"]: \'.env\' fits',
                "  wink try: deny: nothing is there now; programs would find an empty file or directory in its place: secrets stay",
                '    decided by wink.toml:5 deny tools = "*", paths = ["**/.env", "secrets/**"]',
                "  run_command: deny: nothing is there now; programs would find an empty file or directory in its place: secrets stay",
                '    decided by wink.toml:5 deny tools = "*", paths = ["**/.env", "secrets/**"]',
                "0 of 1 as expected",
            ],
        ),
        (
            'write = "docs/a.md"\nexpect = "ask"',
            [
                "expected.toml:1: write 'docs/a.md': expected ask",
                "  wink accept: allow",
                "  run_command: allow",
                '  programs are never asked about; by = "write_file" asks about that alone',
                "0 of 1 as expected",
            ],
        ),
        (
            'tool = "rm"\narguments = { path = "docs/a" }\nexpect = "ask"\nrule = "wink.toml:5"',
            [
                "expected.toml:1: tool 'rm' {\"path\": \"docs/a\"}: expected ask, rule 'wink.toml:5'",
                "  rm: ask: a rule wants a person to look at rm on 'docs/a'",
                '    decided by wink.toml:10 ask tools = ["rm", "write_file"], paths = "docs/**": \'docs/a\' fits',
                "0 of 1 as expected",
            ],
        ),
        (
            'host = "evil.example"\nby = "wink try"\nexpect = "allow"',
            [
                "expected.toml:1: host 'evil.example': expected allow",
                "  wink try: deny: refused: not listed",
                "    decided by wink.toml:1 network lists no entry that lets it through",
                "0 of 1 as expected",
            ],
        ),
    ],
)
def test_what_differs_is_printed_with_the_rule_that_decided(check: Check, table: str, lines: list[str]) -> None:
    """What was expected, what is answered instead, and by which line of which file."""
    done = check(f"[[test]]\n{table}\n")

    assert (done.status, done.out.splitlines(), done.err) == (1, lines, "")


def test_it_comes_as_json(check: Check) -> None:
    """Every expectation with all that was answered."""
    done = check(GOOD + '[[test]]\nread = "a"\nexpect = "deny"\n', "--json")

    found = json.loads(done.out)
    assert (done.status, found["expected"], found["failed"]) == (1, 14, 1)
    assert [one["differ"] for one in found["tests"]] == [[]] * 13 + [["read_file", "wink try", "run_command"]]
    assert found["tests"][0]["answers"][0]["origin"] == "wink.toml:5"
    assert found["tests"][-1]["place"] == "expected.toml:33"


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("", "nothing is expected, so nothing could fail"),
        ("test = []", "nothing is expected, so nothing could fail"),
        ("test = 1", "nothing is expected, so nothing could fail"),
        ("[[test", "is not TOML"),
        (b"\xff", "is not TOML"),
        ("a" + ".a" * 10_000 + " = 1", "is not TOML: it has keys of thousands of names"),
        ("[[tests]]\nread = 'a'", "there is no key 'tests'"),
        ("\n[[test]]\nread = 'a'\nexpects = 'deny'", "expected.toml:2: a test has no key 'expects'; did you mean 'expect'?"),
        ("[[test]]\nread = 'a'", "expected.toml:1: expect must be 'allow', 'deny' or 'ask'"),
        ("[[test]]\nexpect = 'deny'", "a test is about one of tool, read, write, host or command, and this says none"),
        ("[[test]]\nread = 'a'\nhost = 'b'\nexpect = 'deny'", "and this is about read and host"),
        ("[[test]]\nread = []\nexpect = 'deny'", "read is an empty list, of which nothing could fail"),
        ("[[test]]\nread = ['a', 1]\nexpect = 'deny'", "read must be a text of 1 to 10000 characters, or a list of them"),
        ("[[test]]\nread = ''\nexpect = 'deny'", "read must be a text"),
        ("[[test]]\nread = \"a\\u0000\"\nexpect = 'deny'", "read must be a text"),
        ("[[test]]\ntool = ['rm']\nexpect = 'deny'", "tool must be a text"),
        ("[[test]]\nread = 'a'\nexpect = 'deny'\nrule = ''", "rule must be a text"),
        ("[[test]]\nread = 'a'\nexpect = 'deny'\narguments = {}", "arguments must be a table, of a tool"),
        ("[[test]]\ntool = 'rn'\nexpect = 'deny'", "expected.toml:1: there is no tool 'rn'"),
        ("[[test]]\ntool = 'rm'\narguments = { pth = 'a' }\nexpect = 'deny'", "the arguments of rm are not valid"),
        ("[[test]]\nread = 'a'\nby = 'cat'\nexpect = 'deny'", "by must be one of read_file, wink try, run_command, not 'cat'"),
        ("[[test]]\nhost = 'x'\nexpect = 'deny'\n[[test]]\nhost = '::1'\nexpect = 'deny'", "expected.toml:4: '::1' is no host"),
        ("test = ['a']", "expected.toml: a test must be a table, not str"),
        ("[[test]]\nread = 'a'\n" * 200, "; and more"),
        ("[[test]]\nexpect = 'deny'\nread = [" + "'a'," * 10_001 + "]", "more than 10000 are expected"),
        (b"#" * (1 << 20) + b"#", "it is longer than 1048576 bytes"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_wrong_input(check: Check, table: str | bytes, problem: str) -> None:
    """One line, the status of wrong input, and where it is: a table of which nothing can fail is none."""
    done = check(table)

    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert problem in done.err


def test_what_lies_there_instead_of_a_file_holds_nobody_up(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A FIFO, a device, a directory, nothing."""
    os.mkfifo(place / "fifo")
    for name in ("fifo", "/dev/zero", ".", "nowhere", "a\0b"):
        assert run(("rules", "test", name)) == 2
        assert "cannot read" in capsys.readouterr().err


def test_nothing_that_was_called_before_has_a_say(check: Check, place: Path) -> None:
    """A limit that this workspace has used up is one for a fresh session all the same, and nothing is written."""
    (place / "wink.toml").write_text('[[rules]]\ntools = "ls"\nat_most = 1\n')
    table = '[[test]]\ntool = "ls"\nexpect = "allow"\n'
    assert check(table).status == 0
    run(("call", "ls"))
    before = sorted(os.walk(place))

    assert check(table).status == 0
    assert sorted(os.walk(place)) == before
    assert run(("explain", "ls")) == 1


def test_a_terminal_is_shown_no_control_characters(check: Check) -> None:
    """The table is written by anybody."""
    assert "\x1b" not in check('[[test]]\nread = "\\u001b[2J"\nexpect = "ask"\n').out
