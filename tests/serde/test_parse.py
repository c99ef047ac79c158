"""Reading JSON as dataclasses."""

import datetime as dt
import decimal
import enum
import json
import pickle
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar

import pytest

from wink.serde import ParseError, Problem, SerdeError, dump, extras, parse

T = TypeVar("T")
UserId = NewType("UserId", int)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    done: bool = False

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise ValueError("the title must not be blank")


@dataclass
class Plan:
    goal: str
    steps: list[Step] = field(default_factory=list)
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Node(Generic[T]):
    value: T
    children: "tuple[Node[T], ...]" = ()


@dataclass(kw_only=True)
class Everything:
    colour: Colour
    when: dt.datetime
    tags: frozenset[str]
    pair: tuple[int, str]
    mode: Literal["fast", 2]
    maybe: int | None
    either: int | Step
    counts: dict[str, int]
    by_number: dict[int, str]
    limited: Annotated[int, "a remark"]
    owner: UserId
    names: Sequence[str]
    table: Mapping[str, Any]
    amount: decimal.Decimal
    key: uuid.UUID
    blob: bytes
    path: PurePosixPath
    wait: dt.timedelta


def problems(cls: Any, data: object, **options: Any) -> list[str]:
    with pytest.raises(ParseError) as caught:
        parse(cls, data, **options)
    return [str(problem) for problem in caught.value.problems]


def everything(**changes: Any) -> dict[str, Any]:
    return {
        "colour": "red",
        "when": "2030-01-02T03:04:05+00:00",
        "tags": ["a"],
        "pair": [1, "x"],
        "mode": "fast",
        "maybe": None,
        "either": {"title": "t"},
        "counts": {"a": 1},
        "by_number": {"7": "seven"},
        "limited": 3,
        "owner": 4,
        "names": ["n"],
        "table": {"deep": [1, {"x": None}]},
        "amount": "1.50",
        "key": "12345678-1234-5678-1234-567812345678",
        "blob": "_-8=",
        "path": "a/b",
        "wait": "PT90S",
    } | changes


def test_every_supported_kind_of_field_is_read() -> None:
    """One dataclass with each kind of type that the documentation promises."""
    value = parse(Everything, everything())

    assert value.colour is Colour.RED
    assert value.when == dt.datetime(2030, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert value.tags == frozenset({"a"})
    assert (value.pair, value.mode, value.maybe) == ((1, "x"), "fast", None)
    assert value.either == Step("t")
    assert value.by_number == {7: "seven"}
    assert value.table == {"deep": [1, {"x": None}]}
    assert (value.amount, value.blob) == (decimal.Decimal("1.50"), b"\xff\xef")
    assert (value.path, value.wait) == (PurePosixPath("a/b"), dt.timedelta(seconds=90))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"colour": "green"}, "$.colour: must be 'red' or 'blue', not \"green\""),
        ({"when": "soon"}, '$.when: must be a date and time such as 2024-01-31T09:30:00+00:00, not "soon"'),
        ({"when": 5}, "$.when: must be a date and time such as 2024-01-31T09:30:00+00:00, not 5"),
        ({"tags": {"a": 1}}, "$.tags: must be an array, not an object"),
        ({"tags": ["a", 2]}, "$.tags[1]: must be a string, not 2"),
        ({"pair": [1]}, "$.pair[1]: is required"),
        ({"pair": [1, "x", 2]}, "$.pair: must have at most 2 items, not 3"),
        ({"mode": 3}, "$.mode: must be 'fast' or 2, not 3"),
        ({"maybe": "5"}, '$.maybe: must be an integer, not "5"'),
        ({"either": "5"}, '$.either: must be an integer or an object, not "5"'),
        ({"either": {"title": 5}}, "$.either.title: must be a string, not 5"),
        ({"either": {"title": " "}}, "$.either: the title must not be blank"),
        ({"either": {"titel": "x", "title": "y"}}, "$.either.titel: is not a known field; did you mean 'title'?"),
        ({"counts": {"a b": True}}, '$.counts["a b"]: must be an integer, not true'),
        ({"by_number": {"x": "y"}}, "$.by_number: the key 'x' must be an integer, not \"x\""),
        ({"limited": 1.5}, "$.limited: must be an integer, not 1.5"),
        ({"owner": None}, "$.owner: must be an integer, not null"),
        ({"names": "n"}, '$.names: must be an array, not "n"'),
        ({"table": []}, "$.table: must be an object, not an array"),
        ({"amount": "much"}, '$.amount: must be a decimal number, not "much"'),
        ({"key": "k"}, '$.key: must be a UUID, not "k"'),
        ({"wait": 5}, "$.wait: must be a duration such as PT1H30M, not 5"),
        ({"path": 5}, "$.path: must be a string, not 5"),
    ],
)
def test_a_wrong_value_is_named_by_path_in_plain_words(change: dict[str, Any], problem: str) -> None:
    """A model fixes what it is told of: where it is, what was expected, what came."""
    assert problems(Everything, everything(**change)) == [problem]


