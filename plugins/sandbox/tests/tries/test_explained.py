"""`wink explain` says of paths and hosts what then happens: each answer is held against a real run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wink.cli import run

RULES = """
[[rules]]
action = "deny"
paths = ["**/.env", "secrets/**", "!secrets/public/**"]
reason = "secrets stay"

[[rules]]
action = "deny"
tools = ["*", "!read_file"]
paths = "locked/**"
reason = "it is locked"

[[rules]]
action = "deny"
tools = "read_file"
paths = "unread/**"

[[rules]]
action = "ask"
paths = "docs/**"
reason = "it is published"

[[rules]]
action = "deny"
tools = ["*", "!run_command"]
paths = "ours/**"
"""
SHELL = ("--section", "shell.commands")
PRESENT = ("a.txt", ".env", "src/.env", "secrets/key", "secrets/public/a", "locked/a", "unread/a", "docs/a", "ours/a")
PATHS = (
    *PRESENT,
    *("src/.ENV", "new.txt", "secrets/none", "locked/none", "docs/none", "unread/none", "src/../a.txt"),
    *("link", "twin", "dir/key", "out/conf", ".git/hooks/pre-commit", ".git/refs/heads/x", ".wink/x"),
)
Cli = Callable[..., "Done"]
Answers = Mapping[tuple[str, str], dict[str, Any]]


class Done(NamedTuple):
    """How a command ended in this process, and what it wrote."""

    status: int
    out: str
    err: str


@pytest.fixture
def cli(
    place: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Cli:
    """Run wink in this process: dozens of answers are asked for."""
    monkeypatch.chdir(place)
    for name in os.environ.keys() - environment.keys():
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", environment["HOME"])

    def call(*arguments: str) -> Done:
        capfd.readouterr()
        return Done(run(arguments), *capfd.readouterr())

    return call


@pytest.fixture
def filled(place: Path) -> Path:
    """A workspace with what rules are about: files, links to them, another name of one, and a link that leads out."""
    for name in PRESENT:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("CONTENT\n")
    for name in (".git/objects", ".git/refs/heads", ".git/hooks"):
        (place / name).mkdir(parents=True)
    (place / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (place / "link").symlink_to(".env")
    (place / "twin").hardlink_to(place / ".env")
    (place / "dir").symlink_to("secrets")
    (place.parent / "home/.aws").mkdir()
    (place.parent / "home/.aws/conf").write_text("CONTENT\n")
    (place / "out").symlink_to(place.parent / "home/.aws")
    (place / "wink.toml").write_text(RULES)
    return place


def explained(cli: Cli, *about: str) -> Answers:
    """Each answer by who gives it and to what."""
    done = cli("explain", *about, "--json")
    found = json.loads(done.out)
    assert done.status == (0 if found["answer"] == "allow" else 1), done.err
    return {(one["who"], one["does"]): one for one in found["verdicts"]}


def allowed(answers: Mapping[str, Answers], who: str, does: str) -> list[str]:
    """The paths of which that is explained."""
    return [path for path, said in answers.items() if (who, does) in said and said[who, does]["answer"] == "allow"]


def test_what_is_explained_is_what_then_can_be_read(cli: Cli, filled: Path) -> None:
    """By tools, by a program that is tried, and by one in a call."""
    there = [path for path in PATHS if os.path.exists(filled / path)]
    answers = {path: explained(cli, "--path", path) for path in there}
    show = "; ".join(f"grep -q CONTENT '{path}' && echo +{path}+" for path in there)

    tools = [path for path in there if cli("call", "read_file", f"file_path={path}", "--no-input").status == 0]
    tried = cli("try", "-q", "--", "sh", "-c", f"{show}; true").out
    called = cli("call", "run_command", *SHELL, f"command={show}; true", "--no-input").out

    assert tools == allowed(answers, "read_file", "read")
    assert [path for path in there if f"+{path}+" in tried] == allowed(answers, "wink try", "read")
    assert [path for path in there if f"+{path}+" in called] == allowed(answers, "run_command", "read")
    assert 0 < len(tools) < len(there)


def test_what_is_explained_is_what_then_can_be_written(cli: Cli, filled: Path) -> None:
    """By tools, by a program of which `wink accept` takes what it may, and by one in a call."""
    answers = {path: explained(cli, "--path", path) for path in PATHS}
    before = {path: _content(filled / path) for path in PATHS}
    make = {path: f"mkdir -p '{os.path.dirname(path) or '.'}'; echo P > '{path}'" for path in PATHS}

    def changed(path: str) -> bool:
        is_new = (_content(filled / path) or "").strip() == "P"
        _restore(filled / path, before[path])
        (filled / "twin").unlink()  # a tool puts a new file in its place
        (filled / "twin").hardlink_to(filled / ".env")
        return is_new

    tools, called, unread = list[str](), list[str](), list[str]()
    for path in PATHS:
        cli("call", "read_file", f"file_path={path}", "--no-input")
        done = cli("call", "write_file", f"file_path={path}", "content=P", "--no-input")
        tools += [path] if changed(path) else []
        unread += [path] if "has not been read" in done.err else []  # which another policy denies, whatever rules say
        cli("call", "run_command", *SHELL, f"command={make[path]}", "--no-input")
        called += [path] if changed(path) else []
    cli("try", "-q", "--", "sh", "-c", "; ".join(make.values()))
    cli("accept", "--rest")

    assert tools == [path for path in allowed(answers, "write_file", "write") if path not in unread]
    assert len(unread) < len(PATHS) / 2
    assert called == allowed(answers, "run_command", "write")
    accepted = [path for path in PATHS if (_content(filled / path) or "").strip() == "P"]
    assert accepted == allowed(answers, "wink accept", "write")


def _content(place: Path) -> str | None:
    return place.read_text() if place.is_file() else None


def _restore(place: Path, content: str | None) -> None:
    if content is not None:
        place.write_text(content)
    elif place.is_file():
        place.unlink()


def test_the_rule_is_named_with_its_file_and_line(cli: Cli, filled: Path) -> None:
    """For people, too: one line says what becomes of it, and the next why."""
    done = cli("explain", "--path", "locked/a")

    assert done.out.splitlines() == [
        "locked/a",
        "  read_file reads it: allowed",
        "  write_file writes it: denied: write_file on 'locked/a' is denied: it is locked",
        '    decided by wink.toml:7 deny tools = ["*", "!read_file"], paths = "locked/**": \'locked/a\' fits',
        "  wink try reads it: allowed",
        "  wink accept writes it: denied: it is denied to programs by a rule: it is locked; with --rest all else is accepted",
        '    decided by wink.toml:7 deny tools = ["*", "!read_file"], paths = "locked/**"',
        "  run_command reads it: allowed",
        "  run_command writes it: denied: a program's change of it is taken back, with all that it did: it is locked",
        '    decided by wink.toml:7 deny tools = ["*", "!read_file"], paths = "locked/**"',
    ]


def test_a_path_is_relative_to_where_one_stands(cli: Cli, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere."""
    monkeypatch.chdir(filled / "src")
    done = cli("explain", "--path", ".env")

    assert (done.status, done.out.splitlines()[0]) == (1, ".env")
    assert "'src/.env' fits" in done.out


