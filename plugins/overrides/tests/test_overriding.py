"""What a prompt becomes under overrides, and what it never becomes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plugins.overrides.tests.demo import FIRST, Hit, Query, Task, search, template

from wink.errors import PromptOverrideWarning, PromptValidationError
from wink.policies import SequentialDependencyPolicy
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section, SectionVisibility
from wink.prompt.overrides import PromptDescriptor, PromptOverridesStore
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.tools import Tool
from wink_overrides import LocalPromptOverridesStore, PromptOverride, SectionOverride, ToolExampleOverride, ToolOverride


class Given:
    """A store that says whatever it was given, whether it fits or not."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def resolve(self, descriptor: PromptDescriptor, tag: str = "latest") -> Any:
        self.asked.append(tag)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def prompt_of(template: PromptTemplate[Any], answer: Any) -> Prompt[Any]:
    return Prompt(template, Given(answer))  # type: ignore[arg-type]


def hash_of(path: str, of: PromptTemplate[Any]) -> str:
    section = PromptDescriptor.from_prompt(of).section(tuple(path.split("/")))
    return "0" * 64 if section is None else section.content_hash


def saying(of: PromptTemplate[Any], texts: dict[str, str] | None = None, *tools: ToolOverride) -> PromptOverride:
    """An override with the present hashes."""
    contracts = {tool.name: tool.contract_hash for tool in PromptDescriptor.from_prompt(of).tools}
    return PromptOverride(
        of.ns,
        of.key,
        sections={
            tuple(path.split("/")): SectionOverride(hash_of(path, of), text) for path, text in (texts or {}).items()
        },
        tool_overrides={
            tool.name: replace(tool, expected_contract_hash=contracts.get(tool.name, "0" * 64)) for tool in tools
        },
    )


def said(prompt: Prompt[Any]) -> list[str]:
    """Render, twice, and give the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prompt.render()
        prompt.render()
    assert all(one.category is PromptOverrideWarning for one in caught)
    return [str(one.message) for one in caught]


@pytest.fixture
def store(tmp_path: Path) -> LocalPromptOverridesStore:
    return LocalPromptOverridesStore(tmp_path)


# Texts.


def test_another_text_takes_the_place_of_the_code_s() -> None:
    """With its placeholders filled in; everything around it stays."""
    one = template()
    before = Prompt(one).bind(Task("the leak")).render().text

    after = (
        prompt_of(one, saying(one, {"task": "  Solve ${loud}; it costs $$5.  "})).bind(Task("the leak")).render().text
    )

    assert after == before.replace("Fix the leak.", "Solve THE LEAK; it costs $5.")


def test_the_tag_is_asked_for() -> None:
    """`latest` if nothing is said."""
    given = Given(None)
    Prompt(template(), given).render()  # type: ignore[arg-type]
    Prompt(template(), given, "stable").render()  # type: ignore[arg-type]

    assert given.asked == ["latest", "stable"]


def test_a_tag_that_can_be_no_file_s_name_is_refused() -> None:
    """When the prompt is made, not in the middle of a run."""
    with pytest.raises(PromptValidationError, match=r"'\.\./other' cannot be a tag of overrides"):
        Prompt(template(), overrides_tag="../other")


def test_a_change_shows_at_the_next_rendering(store: LocalPromptOverridesStore) -> None:
    """The same prompt follows what people edit, back to the code's own text too."""
    prompt = Prompt(template(), store)
    texts = [prompt.render().text]
    store.set_section_override(prompt, path="task/rules", body="Be bold.")
    texts.append(prompt.render().text)
    store.set_section_override(prompt, path="task/rules", body="Be quick.")
    texts.append(prompt.render().text)
    store.delete(ns=prompt.ns, prompt_key=prompt.key, tag="latest")
    texts.append(prompt.render().text)

    assert ["Be careful." in texts[0], "Be bold." in texts[1], "Be quick." in texts[2]] == [True, True, True]
    assert texts[3] == texts[0]


def test_a_template_is_shared_by_prompts_with_and_without() -> None:
    """An override belongs to the prompt, never to the template."""
    one = template()
    other = prompt_of(one, saying(one, {"task": "Other."}, ToolOverride("search", "", "Find.")))

    assert "Other." in other.render().text
    assert "Other." not in Prompt(one).render().text
    assert other.tools()[0].description == "Find."
    assert Prompt(one).render().tool("search") is one.plan.nodes[2].tools[0]


