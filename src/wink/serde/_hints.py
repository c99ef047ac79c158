"""Resolve the annotations of a class or a function, those that name local classes too."""

import inspect
import typing
from collections.abc import Callable
from types import CellType, FrameType, FunctionType

from wink.errors import SerdeError

_resolved: dict[object, dict[str, typing.Any]] = {}


def type_hints(subject: type | Callable[..., object]) -> dict[str, typing.Any]:
    """The annotations of `subject` as types, with `Annotated` kept.

    `typing.get_type_hints` sees a module's names only. A class or function defined inside a function may also name what
    that function defines, so those names are looked up first, in the closures of its methods and, while that function is
    still running, in its frame. What was resolved once stays resolved.

    >>> def build() -> type:
    ...     class Leaf: ...
    ...     class Tree:
    ...         leaves: "list[Leaf]"
    ...     return type_hints(Tree)["leaves"].__args__[0].__name__
    >>> build()
    'Leaf'
    """
    try:
        known = _resolved.get(subject)
    except TypeError:  # a callable object that cannot be hashed
        return _resolve(subject)
    if known is None:
        known = _resolved[subject] = _resolve(subject)
    return known


def learn_names(annotation: object) -> None:
    """Resolve the annotations of all local dataclasses in a type, as long as the function that defines them runs.

    What cannot be resolved is passed over: whoever needs it says so.
    """
    pending, met = [annotation], set[int]()
    while pending:
        found = pending.pop()
        if id(found) in met:
            continue
        met.add(id(found))
        pending += (*typing.get_args(found), typing.get_origin(found))
        if isinstance(found, type) and "<locals>" in found.__qualname__ and hasattr(found, "__dataclass_fields__"):
            try:
                pending += type_hints(found).values()
            except SerdeError:
                continue


def known_hints(function: Callable[..., object]) -> dict[str, typing.Any]:
    """The annotations of a function that can be resolved, without those that cannot.

    What is imported for type checkers only has no value at run time, and is no mistake in a function.
    """
    try:
        return type_hints(function)
    except SerdeError:
        names, found = _local_names(function), dict[str, typing.Any]()
        for name, annotation in getattr(function, "__annotations__", {}).items():
            alone = FunctionType(known_hints.__code__, getattr(function, "__globals__", {}))
            alone.__annotations__ = {name: annotation}
            try:
                found |= typing.get_type_hints(alone, localns=names, include_extras=True)
            except Exception:  # noqa: S112 - foreign code: whatever it is, it is not known
                continue
        return found


def _resolve(subject: type | Callable[..., object]) -> dict[str, typing.Any]:
    if "<locals>" not in getattr(subject, "__qualname__", ""):  # names of a function come before those of its module
        try:
            return typing.get_type_hints(subject, include_extras=True)
        except NameError:
            pass
        except Exception as error:  # foreign code: annotations are expressions, and can raise anything
            raise SerdeError(_name(subject), f"its annotations cannot be evaluated ({error})") from error
    try:
        return typing.get_type_hints(subject, localns=_local_names(subject), include_extras=True)
    except NameError as error:
        raise SerdeError(
            _name(subject), f"cannot resolve {error.name!r} in its annotations; define {error.name!r} at module level"
        ) from error
    except Exception as error:  # foreign code
        raise SerdeError(_name(subject), f"its annotations cannot be evaluated ({error})") from error


def _local_names(subject: type | Callable[..., object]) -> dict[str, object]:
    names: dict[str, object] = {}
    classes = subject.__mro__ if isinstance(subject, type) else ()
    for owner in classes or (subject,):
        module, qualname = getattr(owner, "__module__", ""), getattr(owner, "__qualname__", "")
        outer = qualname.split(".<locals>.")[:-1]
        frame: FrameType | None = inspect.currentframe()
        while frame is not None and outer:
            if frame.f_globals.get("__name__") == module and frame.f_code.co_qualname in _prefixes(outer):
                names = {**frame.f_locals, **names}
            frame = frame.f_back
        for part in (*vars(owner).values(), owner) if isinstance(owner, type) else (owner,):
            names.update(_closure(part))
        if isinstance(owner, type):
            names.setdefault(owner.__name__, owner)
    return names


def _prefixes(outer: list[str]) -> set[str]:
    return {".<locals>.".join(outer[: count + 1]) for count in range(len(outer))}


def _closure(part: object) -> dict[str, object]:
    code = getattr(part, "__code__", None)
    cells: tuple[CellType, ...] = getattr(part, "__closure__", None) or ()
    found: dict[str, object] = {}
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _name(subject: object) -> str:
    return getattr(subject, "__qualname__", None) or repr(subject)
