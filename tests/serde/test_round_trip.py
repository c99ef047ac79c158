"""The law of serialisation: what was written is read back as it was."""

import datetime as dt
import decimal
import enum
import uuid
from dataclasses import dataclass, field
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from wink.serde import Extra, ParseError, Problem, dump, dumps, parse


class Kind(enum.Enum):
    A = "a"
    B = 2


@dataclass(frozen=True, slots=True)
class Leaf:
    text: str
    number: int = 0
    kind: Kind = Kind.A


@dataclass(kw_only=True)
class Branch:
    leaves: tuple[Leaf, ...]
    named: dict[str, Leaf]
    numbers: dict[int, float]
    either: Leaf | int | str | None
    flags: frozenset[str]
    when: dt.datetime
    day: dt.date
    clock: dt.time
    span: dt.timedelta
    amount: decimal.Decimal
    blob: bytes
    key: uuid.UUID
    mode: Literal["x", 3]
    renamed: str = field(metadata={"alias": "re-named"})
    sub: "Branch | None" = None


any_text = st.text(st.characters(codec=None, categories=None))
leaves = st.builds(Leaf, text=any_text, number=st.integers(-(10**40), 10**40), kind=st.sampled_from(Kind))
zones = st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(hours=-5, minutes=-30))])
branches = st.recursive(
    st.none(),
    lambda sub: st.builds(
        Branch,
        leaves=st.lists(leaves, max_size=3).map(tuple),
        named=st.dictionaries(any_text, leaves, max_size=2),
        numbers=st.dictionaries(st.integers(), st.floats(allow_nan=False, allow_infinity=False), max_size=2),
        either=st.one_of(leaves, st.integers(), any_text, st.none()),
        flags=st.frozensets(any_text, max_size=3),
        when=st.datetimes(timezones=zones),
        day=st.dates(),
        clock=st.times(),
        span=st.timedeltas(),
        amount=st.decimals(allow_nan=False, allow_infinity=False),
        blob=st.binary(max_size=20),
        key=st.uuids(),
        mode=st.sampled_from(["x", 3]),
        renamed=any_text,
        sub=sub,
    ),
    max_leaves=2,
).filter(lambda branch: branch is not None)


@settings(deadline=None)
@given(branches)
def test_parse_undoes_dump(branch: Branch) -> None:
    """As plain values."""
    assert parse(Branch, dump(branch)) == branch


@settings(deadline=None)
@given(branches)
def test_parse_undoes_dumps(branch: Branch) -> None:
    """As text, which must be storable as UTF-8 whatever it holds."""
    text = dumps(branch)

    assert parse(Branch, text.encode()) == branch
    assert dumps(parse(Branch, text)) == text


@settings(deadline=None)
@given(leaves)
def test_names_are_read_as_aliases_are(leaf: Leaf) -> None:
    """`by_alias=False` loses nothing."""
    assert parse(Leaf, dump(leaf, by_alias=False)) == leaf


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.sampled_from(["leaves", "text", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["leaves", "named", "either", "text", "kind", "sub", "mode", "\ud800"]), inner
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(json_values | any_text | st.binary(), st.sampled_from(["forbid", "ignore", "allow"]), st.booleans())
def test_whatever_comes_is_parsed_or_explained(data: object, extra: Extra, coerce: bool) -> None:
    """A model can send anything; the only exception is the one that lists the problems."""
    problems = [Problem("$", "none")]
    try:
        parse(Branch, data, extra=extra, coerce=coerce)
    except ParseError as error:
        problems = list(error.problems)
    assert problems
    assert all(problem.path.startswith("$") and problem.message for problem in problems)
    assert not any("pydantic" in str(problem) for problem in problems)
