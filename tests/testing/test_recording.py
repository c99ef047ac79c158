"""Runs that are recorded once and played again without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.test_loop import Note, Text, call, fail, note

from wink.adapters import ModelTurn, ScriptedAdapter
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.limits import TokenUsage
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall
from wink.session import Session
from wink.testing import Recording, RecordingAdapter, RecordingUnreadable, ReplayAdapter, ReplayMismatch
from wink.tools import Image, Tool, ToolContext, ToolResult

TURNS = [
    ModelTurn("I note.", (call("note", "a"), call("fail")), TokenUsage(5, 1), {"kept": [1, "é\ud800"]}),
    ModelTurn(calls=(call("note", "b"),)),
    ModelTurn("Done."),
]


def prompt(*, text: str = "Do it.", tools: tuple[Any, ...] | None = None) -> Prompt:
    made = tools or tuple(
        Tool[Text, Note](name=one.__name__, description="A tool.", handler=one) for one in (note, fail)
    )
    section = MarkdownSection(title="Task", key="task", template=text, tools=made)
    template = PromptTemplate(ns="test", key="loop", sections=[section])
    return Prompt(template).bind(resources={Filesystem: InMemoryFilesystem()})


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    adapter = RecordingAdapter(ScriptedAdapter(TURNS), path, about={"task": "x"})
    adapter.evaluate(prompt(), session=Session())
    return path


def test_a_recorded_run_is_played_again(recorded: Path) -> None:
    """Errors get other ids each time, which is no difference; the calls are executed for real."""
    recording = Recording.read(recorded)
    assert recording.about == {"task": "x"}
    assert [turn for _, turn in recording.turns] == [
        ModelTurn(turn.text, turn.calls, turn.usage, turn.provider_data) for turn in TURNS
    ]
    again, adapter = prompt(), ReplayAdapter(recording)
    assert adapter.evaluate(again, session=Session()).text == "Done."
    assert adapter.unplayed == 0
    files = again.filesystem()
    assert files is not None
    assert files.exists("b.txt")


def other(params: Text, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult("something else", None)


@pytest.mark.parametrize(
    ("changed", "turn", "said"),
    [
        (prompt(text="Do it well."), 1, "+Do it well."),
        (prompt(tools=(Tool[Text, Note](name="note", description="A tool.", handler=note),)), 1, "'fail' is gone"),
        (
            prompt(
                tools=(
                    Tool[Text, Note](name="note", description="A better tool.", handler=note),
                    Tool[Text, Note](name="fail", description="A tool.", handler=fail),
                )
            ),
            1,
            "the tool 'note' has changed",
        ),
        (
            prompt(
                tools=(
                    Tool[Text, None](name="note", description="A tool.", handler=other),
                    Tool[Text, Note](name="fail", description="A tool.", handler=fail),
                )
            ),
            2,
            "the reply to call 1 (note) is another:",
        ),
    ],
)
def test_the_first_difference_is_told(recorded: Path, changed: Prompt, turn: int, said: str) -> None:
    """A changed prompt, tool or result is not played over."""
    with pytest.raises(ReplayMismatch) as raised:
        ReplayAdapter(Recording.read(recorded)).evaluate(changed, session=Session())
    assert raised.value.turn == turn
    assert said in str(raised.value)


def test_a_run_that_is_longer_or_shorter_is_told(recorded: Path) -> None:
    """What the model said last does not make it the same run."""
    lines = recorded.read_text().splitlines()
    recorded.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(ReplayMismatch, match="at its end, and the run goes on"):
        ReplayAdapter(Recording.read(recorded)).evaluate(prompt(), session=Session())
    head, first, *rest = lines
    row = json.loads(rest[0])
    row["said"]["calls"] = []
    recorded.write_text("\n".join([head, first, json.dumps(row), rest[1]]))
    adapter = ReplayAdapter(Recording.read(recorded))
    adapter.evaluate(prompt(), session=Session())
    assert adapter.unplayed == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"wink recording": 2, "about": {}}', '{"wink recording": 1}'])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    """With the file and the line."""
    (tmp_path / "x").write_text(text)
    with pytest.raises(RecordingUnreadable, match="line 1"):
        Recording.read(tmp_path / "x")


@pytest.mark.parametrize("row", ["{", "7", "{}", '{"sent": {}, "said": {"text": 5}}', '{"said": null, "sent": {}}'])
def test_a_damaged_turn_is_refused(recorded: Path, row: str) -> None:
    """Before anything is executed."""
    with recorded.open("a") as file:
        file.write(row)
    with pytest.raises(RecordingUnreadable, match="line 5"):
        Recording.read(recorded)


def show(params: None, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult("A plot.", None, attachments=(Image(b"GIF89a" + context.filesystem.read_bytes("plot")),))


def test_images_are_told_apart(tmp_path: Path) -> None:
    """Those of the user and those of tools; neither is kept in the recording."""
    tools = (Tool[None, None](name="show", description="Show.", handler=show),)

    def evaluate(adapter: Any, shown: bytes, plot: bytes) -> None:
        made = prompt(tools=tools)
        files = made.filesystem()
        assert files is not None
        files.write_bytes("plot", plot)
        adapter.evaluate(made, session=Session(), images=[Image(b"GIF89a" + shown)])

    path = tmp_path / "run.jsonl"
    turns = [ModelTurn(calls=(ToolCall("show", "{}"),)), ModelTurn("Done.")]
    evaluate(RecordingAdapter(ScriptedAdapter(turns), path), b"1", b"2")
    evaluate(ReplayAdapter(Recording.read(path)), b"1", b"2")
    with pytest.raises(ReplayMismatch, match="the images that are shown at the beginning are others"):
        evaluate(ReplayAdapter(Recording.read(path)), b"x", b"2")
    with pytest.raises(ReplayMismatch, match=r"call 1 \(show\) shows other images or attachments"):
        evaluate(ReplayAdapter(Recording.read(path)), b"1", b"x")


def test_an_answer_that_was_cut_off_is_played_as_one(tmp_path: Path) -> None:
    """The run goes on after it, as it did."""
    path = tmp_path / "run.jsonl"
    turns = [ModelTurn("I wri", cut_off=True), ModelTurn("Done.")]
    RecordingAdapter(ScriptedAdapter(turns), path).evaluate(prompt(), session=Session())
    assert ReplayAdapter(Recording.read(path)).evaluate(prompt(), session=Session()).text == "Done."
