"""Which attributes of a value a script may reach, and formatting that keeps to the same rule."""

from __future__ import annotations

import importlib
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

# A function's, a frame's or a traceback's attributes lead to the interpreter itself.
REFUSED_STARTS: Final = ("_", "gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_", "im_")
REFUSED: Final = frozenset({"mro"})
ALLOWED: Final = frozenset({"__name__", "__doc__"})

# How `string.Formatter` takes field names apart.
_split: Callable[[str], tuple[int | str, Iterable[tuple[bool, int | str]]]] = importlib.import_module(
    "_string"
).formatter_field_name_split

PLAIN: Final[tuple[type[Any], ...]] = (
    *(bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, type(None)),
)


def attribute(value: Any, name: str) -> Any:
    """`value.name`, unless it leads out of what a script may use; raises `AttributeError`."""
    if name in ("format", "format_map"):
        if isinstance(value, str):
            return _formatting(value, name)
        raise AttributeError(f"{name} can only be called on a text, as in 'text'.{name}(...)")
    if name not in ALLOWED and (name.startswith(REFUSED_STARTS) or name in REFUSED):
        raise AttributeError(f"the attribute {name!r} cannot be used here")
    found = getattr(value, name)
    if isinstance(found, ModuleType):
        raise AttributeError(f"the attribute {name!r} cannot be used here")
    return found


def get_attribute(value: Any, name: str, *default: Any) -> Any:
    """`getattr` within the same bounds."""
    try:
        return attribute(value, str(name))
    except AttributeError:
        if default:
            return default[0]
        raise


def has_attribute(value: Any, name: str) -> bool:
    """`hasattr` within the same bounds."""
    try:
        attribute(value, str(name))
    except AttributeError:
        return False
    return True


def kind_of(value: Any) -> Any:
    """The class of plain data, so that comparing it works; of all else only the name: a class can be called."""
    return next((kind for kind in PLAIN if kind is value.__class__), value.__class__.__name__)


class Formatter(string.Formatter):
    """`str.format` whose fields go through the same bounds."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The value of `a.b[c]`."""
        first, rest = _split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            value = attribute(value, str(key)) if is_attribute else value[key]
        return value, first


def fill(template: str, values: Mapping[str, Any]) -> str:
    """`template.format_map(values)` within the same bounds."""
    return Formatter().vformat(template, (), values)


def _formatting(template: str, name: str) -> Callable[..., str]:
    def format_map(values: Mapping[str, Any]) -> str:
        return fill(template, values)

    def format_fields(*args: Any, **values: Any) -> str:
        return Formatter().vformat(template, args, values)

    return format_map if name == "format_map" else format_fields