def test_every_problem_is_reported_at_once() -> None:
    """A model that is told of one mistake a turn needs as many turns as it made mistakes."""
    text = '{"steps": [{"title": 1}, {"done": "yes"}, 5], "weight": "heavy", "extra": 1}'

    assert problems(Plan, text) == [
        "$.goal: is required",
        "$.steps[0].title: must be a string, not 1",
        "$.steps[1].title: is required",
        '$.steps[1].done: must be true or false, not "yes"',
        "$.steps[2]: must be an object, not 5",
        '$.weight: must be a number, not "heavy"',
        "$.extra: is not a known field; the fields are 'goal', 'steps', 'weight'",
    ]


def test_the_text_of_the_error_is_one_problem_a_line_and_not_endless() -> None:
    """A thousand bad items help nobody."""
    with pytest.raises(ParseError) as caught:
        parse(list[int], ["x"] * 50)

    error = caught.value
    lines = str(error).splitlines()
    assert lines[0] == '$[0]: must be an integer, not "x"'
    assert lines[-1] == "and 30 more problems"
    assert len(error.problems) == 50


def test_errors_survive_pickling() -> None:
    """They cross process boundaries with their facts."""
    error = ParseError([Problem("$.a", "is required")])

    again = pickle.loads(pickle.dumps(error))

    assert again.problems == error.problems
    assert str(again) == "$.a: is required"
    assert isinstance(again, ValueError)


def test_no_message_speaks_of_pydantic() -> None:
    """The words are for whoever wrote the JSON, who knows nothing of our libraries."""
    with pytest.raises(ParseError) as caught:
        parse(Everything, {key: [] for key in everything()})
    text = str(caught.value)

    assert "pydantic" not in text.lower()
    assert "Input should" not in text
    assert "http" not in text


@pytest.mark.parametrize(
    "data", ['{"goal": "g", "weight": 2}', b'{"goal": "g", "weight": 2}', {"goal": "g", "weight": 2}]
)
def test_text_bytes_and_mappings_are_read_alike(data: object) -> None:
    """Python input goes through JSON first, so that strictness is the same."""
    assert parse(Plan, data) == Plan("g", [], 2.0)


def test_python_input_is_held_to_json() -> None:
    """A value that JSON cannot hold is a problem at its path, not a crash."""
    assert problems(Plan, {"goal": object()}) == ["$.goal: JSON cannot hold a value of type 'object'"]
    assert problems(Plan, {"goal": "g", ("a",): 1}) == ["$: JSON keys are strings; 'tuple' cannot be one"]
    assert problems(Plan, {"goal": "g", "weight": float("nan")}) == ["$.weight: nan is not a JSON number"]


def test_dataclass_instances_are_accepted_as_input() -> None:
    """Examples and defaults come as instances."""
    assert parse(Plan, Plan("g", [Step("a")])) == Plan("g", [Step("a")])


