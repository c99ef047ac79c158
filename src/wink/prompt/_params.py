"""What a section can learn about the dataclass that its parameters come in."""

import dataclasses
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from wink.errors import PromptValidationError
from wink.tools import Tool

__all__ = ["instance_of", "names_in", "param_descriptions", "refuse_unknown", "required_fields", "type_and_default"]


def names_in(params_type: type[Any]) -> frozenset[str]:
    """What a placeholder may be called: the fields of `params_type`, and its properties."""
    computed = {
        name
        for cls in params_type.__mro__
        for name, value in vars(cls).items()
        if isinstance(value, (property, cached_property))
    }
    return frozenset(computed.union(field.name for field in dataclasses.fields(params_type)))


def required_fields(params_type: type[Any]) -> tuple[str, ...]:
    """The fields that somebody has to give a value, in the order of their declaration."""
    return tuple(
        field.name
        for field in dataclasses.fields(params_type)
        if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )


def instance_of(value: object) -> bool:
    """Whether `value` is an instance of a dataclass, rather than a dataclass itself or anything else."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def type_and_default(params: Any, declared: type[Any] | None) -> tuple[type[Any] | None, Any]:
    """Read an argument that may be a dataclass, an instance of one to use as the default, or nothing."""
    if params is None:
        return declared, None
    if not dataclasses.is_dataclass(params):
        raise PromptValidationError(f"params must be a dataclass or an instance of one, not {params!r}")
    params_type, default = (params, None) if isinstance(params, type) else (type(params), params)
    if declared is not None and not issubclass(params_type, declared):
        raise PromptValidationError(f"params is a {params_type.__qualname__}", dataclass=declared)
    return params_type, default


def refuse_unknown(
    placeholders: AbstractSet[str], params_type: type[Any] | None, section_path: tuple[str, ...]
) -> None:
    """Raise `PromptValidationError` for placeholders that no parameter will ever fill, all of them at once."""
    if params_type is None:
        if placeholders:
            raise PromptValidationError(
                f"{_written(placeholders)} in the text, but the section has no parameters; "
                "name their dataclass, as in MarkdownSection[Params](...), or write '$$' for a dollar sign",
                section_path,
            )
        return
    names = names_in(params_type)
    unknown = placeholders - names
    if unknown:
        from difflib import get_close_matches

        near = [name for wrong in sorted(unknown) for name in get_close_matches(wrong, names, n=1)]
        remedy = f"did you mean {_written(near)}?" if near else f"it has {', '.join(sorted(names)) or 'no fields'}"
        raise PromptValidationError(f"{_written(unknown)} is no field; {remedy}", section_path, dataclass=params_type)


def _written(names: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))


def param_descriptions(tool: Tool[Any, Any]) -> dict[str, str]:
    """The descriptions of a tool's parameters as a model is sent them, by the names of the fields."""
    described = () if tool.params_type is None else dataclasses.fields(tool.params_type)
    told = {one.name: tool.param_descriptions.get(one.name) or one.metadata.get("description") for one in described}
    return {name: text for name, text in told.items() if text}