@pytest.fixture
def own(place: Path) -> Path:
    """The user's own settings."""
    made = place.parent / "home/.config/wink/wink.toml"
    made.parent.mkdir(parents=True)
    return made


def test_the_machine_is_explained_as_a_program_then_finds_it(cli: Cli, place: Path, own: Path) -> None:
    """What tries hide by themselves, by settings and not, for an exception, and what is not there yet."""
    home = place.parent / "home"
    names = (".ssh/id", ".aws/credentials", ".acme/token", "plain", ".npmrc", ".pypirc", "way/id")
    (home / ".ssh").mkdir()
    (home / "way").symlink_to(".ssh")
    for name in names:
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("CONTENT\n")
    own.write_text('hide = [\n  "~/.acme",\n  "!~/.aws",\n  "~/.later",\n]\n')
    answers = {name: explained(cli, "--path", str(home / name)) for name in names}
    show = "; ".join(f"grep -q CONTENT ~/{name} && echo +{name}+; echo x > ~/{name}" for name in names)

    tried = cli("try", "-q", "--", "sh", "-c", f"{show}; true").out
    called = cli("call", "run_command", *SHELL, f"command={show}; true").out

    seen = [name for name in names if f"+{name}+" in tried]
    assert seen == allowed(answers, "wink try", "read") == [".aws/credentials", "plain", ".npmrc"]
    assert ("+" in called) == bool(allowed(answers, "run_command", "read"))
    assert allowed(answers, "wink try", "write") == []
    assert {(home / name).read_text() for name in names} == {"CONTENT\n"}

    asked = (".acme/token", ".aws/credentials", ".later/x", ".ssh/id")
    said = {name: explained(cli, "--path", str(home / name))["wink try", "read"] for name in asked}
    file = "~/.config/wink/wink.toml"
    assert [one["origin"] for one in said.values()] == [f"{file}:2", f"{file}:3", f"{file}:4", ""]
    assert said[".later/x"]["reason"].startswith("nothing is there now; it would be hidden")
    assert said[".ssh/id"]["rule"] == "what is usually hidden: ~/.ssh"