def test_coerce_reads_text_as_what_is_wanted() -> None:
    """A command line has nothing but text."""
    assert problems(Plan, {"goal": "g", "weight": "2"})
    assert parse(Plan, {"goal": 5, "weight": "2"}, coerce=True) == Plan("5", [], 2.0)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", "$: is not valid JSON: EOF while parsing a value at line 1 column 0"),
        ('{"goal": "g",}', "$: is not valid JSON: trailing comma at line 1 column 14"),
        ('{"goal": "g"\n "x"}', "$: is not valid JSON: expected `,` or `}` at line 2 column 2"),
        ('{"goal": "g"} x', "$: is not valid JSON: trailing characters at line 1 column 15"),
        (b'{"goal": "\xff"}', "$: is not valid JSON: invalid unicode code point"),
        ("[" * 5000, "$: is nested too deeply (line 1 column 2"),
        ('{"goal": "g", "weight": ' + "9" * 5000 + "}", "$: has a number that is too large (line 1 column 4"),
        ('{"goal": "a", "goal": "b"}', "$: has the key 'goal' twice; give it once"),
        ('{"goal": "a", "steps": [{"title": "x", "title": "y"}]}', "$.steps[0]: has the key 'title' twice"),
        ('{"goal": "a", "go\\u0061l": "b"}', "$: has the key 'goal' twice; give it once"),
    ],
)
def test_text_that_is_not_good_json_is_one_problem_with_its_place(text: str | bytes, start: str) -> None:
    """Bad JSON, bombs, and keys given twice (RFC 8259 leaves their meaning open) end here."""
    found = problems(Plan, text)

    assert len(found) == 1
    assert found[0].startswith(start)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_has_not_are_refused_wherever_they_are(name: str) -> None:
    """Python's own `json` reads them, and no other parser would read what we store."""
    assert problems(dict[str, Any], f'{{"a": {name}}}') == [f"$: {name} is not JSON; use null or a finite number"]
    assert problems(float, "1e999") == ["$: must be a finite number, not Infinity"]


def test_a_lone_surrogate_survives() -> None:
    """File names that are not UTF-8 hold them, and a stored session must load again."""
    step = parse(Step, '{"title": "half \\ud83d"}')

    assert step == Step("half \ud83d")
    assert parse(Plan, {"goal": "\udcff", "steps": [{"title": "\ud83d"}]}) == Plan("\udcff", [Step("\ud83d")])
    assert problems(Step, '{"title": 1, "x\\ud83d": 2}')[0] == "$.title: must be a string, not 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\ud800", "half of a surrogate pair stands where none may"),
        ('{"x"\ud800: 1}', "half of a surrogate pair stands where none may"),
        ('{"x": "a", "x": "\ud800"}', "has the key 'x' twice"),
        ('{"x": "\ud800", "x": "a"}', "has the key 'x' twice"),
    ],
)
def test_a_lone_surrogate_hides_nothing_that_is_wrong(text: str, message: str) -> None:
    """Where no string is it is no JSON, and in a string other rules hold as before."""
    with pytest.raises(ParseError, match=message):
        parse(dict[str, str], text)


def test_a_lone_surrogate_survives_among_the_unknown_fields() -> None:
    """What is kept aside is what was sent, too."""
    step = parse(Step, '{"title": "a", "x\\ud83d": ["half \\ud83d"]}', extra="allow")

    assert dict(extras(step)) == {"x\ud83d": ["half \ud83d"]}


def test_unknown_fields_can_be_dropped() -> None:
    """Answers of services that add fields are read with `ignore`."""
    assert parse(Step, '{"title": "a", "more": 1}', extra="ignore") == Step("a")


