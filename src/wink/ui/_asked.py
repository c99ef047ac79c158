"""What one request asks for, with everything that answering it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from starlette.responses import Response

from wink.record._browsing import Browsing, Wanted
from wink.ui._sums import Sums
from wink.workspace import Workspace

LONGEST_FORM: Final = 8 << 20
"""How many bytes a form may have."""
LONGEST_FILTER: Final = 1000
"""How many characters are looked for at most."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: fields of its address and of its form, and whether only a part of a page is wanted."""

    workspace: Workspace
    sums: Sums
    seal: Callable[[object], str]
    method: str
    path: str
    place: Mapping[str, str]
    query: Mapping[str, str]
    form: tuple[tuple[str, str], ...] = ()
    is_part: bool = False

    @property
    def browsing(self) -> Browsing:
        """Questions to the record."""
        return Browsing(self.workspace.record)

    @property
    def wanted(self) -> Wanted:
        """The filters in the address."""
        names = ("session", "tool", "outcome", "path", "text")
        return Wanted(**{name: self.query.get(name, "").strip()[:LONGEST_FILTER] for name in names})

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
