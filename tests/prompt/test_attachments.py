"""What sections show besides their text: shown to models at the beginning, and by name where there is only text."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from wink.adapters import Conversation, ModelTurn, ScriptedAdapter
from wink.errors import PromptRenderError, PromptValidationError, SectionNotFound
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section, SectionVisibility
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.testing import Recording, RecordingAdapter, ReplayAdapter, ReplayMismatch
from wink.tools import Audio, EmbeddedResource, Image

PICTURE = Image(b"GIF89a")
SOUND = Audio(b"ID3")
MEMO = EmbeddedResource("memo://1", "the memo")


@dataclass(frozen=True)
class Place:
    """Where something is."""

    uri: str


class Embedding(MarkdownSection[Place]):
    def attachments(self, params: Place | None) -> tuple[EmbeddedResource, ...]:
        return () if params is None else (EmbeddedResource(params.uri, "found"),)


def prompt_of(*sections: Section) -> Prompt:
    return Prompt(PromptTemplate(ns="t", key="t", sections=sections))


def test_text_is_a_part_of_the_text_and_the_rest_is_beside_it() -> None:
    """A model reads in which section each of them belongs."""
    below = MarkdownSection("Below", "More.", attachments=[SOUND])
    section = MarkdownSection("Design", "Build this.", attachments=[PICTURE, MEMO], children=[below])

    rendered = prompt_of(section).render()

    assert rendered.attachments == (PICTURE, SOUND)
    assert rendered.text == (
        "## 1. Design\n\nBuild this.\n\n[image, image/gif, 6 bytes]\n\n[resource memo://1]\nthe memo\n\n"
        "### 1.1. Below\n\nMore.\n\n[audio, audio/mpeg, 3 bytes]"
    )


def test_attachments_may_depend_on_the_parameters() -> None:
    """Like the text."""
    rendered = prompt_of(Embedding("Place", "Look.")).bind(Place("memo://2")).render()

    assert "[resource memo://2]\nfound" in rendered.text


def test_what_is_summarised_shows_nothing_until_it_is_read() -> None:
    """The tool that reads a section shows what belongs to it."""
    section = MarkdownSection(
        "Design", "Build this.", summary="A design.", visibility=SectionVisibility.SUMMARY, attachments=[PICTURE, MEMO]
    )
    prompt, session = prompt_of(section), Session()
    rendered = prompt.render(session=session)
    assert rendered.attachments == ()

    with prompt.resources:
        executor = ToolExecutor(prompt=prompt, rendered=rendered, session=session)
        reply = executor.execute(ToolCall("read_section", {"section_key": "design"}))

    assert reply.result.attachments == (PICTURE,)
    assert reply.text.count("the memo") == 1


def test_what_cannot_be_attached_is_refused() -> None:
    """When the section is built; or when it is rendered, if it finds its attachments only then."""

    class Bad(MarkdownSection[None]):
        def attachments(self, params: None) -> list[str]:  # type: ignore[override]
            return ["picture.png"]

    class Raising(MarkdownSection[None]):
        def attachments(self, params: None) -> list[Image]:
            raise OSError("no disk")

    with pytest.raises(PromptValidationError, match=r"'picture\.png' in attachments is no Image"):
        MarkdownSection("A", "b", attachments=["picture.png"])  # type: ignore[list-item]
    with pytest.raises(PromptValidationError, match=r"'picture\.png' in attachments is no Image"):
        prompt_of(Bad("A", "b")).render()
    with pytest.raises(PromptRenderError, match="attachments raised OSError: no disk"):
        prompt_of(Raising("A", "b")).render()


def test_a_run_shows_them_to_the_model(tmp_path) -> None:
    """With the conversation's prompt, so that every protocol can; a recording tells others apart."""
    seen: list[Conversation] = []

    def answer(conversation: Conversation) -> ModelTurn:
        seen.append(conversation)
        return ModelTurn("A cat.")

    ScriptedAdapter([answer]).evaluate(prompt_of(MarkdownSection("A", "b", attachments=[PICTURE])), session=Session())
    assert seen[0].prompt.attachments == (PICTURE,)

    path = tmp_path / "run.jsonl"
    for attached in ([PICTURE], [Image(b"GIF87a")]):
        prompt = prompt_of(MarkdownSection("A", "b", attachments=attached))
        if attached == [PICTURE]:
            RecordingAdapter(ScriptedAdapter(["Done."]), path).evaluate(prompt, session=Session())
            ReplayAdapter(Recording.read(path)).evaluate(prompt, session=Session())
        else:
            with pytest.raises(ReplayMismatch, match="shown at the beginning are others"):
                ReplayAdapter(Recording.read(path)).evaluate(prompt, session=Session())


def test_a_section_is_rendered_by_itself() -> None:
    """Whole and without its heading, whatever is missing elsewhere."""
    below = MarkdownSection("Below", "More.", key="below", summary="Less.", visibility=SectionVisibility.SUMMARY)
    section = MarkdownSection("Design", "Build this.", attachments=[PICTURE, MEMO], children=[below])
    prompt = prompt_of(Embedding("Place", "Look at $uri.", key="place"), section)

    alone = prompt.render_section(("design",))
    place = prompt.render_section(("place",), Place("memo://2"))

    assert alone.text == (
        "Build this.\n\n[image, image/gif, 6 bytes]\n\n[resource memo://1]\n\n### 1.1. Below\n\nMore."
    )
    assert alone.attachments == (PICTURE, MEMO)
    assert (place.text, place.attachments) == (
        "Look at memo://2.\n\n[resource memo://2]",
        (EmbeddedResource("memo://2", "found"),),
    )
    with pytest.raises(PromptRenderError, match=r"Place \(uri\) for 'place'"):
        prompt.render_section(("place",))
    with pytest.raises(SectionNotFound):
        prompt.render_section(("other",))


def test_a_rendering_may_leave_out_what_lacks_parameters() -> None:
    """Text alone; tools and the policies for them must not go missing unnoticed."""
    from wink.tools import Tool, ToolContext, ToolResult

    def act(params: None, *, context: ToolContext) -> ToolResult[None]:
        """Act."""
        return ToolResult("done")

    place = Embedding("Place", "Look at $uri.", key="place")
    acting = MarkdownSection[Place]("Acting", "At $uri.", key="acting", tools=[Tool.wrap(act)])

    assert prompt_of(place, MarkdownSection("A", "b")).render(partial=True).text == "## 1. A\n\nb"
    with pytest.raises(PromptRenderError, match="for 'acting'"):
        prompt_of(place, acting).render(partial=True)
    with pytest.raises(PromptRenderError, match="for 'place'"):
        prompt_of(place).render()


def test_outlines_are_of_what_is_enabled() -> None:
    """With the parameters of what lies below, and what is used without any."""
    hidden = MarkdownSection("Hidden", "x", enabled=lambda: False)
    inner = Embedding("Inner", "$uri", key="inner")
    outer = MarkdownSection("Outer", "x", children=[inner], summary="In short.")

    outlines = prompt_of(hidden, outer, MarkdownSection[Place]("Own", "$uri", default_params=Place("a:b"))).outlines()

    assert [(one.name, one.path, one.summary, dict(one.params)) for one in outlines] == [
        ("outer", ("outer",), "In short.", {Place: None}),
        ("outer.inner", ("outer", "inner"), None, {Place: None}),
        ("own", ("own",), None, {Place: Place("a:b")}),
    ]