def test_a_summary_can_be_replaced_with_its_text() -> None:
    """Where the section has one."""
    one = template(summary="About $issue.")
    override = PromptOverride(
        one.ns, one.key, sections={("task",): SectionOverride(hash_of("task", one), "All.", "Briefly $issue.")}
    )
    prompt = prompt_of(one, override)

    text = prompt.render(visibility_overrides={("task",): SectionVisibility.SUMMARY}).text

    assert "Briefly the crash." in text
    assert "All." in prompt.render().text


def test_the_section_is_asked_as_it_is_now() -> None:
    """A section may change between renderings; its other text is rendered by the section, not by a copy of old."""

    class Counting(MarkdownSection[Any]):
        count = 0

        def render_body(self, params: Any, *, session: Any = None) -> str:
            return f"{super().render_body(params)} ({self.count})"

    section = Counting("Count", "One.")
    one = PromptTemplate(ns="demo", key="count", sections=[section])
    prompt = prompt_of(one, saying(one, {"count": "Two."}))
    first = prompt.render().text
    section.count = 7

    assert first.endswith("Two. (0)")
    assert prompt.render().text.endswith("Two. (7)")


# Tools.


def test_a_tool_is_told_of_in_other_words() -> None:
    """Description, parameters and schema as the model is sent them."""
    one = template()
    words = ToolOverride("search", "", "Find notes.", {"text": "The words.", "limit": "At most this many."})

    rendered = prompt_of(one, saying(one, None, words)).render()
    tool = rendered.tool("search")

    assert tool is not None
    assert tool.description == "Find notes."
    properties = tool.schema()["properties"]
    assert (properties["text"]["description"], properties["max"]["description"]) == ("The words.", "At most this many.")
    assert rendered.tool_param_descriptions["search"] == {"text": "The words.", "limit": "At most this many."}
    assert tool.examples == (FIRST, tool.examples[1])


def test_what_is_left_out_stays() -> None:
    """An override of one parameter leaves the others, and the description."""
    one = template(tool=search(param_descriptions={"limit": "How many."}))

    rendered = prompt_of(
        one, saying(one, None, ToolOverride("search", "", param_descriptions={"text": "Words."}))
    ).render()

    assert rendered.tools[0].description == "Search the notes."
    assert rendered.tool_param_descriptions["search"] == {"text": "Words.", "limit": "How many."}


def test_a_call_of_it_is_the_same_call() -> None:
    """Same name, handler, types and rules: only the words are others."""
    first = Tool[None, None]("first", "Come first.")
    one = PromptTemplate(
        ns="demo",
        key="rules",
        sections=[Section("All", tools=[first, search()])],
        policies=[SequentialDependencyPolicy({"search": {"first"}})],
    )
    prompt = prompt_of(one, saying(one, None, ToolOverride("search", "", "Find.")))
    session = Session()
    rendered = prompt.render(session=session)

    reply = ToolExecutor(prompt=prompt, rendered=rendered, session=session).execute(
        ToolCall("search", '{"text": "abc"}')
    )

    original, told = one.plan.nodes[0].tools[1], rendered.tools[1]
    assert (told.name, told.handler, told.params_type, told.result_type, told.effects) == (
        original.name,
        original.handler,
        original.params_type,
        original.result_type,
        original.effects,
    )
    assert not reply.success
    assert "first" in reply.text
    assert rendered.policies_for_tool("search") == Prompt(one).render().policies_for_tool("search")


