"""Rules over paths against whoever tries to name a file so that the rule does not see it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from plugins.rules.tests.rules_world import TOOLS, OnePath, World

from wink.filesystem import HostFilesystem, InMemoryFilesystem
from wink.tools import Tool, ToolContext, ToolResult
from wink_rules import Rule

SECRETS = Rule("deny", paths=["**/.env", "secrets/**"], reason="it is secret")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A directory with a secret, and links that lead to it."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "secrets").mkdir()
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "secrets" / "key.pem").write_text("KEY=2\n")
    (tmp_path / "src" / "a.py").write_text("KEY = read()\n")
    for name, target in {
        "plain": ".env",
        "twice": "plain",
        "hidden": "secrets",
        "src/up": "..",
        "later": "secrets/new.pem",
        "circle": "circle",
        "out": "/etc",
        "deep": "src/deep",
    }.items():
        os.symlink(target, tmp_path / name)
    return World([SECRETS], HostFilesystem(tmp_path))


SPELLINGS = [
    ".env",
    "./.env",
    "src/../.env",
    "./src//../.env",
    "src/deep/../../.env",
    ".env/",
    ".env/.",
    ".ENV",
    ".Env",
    "src/.env",
    "SECRETS/key.pem",
    "secrets",
    "secrets/",
    "secrets/a/b",
    ".env.",
    ".env ",
    ".env::$DATA",
    "\u200b.env",
    ".\u200denv",
    ".\uff45\uff4e\uff56",
    ".eNv\ufe0f",
    "plain",
    "twice",
    "hidden/key.pem",
    "src/up/.env",
    "src/up/src/up/hidden/x",
    "later",
]


@pytest.mark.parametrize("path", SPELLINGS)
def test_no_spelling_and_no_link_leads_around_a_rule(world: World, path: str) -> None:
    """What counts is the file that would be used, by this filesystem or by one that takes names for others."""
    for tool in ("read_file", "write_file"):
        assert world.answer(tool, path=path) == "deny", path
        assert not world.call(tool, path=path).success
    assert world.answer("move_file", source_path="src/a.py", target_path=path) == "deny"
    assert world.answer("move_file", source_path=path, target_path="src/b.py") == "deny"
    assert world.answer("edit_all", paths=["src/a.py", path]) == "deny"
    assert world.answer("edit_all", edits=[{"path": "src/a.py"}, {"path": path}]) == "deny"
    assert world.answer("edit_all", files={path: "x"}) == "deny"


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/passwd", "~/.ssh/id", "C:\\x", "src\\..\\.env", "circle", "out/passwd", "a\0b", "ftp://x/y"],
)
def test_what_cannot_be_told_is_denied(world: World, path: str) -> None:
    """A path that leads nowhere that can be judged may lead to what a rule means."""
    assert world.answer("write_file", path=path) == "deny"


@pytest.mark.parametrize(
    "path", ["src/a.py", "src/deep/.env.example", ".environment", "deep/x", "secretsx/a", "src/new/x"]
)
def test_other_paths_are_free(world: World, path: str) -> None:
    """A rule that reached further than it says would soon be taken out."""
    assert world.answer("write_file", path=path) == "allow"


def test_absolute_paths_beneath_the_root_are_judged_as_what_they_are(world: World) -> None:
    """Tools of servers take paths of the host."""
    root = world.files.root

    assert (
        world.decide("write_file", path=f"{root}/src/../.env").reason == "write_file on '.env' is denied: it is secret"
    )
    assert world.answer("write_file", path=f"file://{root}/.env") == "deny"
    assert world.answer("write_file", path=f"file://{root}/%2eenv") == "deny"
    assert world.answer("write_file", path=f"{root}/src/a.py") == "allow"


def test_a_dotdot_after_a_link_is_judged_both_ways(tmp_path: Path) -> None:
    """Wink takes `..` by name, programs take it from where the link led; either could use the path."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    os.symlink("src/deep", tmp_path / "link")
    world = World([Rule("deny", paths="src/.env")], HostFilesystem(tmp_path))

    assert world.answer("write_file", path="link/../.env") == "deny"
    assert world.answer("write_file", path="link/../other") == "allow"


def test_a_call_with_too_many_texts_to_look_at_is_denied(world: World) -> None:
    """A model must not be able to hide a path in a crowd, nor to keep the program busy with it."""
    assert _remote(world, words=["word"] * 20_000) == "deny"
    assert _remote(world, words=["word"] * 500) == "allow"


def test_an_address_of_the_web_is_no_file(world: World) -> None:
    """A rule about files must not stop a tool that fetches something."""
    assert _remote(world, source="https://example.org/.env") == "allow"
    assert World(DOCS, default="deny").answer("write_file", path="https://example.org/docs/a") == "deny"


def test_content_that_looks_like_a_path_is_content(world: World) -> None:
    """Whoever writes `.env` into a `.gitignore` names no file."""
    assert world.answer("write_file", path=".gitignore", content=".env") == "allow"
    assert world.answer("run_command", command="cat .env", env={"PATH": "/usr/bin"}) == "allow"


