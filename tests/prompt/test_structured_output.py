"""An answer is read as the output that the prompt declares, or the model is told what is wrong with it."""

import contextlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink.errors import OutputParseError, PromptValidationError
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    RenderedPrompt,
    TextSection,
    parse_structured_output,
)
from wink.prompt.output._response_format import laid_out
from wink.serde import dumps, schema

T = TypeVar("T")


@dataclass(frozen=True)
class Finding:
    """A place in the code."""

    path: str = field(metadata={"description": "relative to the root"})
    line: int = field(metadata={"ge": 1})


@dataclass(frozen=True)
class Review:
    """A verdict with reasons."""

    ok: bool
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Tree:
    """Something that holds more of its kind."""

    name: str
    below: tuple["Tree", ...] = ()


@dataclass(frozen=True)
class Nothing:
    """Every field has a default."""

    note: str = ""


@dataclass(frozen=True)
class Page(Generic[T]):
    """A generic output."""

    item: T


class Level(Enum):
    """A choice."""

    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True)
class Everything:
    """Many kinds of fields."""

    text: str
    number: float
    level: Level
    maybe: int | None
    by_name: dict[str, int]
    tree: Tree


def rendering(output: Any, **more: Any) -> RenderedPrompt[Any]:
    return Prompt(PromptTemplate[output]("ns", "key", **more)).render()


def read(output: Any, text: str, **more: Any) -> Any:
    return parse_structured_output(text, rendering(output, **more))


def refused(output: Any, text: str, **more: Any) -> OutputParseError:
    with pytest.raises(OutputParseError) as caught:
        read(output, text, **more)
    assert caught.value.text == text
    return caught.value


# What is declared.


@pytest.mark.parametrize(
    ("output", "kind", "container"),
    [
        (Finding, Finding, "object"),
        (list[Finding], Finding, "array"),
        (Sequence[Finding], Finding, "array"),
        (tuple[Finding, ...], Finding, "array"),
        (Page[Finding], Page, "object"),
        (None, None, None),
    ],
)
def test_templates_and_renderings_say_what_is_declared(output: Any, kind: Any, container: Any) -> None:
    """Adapters hand it to providers that can enforce it."""
    template = PromptTemplate[output]("ns", "key", allow_extra_keys=True)
    rendered = Prompt(template).render()

    for known in (template, rendered):
        assert (known.output_type, known.container, known.allow_extra_keys) == (kind, container, True)
    assert PromptTemplate("ns", "key").container is None


@pytest.mark.parametrize(
    "output", [int, list[int], list[list[Finding]], tuple[Finding, Finding], Finding | None, "Finding"]
)
def test_an_output_is_a_dataclass_or_several(output: Any) -> None:
    """Anything else has no schema that a model could be held to."""
    with pytest.raises(PromptValidationError, match="the output of a template is a dataclass or a list of one"):
        PromptTemplate[output]("ns", "key")


def test_an_output_that_json_cannot_hold_is_refused_at_the_first_rendering() -> None:
    """As a tool's parameters are."""

    @dataclass
    class Odd:
        thing: object = field(default_factory=object)
        call: type[int] = int

    with pytest.raises(PromptValidationError, match=r"dataclass .*Odd: the output cannot be read from JSON"):
        rendering(Odd)


# What the model is told.


def test_the_last_section_tells_the_model_the_schema() -> None:
    """With a number like any other, and only where an output is declared."""
    sections = [MarkdownSection("Task", "Look.", children=[TextSection("Deep", "x")]), TextSection("Two", "y")]
    text = Prompt(PromptTemplate[Finding]("ns", "key", sections=sections)).render().text
    plain = Prompt(PromptTemplate("ns", "key", sections=[section.clone() for section in sections])).render().text

    assert text == plain + (
        "\n\n## 3. Response format\n\nWhen you are done, answer with one JSON object that fits this JSON Schema, and with "
        "nothing else: no words and no code fence around it.\n\n"
        "```json\n"
        "{\n"
        '  "type": "object",\n'
        '  "description": "A place in the code.",\n'
        '  "properties": {\n'
        '    "path": {"type": "string", "description": "relative to the root"},\n'
        '    "line": {"type": "integer", "minimum": 1}\n'
        "  },\n"
        '  "required": ["path", "line"],\n'
        '  "additionalProperties": false\n'
        "}\n"
        "```"
    )


