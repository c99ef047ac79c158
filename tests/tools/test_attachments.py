"""What a result may carry besides text: made only of what it says it is."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.tools import Attachment, Audio, EmbeddedResource, Image, Tool, ToolContext, ToolResult
from wink.workspace import Workspace

EVERYTHING: tuple[Attachment, ...] = (
    Image(b"GIF89a"),
    Audio(b"ID3"),
    EmbeddedResource("memo://1", "some text", "text/plain"),
    EmbeddedResource("memo://2", b"\x00\xff"),
)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"RIFF....WAVE", "audio/wav"),
        (b"ID3", "audio/mpeg"),
        (b"\xff\xfb", "audio/mpeg"),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
    ],
)
def test_the_media_type_of_a_sound_is_read_from_it(data: bytes, media_type: str) -> None:
    """Nobody has to say what can be seen; what is said wrongly is put right."""
    assert Audio(data).media_type == Audio(data, "audio/aac").media_type == media_type


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Image("GIF89a"), "made of bytes"),  # type: ignore[arg-type]
        (lambda: Audio("ID3"), "made of bytes"),  # type: ignore[arg-type]
        (lambda: Audio(b"???"), "say which it is"),
        (lambda: Audio(b"???", "video/mp4"), "say which it is"),
        (lambda: EmbeddedResource("notes.md", ""), "begins with a scheme"),
        (lambda: EmbeddedResource("memo://a b", ""), "begins with a scheme"),
        (lambda: EmbeddedResource("memo://1\n", ""), "begins with a scheme"),
        (lambda: EmbeddedResource("memo://1", 5), "text or bytes"),  # type: ignore[arg-type]
        (lambda: EmbeddedResource("memo://1", "", "plain"), "look like 'text/markdown'"),
    ],
)
def test_what_is_not_what_it_says_is_refused(make, why: str) -> None:
    """A protocol would refuse the whole message for it."""
    with pytest.raises(ValueError, match=why):
        make()


def test_text_is_text_wherever_it_is_attached() -> None:
    """A model reads it, the record keeps it, and what is too long of it is spilled like any other text."""
    result = ToolResult("Read this.", None, attachments=EVERYTHING)

    assert result.text == "Read this.\n\n[resource memo://1, text/plain]\nsome text"
    assert ToolResult("", None, attachments=EVERYTHING[:1]).text == ""


@pytest.mark.parametrize("attachment", EVERYTHING)
def test_attachments_survive_pickling(attachment: Attachment) -> None:
    """Calls run in other processes too."""
    assert pickle.loads(pickle.dumps(attachment)) == attachment


def test_a_workspace_records_a_call_that_attaches_everything(tmp_path: Path) -> None:
    """The record keeps the text; the event has what was attached."""

    def attach(params: None, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.write("made.txt", "x")
        return ToolResult("Here.", None, attachments=EVERYTHING)

    section = MarkdownSection("Task", "Look.", tools=[Tool[None, None]("attach", "Attach.", attach)])
    with Workspace.open(tmp_path) as workspace:
        prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section]))
        prompt.bind(resources={Filesystem: workspace.filesystem})
        with prompt.resources:
            session = workspace.session("default")
            executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
            reply = executor.execute(ToolCall("attach", "{}"))
            (call,) = workspace.calls()
            event = session[ToolInvoked].latest()
            kept = session.snapshot().to_json()
    assert reply.success
    assert event is not None
    assert event.result.attachments == EVERYTHING
    assert call.rendered == "Here.\n\n[resource memo://1, text/plain]\nsome text"
    assert json.loads(kept)
