"""What one request asks for, with everything that answering it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from starlette.responses import Response

from wink.dataclass import dataclass
from wink.record import CallFilter, Queries
from wink.workspace import Workspace
from wink_ui._sums import Sums

LONGEST_FORM: Final = 8 << 20
"""How many bytes a form may have."""
LONGEST_FILTER: Final = 1000
"""How many characters are looked for at most."""
_FILTERS: Final = ("session", "tool", "outcome", "path", "text")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: fields of its address and of its form, and whether only a part of a page is wanted.

    `root` is what all addresses of the workspace begin with, and `path` is without it.
    """

    workspace: Workspace
    sums: Sums
    seal: Callable[[object], str]
    method: str
    path: str
    place: Mapping[str, str]
    query: Mapping[str, str]
    form: tuple[tuple[str, str], ...] = ()
    is_part: bool = False
    root: str = ""
    portable_names: Callable[[], bool] = bool
    check_settings: Callable[[], object] = bool

    @property
    def queries(self) -> Queries:
        """Questions to the record."""
        return self.workspace.record.queries

    @property
    def filters(self) -> dict[str, str]:
        """The filters in the address that are set."""
        given = {name: self.query.get(name, "").strip()[:LONGEST_FILTER] for name in _FILTERS}
        return {name: value for name, value in given.items() if value}

    @property
    def wanted(self) -> CallFilter:
        """The calls that are meant by them."""
        found = self.filters.get
        return CallFilter(
            session=found("session"),
            tool=found("tool"),
            outcome=found("outcome"),
            text=found("text", ""),
            path=found("path", ""),
        )

    def value(self, name: str, otherwise: str = "") -> str:
        """A field of the form, or of the address."""
        return next((value for key, value in self.form if key == name), self.query.get(name, otherwise))

    def values(self, name: str) -> tuple[str, ...]:
        """All fields of this name of the form."""
        return tuple(value for key, value in self.form if key == name)

    def number(self, name: str) -> int | None:
        """A field that is a number; None for anything else, as in an address that somebody has typed."""
        text = self.value(name).removeprefix("c")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None

    def exact_number(self, name: str) -> int | None:
        """A field that is a number, or None where there is none; raises `ValueError` for anything else."""
        number = self.number(name)
        if number is None and self.value(name):
            raise ValueError(f"{self.value(name)!r} is no number; go back and try again")
        return number


Answer = Callable[[Asked], Response]


def fields_of(body: bytes) -> tuple[tuple[str, str], ...]:
    """The fields of a form."""
    return tuple(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20_000))


def path_field(path: str) -> str:
    """A path for a form or an address, whatever bytes it consists of."""
    return quote(os.fsencode(path), safe="/")


def path_of(text: str) -> str:
    """The reverse of `path_field`."""
    return os.fsdecode(unquote_to_bytes(text))
