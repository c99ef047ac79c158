"""What a client gets from `wink serve`, in both eras of the protocol, from the official client."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

Connect = Callable[..., Client]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The handshake, and the stateless era, which the client finds out by asking."""
    return request.param


def text_of(result: Any) -> str:
    (block,) = result.content
    return block.text


@pytest.mark.anyio
async def test_the_sections_text_is_instructions_and_prompt(client: Connect, mode: str) -> None:
    """A client that shows the model one of the two shows it everything."""
    async with client(mode) as connected:
        prompt, *sections = (await connected.list_prompts()).prompts
        shown = await connected.get_prompt(prompt.name)
        (message,) = shown.messages
        instructions = connected.instructions

    assert [section.title for section in sections][-1] == "Odd tools"
    assert "Odd tools" in message.content.text
    assert message.content.text == instructions


@pytest.mark.anyio
async def test_tools_are_listed_with_everything_a_client_decides_by(client: Connect, mode: str) -> None:
    """Permission and parallelism are decided by the hints, visibility by the meta."""
    async with client(mode) as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}

    read, write, act = tools["peek"], tools["write_file"], tools["act"]
    assert read.annotations.read_only_hint is True
    assert (write.annotations.read_only_hint, write.annotations.destructive_hint) == (False, False)
    assert (act.annotations.destructive_hint, act.annotations.open_world_hint) == (True, True)
    assert all(tool.meta["anthropic/alwaysLoad"] is True for tool in tools.values())
    assert all(tool.title and tool.description for tool in tools.values())
    assert read.input_schema["properties"]["text"]["type"] == "string"
    assert "read_result" in tools


@pytest.mark.anyio
async def test_a_call_changes_the_workspace(client: Connect, mode: str, place: Path) -> None:
    """The point of it all."""
    async with client(mode) as connected:
        result = await connected.call_tool("write_file", {"file_path": "b.txt", "content": "new\n"})

    assert not result.is_error
    assert (place / "b.txt").read_text() == "new\n"


@pytest.mark.anyio
async def test_a_failure_says_so_in_its_text_and_changes_nothing(client: Connect, mode: str, place: Path) -> None:
    """Some clients do not tell the model of `isError`."""
    async with client(mode) as connected:
        failed = await connected.call_tool("fail", {"text": "no such thing"})
        unknown = await connected.call_tool("frobnicate", {})
        wrong = await connected.call_tool("echo", {"text": 3, "tixt": ""})

    assert (failed.is_error, text_of(failed)) == (True, "Error: no such thing")
    assert unknown.is_error
    assert text_of(unknown).startswith("Error: there is no tool 'frobnicate'")
    assert wrong.is_error
    assert "$.text" in text_of(wrong)
    assert "$.tixt" in text_of(wrong)
    assert not (place / "failed.txt").exists()


@pytest.mark.anyio
async def test_text_and_structured_content_carry_the_same(client: Connect, mode: str) -> None:
    """Some clients show the model only the one, some only the other."""
    async with client(mode) as connected:
        data = await connected.call_tool("echo", {"text": "hello"})
        words = await connected.call_tool("show", {"text": "hello"})
        kept = await connected.call_tool("hide", {"text": "hello"})

    assert data.structured_content == {"message": "Here it is.", "value": {"text": "hello"}}
    assert text_of(data) == "Here it is.\n\n" + json.dumps({"text": "hello"}, separators=(",", ":"))
    assert (words.structured_content, text_of(words)) == (None, "<hello>")
    assert "hello" not in kept.model_dump_json()


@pytest.mark.anyio
async def test_pictures_come_beside_the_text(client: Connect) -> None:
    """In the form that clients show to models which can see."""
    async with client("auto") as connected:
        text, image = (await connected.call_tool("picture", {})).content

    assert text.text == "a picture"
    assert image.mime_type == "image/gif"
    assert base64.b64decode(image.data) == b"GIF89a" + bytes(20)