def test_unknown_fields_can_be_kept_aside_at_every_level() -> None:
    """Slotted and frozen classes too, which have no room for them."""
    text = '{"goal": "g", "steps": [{"title": "a", "colour": "red"}], "more": [1]}'

    plan = parse(Plan, text, extra="allow")

    assert plan == Plan("g", [Step("a")])
    assert dict(extras(plan)) == {"more": [1]}
    assert dict(extras(plan.steps[0])) == {"colour": "red"}
    assert json.dumps(dump(plan), sort_keys=True) == json.dumps(
        {"goal": "g", "more": [1], "steps": [{"colour": "red", "done": False, "title": "a"}], "weight": 1.0},
        sort_keys=True,
    )
    assert dict(extras(Step("a"))) == {}


def test_extras_follow_identity_and_not_equality() -> None:
    """Two equal objects may have come with different extras."""
    first, second = (parse(Plan, {"goal": "g", "n": n}, extra="allow") for n in (1, 2))

    assert first == second
    assert (extras(first)["n"], extras(second)["n"]) == (1, 2)


def test_allow_reports_problems_like_forbid() -> None:
    """Keeping extras changes nothing about what is wrong."""
    text = '{"goal": 1, "steps": [{"title": " "}, 3], "more": 1}'

    assert problems(Plan, text, extra="allow") == [
        "$.goal: must be a string, not 1",
        "$.steps[0]: the title must not be blank",
        "$.steps[1]: must be an object, not 3",
    ]


def test_aliases_are_read_and_so_is_the_name() -> None:
    """`dump(by_alias=False)` writes names; both must load."""

    @dataclass
    class Named:
        file_path: str = field(metadata={"alias": "filePath"})

    assert parse(Named, {"filePath": "a"}) == parse(Named, {"file_path": "a"}) == Named("a")
    assert parse(Named, {"path": "a"}, aliases={"file_path": "path"}) == Named("a")
    assert problems(Named, {}) == ["$.filePath: is required"]
    assert problems(Named, {"filePath": "a", "file_path": "b"}) == [
        "$.file_path: is the same field as 'filePath'; give one of them"
    ]


def test_an_alias_may_be_another_fields_name() -> None:
    """Swapped names must not shadow each other."""

    @dataclass
    class Swapped:
        a: int = field(metadata={"alias": "b"})
        b: int = field(metadata={"alias": "a"})

    assert parse(Swapped, {"a": 1, "b": 2}) == Swapped(a=2, b=1)
    assert parse(Swapped, dump(Swapped(1, 2))) == Swapped(1, 2)


def test_two_fields_with_one_key_are_refused() -> None:
    """One of them could never be read."""

    @dataclass
    class Clash:
        a: int = field(metadata={"alias": "x"})
        b: int = field(metadata={"alias": "x"})

    with pytest.raises(SerdeError, match="fields 'a' and 'b' are both written as 'x'"):
        parse(Clash, {})


@dataclass
class Limits:
    size: int = field(default=1, metadata={"ge": 1, "le": 9})
    ratio: float = field(default=0.5, metadata={"gt": 0, "lt": 1})
    name: str = field(default="abc", metadata={"min_length": 2, "max_length": 4, "regex": "^[a-z]+$"})
    items: list[int] = field(default_factory=lambda: [1], metadata={"min_length": 1, "max_length": 2})
    either: int | str | None = field(default=None, metadata={"ge": 3, "min_length": 2})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"size": 0}, "$.size: must be at least 1, not 0"),
        ({"size": 10}, "$.size: must be at most 9, not 10"),
        ({"ratio": 0}, "$.ratio: must be greater than 0.0, not 0"),
        ({"ratio": 1.0}, "$.ratio: must be less than 1.0, not 1.0"),
        ({"name": "a"}, "$.name: must have at least 2 characters, not 1"),
        ({"name": "abcde"}, "$.name: must have at most 4 characters, not 5"),
        ({"name": "ABC"}, "$.name: must match '^[a-z]+$', not \"ABC\""),
        ({"items": []}, "$.items: must not be empty"),
        ({"items": [1, 2, 3]}, "$.items: must have at most 2 items, not 3"),
        ({"either": 2}, "$.either: must be at least 3, not 2"),
        ({"either": "x"}, "$.either: must have at least 2 characters, not 1"),
    ],
)
def test_constraints_of_the_metadata_hold(given: dict[str, Any], problem: str) -> None:
    """Each key, on plain fields, containers and the members of unions that it can mean."""
    assert problems(Limits, given) == [problem]


