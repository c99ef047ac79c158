"""A template, a task's prompt and its params become one prompt, whichever way the template is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from plugins.batch.tests.helping import rows, wink, write_table

from wink.errors import ParseError
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink_batch import Task
from wink_batch._assembly import prompt_for


@dataclass(frozen=True)
class Style:
    """Parameters of a section."""

    tone: str
    words: int = 10


@dataclass(frozen=True)
class Wish:
    """Parameters that take the prompt."""

    prompt: str


@dataclass(frozen=True)
class Finding:
    """An answer."""

    file: str
    line: int


STYLED: PromptTemplate[Any] = PromptTemplate(
    ns="t", key="styled", sections=[MarkdownSection[Style]("Style", "Be $tone in $words words.")]
)
WISHED: PromptTemplate[Any] = PromptTemplate(
    ns="t", key="wished", sections=[MarkdownSection[Wish]("Wish", "I wish: $prompt")]
)
FINDING = PromptTemplate[Finding](ns="t", key="finding", sections=[MarkdownSection("Find", "Find it.")])


def text(found: object, prompt: str, params: Mapping[str, Any]) -> str:
    """What the model is told."""
    return prompt_for(found, Task("t", prompt, params=params)).render().text


def test_params_go_to_the_sections_that_ask_for_them() -> None:
    """Those of CSV are text; the prompt has a section where no parameter takes it."""
    said = text(STYLED, "Do $this", {"tone": "kind", "words": "3"})
    assert "Be kind in 3 words." in said
    assert "Do $this" in said
    assert "Be kind in 10 words." in text(STYLED, "x", {"Style": {"tone": "kind"}})
    assert text(WISHED, "peace", {}).count("peace") == 1


def test_a_function_of_the_task_decides_by_itself() -> None:
    """It gives a template or a whole prompt, and has seen what there is."""

    def by_task(task: Task) -> PromptTemplate[Any]:
        return PromptTemplate(
            ns="t", key="f", sections=[MarkdownSection("F", f"For {task.params['who']}: {task.prompt}")]
        )

    assert text(by_task, "hello", {"who": "you"}).count("hello") == 1
    assert "Be dry in 1 words." in text(lambda: Prompt(STYLED).bind(Style("dry", 1)), "x", {})


def test_what_does_not_fit_is_named() -> None:
    """Params that nobody takes are mistakes, and so are those that are missing."""
    with pytest.raises(click.UsageError, match="does not take: colour; it takes tone, words"):
        text(STYLED, "x", {"tone": "a", "colour": "red"})
    with pytest.raises(ParseError, match="tone"):
        text(STYLED, "x", {})
    with pytest.raises(click.UsageError, match="must name a PromptTemplate"):
        text("nonsense", "x", {})
    with pytest.raises(click.UsageError, match="let it give a PromptTemplate"):
        prompt_for(Prompt(STYLED), Task("t", "x"), [MarkdownSection("More", "x")])


def test_an_answer_as_data_is_in_the_record(tmp_path: Path) -> None:
    """The output that a template declares is kept as plain values, also where sections are added to it."""
    (tmp_path / "turns.toml").write_text('[[turn]]\ntext = \'{"file": "a.py", "line": 3}\'\n')
    write_table(tmp_path / "tasks.jsonl", [{"id": "a", "prompt": "Where is it?"}])
    given = [
        "--template",
        "plugins.batch.tests.test_assembly:FINDING",
        "--model",
        "scripted:turns.toml",
        "--engine",
        "local",
    ]
    wink(
        "batch",
        "tasks.jsonl",
        *given,
        "--section",
        "planning.plan",
        "--out",
        "out",
        "--cache",
        f"{tmp_path}/c",
        cwd=tmp_path,
    )
    (row,) = rows(tmp_path / "out/results.jsonl")
    assert row["output"] == {"file": "a.py", "line": 3}
    assert json.loads((tmp_path / "out/batch.json").read_text())["options"]["sections"] == ["planning.plan"]