@pytest.mark.parametrize("key", ["uri", "where", "thing", "fileName", "TARGET", "old"])
@pytest.mark.parametrize("value", [".env", "./src/../.env", "secrets/key.pem", "plain"])
def test_arguments_of_unknown_names_are_judged_by_what_they_hold(world: World, key: str, value: str) -> None:
    """A server's tool calls its arguments what it likes."""
    assert _remote(world, **{key: value}) == "deny"
    assert _remote(world, options={"list": [{key: value}]}) == "deny"
    assert _remote(world, **{key: "append"}) == "allow"
    assert _remote(world, **{key: "src/a.py"}) == "allow"


def test_tools_of_mounted_servers_are_judged_by_what_they_are_sent(world: World) -> None:
    """Their parameters are whatever the server's schema says."""
    mounted = pytest.importorskip("wink_mcp", reason="taken out")

    context = ToolContext(world.prompt, None, None, world.session)
    tool = Tool[Anything, None]("server_do", "Do.", _nothing, effects="external")

    def is_allowed(**arguments: Any) -> bool:
        return bool(world.policy.check(tool, mounted.McpArguments.of(arguments), context=context))

    assert is_allowed(path="src/a.py", limit=3)
    assert not is_allowed(path=f"{world.files.root}/src/../.env")
    assert not is_allowed(**{"target-uri": "file://x/../.env", "items": [{"Path": "plain"}]})
    assert not is_allowed(items=[{"Path": "src/a.py"}, {"Path": "hidden/x"}])


def test_a_rule_can_name_the_arguments_that_hold_paths(world: World) -> None:
    """What neither name nor value gives away has to be said."""
    named = World([Rule("deny", paths="new.pem", path_arguments=["body"])], world.files)

    assert _remote(named, body="./new.pem") == "deny"
    assert _remote(named, body="other") == "allow"


def test_a_server_tool_is_denied_a_directory_that_holds_a_secret(world: World) -> None:
    """Nobody can see what such a tool does with it, and nothing it does is taken back."""
    assert _remote(world, directory=".") == "deny"
    assert _remote(world, directory="src/deep") == "allow"


@dataclass
class Anything:
    """What a server's tool takes: whatever comes."""


def _remote(world: World, **arguments: Any) -> str:
    tool = Tool[Anything, None]("server_do", "Do.", _nothing, effects="external", extra="allow")
    context = ToolContext(world.prompt, None, None, world.session)
    decision = world.policy.check(tool, tool.parse(arguments), context=context)
    return "allow" if decision.allowed else "deny"


def _nothing(params: Anything, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult[None].ok(None)


# -- what allows


DOCS = [Rule("allow", tools=["write_file", "edit_all", "move_file", "search"], paths=["docs/**", "!docs/api/**"])]


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("docs/a.md", "allow"),
        ("./docs/x/../a.md", "allow"),
        ("docs", "allow"),
        ("DOCS/a.md", "deny"),
        ("docs/api/a.md", "deny"),
        ("docs/API/a.md", "deny"),
        ("docs/../src/a.py", "deny"),
        ("docs/../../x", "deny"),
        ("documents/a.md", "deny"),
        ("", "deny"),
        (".", "deny"),
        ("/docs/a.md", "deny"),
    ],
)
def test_what_allows_is_taken_as_it_is_written(path: str, answer: str) -> None:
    """A rule that allows opens no more than it says, and its exceptions reach as far as denials do."""
    assert World(DOCS, default="deny").answer("write_file", path=path) == answer


def test_every_path_of_a_call_has_to_be_allowed() -> None:
    """One good path must not carry another along."""
    world = World(DOCS, default="deny")

    assert world.answer("move_file", source_path="docs/a", target_path="docs/b") == "allow"
    assert world.answer("move_file", source_path="docs/a", target_path="src/b") == "deny"
    assert world.answer("edit_all", paths=["docs/a", "src/b"]) == "deny"
    assert world.answer("edit_all", files={"docs/a": "x", "src/b": "y"}) == "deny"
    assert world.answer("edit_all", paths=[]) == "deny"


