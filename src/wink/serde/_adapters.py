"""Compile a type into pydantic's validator, once for each way of reading it."""

import collections.abc as abc
import functools
import logging
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from wink.dataclass import dataclass
from wink.errors import SerdeError
from wink.serde._extras import keep_extras
from wink.serde._fields import FieldPlan
from wink.serde._hints import type_hints
from wink.serde._reading import Reading
from wink.serde._shapes import Shape, applies, fields_of, shape_of, type_name

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core.core_schema import CoreSchema

UNION_LABEL: Final = "|"
# Pydantic has a validator for these, which no JSON passes.
_UNREADABLE: Final = frozenset({abc.Callable, abc.Iterator, abc.Generator, abc.AsyncIterator, abc.Awaitable, type})


class _Unreadable(Exception):
    """A type that JSON cannot hold."""


def compile_adapter(annotation: Any, reading: Reading) -> "TypeAdapter[Any]":
    """The pydantic adapter that reads `annotation`; raises `SerdeError` for a type that JSON cannot hold."""
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUserError

    _have_plugins()
    try:
        compiled = _Compiler(reading).field_type(annotation, outermost=True)
        return TypeAdapter(Annotated[Any, _Outermost(compiled)], config=ConfigDict(**_core_config(reading)))
    except (PydanticUserError, _Unreadable) as error:
        raise SerdeError(type_name(annotation), _reason(error)) from error


@functools.cache
def _have_plugins() -> None:
    """Let pydantic look for plugins of its own, once: it reads the entry points of every package, and raises for a bad one.

    It does so where it makes its first validator, which may be ours, and goes without plugins from then on.
    """
    from pydantic import TypeAdapter

    try:
        TypeAdapter(int)
    except Exception as error:  # foreign code
        logging.getLogger("wink.serde").warning("pydantic goes without plugins: %s: %s", type(error).__name__, error)


def _core_config(reading: Reading) -> Any:
    return {
        "strict": not reading.coerce,
        "coerce_numbers_to_str": reading.coerce,
        "allow_inf_nan": False,
        "regex_engine": "python-re",  # the pattern is the author's own, and may look around
        "val_json_bytes": "base64",
    }