def test_examples_are_added_replaced_and_removed() -> None:
    """Indices are those of the code; what is added comes last."""
    one = template()
    hashes = PromptDescriptor.from_prompt(one).tools[0].examples
    changes = (
        ToolExampleOverride.remove(0, expected_hash=hashes[0]),
        ToolExampleOverride.append("nothing found", Query("zzz"), []),
        ToolExampleOverride.replace(1, "one word", {"text": "a", "max": 1}, [{"line": 9}], expected_hash=hashes[1]),
    )

    rendered = prompt_of(one, saying(one, None, ToolOverride("search", "", examples=changes))).render()

    assert [(one.description, one.input, one.output) for one in rendered.tools[0].examples] == [
        ("one word", Query("a", 1), [Hit(9)]),
        ("nothing found", Query("zzz"), []),
    ]
    assert "- nothing found: " in rendered.text
    assert "two words" not in rendered.text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (ToolExampleOverride.append("bad", {"text": ""}, []), "$.text: "),
        (ToolExampleOverride.append("bad", {"txt": "a"}, []), "$.txt: "),
        (ToolExampleOverride.append("bad", {"text": "a"}, [{"row": 1}]), "$[0].line: is required"),
        (ToolExampleOverride.append("bad", {"text": "a"}, None), "$: "),
        (ToolExampleOverride.append("", {"text": "a"}, []), "example 3 needs a description of 1-200 characters"),
        (ToolExampleOverride.remove(2), "there is no example 2; the code has 2"),
        (ToolExampleOverride.remove(1, expected_hash="0" * 64), "example 1 is another one in the code now"),
    ],
)
def test_an_example_of_other_types_is_left_out(change: ToolExampleOverride, complaint: str) -> None:
    """With a line about it; the code's examples stand."""
    one = template()
    prompt = prompt_of(one, saying(one, None, ToolOverride("search", "", examples=(change,))))

    (told,) = said(prompt)
    assert complaint in told
    assert "tool 'search'" in told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(prompt.render().tools[0].examples) == 2


def test_of_two_tools_of_one_name_the_one_is_meant_whose_hash_it_is() -> None:
    """Sections that exclude each other may bring different tools; words for the one say nothing of the other."""
    here = Section("Here", tools=[search(examples=[FIRST])], enabled=lambda: where == "here")
    there = Section("There", tools=[search(examples=[])], enabled=lambda: where == "there")
    other = Section("Other", tools=[search("Search elsewhere.")], enabled=lambda: where == "other")
    one = PromptTemplate(ns="demo", key="two", sections=[here, there, other])
    first = PromptDescriptor.from_prompt(one).tools[0]
    words = ToolOverride(
        "search",
        first.contract_hash,
        "Find.",
        examples=(ToolExampleOverride.remove(0, expected_hash=first.examples[0]),),
    )
    prompt = prompt_of(one, PromptOverride("demo", "two", tool_overrides={"search": words}))
    found = {}
    for where in ("here", "there", "other"):
        (tool,) = prompt.render().tools
        found[where] = (tool.description, tool.examples)

    assert found == {"here": ("Find.", ()), "there": ("Find.", ()), "other": ("Search elsewhere.", ())}


def test_tools_that_come_and_go_are_overridden_while_they_are_there() -> None:
    """Their hashes are those of the moment."""

    class Remote(Section[Any]):
        now: Sequence[Tool[Any, Any]] = ()

        def current_tools(self) -> Sequence[Tool[Any, Any]] | None:
            return self.now

    section = Remote("Remote")
    one = PromptTemplate(ns="demo", key="remote", sections=[section])
    section.now = [search()]
    prompt = prompt_of(one, saying(one, None, ToolOverride("search", "", "Find.")))
    descriptions = [[tool.description for tool in prompt.render().tools]]
    section.now = [Tool[None, None]("other", "Else."), search()]
    descriptions.append([tool.description for tool in prompt.render().tools])
    section.now = []

    assert descriptions == [["Find."], ["Else.", "Find."]]
    with pytest.warns(PromptOverrideWarning, match="tool 'search': accepts no overrides, or is not there"):
        assert prompt.render().tools == ()