def test_persist_is_what_makes_a_file_of_the_home_real(cli: Cli, place: Path, own: Path) -> None:
    """And so it is explained."""
    own.write_text('persist = ["~/notes/today.json"]\n')
    home = place.parent / "home"
    answers = {name: explained(cli, "--path", str(home / "notes" / name)) for name in ("today.json", "other.json")}

    cli("try", "-q", "--", "sh", "-c", "mkdir -p ~/notes; echo 1 > ~/notes/today.json; echo 2 > ~/notes/other.json")

    assert os.listdir(home / "notes") == allowed(answers, "wink try", "write") == ["today.json"]


@pytest.mark.parametrize(
    "entries",
    [
        ["localhost:{port}"],
        ["127.0.0.1:{port}"],
        ["*"],
        ["*", "127.0.0.0/8:*"],
        ["localhost:1", "LOCALHOST.:{port}"],
        [],
    ],
    ids=str,
)
def test_a_host_is_explained_as_it_is_then_reached(cli: Cli, own: Path, port: int, entries: list[str]) -> None:
    """By a program of a try and of a call, through the real proxy; each answer names the entry and its line."""
    written = [one.format(port=port) for one in entries]
    listed = json.dumps(written).replace(", ", ",\n").replace("[", "[\n").replace("]", "\n]")
    own.write_text(f"network = {listed}\n[plugins.shell]\nnetwork = {json.dumps(written)}\n")
    hosts = [f"{name}:{port}" for name in ("localhost", "127.0.0.1", "elsewhere.test")]
    ask = "; ".join(f"curl -s --noproxy '' http://{host}/ | grep -q served && echo +{host}+" for host in hosts)

    tried = cli("try", "--", "sh", "-c", f"{ask}; true")
    called = cli("call", "run_command", *SHELL, f"command={ask}; true").out

    for host in hosts:
        said = explained(cli, "--host", host)
        one, other = said["wink try", "reach"], said["run_command", "reach"]
        if "leads nowhere" in one["reason"]:
            assert f"{host} failed: no such host" in tried.err
            continue
        assert (f"+{host}+" in tried.out) == (one["answer"] == "allow"), (said, tried)
        assert (f"+{host}+" in called) == (other["answer"] == "allow"), (said, called)
        if written and one["answer"] == "deny":
            assert f"{host} {one['reason']}\n" in tried.err
        if one["answer"] == "allow":
            line = int(one["origin"].rpartition(":")[2])
            entry = own.read_text().splitlines()[line - 1].strip(' ",')
            assert one["rule"] == f'network = ["{entry}"]'
            assert other["origin"].startswith("~/.config/wink/wink.toml:")


def test_without_a_list_there_is_what_the_profile_and_the_plugin_have(cli: Cli, place: Path) -> None:
    """All of the network for a try, and none for `run_command`."""
    said = explained(cli, "--host", "example.org")

    assert [(*key, one["answer"]) for key, one in said.items()] == [
        ("wink try", "reach", "allow"),
        ("run_command", "reach", "deny"),
    ]
    (place / "wink.toml").write_text("network = false\n")
    tried = explained(cli, "--host", "example.org")["wink try", "reach"]
    assert (tried["answer"], tried["origin"], tried["rule"]) == ("deny", "wink.toml:1", "network = false")


