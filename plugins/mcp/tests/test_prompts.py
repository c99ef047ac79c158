"""The prompts of `wink serve`: the whole, and every section by itself, with arguments that are texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section
from wink.session import Session
from wink.tools import Image
from wink_mcp import Serving


@dataclass(frozen=True, slots=True)
class Review:
    """Review a change with care."""

    path: str = field(metadata={"description": "The file to review", "min_length": 2})
    rounds: int
    strict: bool = False
    kind: Literal["code", "text"] = "code"
    labels: tuple[str, ...] = ()
    since: date | None = None

    def __post_init__(self) -> None:
        if self.rounds > 9:
            raise ValueError("nobody reads so often")


@dataclass(frozen=True, slots=True)
class Style:
    """How to write."""

    language: str = "English"
    path: str = "."


REVIEW = MarkdownSection[Review]("Review", "Review $path $rounds times; $strict, $kind, $labels, $since.", key="review")
STYLE = MarkdownSection[Style]("Style", "Write $language.", key="style", default_params=Style("French"))
PLAIN = MarkdownSection("Plain", "Look.", key="plain", summary="Only look.", attachments=[Image(b"GIF89a")])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["legacy", "auto"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Client]:
    """A client, in either era, of a server with sections."""

    def connect(*sections: Section[Any]) -> Client:
        prompt = Prompt(PromptTemplate(ns="t", key="t", sections=sections))
        return Client(Serving(prompt, lambda name: Session()).server(), mode=request.param)

    return connect


async def said(client: Client, name: str, **arguments: str) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    return message.content.text


@pytest.mark.anyio
async def test_every_section_is_a_prompt_beside_the_whole(connect: Callable[..., Client]) -> None:
    """What a person has to say is told with it, and what is used when they do not."""
    async with connect(REVIEW, STYLE, PLAIN) as client:
        whole, review, style, plain = (await client.list_prompts()).prompts

    assert (whole.name, whole.arguments) == ("instructions", None)
    assert (review.name, review.title, review.description) == ("review", "Review", "Review a change with care.")
    assert [(one.name, one.required, one.description) for one in review.arguments or ()] == [
        ("path", True, "The file to review"),
        ("rounds", True, "a whole number"),
        ("strict", False, "true or false, false by default"),
        ("kind", False, "one of code, text, code by default"),
        ("labels", False, "a list, as JSON"),
        ("since", False, None),
    ]
    assert [(one.required, one.description) for one in style.arguments or ()] == [
        (False, "French by default"),
        (False, ". by default"),
    ]
    assert (plain.description, plain.arguments) == ("Only look.", None)


@pytest.mark.anyio
async def test_arguments_are_read_as_what_they_are_for(connect: Callable[..., Client]) -> None:
    """The protocol has texts alone; what is not given stays as it would be."""
    async with connect(REVIEW, STYLE) as client:
        least = await said(client, "review", path="12", rounds="3")
        most = await said(
            client,
            "review",
            path="a.py",
            rounds="2",
            strict="true",
            kind="text",
            labels='["a", "b"]',
            since="2026-01-02",
        )
        style = await said(client, "style"), await said(client, "style", language="German")

    assert least == "Review 12 3 times; False, code, (), None."
    assert most == "Review a.py 2 times; True, text, ('a', 'b'), 2026-01-02."
    assert style == ("Write French.", "Write German.")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("review", {}, "the argument 'path' is missing; the argument 'rounds' is missing"),
        ("review", {"path": "ab", "rounds": "3", "path2": "x"}, "'path2' is no argument; the arguments are 'path'"),
        ("review", {"path": "a", "rounds": "x"}, "path: .*; rounds: must be an integer"),
        ("review", {"path": "ab", "rounds": "10"}, "nobody reads so often"),
        ("review", {"path": "ab", "rounds": "1", "labels": "a"}, "labels: must be an array"),
        ("plain", {"x": "1"}, "'x' is no argument; the arguments are none"),
        ("other", {}, "there is no prompt 'other'; there are instructions, review, plain"),
    ],
)
async def test_wrong_arguments_are_told_all_at_once(
    connect: Callable[..., Client], name: str, arguments: dict[str, str], why: str
) -> None:
    """As invalid parameters, which clients show."""
    async with connect(REVIEW, PLAIN) as client:
        with pytest.raises(MCPError, match=why) as caught:
            await client.get_prompt(name, arguments)

    assert caught.value.error.code == -32602


@pytest.mark.anyio
async def test_what_lacks_parameters_is_not_in_the_instructions(connect: Callable[..., Client]) -> None:
    """It is offered as a prompt alone; everything else is in both."""
    async with connect(REVIEW, PLAIN) as client:
        picture, text = (await client.get_prompt("instructions")).messages
        alone = (await client.get_prompt("plain")).messages

    assert text.content.text == "## 1. Plain\n\nLook.\n\n[image, image/gif, 6 bytes]"
    assert picture.content.mime_type == alone[0].content.mime_type == "image/gif"
    assert alone[1].content.text == "Look.\n\n[image, image/gif, 6 bytes]"


@pytest.mark.anyio
async def test_a_section_that_would_end_the_server_does_not(connect: Callable[..., Client]) -> None:
    """Nor does one that raises; both are errors of the request."""

    class Leaving(MarkdownSection[Style]):
        def render_body(self, params: Style | None) -> str:
            if params is not None and params.language == "none":
                raise SystemExit(3)
            if params is not None and params.language == "broken":
                raise ValueError("broken")
            return "Fine."

    async with connect(Leaving("Leaving", "x", key="leaving")) as client:
        for language, why in (("none", "tried to end the server"), ("broken", "rendering raised ValueError")):
            with pytest.raises(MCPError, match=why):
                await client.get_prompt("leaving", {"language": language})
        assert await said(client, "leaving") == "Fine."