# What does not fit.


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        (
            "task",
            "Fix $isue.",
            "section 'task': has no parameter for $isue; it has $issue, $loud, and '$$' is a dollar",
        ),
        ("group/leaf", "Costs $issue.", "section 'group/leaf': has no parameter for $issue; it has none, and"),
        ("task", "Costs $ 5.", "has a '$' that starts no placeholder"),
        ("closed", "Other.", "section 'closed': accepts no overrides, or is not there; task, task/rules, tools,"),
        ("nowhere", "Other.", "section 'nowhere': accepts no overrides, or is not there"),
        ("group", "Other.", "section 'group': accepts no overrides, or is not there"),
    ],
)
def test_a_text_that_cannot_be_used_is_left_out_and_reported_once(path: str, text: str, complaint: str) -> None:
    """One line, which names template, tag and part; the run goes on with the code's own text, and with what fits."""
    one = template()
    prompt = prompt_of(one, saying(one, {path: text, "task/rules": "Be bold."}))

    (told,) = said(prompt)

    assert told.startswith("the overrides of demo/notes:fix under 'latest': ")
    assert complaint in told
    assert told.endswith("; left out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert prompt.render().text == Prompt(one).render().text.replace("Be careful.", "Be bold.")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (ToolOverride("search", "", "Für Notizen."), "the description has 'ü'"),
        (ToolOverride("search", "", "x" * 201), "the description has 201 characters"),
        (ToolOverride("search", "", "  "), "the description is empty"),
        (ToolOverride("search", "", None, {"txt": "Words."}), "has no parameter 'txt' to describe; it has text, limit"),
        (ToolOverride("search", "", None, {"text": " "}), "has an empty description of 'text'"),
        (ToolOverride("inside", "", "Go."), "tool 'inside': accepts no overrides, or is not there; search can be"),
        (ToolOverride("shut", "", "Go."), "tool 'shut': accepts no overrides"),
    ],
)
def test_words_that_cannot_be_used_are_left_out(words: ToolOverride, complaint: str) -> None:
    """A tool keeps the rules that it would have had to keep in the code."""
    one = template()
    (told,) = said(prompt_of(one, saying(one, None, words)))

    assert complaint in told


def test_a_section_that_accepts_none_closes_its_own_tools() -> None:
    """Not those of the sections below it, nor their texts."""
    descriptor = PromptDescriptor.from_prompt(template())

    assert not descriptor.tools_named("inside")
    assert descriptor.section(("closed", "open")) is not None


def test_what_was_written_for_another_text_is_stale() -> None:
    """Nobody has looked whether it still makes sense; so the code's text stands, and somebody is told."""
    before, after = template("Fix $issue."), template("Fix $issue, please.")
    prompt = prompt_of(after, saying(before, {"task": "Other."}, ToolOverride("search", "", "Find.")))

    (told,) = said(prompt)
    assert "section 'task': was written for another text than the code has now" in told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rendered = prompt.render()
    assert "Fix the crash, please." in rendered.text
    assert rendered.tools[0].description == "Find."


def test_words_for_another_contract_are_stale() -> None:
    """A parameter more may make them wrong."""
    before, after = template(), template(tool=search(extra="allow"))
    (told,) = said(prompt_of(after, saying(before, None, ToolOverride("search", "", "Find."))))

    assert "tool 'search': was written for another description or schema than the code has now" in told


def test_what_nobody_edited_goes_in_silence(store: LocalPromptOverridesStore) -> None:
    """A seeded text only repeats the code; when the code moves on, there is nothing to look at."""
    store.seed(template("Fix $issue."))
    moved = Prompt(template("Fix $issue, please."), store)

    assert said(moved) == []
    assert "Fix the crash, please." in moved.render().text


@pytest.mark.parametrize(
    "answer",
    [
        RuntimeError("the disk is gone"),
        "nonsense",
        PromptOverride("demo/notes", "other"),
        PromptOverride("demo/notes", "fix", sections={"task": SectionOverride("x", None)}),  # type: ignore[arg-type,dict-item]
    ],
)
def test_a_store_that_fails_breaks_no_run(answer: Any) -> None:
    """It is foreign code: one line, and the code's own texts."""
    one = template()
    prompt = prompt_of(one, answer)

    assert len(said(prompt)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert prompt.render().text == Prompt(one).render().text


def test_a_section_that_cannot_take_the_text_keeps_its_own() -> None:
    """A section of a plugin may refuse for reasons of its own."""

    class Proud(MarkdownSection[Any]):
        def with_template_text(self, text: str) -> Any:
            raise ValueError("never")

    one = PromptTemplate(ns="demo", key="proud", sections=[Proud("Proud", "Mine.")])
    prompt = prompt_of(one, saying(one, {"proud": "Yours."}))

    (told,) = said(prompt)
    assert "section 'proud': cannot be given another text, ValueError: never" in told


def test_whoever_wants_warnings_to_be_errors_gets_them() -> None:
    """As a test run may, to find stale overrides."""
    one = template()
    prompt = prompt_of(one, saying(one, {"nowhere": "Other."}))

    with pytest.raises(PromptOverrideWarning):
        prompt.render()


def test_the_local_store_is_a_store(tmp_path: Path) -> None:
    """So that a program can take either."""
    assert isinstance(LocalPromptOverridesStore(tmp_path), PromptOverridesStore)
