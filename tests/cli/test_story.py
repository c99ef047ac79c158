"""What a model said is kept with its run, masked and bounded, and told wherever the run is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done
from tests.states import state_of

from wink.adapters import ModelTurn, RecordJournal
from wink.limits import TokenUsage
from wink.workspace import Workspace

Cli = Callable[..., Done]
Write = Callable[[str], str]

KEY = "sk-proj-Zq3vT9xLm2Rk8wYb"
STORY = f"""
[[turn]]
text = "I look first, with {KEY}."
[[turn.call]]
tool = "read_file"
arguments = {{ file_path = "a.txt" }}

[[turn]]
[[turn.call]]
tool = "edit_file"
arguments = {{ file_path = "a.txt", old_string = "two", new_string = "three" }}

[[turn]]
text = "Three it is. \\u202e"
"""


def test_a_run_is_told_from_what_it_was_asked_to_its_answer(
    cli: Cli, script: Write, place: Path, tmp_path: Path
) -> None:
    """In `show`, of the run and of a call, in `log --story`, on the page that is exported, and without the secret."""
    model = f"scripted:{script(STORY)}"
    assert cli("run", "Make it three", "--model", model).status == 0

    run, call, log = cli("show", "r1"), cli("show", "c1"), cli("log", "--story")
    whole, told = json.loads(cli("show", "r1", "--json").out), json.loads(cli("show", "c2", "--json").out)
    page = tmp_path / "page.html"
    assert cli("export", str(page), "--html").status == 0

    said = [
        "asked:", "Make it three", "prompt 1", "turn 1:", "I look first, with [masked].", "c1  ok  read_file", "turn 2:",
        "c2  ok  edit_file", "turn 3:", r"Three it is. \u202e",
    ]  # fmt: skip
    assert [text for text in said if text not in run.out] == []
    assert sorted(said, key=run.out.index) == said
    assert "before it the model said:\n  I look first, with [masked]." in call.out
    assert log.out.split("turn 1:")[1].split() == [
        "I",
        "look",
        "first,",
        "with",
        "[masked].",
        "c1",
        "ok",
        "read_file",
        "file_path=a.txt",
        "r1,",
        "turn",
        "2:",
        "c2",
        "ok",
        "edit_file",
        "file_path=a.txt",
        "old_string=two",
        "new_string=three",
        "[~a.txt]",
        "r1,",
        "turn",
        "3:",
        "Three",
        "it",
        "is.",
        "\\u202e",
    ]
    assert [turn["text"] for turn in whole["turns"]] == ["I look first, with [masked].", "", "Three it is. \u202e"]
    assert [[one["call"] for one in turn["calls"]] for turn in whole["turns"]] == [["c1"], ["c2"], []]
    assert (whole["task"], whole["turns"][0]["model"], told["said"]["turn"]) == ("Make it three", model, 2)
    assert "I look first, with [masked]." in page.read_text()
    everything = run.out + call.out + log.out + page.read_text() + cli("events").out
    assert KEY not in everything
    assert "\u202e" not in everything
    assert KEY.encode() not in b"".join(path.read_bytes() for path in state_of(place).glob("record*"))


def test_reasoning_notes_and_tokens_are_kept_and_long_texts_are_cut(cli: Cli, place: Path) -> None:
    """A line says how much was left out; beginning and end stay."""
    with Workspace.open(place) as workspace, RecordJournal.begin(workspace, plan={"task": "Count"}) as journal:
        long = "begin " + "x" * 300_000 + " end"
        journal.turned(1, ModelTurn(long, usage=TokenUsage(5, 3, 2), thinking="Hm.", model="big"))
        journal.replied(1, (), "go on")
        journal.turned(2, ModelTurn("Done.", usage=TokenUsage(7, 2), model="small"))
        journal.ended("Done.")
        first, second = workspace.record.runs.said(1)

        assert (first.thinking, first.note, first.model, first.usage) == ("Hm.", "go on", "big", TokenUsage(5, 3, 2))
        assert len(first.text) < 70_000
        assert first.text.startswith("begin ")
        assert first.text.endswith(" end")
        assert "\n[234,474 characters were left out here]\n" in first.text
        assert workspace.record.runs.tokens(1) == (("small", 1, TokenUsage(7, 2)), ("big", 1, TokenUsage(5, 3, 2)))
        assert second.text == "Done."
    shown = cli("show", "r1").out
    assert shown.index("| Hm.") < shown.index("begin x") < shown.index("> go on") < shown.index("Done.")


def test_what_is_kept_of_a_run_is_bounded_and_goes_with_it(place: Path) -> None:
    """However much a model talks, each later text is only begun; runs that are forgotten take what was said along."""
    longest, most = 1 << 16, 1 << 25
    with Workspace.open(place) as workspace:
        runs = workspace.record.runs
        number = runs.begin("default", "{}")
        for turn in range(1, most // longest + 4):
            runs.turned(number, turn, "{}", None, ("x" * longest, "", ""))
        said = runs.said(number)
        assert len(said[0].text) == longest
        assert len(said[-1].text) < 500
        assert sum(len(one.text) for one in said) < most + 5 * longest

        assert [runs.begin("default", "{}") for _ in range(200)][-1] == number + 200
        assert runs.said(number) == ()


def test_runs_of_which_nothing_was_kept_are_shown_all_the_same(cli: Cli, place: Path) -> None:
    """Records of earlier versions have calls of runs without what was said."""
    with Workspace.open(place) as workspace, RecordJournal.begin(workspace, plan={"task": "Count"}) as journal:
        journal.ended("")

    assert "what the model said is not kept of this run" in cli("show", "r1").out
    missing = cli("show", "r7")
    assert (missing.status, missing.err) == (2, "wink: there is no run r7 here; the last ones are r1\n")


def test_an_imported_session_has_its_story(cli: Cli, script: Write, place: Path, tmp_path: Path) -> None:
    """What was said travels with the session."""
    assert cli("run", "Make it three", "--model", f"scripted:{script(STORY)}").status == 0
    assert cli("export", str(tmp_path / "s.wink")).status == 0
    assert cli("import", str(tmp_path / "s.wink"), str(tmp_path / "there")).status == 0

    here, there = (
        json.loads(cli("show", "r1", "--json", *more).out)["turns"]
        for more in ((), ("--workspace", str(tmp_path / "there")))
    )
    assert [turn["text"] for turn in there] == [turn["text"] for turn in here]
