"""A server of the usual kind as a section: names, texts, arguments, results, effects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.mcp.tests.mount.helpers import ODD, Agent, is_alive

from wink.errors import PromptValidationError
from wink.policies import PolicyDecision, SequentialDependencyPolicy
from wink.prompt import Prompt, PromptTemplate
from wink.serde import dumps
from wink_mcp import McpSection, McpServerFailed
from wink_mcp.mount._arguments import McpArguments
from wink_mcp.mount._results import McpResult

Mount = Callable[..., Agent]


def test_tools_have_the_servers_schemas_under_prefixed_names(mount: Mount) -> None:
    """Two servers with a tool `search` must fit into one prompt."""
    agent = mount()

    assert agent.names[:4] == ["notes_list_notes", "notes_add", "notes_count", "notes_fail"]
    add = agent.rendered.tool("notes_add")
    assert add is not None
    assert add.description == "Add a note."
    assert add.schema()["properties"]["text"] == {"title": "Text", "type": "string"}
    assert add.effects == "external"


def test_calls_reach_the_server_and_their_text_the_model(mount: Mount) -> None:
    """One server process keeps its state from call to call."""
    agent = mount()

    assert agent.says("notes_add", text="hello", times=2) == "added hello"
    assert agent.says("notes_list_notes") == "hello\nhello"
    assert json.loads(agent.says("notes_count")) == {"count": 2, "longest": "hello"}
    assert agent.says("notes_show") == "a picture:\n\n[image, image/png, 3 bytes; not shown]"
    assert isinstance(agent.session[McpResult].latest(), McpResult)
    assert agent.events[2].result.value == McpResult(
        "notes", "count", '{\n  "count": 2,\n  "longest": "hello"\n}', {"count": 2, "longest": "hello"}
    )


def test_an_image_of_the_server_is_one_for_the_model(mount: Mount) -> None:
    """What is none is only told of: a provider would refuse the whole request for it."""
    agent = mount()

    drawn, shown = agent.call("notes_draw"), agent.call("notes_show")
    assert drawn.text == "[image, image/gif, 9 bytes]"
    assert [image.media_type for image in drawn.result.attachments] == ["image/gif"]
    assert shown.result.attachments == ()


@pytest.mark.parametrize(
    ("order", "text", "kinds"),
    [
        ("a", "[audio, audio/wav, 3 bytes]", ["Audio"]),
        ("r", "[resource memo://1, text/plain]\nthe memo", ["EmbeddedResource"]),
        ("b", "[resource memo://2, 3 bytes]", ["EmbeddedResource"]),
        ("x", "[resource no uri, 3 bytes; not shown]", []),
        (
            "itar",
            (
                "[image, image/gif, 9 bytes]\n\nsome words\n\n[audio, audio/wav, 3 bytes]\n\n"
                "[resource memo://1, text/plain]\nthe memo"
            ),
            ["Image", "Audio", "EmbeddedResource"],
        ),
        (
            "rt",
            "[resource memo://1, text/plain]\n\nsome words\n\n[resource memo://1, text/plain]\nthe memo",
            ["EmbeddedResource"],
        ),
    ],
)
def test_what_a_server_attaches_is_attached_to_the_result(
    mount: Mount, order: str, text: str, kinds: list[str]
) -> None:
    """The text says where each stood; what is no valid attachment is only told of."""
    reply = mount().call("notes_bundle", order=order)

    assert reply.text == text
    assert [type(one).__name__ for one in reply.result.attachments] == kinds


def test_an_error_of_the_server_is_a_failed_call(mount: Mount) -> None:
    """The text says itself that it failed; some models see nothing else."""
    assert mount().fails("notes_fail", reason="no luck").startswith("notes_fail failed: ")


def test_arguments_are_checked_before_anything_is_sent(mount: Mount) -> None:
    """Every problem at once, with its place, like those of our own tools."""
    agent = mount()

    text = agent.fails("notes_add", times="x", bogus=1)

    assert text.splitlines() == [
        "the arguments of notes_add are not valid: $.bogus: is not a known argument; the arguments are 'text', 'times'",
        "$.times: 'x' is not of type 'integer'",
        "$: 'text' is a required property",
    ]
    assert agent.says("notes_list_notes") == "(none)"


@pytest.mark.parametrize(("extra", "sent"), [("ignore", {}), ("allow", {"wait_for_previous": True})])
def test_extra_arguments_are_dropped_or_sent_as_the_person_says(mount: Mount, extra: str, sent: dict[str, Any]) -> None:
    """Some clients add arguments of their own, some servers count on unlisted ones."""
    command = [*ODD, "schemas"]
    agent = mount("schemas", command=command, extra=extra)

    assert json.loads(agent.says("odd_good", n=1, wait_for_previous=True)) == {"n": 1, **sent}


def test_instructions_are_guidance_that_cannot_pass_for_ours(mount: Mount) -> None:
    """A heading in a server's text must not end its section."""
    text = mount().rendered.text

    assert "These are its words, not the user's" in text
    assert "> Add before you list.\n>\n> # Not a heading\n> Notes are text." in text
    assert "Not a heading" not in mount(instructions=False).rendered.text


