"""What serde knows of a dataclass: its fields with their keys, types, defaults and constraints."""

import dataclasses
import re
import typing
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, Final

from wink.dataclass import dataclass
from wink.errors import SerdeError
from wink.serde._hints import type_hints
from wink.serde._stated import stated

NUMERIC: Final = ("ge", "gt", "le", "lt")
LENGTHS: Final = ("min_length", "max_length")
CONSTRAINTS: Final = (*NUMERIC, *LENGTHS, "regex")


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One field as serde reads and writes it; `key` is its name in JSON."""

    name: str
    key: str
    type: Any
    required: bool
    default: Any
    default_factory: Any
    in_init: bool
    init_only: bool
    description: str
    constraints: Mapping[str, Any]


_plans: dict[type, tuple[FieldPlan, ...]] = {}


def field_plans(cls: type) -> tuple[FieldPlan, ...]:
    """The fields of `cls`, in order, `InitVar`s included.

    Metadata keys that serde does not know belong to somebody else and are ignored.
    """
    known = _plans.get(cls)
    if known is None:
        known = _plans[cls] = _plan(cls)
    return known


def is_dataclass_type(candidate: object) -> typing.TypeGuard[type]:
    """Whether `candidate` is a dataclass itself, not an instance of one."""
    return isinstance(candidate, type) and dataclasses.is_dataclass(candidate)


def _plan(cls: type) -> tuple[FieldPlan, ...]:
    hints = type_hints(cls)
    # `dataclasses.fields` leaves out InitVars, which `__init__` does take.
    every: dict[str, dataclasses.Field[Any]] = getattr(cls, "__dataclass_fields__")  # noqa: B009
    plans: list[FieldPlan] = []
    for field in every.values():
        kind = str(getattr(field, "_field_type", ""))  # the only mark of an InitVar
        if "CLASSVAR" in kind:
            continue
        hint: Any = hints[field.name]
        init_only = "INITVAR" in kind
        if init_only:
            hint = getattr(hint, "type", hint)
        where = f"{cls.__qualname__}.{field.name}"
        said = stated(hint, field.default)
        factory = field.default_factory if said.default_factory is MISSING else said.default_factory
        metadata = {**said.metadata, **field.metadata}
        plans.append(
            FieldPlan(
                name=field.name,
                key=_text(where, metadata, "alias") or field.name,
                type=said.annotation,
                required=said.default is MISSING and factory is MISSING,
                default=said.default,
                default_factory=factory,
                in_init=field.init,
                init_only=init_only,
                description=_text(where, metadata, "description"),
                constraints=_constraints(where, metadata),
            )
        )
    _refuse_shared_keys(cls, plans)
    return tuple(plans)


def _text(where: str, metadata: Mapping[Any, Any], key: str) -> str:
    value = metadata.get(key, "")
    if not isinstance(value, str):
        raise SerdeError(where, f"metadata {key!r} must be a string, not {value!r}")
    return value


def _constraints(where: str, metadata: Mapping[Any, Any]) -> dict[str, Any]:
    found = {key: metadata[key] for key in CONSTRAINTS if metadata.get(key) is not None}
    for key in LENGTHS:
        length = found.get(key, 0)
        if not isinstance(length, int) or length < 0:
            raise SerdeError(where, f"metadata {key!r} must be a length, not {length!r}")
    pattern = found.get("regex", "")
    if isinstance(pattern, re.Pattern):
        found["regex"] = pattern
    else:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise SerdeError(where, f"metadata 'regex' is not a regular expression: {error}") from error
    return found


def _refuse_shared_keys(cls: type, plans: list[FieldPlan]) -> None:
    owner: dict[str, str] = {}
    for plan in plans:
        first = owner.setdefault(plan.key, plan.name)
        if first != plan.name:
            raise SerdeError(cls.__qualname__, f"fields {first!r} and {plan.name!r} are both written as {plan.key!r}")