def test_a_host_about_which_a_person_is_asked(cli: Cli, own: Path) -> None:
    """What is listed is reached without that, and where nobody can be asked it is refused, which is said."""
    own.write_text('network = ["listed.test"]\nnetwork_default = "ask"\n[plugins.shell]\nnetwork_default = "ask"\n')

    other = explained(cli, "--host", "other.test")
    assert {one["answer"] for one in other.values()} == {"ask"}
    assert {one["rule"] for one in other.values()} == {'network_default = "ask"'}
    listed = explained(cli, "--host", "listed.test")
    assert (listed["wink try", "reach"]["answer"], listed["run_command", "reach"]["answer"]) == ("allow", "ask")
    tried = cli("try", "--", "curl", "-s", "http://other.test/")
    assert "other.test:80 refused: not listed, and nobody can be asked: there is no terminal" in tried.err


@pytest.mark.parametrize(
    "host", ["::1", "http://example.org", "a b", "", "example.org:0", "example.org:99999", "[::1", "*"]
)
def test_what_is_no_host_is_wrong_input(cli: Cli, host: str) -> None:
    """Neither allowed nor denied."""
    done = cli("explain", "--host", host)

    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "is no host" in done.err


def test_a_command_line_is_explained_as_it_is_then_judged(cli: Cli, place: Path) -> None:
    """And that it is advice is said each time."""
    (place / "wink.toml").write_text(
        '[[rules]]\naction = "deny"\ntools = "run_command"\narguments = { command = ["git push*", "npm *"] }\n'
    )
    for line in ("git push", "cd src && CI=1 git  push x", "git status", "npm install", "echo git push"):
        done = cli("explain", "--command", line, "--json")
        said = json.loads(done.out)
        ran = cli("call", "run_command", *SHELL, f"command={line}", "--no-input")

        assert done.status == (0 if said["answer"] == "allow" else 1)
        assert said["note"].startswith("rules on command lines are advice")
        assert (said["answer"] == "deny") == ("is denied by a rule" in ran.err), (line, ran.err)
    shown = cli("explain", "--command", "git push").out
    assert "decided by wink.toml:1" in shown
    assert shown.splitlines()[-1].startswith("rules on command lines are advice")


WORDS = """
import subprocess
from wink import tool


@tool(isolated=True, effects="process")
def ran(line: str) -> str:
    '''Run a line.'''
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False).stdout
"""


def test_an_isolated_function_is_explained_as_it_then_finds_it(
    cli: Cli, filled: Path, port: int, tmp_path: Path
) -> None:
    """By the rules that are for its own name, and what runs it; of functions that are no tools here nothing is said."""
    words = tmp_path / "words.py"
    words.write_text(WORDS)
    with (filled / "wink.toml").open("a") as rules:
        rules.write('\n[[rules]]\naction = "deny"\npaths = "new.txt"\ntools = ["*", "!ran"]\n')
    tools = ("--tools", str(words))
    paths = ("a.txt", ".env", "locked/a", "docs/a", "new.txt")
    answers = {path: explained(cli, *tools, "--path", path) for path in paths}
    show = "; ".join(f"grep -q CONTENT '{path}' && echo +{path}+" for path in paths)

    called = cli("call", "ran", *tools, f"line={show}", "--no-input").out
    for path in paths:
        cli("call", "ran", *tools, f"line=echo P > {path}", "--no-input")

    assert [path for path in paths if f"+{path}+" in called] == [
        path for path in allowed(answers, "ran", "read") if path != "new.txt"
    ]
    written = [path for path in paths if (_content(filled / path) or "").strip() == "P"]
    assert written == allowed(answers, "ran", "write")
    assert written == ["a.txt", "new.txt"]
    assert "new.txt" not in allowed(answers, "run_command", "write")
    host = explained(cli, *tools, "--host", f"127.0.0.1:{port}")["ran", "reach"]
    assert host["answer"] == "deny"
    assert "served" not in cli("call", "ran", *tools, f"line=curl -s http://127.0.0.1:{port}/", "--no-input").out
    assert "ran" not in {who for who, _ in explained(cli, "--path", "a.txt")}