class _Compiler:
    """Turns annotations into ones in which every dataclass and union is described to pydantic by us.

    Pydantic reads stdlib dataclasses itself, but takes every metadata key that is also an argument of its `Field` for
    its own, knows no `regex`, and lets one field's alias hide another. Scalars and containers stay pydantic's.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._begun: dict[object, str] = {}

    def field_type(
        self,
        annotation: Any,
        *,
        constraints: Mapping[str, Any] | None = None,
        where: str = "",
        outermost: bool = False,
        integral: bool = True,
    ) -> Any:
        """`annotation` for pydantic, with `constraints` on the members that they apply to.

        An integer may be written as a number with nothing behind the point where that is `integral`.
        """
        shape = shape_of(annotation)
        result = self._bare(shape, outermost)
        if shape.metadata:
            result = _annotated(result, shape.metadata)
        if constraints:
            result = self._constrained(shape, result, constraints, where)
        if integral and shape.type is int and not self.reading.coerce:
            result = _annotated(result, (_integers(),))
        if shape.nullable and shape.kind != "union":
            result = result | None if isinstance(result, type) else typing.Optional[result]  # noqa: UP045
        return result

    def _bare(self, shape: Shape, outermost: bool) -> Any:
        match shape.kind:
            case "dataclass":
                return Annotated[Any, _DataclassNode(self, shape, outermost)]
            case "union":
                return Annotated[Any, _UnionNode(self, shape, {}, "")]
            case "items":
                item = self.field_type(shape.args[0])
                return tuple[item, ...] if shape.type is tuple else shape.type[item]
            case "tuple":
                return tuple[tuple(self.field_type(part) for part in shape.args)]  # type: ignore[misc]
            case "mapping":
                key, value = shape.args  # a key is text, which pydantic reads as the integer that it stands for
                return shape.type[self.field_type(key, integral=False), self.field_type(value)]
            case _ if sys.version_info < (3, 12) and typing.is_typeddict(shape.type):
                return self._typed_dict(shape.type)
            case _:
                if (typing.get_origin(shape.type) or shape.type) in _UNREADABLE:
                    raise _Unreadable(_advice(type_name(shape.type)))
                return shape.type

    def _typed_dict(self, cls: Any) -> Any:
        """The same as `typing_extensions` makes them: before Python 3.12 the standard library's forget which keys are optional."""
        from typing_extensions import TypedDict

        if cls in self._begun:  # it holds itself: pydantic says what to do
            return cls
        self._begun[cls] = ""
        fields: dict[str, Any] = {}
        for name, hint in type_hints(cls).items():
            origin = typing.get_origin(hint)
            is_optional = origin is typing.NotRequired or (
                origin is not typing.Required and name not in cls.__required_keys__
            )
            kind = self.field_type(
                typing.get_args(hint)[0] if origin in (typing.Required, typing.NotRequired) else hint
            )
            fields[name] = cast("Any", typing.NotRequired if is_optional else typing.Required)[kind]
        del self._begun[cls]
        return cast("Any", TypedDict)(cls.__name__, fields)

    def _constrained(self, shape: Shape, result: Any, constraints: Mapping[str, Any], where: str) -> Any:
        from pydantic import Field

        if shape.kind == "union":
            if not any(applies(key, member) for key in constraints for member in shape.args):
                raise SerdeError(where, f"metadata {next(iter(constraints))!r} applies to none of its types")
            return Annotated[Any, _UnionNode(self, shape, constraints, where)]
        for key in constraints:
            if not applies(key, shape):
                raise SerdeError(where, f"metadata {key!r} does not apply to {type_name(shape.type)}")
        arguments = {"pattern" if key == "regex" else key: value for key, value in constraints.items()}
        return _annotated(result, (Field(**arguments),))

    def reference(self, shape: Shape) -> tuple[str, bool]:
        """The name of a dataclass in pydantic's definitions, and whether it was named before."""
        key = (shape.type, shape.args)
        known = self._begun.get(key)
        if known is not None:
            return known, True
        name = self._begun[key] = f"{shape.type.__name__}:{len(self._begun)}"
        return name, False


@dataclass(frozen=True, slots=True)
class _Outermost:
    """Hides a type from `TypeAdapter`, which takes no configuration for types that may have their own."""

    annotation: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        return handler.generate_schema(self.annotation)


@dataclass(frozen=True, slots=True)
class _UnionNode:
    """A union whose members' errors can be told apart by position."""

    compiler: _Compiler
    shape: Shape
    constraints: Mapping[str, Any]
    where: str

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema

        choices: list[CoreSchema | tuple[CoreSchema, str]] = []
        no_float = all(shape_of(member).type is not float for member in self.shape.args)
        for index, member in enumerate(self.shape.args):
            apt = {key: value for key, value in self.constraints.items() if applies(key, member)}
            compiled = self.compiler.field_type(member, constraints=apt, where=self.where, integral=no_float)
            choices.append((handler.generate_schema(compiled), f"{UNION_LABEL}{index}"))
        schema = core_schema.union_schema(choices)
        return core_schema.nullable_schema(schema) if self.shape.nullable else schema


