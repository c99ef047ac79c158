"""Which files a call would change, and how, judged by the names of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

FILE_FIELDS: Final = ("file_path", "path")
SOURCE_FIELDS: Final = ("source_path", "source")
TARGET_FIELDS: Final = ("target_path", "target", "destination_path", "destination")


@dataclass(frozen=True, slots=True)
class Demand:
    """One path that a call would overwrite, move or delete, or, where `old_string` is given, change in part."""

    path: str
    old_string: str | None = None


def demands_of(params: Any) -> tuple[Demand, ...]:
    """The paths that a call with these parameters would change; empty when none of its parameters names one.

    >>> from types import SimpleNamespace as Params
    >>> demands_of(Params(path="a.txt", content="new"))
    (Demand(path='a.txt', old_string=None),)
    >>> demands_of(Params(file_path="a.txt", old_string="one", new_string="two"))
    (Demand(path='a.txt', old_string='one'),)
    >>> [demand.path for demand in demands_of(Params(source_path="a.txt", target_path="b.txt"))]
    ['a.txt', 'b.txt']
    """
    old_string = getattr(params, "old_string", None)
    # An empty old_string means something else in every tool; the whole file is at stake then.
    edited = old_string if isinstance(old_string, str) and old_string else None
    paths = (_text(params, names) for names in (FILE_FIELDS, SOURCE_FIELDS, TARGET_FIELDS))
    return tuple(Demand(path, edited) for path in paths if path is not None)


def _text(params: Any, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = getattr(params, name, None)
        if isinstance(value, str):
            return value
    return None
