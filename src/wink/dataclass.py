"""`dataclasses`, whose frozen classes compile their `__init__` when it is first called.

The standard library compiles six methods of every frozen class where it is defined, 0.6 ms a class; a command defines 200 such
classes and makes instances of 40. Here five of the methods are shared, and the sixth waits. What can be seen of a class is the
same: its fields, signature, equality, hash, `repr`, `replace`, pickles and `FrozenInstanceError`.
"""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, field, fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass", "field", "fields", "is_dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a dataclass; one with other options than `frozen` and `slots` is made by the standard library."""

        def made(cls: type) -> type:
            is_plain = options.get("frozen") and options.keys() <= {"frozen", "slots"} and cls.__doc__
            if not is_plain or hasattr(cls, "__dataclass_fields__"):
                return dataclasses.dataclass(**options)(cls)
            return _with_methods(cls, slots=options.get("slots", False))

        return made if cls is None else made(cls)


class _Default:
    """What stands for the value of a factory in a signature."""

    def __repr__(self) -> str:
        return "<factory>"


class _Signature:
    """Whoever asks for the signature of a class finds the one of its `__init__`, which is compiled for that."""

    def __get__(self, instance: object, owner: Any) -> Any:
        if (compiled := getattr(owner.__init__, "compiled", None)) is not None:
            compiled()
        raise AttributeError("__signature__")


_DEFAULT: Final = _Default()
_SIGNATURE: Final = _Signature()


def _with_methods(cls: Any, *, slots: bool) -> Any:
    # A class that defines `__eq__` alone has a `__hash__` too, None.
    has_hash = "__hash__" in vars(cls) and not (cls.__hash__ is None and "__eq__" in vars(cls))
    # Not frozen, as far as the standard library knows: it would compile the two methods that see to that.
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    asked = made.__dataclass_params__
    asked.init = asked.repr = asked.eq = asked.frozen = True
    methods = {"__repr__": _repr, "__eq__": _equality(made), "__signature__": _SIGNATURE}
    if slots:
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in vars(made):
            setattr(made, name, method)
    if not has_hash:
        made.__hash__ = _hash(made)
    made.__setattr__ = made.__delattr__ = _set

    @cache
    def compiled() -> Callable[..., None]:
        made_init = vars(initialize)["__wrapped__"] = _initializer(made)
        if made.__init__ is initialize:  # nobody has put another in its place
            made.__init__ = made_init
        return made_init

    def initialize(self: Any, *values: Any, **named: Any) -> None:
        compiled()(self, *values, **named)

    vars(initialize)["compiled"] = compiled
    initialize.__name__, initialize.__qualname__ = "__init__", f"{made.__qualname__}.__init__"
    made.__init__ = initialize
    return made


def _initializer(cls: Any) -> Callable[..., None]:
    given: dict[str, Any] = {"__put": object.__setattr__, "__default": _DEFAULT}
    parameters, body, defaults = ["self"], list[str](), list[Any]()
    for one in fields(cls):
        name, value, default = one.name, one.name, one.default
        if one.default_factory is not MISSING:
            given[f"__new_{name}"], default = one.default_factory, _DEFAULT
            value = f"__new_{name}() if {name} is __default else {name}" if one.init else f"__new_{name}()"
        elif not one.init:
            given[value := f"__of_{name}"] = default
        if one.init:
            parameters.append(name)
            defaults += [] if default is MISSING else [default]
        if one.init or default is not MISSING:
            body.append(f"__put(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n {'; '.join(body) or 'pass'}", given)  # noqa: S102  as dataclasses do
    initialize = given["__init__"]
    initialize.__defaults__ = tuple(defaults)
    initialize.__annotations__ = {**{one.name: one.type for one in fields(cls) if one.init}, "return": None}
    initialize.__qualname__, initialize.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return initialize


def _values(chosen: Iterable[dataclasses.Field[Any]]) -> Callable[[Any], Any]:
    names = [one.name for one in chosen]
    return attrgetter(*names) if names else lambda _: ()


def _equality(cls: Any) -> Callable[[Any, object], bool]:
    values = _values(one for one in fields(cls) if one.compare)

    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(cls: Any) -> Callable[[Any], int]:
    values = _values(one for one in fields(cls) if (one.compare if one.hash is None else one.hash))
    return lambda self: hash(values(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _set(self: Any, name: str, *value: Any) -> None:
    cls: Any = self.__class__
    if "__dataclass_fields__" in vars(cls) or name in cls.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
    (object.__setattr__ if value else object.__delattr__)(self, name, *value)


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=False):
        object.__setattr__(self, one.name, value)