def test_metadata_of_others_is_ignored() -> None:
    """Other libraries keep their keys in the same place, some with names that pydantic knows."""
    theirs = {"title": object(), "exclude": True, "frozen": 1, "default_factory": 3, "strict": False, 7: "x", "init": 0}

    @dataclass
    class Shared:
        x: int = field(default=1, metadata=theirs)

    assert parse(Shared, '{"x": 2}') == Shared(2)
    assert dump(Shared(2)) == {"x": 2}
    assert problems(Shared, '{"x": "2"}') == ['$.x: must be an integer, not "2"']


@pytest.mark.parametrize(
    ("kind", "metadata", "reason"),
    [
        (int, {"min_length": 1}, "metadata 'min_length' does not apply to int"),
        (str, {"ge": 1}, "metadata 'ge' does not apply to str"),
        (list[str], {"regex": "x"}, "metadata 'regex' does not apply to list"),
        (int | float, {"regex": "x"}, "metadata 'regex' applies to none of its types"),
        (str, {"regex": "("}, "metadata 'regex' is not a regular expression"),
        (str, {"min_length": -1}, "metadata 'min_length' must be a length, not -1"),
        (str, {"alias": 5}, "metadata 'alias' must be a string, not 5"),
    ],
)
def test_metadata_that_means_nothing_is_refused(kind: Any, metadata: dict[str, Any], reason: str) -> None:
    """A constraint that silently does nothing is worse than an error."""
    with pytest.raises(SerdeError) as caught:
        parse(_with_field(kind, metadata), {})

    assert reason in str(caught.value)
    assert "Bad.x" in caught.value.path


def _with_field(kind: Any, metadata: dict[str, Any] | None = None) -> type:
    namespace = {"__annotations__": {"x": kind}, "x": field(metadata=metadata or {})}
    return dataclass(type("Bad", (), namespace))


class Opaque: ...


def test_a_type_that_json_cannot_hold_is_named() -> None:
    """The author sees which field it is, and what to do."""
    with pytest.raises(SerdeError) as caught:
        parse(_with_field(list[Opaque]), {})

    assert caught.value.path == "Bad.x"
    assert "Opaque" in caught.value.reason
    assert "use a dataclass or a JSON type" in caught.value.reason


def test_annotations_that_name_nothing_are_refused_by_name() -> None:
    """A typing-only import is the usual cause."""
    with pytest.raises(SerdeError, match="cannot resolve 'Missing'"):
        parse(_with_field("Missing"), {})


def test_recursive_and_generic_dataclasses_are_read() -> None:
    """Each specialisation is checked with its own type."""
    tree = parse(Node[int], {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]})

    assert tree == Node(1, (Node(2, (Node(3),)),))
    assert problems(Node[int], {"value": 1, "children": [{"value": "2"}]}) == [
        '$.children[0].value: must be an integer, not "2"'
    ]
    assert parse(Node[str], {"value": "x"}) == Node("x")


def test_inherited_type_arguments_are_put_in() -> None:
    """`class Ints(Node[int])` knows what its value is."""

    @dataclass(frozen=True)
    class Box(Generic[T]):
        value: T

    @dataclass(frozen=True)
    class IntBox(Box[int]):
        more: int = 0

    assert problems(IntBox, {"value": "x"}) == ['$.value: must be an integer, not "x"']


