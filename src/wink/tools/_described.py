"""Tell a model of a tool's parameters in other words than those beside their fields."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from wink.errors import PromptValidationError

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def checked_descriptions(tool: str, params_type: "type[Any] | None", given: object) -> Mapping[str, str]:
    """The descriptions stripped, when each is a text about a field that there is."""
    if given is None or given == {}:
        return _NONE
    if not isinstance(given, Mapping):
        raise PromptValidationError(f"param_descriptions maps names to texts, {given!r} does not", tool=tool)
    names = [] if params_type is None else [field.name for field in dataclasses.fields(params_type) if field.init]
    checked: dict[str, str] = {}
    for name, text in given.items():  # pyright: ignore[reportUnknownVariableType]
        if name not in names:
            message = f"there is no parameter {name!r} to describe; it has {', '.join(names) or 'none'}"
            raise PromptValidationError(message, tool=tool, dataclass=params_type)
        if not isinstance(text, str) or not text.strip():
            raise PromptValidationError(f"the description of {name!r} must be a text, not {text!r}", tool=tool)
        checked[name] = text.strip()
    return MappingProxyType(checked)


def describe(schema: dict[str, Any], params_type: "type[Any] | None", descriptions: Mapping[str, str]) -> None:
    """Put descriptions into a JSON Schema of `params_type`; keywords beside a `$ref` count since JSON Schema 2019-09."""
    for field in () if params_type is None else dataclasses.fields(params_type):
        if field.name in descriptions:
            key = field.metadata.get("alias") or field.name
            schema["properties"][key]["description"] = descriptions[field.name]