@dataclass(frozen=True, slots=True)
class _DataclassNode:
    """A dataclass with our keys, constraints and extras."""

    compiler: _Compiler
    shape: Shape
    outermost: bool

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema

        reference, begun = self.compiler.reference(self.shape)
        if begun:
            return core_schema.definition_reference_schema(reference)
        aliases = dict(self.compiler.reading.aliases) if self.outermost else {}
        described = [
            (plan, self._field_schema(plan, annotation, handler))
            for plan, annotation in fields_of(self.shape)
            if plan.in_init or not plan.required
        ]
        keys = {aliases.get(plan.name, plan.key) for plan, _ in described}
        lookup = {plan.name: _lookup(plan, aliases.get(plan.name, plan.key), keys) for plan, _ in described}
        if self.compiler.reading.extra == "allow":
            return self._allowing(described, lookup, reference)
        cls: type = self.shape.type
        init_only = any(plan.init_only for plan, _ in described)
        arguments = core_schema.dataclass_args_schema(
            cls.__name__,
            [
                core_schema.dataclass_field(
                    plan.name,
                    schema,
                    kw_only=True,
                    init=plan.in_init,
                    init_only=plan.init_only,
                    validation_alias=lookup[plan.name],
                )
                for plan, schema in described
            ],
            collect_init_only=init_only,
            extra_behavior=self.compiler.reading.extra,
        )
        return core_schema.dataclass_schema(
            cls,
            arguments,
            [plan.name for plan, _ in described if not plan.init_only],
            post_init=hasattr(cls, "__post_init__"),
            slots=hasattr(cls, "__slots__"),
            ref=reference,
            # A dataclass does not inherit the configuration of what it is in.
            config=_core_config(self.compiler.reading),
        )

    def _field_schema(self, plan: FieldPlan, annotation: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic.errors import PydanticUserError
        from pydantic_core import core_schema

        where = f"{type_name(self.shape.type)}.{plan.name}"
        try:
            compiled = self.compiler.field_type(annotation, constraints=plan.constraints, where=where)
            schema = handler.generate_schema(compiled)
        except (PydanticUserError, _Unreadable) as error:
            raise SerdeError(where, _reason(error)) from error
        if plan.default is not MISSING:
            return core_schema.with_default_schema(schema, default=plan.default)
        if plan.default_factory is not MISSING:
            return core_schema.with_default_schema(schema, default_factory=plan.default_factory)
        return schema

    def _allowing(
        self, described: "list[tuple[FieldPlan, CoreSchema]]", lookup: Mapping[str, Any], reference: str
    ) -> "CoreSchema":
        from pydantic_core import core_schema

        fields = {
            plan.name: core_schema.model_field(schema, validation_alias=lookup[plan.name])
            for plan, schema in described
            if plan.in_init
        }
        build = _builder(self.shape.type, [plan for plan, _ in described])
        return core_schema.no_info_after_validator_function(
            build, core_schema.model_fields_schema(fields, extra_behavior="allow"), ref=reference
        )


def _builder(cls: type, plans: list[FieldPlan]) -> Callable[[Any], object]:
    """Build a dataclass as its `__init__` would, and put the extras aside."""
    init_only = [plan.name for plan in plans if plan.init_only]
    unset = [plan for plan in plans if not plan.in_init]
    post_init: Callable[..., None] | None = getattr(cls, "__post_init__", None)

    def build(parsed: tuple[dict[str, Any], dict[str, Any] | None, object]) -> object:
        values, found, _ = parsed
        obj = cast("object", object.__new__(cls))
        arguments = [values.pop(name) for name in init_only]
        for plan in unset:
            values[plan.name] = plan.default if plan.default is not MISSING else plan.default_factory()
        for name, value in values.items():
            object.__setattr__(obj, name, value)
        if post_init is not None:
            post_init(obj, *arguments)
        if found:
            keep_extras(obj, found)
        return obj

    return build


def _lookup(plan: FieldPlan, key: str, keys: set[str]) -> str | list[list[str | int]] | None:
    if key == plan.name:
        return None
    # The Python name is understood too (`dump(by_alias=False)` writes it), unless it is another field's key.
    return key if plan.name in keys else [[key], [plan.name]]


def _integers() -> Any:
    from pydantic import BeforeValidator

    return BeforeValidator(_integral)


def _integral(value: Any) -> Any:
    """JSON has one kind of number, and JSON Schema takes 5.0 for an integer: https://json-schema.org, 2020-12, 6.1.1."""
    return int(value) if type(value) is float and value.is_integer() else value


def _annotated(annotation: Any, metadata: tuple[Any, ...]) -> Any:
    return cast("Any", Annotated)[(annotation, *metadata)]


def _reason(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    if "Unable to generate pydantic-core schema for" in text:
        return _advice(text.partition(" for ")[2].rstrip("."))
    return text.rstrip(".")


def _advice(name: str) -> str:
    return f"JSON cannot hold {name}; use a dataclass or a JSON type"
