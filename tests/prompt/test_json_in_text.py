"""The JSON of an answer is found in whatever a model puts around it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink.prompt.output._json_in_text import Broken, Found, json_in


def found(text: str) -> list[Any]:
    return [json.loads(piece.text) for piece in json_in(text) if isinstance(piece, Found)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ("  [] \n", [[]]),
        ('\ufeff{"a": 1}', [{"a": 1}]),
        ('Here you are: {"a": "}{\\"]["} — done.', [{"a": '}{"]['}]),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('~~~\n[{"a": 1}]\n~~~~', [[{"a": 1}]]),
        ('Before\n````\n{\n  "a": "```"\n}\n````\nafter', [{"a": "```"}]),
        ('{"first": 1} or rather\n```\n{"second": 2}\n```', [{"second": 2}, {"first": 1}]),
        ('{curly} {{}} [1] [link](url) {"a": 1}', [{}, {"a": 1}]),
        ('a set {x, y}, a call f({}) and {"a": {"b": []}}', [{}, {"a": {"b": []}}]),
        ('{"a": value} and then {"b": 2}', [{"b": 2}]),
        ("nothing at all", []),
        ('"a string" 5 true null', []),
        ("", []),
        ('```json\n{"a": 1}', [{"a": 1}]),
        ('```\nnot json\n```\n{"a": 1}', [{"a": 1}]),
        ('one {"a": 1} two {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('He said {"yes"} and {"a": 1}', [{"a": 1}]),
    ],
)
def test_where_json_is_found(text: str, expected: list[Any]) -> None:
    """Alone, fenced, or between braces that mean something else; the likeliest first."""
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": {"b": 1}', "it breaks off"),
        ('[{"a": 1}, {"b": "…', "it breaks off"),
        ('{"a": {"b": 1},}', 'near \'{"a": {"b": 1},}\''),
        ('{"a": {"b": 1} "c": {"d": 2}}', "Expecting ',' delimiter near"),
        ('{"a":' * 100_000, "it breaks off"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "it is nested too deeply"),
    ],
    ids=["object", "array", "comma", "missing comma", "deep and open", "deep"],
)
def test_a_part_of_a_broken_answer_is_no_answer(text: str, problem: str) -> None:
    """An object inside of another might fit a recursive type, and would pass for the whole."""
    (piece,) = json_in(f"So: {text}")

    assert isinstance(piece, Broken)
    assert problem in piece.problem


@pytest.mark.parametrize(
    "piece", ["{", "[", '{"', '"{', '{"a', "[{", '[{"a": ', "```\n", "```\n{", '{"\\', "{ ", '\\"{']
)
def test_hostile_text_takes_time_in_proportion(piece: str) -> None:
    """Twenty times as long must not take four hundred times as long; a quadratic scan would run for minutes."""
    list(json_in(piece * (200_000 // len(piece)) + '{"a": 1}'))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
objects = st.dictionaries(st.text(), values, min_size=1, max_size=4)
prose = st.text(alphabet=st.characters(exclude_characters='"', exclude_categories=["Cs"])) | st.sampled_from(
    ["{", "}", "[1]", "a } b { c", "`{x}`", "\\", "f(x[0]) {", "it's {here}:", 'the "name" is {name}', '{"no colon"}']
)


@settings(deadline=None)
@given(objects | st.lists(objects, min_size=1, max_size=3), prose, prose, st.sampled_from([None, 2]), st.booleans())
def test_any_object_is_found_in_any_prose(
    value: Any, before: str, after: str, indent: int | None, fenced: bool
) -> None:
    """Braces of the prose and braces in strings do not matter."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if fenced and "`" not in before:
        text = f"```json\n{text}\n```"

    # The words keep brackets of the prose from becoming brackets of the JSON.
    assert value in found(f"{before} so:\n{text}\nSo {after}")