@pytest.mark.parametrize("output", [Finding, list[Finding], Review, Tree, Everything, Page[int]])
@pytest.mark.parametrize("extra", [False, True])
def test_the_schema_in_the_text_is_the_schema(output: Any, extra: bool) -> None:
    """However it is laid out."""
    import json

    text = rendering(output, allow_extra_keys=extra).text
    shown = text.partition("```json\n")[2].rpartition("\n```")[0]

    assert text.startswith("## 1. Response format\n")
    assert json.loads(shown) == schema(output, extra="ignore" if extra else "forbid")
    assert ("one JSON array" in text) is (output == list[Finding])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=8),
    max_leaves=40,
)


@settings(deadline=None)
@given(json_values)
def test_laying_out_changes_nothing(value: Any) -> None:
    """Only what stands between the values."""
    import json

    text = laid_out(value)
    assert json.loads(text) == value
    assert laid_out([text, "x" * 99]) == f'[\n  {json.dumps(text, ensure_ascii=False)},\n  "{"x" * 99}"\n]'


# What is read.


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a.py", "line": 3}',
        'Sure.\n```json\n{"path": "a.py", "line": 3}\n```\nAnything else?',
        'The {first} thing I found [1] is {"path": "a.py", "line": 3}, I think.',
        'Not {"path": "a.py"} but {"path": "a.py", "line": 3}',
        '{"path": "b.py", "line": 4} was fixed:\n```\n{"path": "a.py", "line": 3}\n```',
        '{"path": "a.py", "line": 3} and {"path": "b.py", "line": 4}',
    ],
)
def test_an_object_is_found_in_the_answer(text: str) -> None:
    """The first that fits, those in fences before others."""
    assert read(Finding, text) == Finding("a.py", 3)


@pytest.mark.parametrize(
    "text",
    [
        '[{"path": "a.py", "line": 3}]',
        '{"items": [{"path": "a.py", "line": 3}]}',
        ' { "items" : [{"path": "a.py", "line": 3}\n] } ',
        'Found:\n```\n{"items": [{"path": "a.py", "line": 3}]}\n```',
        'There were none, [], but now there are [{"path": "a.py", "line": 3}].',
    ],
)
def test_an_array_is_found_in_the_answer(text: str) -> None:
    """Also in the object that providers want around it."""
    assert read(list[Finding], text) == [Finding("a.py", 3)]
    assert read(tuple[Finding, ...], text) == (Finding("a.py", 3),)


def test_nothing_is_an_answer_too() -> None:
    """Where an empty array or object is all that there is."""
    assert read(list[Finding], "[]") == []
    assert read(list[Finding], '{"items": []}') == []
    assert read(list[Finding], "I found nothing: []") == []
    assert read(Nothing, "So: {}") == Nothing()
    assert read(Nothing, 'A set {} and {"note": "x"}') == Nothing("x")
    assert read(Nothing, '```\n{}\n```\n{"note": "x"}') == Nothing()


def test_keys_that_nobody_knows() -> None:
    """Refused, unless the template says otherwise."""
    text = '{"path": "a.py", "line": 3, "mood": "good"}'

    assert refused(Finding, text).problems[0].path == "$.mood"
    assert read(Finding, text, allow_extra_keys=True) == Finding("a.py", 3)
    assert read(list[Finding], f"[{text}]", allow_extra_keys=True) == [Finding("a.py", 3)]


def test_renderings_put_together_by_hand() -> None:
    """The dataclass and the container say enough."""
    rendered = RenderedPrompt[Any]("p", "", (), output_type=Finding, container="array")

    assert parse_structured_output('[{"path": "a", "line": 1}]', rendered) == [Finding("a", 1)]


# What is refused.


def test_every_problem_is_listed_with_its_path() -> None:
    """So that the model can mend them all at once."""
    error = refused(Review, 'Here: {"ok": "yes", "findings": [{"path": "a", "line": 0}, {"line": 1}]}')

    assert [problem.path for problem in error.problems] == ["$.ok", "$.findings[0].line", "$.findings[1].path"]
    assert str(error).startswith(
        'the answer does not fit Review:\n$.ok: must be true or false, not "yes"\n$.findings[0]'
    )
    assert error.dataclass is Review
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_problems_of_a_wrapped_array_have_the_paths_of_what_was_sent() -> None:
    """The model does not know that its wrapper was taken off."""
    error = refused(list[Finding], '{"items": [{"path": "a", "line": "1"}]}')

    assert [problem.path for problem in error.problems] == ["$.items[0].line"]


def test_of_several_the_one_that_fits_best_is_explained() -> None:
    """It is most likely the one that was meant."""
    error = refused(Finding, 'Settings {"a": 1, "b": 2} and {"path": "a.py", "line": "3"}')

    assert [problem.path for problem in error.problems] == ["$.line"]