@pytest.mark.anyio
async def test_what_is_attached_comes_beside_the_text(client: Connect, mode: str) -> None:
    """Once: a resource that is text is not in the text as well; a failure has text alone, which names the rest."""
    async with client(mode) as connected:
        mixed = (await connected.call_tool("bundle", {"text": "all of it"})).content
        long = (await connected.call_tool("bundle", {"text": "x" * 100_000})).content
        failed = (await connected.call_tool("bundle", {"text": "fail"})).content

    assert [block.type for block in mixed] == ["text", "resource", "image", "audio", "resource"]
    assert mixed[0].text == "all of it"
    assert mixed[1].resource.model_dump(exclude_none=True) == {
        "uri": "memo://1",
        "mime_type": "text/plain",
        "text": "the memo",
    }
    assert base64.b64decode(mixed[3].data) == b"RIFF....WAVE"
    assert base64.b64decode(mixed[4].resource.blob) == b"PK"
    assert "read_result" in long[0].text
    assert failed[0].text.endswith(
        "[image, image/gif, 26 bytes; not shown]\n[audio, audio/wav, 12 bytes; not shown]\n"
        "[resource memo://2, 2 bytes; not shown]"
    )
    assert "the memo" in failed[0].text


@pytest.mark.anyio
async def test_an_argument_that_the_client_adds_for_itself_is_taken_off(client: Connect, mode: str) -> None:
    """Gemini CLI forgets to."""
    async with client(mode) as connected:
        added = await connected.call_tool("echo", {"text": "x", "wait_for_previous": True})
        other = await connected.call_tool("echo", {"text": "x", "waits": True})

    assert not added.is_error
    assert other.is_error


@pytest.mark.anyio
async def test_writes_that_come_at_once_happen_one_after_the_other(client: Connect, mode: str, place: Path) -> None:
    """Most clients send the write calls of one turn in parallel."""
    async with client(mode) as connected, anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(connected.call_tool, "append", {"number": number})

    assert sorted(map(int, (place / "numbers.txt").read_text().split())) == list(range(50))


@pytest.mark.parametrize("subcommand", ["serve", "tools"])
def test_names_that_clients_cut_are_told_of_once(
    command: list[str], environment: dict[str, str], subcommand: str
) -> None:
    """They work all the same where the prefix is short."""
    arguments = [*command[:3], subcommand, *command[4:], "--section", "odd.long"]
    done = subprocess.run(arguments, env=environment, input=b"", capture_output=True, timeout=60)

    assert done.returncode == 0
    assert done.stderr.count(b"a_name_that_is_longer") == 1


@pytest.mark.anyio
async def test_a_file_of_functions_is_served(client: Connect, tmp_path: Path) -> None:
    """`wink serve tools.py` is all that it takes."""
    file = tmp_path / "words.py"
    file.write_text(
        "from wink import tool\n\n@tool\ndef cry_out(text: str, times: int = 1) -> str:\n"
        '    """Cry out."""\n    return text.upper() * times\n'
    )

    async with client("auto", str(file)) as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}
        said = await connected.call_tool("cry_out", {"text": "a", "times": 2})

    assert tools["cry_out"].input_schema["properties"]["times"] == {"type": "integer", "default": 1}
    assert text_of(said) == "AA"


@pytest.mark.anyio
async def test_progress_of_a_generator_reaches_the_client(client: Connect, tmp_path: Path) -> None:
    """How far it is, of how much, and a line; the number only grows."""
    file = tmp_path / "walk.py"
    file.write_text(
        "from wink import tool\n\n@tool\ndef walk_along(n: int):\n"
        '    """Walk."""\n    for i in range(1, n + 1):\n        yield i, n, f"step {i}"\n    yield "nearly"\n    return "there"\n'
    )
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with client("auto", "--tools", str(file)) as connected:
        said = await connected.call_tool("walk_along", {"n": 2}, progress_callback=hear)

    assert text_of(said) == "there"
    assert told == [(1, 2, "step 1"), (2, 2, "step 2"), (3, None, "nearly")]