def test_nothing_is_started_before_a_rendering(tmp_path: Path) -> None:
    """Templates are built by commands that only list things."""
    seen = tmp_path / "pids"
    section = McpSection("odd", command=[*ODD, "plain", str(seen)])
    prompt = Prompt(PromptTemplate(ns="test", key="lazy", sections=[section]))
    assert section.tools() == ()
    assert not seen.exists()

    names = [tool.name for tool in prompt.tools()]
    pid = int(seen.read_text())

    assert names == ["odd_call", "odd_other"]
    assert is_alive(pid)
    prompt.cleanup()
    assert not is_alive(pid)


def test_a_section_can_be_used_again_after_its_cleanup(mount: Mount) -> None:
    """The next use starts the server again."""
    agent = mount()
    agent.says("notes_add", text="x")

    agent.prompt.cleanup()

    assert agent.says("notes_list_notes") == "(none)"


def test_the_environment_has_only_what_is_listed(mount: Mount, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server gets no secret that was not meant for it."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("FOR_NOTES_A", "a")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    given = json.loads(mount(inherit=["PATH", "FOR_*"], env={"TOKEN": "t"}).says("notes_environment"))

    given.pop("LC_CTYPE", None)  # Python's own doing, where no locale is set
    assert given == {"PATH": "/usr/bin:/bin", "FOR_NOTES_A": "a", "TOKEN": "t"}


def test_the_server_runs_outside_of_the_workspace(mount: Mount, tmp_path: Path) -> None:
    """Package runners obey files of the directory that they are in, and an agent can write those."""
    assert mount().says("notes_where").split()[1] == "/"
    assert mount(cwd=tmp_path).says("notes_where").split()[1] == str(tmp_path)


def test_hints_are_trusted_only_where_the_person_says_so(mount: Mount) -> None:
    """`readOnlyHint` lets calls run in parallel and past policies; any server can claim it."""

    def effects(**options: Any) -> tuple[str, str]:
        rendered = mount(**options).rendered
        tools = rendered.tool("notes_list_notes"), rendered.tool("notes_add")
        return tuple(tool.effects for tool in tools if tool is not None)  # type: ignore[return-value]

    assert effects() == ("external", "external")
    assert effects(trust_hints=True) == ("read", "external")
    assert effects(effects={"add": "read"}) == ("external", "read")
    assert effects(effects={"list_notes": "external"}, trust_hints=True) == ("external", "external")


def test_tools_can_be_chosen_and_renamed(mount: Mount) -> None:
    """By the server's own names; a name that no tool has is said, since it may be misspelt."""
    agent = mount(tools=["*n*t*", "add"], deny=["count", "fail", "delete_*"], rename={"add": "remember"}, prefix="n")

    assert agent.names == ["n_list_notes", "remember", "n_environment"]
    assert agent.section.problems == ("deny: the server has no tool 'delete_*'",)


def test_policies_see_arguments_as_attributes(mount: Mount) -> None:
    """Rules over paths and values must not depend on where a tool comes from."""
    seen: list[Any] = []

    class Look:
        name = "look"

        def check(self, tool: Any, params: Any, *, context: Any) -> PolicyDecision:
            seen.append((tool.name, getattr(params, "text", None), dumps(params)))
            return PolicyDecision.deny("not that") if getattr(params, "text", "") == "bad" else PolicyDecision.allow()

        def on_result(self, tool: Any, params: Any, result: Any, *, context: Any) -> None:
            seen.append(result.value.text)

    agent = mount(policies=[Look(), SequentialDependencyPolicy({"notes_count": {"notes_add"}})])

    assert "notes_add" in agent.fails("notes_count")
    assert agent.fails("notes_add", text="bad") == "not that"
    assert agent.says("notes_add", text="good") == "added good"
    assert agent.says("notes_count")
    assert seen[1:4] == [("notes_add", "bad", '{"text":"bad"}'), ("notes_add", "good", '{"text":"good"}'), "added good"]
    assert agent.events[2].params == McpArguments.of({"text": "good"})


def test_a_section_with_params_of_a_renamed_tool_keeps_its_way(mount: Mount) -> None:
    """`replace` makes another tool for the same one of the server."""
    agent = mount()
    tool = agent.rendered.tool("notes_add")
    assert tool is not None

    other = tool.replace(name="keep")

    assert other.name == "keep"
    assert other.schema() == tool.schema()
    assert other.parse('{"text": "a"}') == tool.parse('{"text": "a"}')
    with pytest.raises(PromptValidationError, match="timeout"):
        tool.replace(timeout=3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs a command or a url"),
        ({"command": ["x"], "url": "http://x"}, "one of the two"),
        ({"command": []}, "command is empty"),
        ({"command": "npx server"}, "command is a list of texts"),
        ({"command": ["./server"]}, "must be on the PATH, or have an absolute path"),
        ({"command": ["x"], "cwd": "here"}, "cwd must be an absolute path"),
        ({"command": ["x"], "headers": {"A": "b"}}, "headers are for a url"),
        ({"command": ["x"], "env": {"A=B": "c"}}, "env: 'A=B' cannot be set so"),
        ({"url": "ftp://x"}, "begins with http"),
        ({"url": "http://x", "env": {"A": "b"}}, "env and cwd are for a command"),
        ({"url": "http://x", "headers": {"A": "b\n"}}, "headers: 'A' cannot be set so"),
        ({"command": ["x"], "effects": "workspace"}, "a mounted tool is 'read' or 'external'"),
        ({"command": ["x"], "effects": {"a": "process"}}, "a is 'process'"),
        ({"command": ["x"], "rename": {"a": "A"}}, "rename gives 'a' the name 'A'"),
        ({"command": ["x"], "rename": {"a": "c", "b": "c"}}, "two tools the name 'c'"),
        ({"command": ["x"], "prefix": "Ä"}, "prefix"),
        ({"command": ["x"], "timeout": 0}, "timeout is a positive number"),
        ({"command": ["x"], "extra": "maybe"}, "extra must be one of"),
        ({"command": ["x"], "tools": "all"}, "tools is a list of texts"),
        ({"command": ["x"], "message_bytes": 3}, "message_bytes"),
    ],
)
def test_what_cannot_work_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    """Before a program is started or a secret is sent anywhere."""
    with pytest.raises(PromptValidationError, match=words):
        McpSection("odd", **options)


@pytest.mark.parametrize("name", ["", "Odd", "a b", "x" * 41, "a.b", 3])
def test_names_of_servers_are_plain(name: Any) -> None:
    """They begin the names of tools."""
    with pytest.raises(PromptValidationError, match="cannot name an MCP server"):
        McpSection(name, command=["x"])


def test_connect_says_what_is_wrong_where_a_rendering_goes_on(mount: Mount) -> None:
    """For programs that would rather end than work without the server."""
    section = McpSection("gone", command=["/no/such/program"])

    with pytest.raises(McpServerFailed, match="'/no/such/program' was not found"):
        section.connect()
    section.cleanup()


def test_arguments_survive_copies(mount: Mount) -> None:
    """Events are kept, and sessions are cloned."""
    import copy
    import pickle

    arguments = McpArguments.of({"path": "a", "nested": {"b": [1, None]}})

    assert copy.deepcopy(arguments) == arguments == pickle.loads(pickle.dumps(arguments)) == copy.copy(arguments)
    assert hash(arguments) == hash(McpArguments.of({"path": "a", "nested": {"b": [1, None]}}))
    assert arguments != McpArguments.of({"path": "b"})
    assert "path" in arguments
    assert "limit" not in arguments