def test_a_link_out_of_what_is_allowed_is_not_followed(tmp_path: Path) -> None:
    """The place that is used has to be allowed, too."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "src").mkdir()
    os.symlink("../src", tmp_path / "docs" / "link")
    world = World(DOCS, HostFilesystem(tmp_path), default="deny")

    assert world.answer("write_file", path="docs/link/a.py") == "deny"


def test_the_pattern_of_one_level_is_not_the_root() -> None:
    """`*` names what is in the root, and the root itself would be everything."""
    world = World([Rule("allow", tools="search", paths="*")], default="deny")

    assert world.answer("search", path="a.txt") == "allow"
    assert world.answer("search", path="") == "deny"


# -- what a call does beyond what it names


def test_a_search_shows_no_line_of_a_denied_file(world: World) -> None:
    """Searching everything is fine as long as nothing secret is found."""
    reply = world.call("search", path="", content="KEY=1")
    assert not reply.success
    assert "found lines in '.env': it is secret" in reply.text

    assert world.call("search", path="", content="read").success
    assert world.call("search", path="src", content="KEY").success


def test_a_directory_is_not_moved_with_what_it_holds(world: World) -> None:
    """What is denied by name would be free under another."""
    (Path(world.files.root) / "src" / ".env").write_text("x")

    assert not world.call("move_file", source_path="src", target_path="free").success
    assert not world.files.exists("free")


def test_a_directory_is_not_moved_to_where_what_it_holds_would_be_denied() -> None:
    """The rule looks at what the call has changed, not only at what it was told."""
    files = InMemoryFilesystem()
    files.write("box/key", "x")
    world = World([Rule("deny", paths="safe/key", reason="never there")], files)

    reply = world.call("move_file", source_path="box", target_path="safe")

    assert not reply.success
    assert "never there; nothing was changed" in reply.text
    assert files.exists("box/key")
    assert not files.exists("safe")


def test_a_program_that_writes_what_is_denied_is_taken_back(world: World) -> None:
    """A command names no paths that could be judged; its changes can."""
    reply = world.call("run_script", command="write src/ok.txt secrets/new.txt")

    assert not reply.success
    assert "run_script would create 'secrets/new.txt': it is secret" in reply.text
    assert not world.files.exists("src/ok.txt")
    assert world.call("run_script", command="write src/ok.txt").success


def test_what_must_be_allowed_is_judged_when_it_is_done() -> None:
    """A tool that may change `docs/**` changes nothing else, whatever its arguments said."""
    rule = Rule(
        "allow", tools="run_script", paths="docs/**", path_arguments="command", arguments={"command": "write *"}
    )
    everything = Rule("allow", tools="write_file")
    world = World([rule, everything], default="deny", tools={**TOOLS})

    assert world.call("write_file", path="a").success
    assert not world.call("run_script", command="write docs/a").success


def test_the_way_to_an_allowed_file_may_be_made() -> None:
    """Directories that are missing come with the file."""
    assert World([Rule("allow", paths="docs/api/**")], default="deny").call("write_file", path="docs/api/x").success


def test_asking_about_paths_covers_what_was_not_named() -> None:
    """Nobody was asked about a file that the call only turned out to change."""
    files = InMemoryFilesystem()
    world = World([Rule("ask", paths="live/**", reason="it is live")], files)

    assert world.answer("write_file", path="live/a") == "ask"
    reply = world.call("run_script", command="write live/a")
    assert "would create 'live/a': it is live" in reply.text
    assert not files.exists("live/a")


def test_where_a_program_starts_is_not_what_it_was_asked_about() -> None:
    """A command in the root may change anything beneath it, and nobody has agreed to that."""
    files = InMemoryFilesystem()
    files.write("live/a", "x")
    start = Tool[Start, None]("start", "Start.", start_there)
    world = World([Rule("ask", paths="live/**", reason="it is live")], files, tools={"start": start})

    assert world.answer("start", cwd="", path="other") == "allow"
    assert "would change 'live/a': it is live" in world.call("start", cwd="", path="other").text


@dataclass(frozen=True)
class Start:
    """A directory to start in."""

    cwd: str
    path: str


def start_there(params: Start, *, context: ToolContext) -> ToolResult[None]:
    """Change another file than the one that is named."""
    del params
    context.filesystem.write("live/a", "new")
    return ToolResult[None].ok(None)


def test_the_files_of_memory_are_judged_alike() -> None:
    """Rules do not depend on where files are."""
    files = InMemoryFilesystem()
    files.write(".env", "KEY=1")
    world = World([SECRETS], files)

    for path in (".env", "a/../.env", ".ENV", "secrets/x"):
        assert world.answer("read_file", path=path) == "deny"
    assert world.answer("read_file", path="/x") == "deny"


def test_without_any_files_paths_are_judged_by_their_names() -> None:
    """A prompt need not be bound to files for its tools to name them."""
    from wink.prompt import MarkdownSection, Prompt, PromptTemplate
    from wink.session import Session
    from wink_rules import RulesPolicy

    policy = RulesPolicy([SECRETS])
    tool = Tool[OnePath, None]("write_file", "Write.", lambda params, *, context: ToolResult[None].ok(None))
    section = MarkdownSection(title="T", key="t", template="x", tools=[tool])
    prompt, session = Prompt(PromptTemplate(ns="t", key="k", sections=[section], policies=[policy])), Session()
    context = ToolContext(prompt, prompt.render(session=session), None, session)

    assert not policy.check(tool, OnePath("a/../.env"), context=context)
    assert not policy.check(tool, OnePath("../x"), context=context)
    assert policy.check(tool, OnePath("a"), context=context)
