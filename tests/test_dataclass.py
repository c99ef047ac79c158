"""What the standard library makes of a class, `wink.dataclass` makes of it too, later."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any, Generic, TypeVar

import pytest

from wink.dataclass import dataclass

T = TypeVar("T")
Make = Callable[..., Any]


def classes(made: Make) -> dict[str, type[Any]]:
    """A class of each form, made by one of the two."""

    @made(frozen=True, slots=True)
    class Point:
        """Two numbers."""

        x: int
        y: int = 0

    @made(frozen=True, slots=True)
    class Basket(Generic[T]):
        """What is kept apart, not compared and not shown."""

        name: str
        things: list[T] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)
        size: int = field(init=False)
        seen: list[int] = field(init=False, default_factory=list, hash=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", len(self.things))

    @made(frozen=True)
    class Empty:
        """No fields, and a place for anything in it."""

    @made(frozen=True, slots=True)
    class Odd:
        """With methods of its own."""

        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "odd"

    @made(frozen=True, slots=True)
    class Unhashed:
        """Equal as it sees fit."""

        x: int

        def __eq__(self, other: object) -> bool:
            return True

    @made(frozen=True)
    class Below(Empty):
        """One of the standard library's, since there are fields above."""

        z: int = 1

    return {cls.__name__: cls for cls in (Point, Basket, Empty, Odd, Unhashed, Below)}


OURS, THEIRS = classes(dataclass), classes(dataclasses.dataclass)
ARGUMENTS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1,), {}),
    ("Point", (1, 2), {}),
    ("Point", (), {"y": 2, "x": 1}),
    ("Point", (), {}),
    ("Point", (1, 2, 3), {}),
    ("Point", (1,), {"z": 1}),
    ("Basket", ("a",), {}),
    ("Basket", ("a", [1, 2]), {"note": "n"}),
    ("Basket", ("a",), {"size": 3}),
    ("Empty", (), {}),
    ("Odd", (1,), {}),
    ("Unhashed", (1,), {}),
    ("Below", (), {}),
]


def outcome(act: Callable[[], object]) -> object:
    """What comes of it, or the error."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error).replace("classes.<locals>.", "")


@pytest.mark.parametrize(("name", "positional", "named"), ARGUMENTS)
def test_instances_are_the_same(name: str, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Made, shown, compared, hashed, replaced, copied and refused alike."""
    told: list[list[object]] = []
    for cls in (OURS[name], THEIRS[name]):
        made = outcome(lambda cls=cls: cls(*positional, **named))
        if isinstance(made, tuple):
            told.append([made])
            continue
        first = next((one.name for one in dataclasses.fields(cls) if one.init), "nothing")
        told.append([
            repr(made),
            made == cls(*positional, **named),
            made == object(),
            cls.__eq__(made, 3),
            outcome(lambda made=made: hash(made) == hash(copy.copy(made))),
            outcome(lambda made=made: dataclasses.asdict(made)),
            outcome(lambda made=made, first=first: repr(dataclasses.replace(made, **{first: 5}))),
            repr(copy.deepcopy(made)),
            outcome(lambda made=made, first=first: setattr(made, first, 1)),
            outcome(lambda made=made, first=first: delattr(made, first)),
        ])  # fmt: skip
    assert told[0] == told[1]


@pytest.mark.parametrize("name", OURS)
def test_classes_say_the_same(name: str) -> None:
    """Before an instance is made, too."""
    fresh = classes(dataclass)[name]
    for cls in (fresh, OURS[name]):
        assert str(inspect.signature(cls)) == str(inspect.signature(THEIRS[name]))
        assert inspect.signature(cls.__init__) == inspect.signature(cls.__init__)
        assert repr(cls.__dataclass_params__) == repr(THEIRS[name].__dataclass_params__)
        assert [*map(repr, dataclasses.fields(cls))] == [*map(repr, dataclasses.fields(THEIRS[name]))]
        for attribute in ("__match_args__", "__doc__", "__slots__", "__module__", "__annotations__", "__hash__"):
            ours, theirs = getattr(cls, attribute, None), getattr(THEIRS[name], attribute, None)
            assert callable(ours) == callable(theirs)
            assert ours == theirs or callable(ours)


@dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, where pickles find it."""

    x: int
    y: tuple[int, ...] = ()


class Beneath(Kept):
    """One without slots of its own has a place for anything but the fields."""

    def __init__(self) -> None:
        super().__init__(1)


@dataclasses.dataclass(frozen=True)
class Further(Kept):
    """The standard library's, above one of ours."""

    z: int = 3


def test_pickles_hold_the_fields() -> None:
    """As those of a frozen class with slots do, which nobody could set one by one."""
    assert pickle.loads(pickle.dumps(Kept(1, (2,)))) == Kept(1, (2,))


def test_what_is_made_of_one_goes_on_working() -> None:
    """A plain subclass, and a dataclass that adds fields."""
    one: Any = Beneath()
    one.more = 2
    assert (one.x, one.more) == (1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 2
    assert str(inspect.signature(Further)) == "(x: 'int', y: 'tuple[int, ...]' = (), z: 'int' = 3) -> None"
    assert (Further(1), Further(1, z=4)) == (Further(1, (), 3), Further(1, (), 4))
    assert Further(1) != Kept(1)


def test_an_init_that_is_wrapped_stays_wrapped() -> None:
    """Before and after it is compiled, and its signature is the fields'."""

    @dataclass(frozen=True, slots=True)
    class Wrapped:
        """Counted."""

        x: int

    calls: list[int] = []
    compiled_later: Any = Wrapped.__init__

    @functools.wraps(compiled_later)
    def counting(self: Any, *values: Any) -> None:
        calls.append(1)
        compiled_later(self, *values)

    Wrapped.__init__ = counting
    assert str(inspect.signature(Wrapped)) == "(x: 'int') -> None"
    assert (Wrapped(1), Wrapped(2).x, calls) == (Wrapped(1), 2, [1, 1, 1])


def test_one_that_holds_itself_can_be_shown() -> None:
    """As in the standard library, with dots for what would be shown again."""
    one = Kept(1, ([],))  # pyright: ignore[reportArgumentType]
    one.y[0].append(one)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert repr(one) == "Kept(x=1, y=([...],))"


def test_other_options_are_left_to_the_standard_library() -> None:
    """So that there is one name to decorate with."""

    @dataclass(order=True)
    class Ordered:
        """Compared."""

        x: int

    assert Ordered(1) < Ordered(2)
    assert dataclass(Ordered)(1) == dataclass(Ordered)(1)