@pytest.mark.parametrize(
    ("output", "text", "message"),
    [
        (Finding, "I am not sure.", "there is no JSON in the answer; send a JSON object"),
        (list[Finding], "", "there is no JSON in the answer; send a JSON array"),
        (
            Tree,
            '{"name": "a", "below": [{"name": "b"}',
            "the answer is not valid JSON: it breaks off; send a JSON object",
        ),
        (Tree, '{"name": "a", "below": [{"name": "b"},]}', "the answer is not valid JSON: "),
        (Finding, '[{"path": "a", "line": 1}]', r"\$: must be an object"),
        (list[Finding], '{"path": "a", "line": 1}', r"\$: must be an array"),
        (list[Finding], '{"items": [], "more": 1}', r"\$: must be an array"),
        (list[Finding], '{"items": [], "items": []}', r"\$: must be an array"),
        (Finding, '{"path": "a", "path": "b", "line": 1}', "has the key 'path' twice"),
        (Everything, '{"number": NaN}', "NaN is not JSON|the answer"),
    ],
)
def test_what_is_no_answer(output: Any, text: str, message: str) -> None:
    """A part of a broken answer, above all, does not pass for the whole."""
    import re

    assert re.search(message, str(refused(output, text)))


def test_a_prompt_without_an_output_has_nothing_to_read() -> None:
    """Whoever asks has mistaken the prompt."""
    assert "the prompt declares no output" in str(refused(None, "{}"))


# The law.

names = st.text(max_size=8)
trees = st.recursive(
    st.builds(Tree, names), lambda below: st.builds(Tree, names, st.lists(below, max_size=3).map(tuple)), max_leaves=8
)
findings = st.builds(Finding, names, st.integers(1, 10**6))
everything = st.builds(
    Everything,
    text=st.text(),
    number=st.floats(allow_nan=False, allow_infinity=False),
    level=st.sampled_from(Level),
    maybe=st.none() | st.integers(-(2**60), 2**60),
    by_name=st.dictionaries(names, st.integers(-99, 99), max_size=3),
    tree=trees,
)
values = st.one_of(
    findings.map(lambda value: (Finding, value)),
    st.builds(Review, st.booleans(), st.lists(findings, max_size=3).map(tuple)).map(lambda value: (Review, value)),
    trees.map(lambda value: (Tree, value)),
    everything.map(lambda value: (Everything, value)),
    st.builds(Page, findings).map(lambda value: (Page[Finding], value)),
    st.lists(findings, max_size=3).map(lambda value: (list[Finding], value)),
    st.lists(trees, min_size=1, max_size=3).map(lambda value: (tuple[Tree, ...], tuple(value))),
)
words = st.text(alphabet=st.characters(exclude_characters='"', exclude_categories=["Cs"]))
wrappers = st.sampled_from(
    [
        "{}",
        "  {}\n",
        "```json\n{}\n```",
        "Well {{sure}}: {}. Done [1]!",
        "~~~~ json\n{}\n~~~~\n(see {{above}})",
        "Not [x] and not {{}}, but\n\n{}",
    ]
)


@settings(deadline=None)
@given(values, wrappers, words, words)
def test_every_value_comes_back(typed: tuple[Any, Any], wrapper: str, before: str, after: str) -> None:
    """Whatever the value, and whatever is said around it."""
    output, value = typed
    text = wrapper.format(dumps(value))
    said = [text, f"{before.replace('`', '').replace('~', '')} so:\n{text}\nSo {after}"]
    if isinstance(value, (list, tuple)):
        said.append(wrapper.format(f'{{"items": {dumps(value)}}}'))

    for answer in said:
        assert read(output, answer) == value


@settings(deadline=None)
@given(values, st.data(), st.booleans())
def test_an_answer_that_breaks_off_is_none(typed: tuple[Any, Any], data: st.DataObject, prose: bool) -> None:
    """Wherever a model runs out of tokens: no part of what it wrote passes for the whole."""
    output, value = typed
    text = dumps(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]

    with pytest.raises(OutputParseError):
        read(output, f"So: {cut}" if prose else cut)


@settings(deadline=None)
@given(st.text() | st.text(alphabet='{}[]",:\\ \n`~ab1'), st.sampled_from([Finding, list[Finding], Tree, Nothing]))
def test_whatever_is_sent_is_read_or_refused(text: str, output: Any) -> None:
    """Nothing else is ever raised."""
    with contextlib.suppress(OutputParseError):
        read(output, text)
