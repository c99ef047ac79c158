"""Say of functions and classes what their source says: signatures, fields and docstrings, as they are written."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from textwrap import dedent
from typing import Any

__all__ = ["Described", "cell", "dataclass_fields", "doc", "init_fields", "parameters_of", "signature", "table"]


@dataclass(frozen=True, slots=True)
class Described:
    """A field or an argument: its type as it is written, its default, and what is said of it."""

    name: str
    type: str
    default: str = ""
    text: str = ""


def doc(thing: Any, *, of: str = "") -> str:
    """A docstring without its examples, in Markdown; raises `ValueError` where there is none."""
    text = inspect.cleandoc(thing.__doc__ or "")
    if not text or (isinstance(thing, type) and "__doc__" not in vars(thing)):
        raise ValueError(f"{of or thing!r} has no docstring; write one that says what it is for")
    return re.split(r"^>>> ", text, maxsplit=1, flags=re.MULTILINE)[0].strip()


def signature(function: Any) -> str:
    """`name(argument: Type) -> Type`, with the types as they are written and without their quotes."""
    node = _parsed(function)
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    returns = f" -> {_type(node.returns)}" if node.returns is not None else ""
    return f"{node.name}({', '.join(map(_argument, parameters_of(function)))}){returns}"


def parameters_of(function: Any) -> tuple[Described, ...]:
    """The parameters of a function or method, without `self`."""
    node = _parsed(function)
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    plain = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(plain) - len(node.args.defaults)) + [*node.args.defaults]
    pairs = [*zip(plain, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    return tuple(
        Described(argument.arg, _type(argument.annotation), "" if default is None else ast.unparse(default))
        for argument, default in pairs
        if argument.arg not in ("self", "cls")
    )


def init_fields(cls: type[BaseException]) -> tuple[Described, ...]:
    """What an error keeps: the arguments of the nearest `__init__` of wink's own."""
    for base in cls.__mro__:
        if "__init__" in vars(base) and base.__module__.partition(".")[0] == "wink":
            return parameters_of(vars(base)["__init__"])
    return ()


def dataclass_fields(cls: type) -> tuple[Described, ...]:
    """The fields of a dataclass in their order, with what is said of each beneath it or in its metadata."""
    if not is_dataclass(cls):
        return ()
    written: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        if is_dataclass(base) and base.__module__ != "builtins":
            written |= {name: (kind, text) for name, kind, text in _written(base)}
    return tuple(
        Described(
            one.name,
            written[one.name][0],
            _default(one),
            one.metadata.get("description", "") or written[one.name][1],
        )
        for one in fields(cls)
        if one.init and not one.name.startswith("_")
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, or nothing without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: str, *, code: bool = False) -> str:
    """A text in a cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text}`" if code and text else text


def _argument(one: Described) -> str:
    name = f"{one.name}: {one.type}" if one.type else one.name
    return name if not one.default else f"{name}{' = ' if one.type else '='}{one.default}"


@cache
def _parsed(thing: Any) -> ast.stmt:
    return ast.parse(dedent(inspect.getsource(thing))).body[0]


def _written(cls: type) -> Iterator[tuple[str, str, str]]:
    """Each annotated name of a class body: its type, and the text that stands beneath it."""
    node = _parsed(cls)
    assert isinstance(node, ast.ClassDef)
    for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = after.value if isinstance(after, ast.Expr) else None
            text = inspect.cleandoc(str(value.value)) if isinstance(value, ast.Constant) else ""
            yield statement.target.id, _type(statement.annotation), text


def _type(annotation: ast.expr | None) -> str:
    """A type as it is written, without the quotes of a forward reference."""
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def _default(one: Field[Any]) -> str:
    if one.default is not MISSING:
        return repr(one.default)
    if one.default_factory is not MISSING:
        return repr(one.default_factory())
    return ""
