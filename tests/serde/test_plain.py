"""What is read without pydantic is what pydantic would have read."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wink.serde import ParseError, parse, schema
from wink.serde._adapters import compile_adapter
from wink.serde._plain import NotPlain, plain_reader
from wink.serde._reading import Extra, Reading
from wink.serde._text import text_problems


@dataclass(frozen=True, slots=True)
class Inner:
    name: str
    count: int = field(default=1, metadata={"ge": 0, "le": 9})
    ratio: float = 0.5


@dataclass
class Outer:
    text: str = field(metadata={"min_length": 1, "max_length": 5})
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()
    words: list[str] = field(default_factory=list[str])
    pair: tuple[int, bool] = (1, True)
    named: dict[str, int | None] = field(default_factory=dict[str, int | None])
    mode: Literal["a", "b"] = "a"
    anything: Any = None
    tags: frozenset[str] = frozenset()
    pairs: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    def __post_init__(self) -> None:
        if self.text == "bad":
            raise ValueError("must not be bad")
        self.text = self.text.strip()


scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 9, 10, -1, 2**63, 10**30])
    | st.floats()
    | st.sampled_from(["", "a", "b", "bad", " x ", "too long", "\ud800", "é"])
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)
inners = st.fixed_dictionaries(
    {"name": st.just("n") | scalars}, optional={"count": st.just(3) | scalars, "ratio": st.just(1.5) | scalars}
)
outers = st.fixed_dictionaries(
    {"text": st.sampled_from(["a", " x ", "bad"]) | anything},
    optional={
        "inner": inners | anything,
        "inners": st.lists(inners, max_size=2) | anything,
        "words": st.just(["w"]) | anything,
        "pair": st.just([2, False]) | anything,
        "named": st.just({"x": 1, "y": None}) | anything,
        "mode": st.just("b") | anything,
        "anything": anything,
        "tags": st.lists(st.sampled_from("ab"), max_size=3) | anything,
        "pairs": st.lists(st.tuples(st.sampled_from("ab"), st.just(1)), max_size=2) | anything,
        "unknown": anything,
    },
)


@settings(deadline=None, max_examples=300)
@given(outers, st.sampled_from(["forbid", "ignore"]), st.booleans())
@example({"text": "a", "anything": {"a": 1e300}}, "forbid", True)
def test_what_is_read_plainly_is_what_pydantic_reads(value: Any, extra: Extra, ascii_only: bool) -> None:
    """Two readers that differ would make a call depend on what was called before it."""
    reading = Reading(extra)
    text = json.dumps(value, ensure_ascii=ascii_only)
    plain = plain_reader(Outer, reading)
    assert plain is not None

    try:
        read = plain(text)
    except NotPlain:
        return

    assert text_problems(text) == []
    expected = compile_adapter(Outer, reading).validator.validate_json(text)
    assert repr(read) == repr(expected)  # 1, 1.0 and True are equal


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "a", "name": "b"}',
        '{"name": "a", "x": {"y": 1, "y": 1}}',
        '{"name": ":", "name": "b"}',
        '{"name": "\\ud800"}',
        '{"name": "a", "ratio": NaN}',
        '{"name": "a", "ratio": 1e999}',
        '{"name": "a"} x',
        '{"name": "a",}',
        '\ufeff{"name": "a"}',
        b'{"name": "\xff"}',
        '{"name": "a", "count": 1.0}',
        '{"name": "a", "count": true}',
        '{"name": "a\nb"}',
        "[" * 100_000,
        '{"name": "a", "count": ' + "1" * 5000 + "}",
        "",
    ],
)
def test_odd_text_is_left_to_pydantic(text: str | bytes) -> None:
    """It has the words for what is wrong, and rules of its own for what is merely odd."""
    read = plain_reader(Inner, Reading("ignore"))
    assert read is not None

    with pytest.raises(NotPlain):
        read(text)


def test_what_is_wrong_is_told_in_pydantics_words() -> None:
    """Every problem at once, whichever reader met the first."""
    with pytest.raises(ParseError) as caught:
        parse(Outer, {"text": "bad", "mode": "c", "inner": {"count": 10}})

    assert [str(problem) for problem in caught.value.problems] == [
        "$.inner.name: is required",
        "$.inner.count: must be at most 9, not 10",
        "$.mode: must be 'a' or 'b', not \"c\"",
    ]


@pytest.mark.parametrize("choices", [Literal["a"], Literal["a", "b"], Literal["b", "a"]])
def test_choices_are_described_as_pydantic_describes_them(choices: Any) -> None:
    """A tool that takes one of a few words needs no pydantic to be shown."""
    assert schema(choices) == compile_adapter(choices, Reading("forbid")).json_schema()


def test_a_plain_class_is_read_and_described_without_pydantic() -> None:
    """`wink call` reads one call's arguments; importing pydantic took longer than all the rest."""
    code = (
        "import sys\n"
        "from wink.filesystem import Stamp\n"
        "from wink.serde import dumps, parse, schema\n"
        "stamp = Stamp('a', 'd', 9, ((0, 20),), complete=True, total_lines=20)\n"
        "assert parse(Stamp, dumps(stamp)) == stamp\n"
        "schema(Stamp)\n"
        "print('pydantic_core' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