def test_classes_of_a_running_function_may_name_each_other() -> None:
    """Tests and notebooks define dataclasses inside functions, often with postponed annotations."""

    @dataclass
    class Leaf:
        n: int

    @dataclass
    class Tree:
        leaves: "list[Leaf]"
        sub: "Tree | None" = None

    assert parse(Tree, {"leaves": [{"n": 1}], "sub": {"leaves": []}}) == Tree([Leaf(1)], Tree([]))


def test_fields_outside_init_are_computed_and_init_only_ones_are_read() -> None:
    """`field(init=False)` and `InitVar` keep their meaning, with extras allowed too."""

    @dataclass
    class Area:
        side: int
        scale: InitVar[int] = 1
        unit: str = field(init=False, default="m")
        area: int = field(init=False)

        def __post_init__(self, scale: int) -> None:
            self.area = self.side**2 * scale

    for extra in ("forbid", "allow"):
        assert parse(Area, {"side": 3, "scale": 2}, extra=extra) == Area(3, 2)
    assert problems(Area, {"side": 3, "area": 9})[0].startswith("$.area: is not a known field")


def test_a_post_init_that_breaks_is_a_problem_and_keeps_its_cause() -> None:
    """The model's arguments must not crash a run, whatever a class does with them."""

    @dataclass
    class Odd:
        x: int

        def __post_init__(self) -> None:
            raise KeyError(self.x)

    with pytest.raises(ParseError) as caught:
        parse(Odd, '{"x": 1}')

    error = caught.value
    assert str(error) == "$: cannot be used (KeyError: 1)"
    assert isinstance(error.__cause__, KeyError)


def test_the_union_member_that_was_meant_is_explained() -> None:
    """A tag tells which member was meant; the others' complaints would only confuse."""

    @dataclass
    class Move:
        kind: Literal["move"]
        to: str

    @dataclass
    class Remove:
        kind: Literal["remove"]
        force: bool

    assert parse(list[Move | Remove], [{"kind": "remove", "force": True}]) == [Remove("remove", True)]
    assert problems(list[Move | Remove], [{"kind": "remove", "force": "y"}]) == [
        '$[0].force: must be true or false, not "y"'
    ]


def test_every_type_of_the_outermost_value_is_read() -> None:
    """Structured answers are lists, and options are single values."""
    assert parse(list[Step], [{"title": "a"}]) == [Step("a")]
    assert parse(Step | None, "null") is None
    assert parse(int, "3") == 3
    assert problems(Step, "[]") == ["$: must be an object, not an array"]


@dataclass
class Numbers:
    """Integers in every place where they can be."""

    limit: int = 0
    some: list[int] = field(default_factory=list[int])
    at_most: int = field(default=1, metadata={"le": 9})
    maybe: int | None = None
    either: int | str = 0
    both: int | float = 0
    by_key: dict[int, int] = field(default_factory=dict[int, int])
    ratio: float = 0.5


def test_a_number_without_a_fraction_is_an_integer() -> None:
    """JSON has one kind of number, and the schema that models are given takes 5.0 for an integer."""
    text = '{"limit": 5.0, "some": [1, 2.0], "at_most": 9.0, "maybe": 1e3, "either": 3.0, "by_key": {"1": 2.0}, "ratio": 1.0}'
    read = parse(Numbers, text)
    assert read == Numbers(5, [1, 2], 9, 1000, 3, 0, {1: 2}, 1.0)
    assert [type(value) for value in (read.limit, read.some[1], read.at_most, read.maybe, read.either)] == [int] * 5
    assert type(read.ratio) is float
    assert type(parse(Numbers, '{"both": 2.0}').both) is float
    assert problems(Numbers, '{"limit": 5.5}') == ["$.limit: must be an integer, not 5.5"]
    assert problems(Numbers, '{"at_most": 10.0}') == problems(Numbers, '{"at_most": 10}')
    assert problems(Numbers, '{"limit": true, "some": ["1"]}') == [
        "$.limit: must be an integer, not true",
        '$.some[0]: must be an integer, not "1"',
    ]
