"""List all that was in a workspace at one time, with where to find it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from wink.dataclass import dataclass
from wink.filesystem import FileVersion, Kept
from wink_history._objects import Malformed

ItemKind = Literal["file", "directory", "link", "other"]
Marks = tuple[int, int, int, int]
"""Inode, time of change in nanoseconds, that of its attributes, and the time at which it was read."""
_SETTLED_NS: Final = 100_000_000
"""A time of change this near to that of reading may hide a second change."""


@dataclass(frozen=True, slots=True)
class Item:
    """One path as it was. `missing` says why its content was not taken in, and that it cannot be restored.

    `blob` and `digest` are git's id of the content and its SHA-256, in hexadecimal digits; `attributes` is JSON.
    """

    path: str
    kind: ItemKind
    mode: int
    size: int = 0
    blob: str = ""
    digest: str = ""
    target: str | None = None
    attributes: str = ""
    marks: Marks = (0, 0, 0, 0)
    missing: str = ""

    def is_still(self, inode: int, modified_ns: int, changed_ns: int) -> bool:
        """Whether a file with these marks was not touched since it was read, for sure."""
        return self.marks[:3] == (inode, modified_ns, changed_ns) and changed_ns + _SETTLED_NS < self.marks[3]

    def version(self) -> FileVersion:
        """The item as one side of a change, whose content `Archive.open` gives."""
        inode, modified_ns, *_ = self.marks
        kept = Kept(inode, modified_ns, staged_name(self), self.digest or None)
        return FileVersion(self.kind, self.size, self.mode, self.target, kept=kept)


def staged_name(item: Item) -> str | None:
    """A name for the item's content among those of pre-images; no transaction's begins like this."""
    return f"@{item.blob}.{item.digest}.{item.attributes.encode().hex()}" if item.blob else None


def parse_staged_name(name: str) -> tuple[str, str, str] | None:
    """Blob, digest and attributes of what `staged_name` gave; None for the name of a pre-image."""
    if not name.startswith("@"):
        return None
    blob, digest, attributes = name[1:].split(".")
    return blob, digest, bytes.fromhex(attributes).decode()


def listing_content(items: Iterable[Item]) -> bytes:
    """JSON, one line an item; a lone surrogate stands for a byte of a name that is no UTF-8."""
    encode = json.JSONEncoder(separators=(",", ":")).encode
    return b"".join(encode(_facts(item)).encode("ascii") + b"\n" for item in items)


def parse_listing(content: bytes) -> dict[str, Item]:
    """The reverse, by path; raises `Malformed`."""
    found: dict[str, Item] = {}
    try:
        for line in content.splitlines():
            facts: dict[str, Any] = json.loads(line)
            if "marks" in facts:
                facts["marks"] = tuple(facts["marks"])
            item = Item(**facts)
            found[item.path] = item
    except (ValueError, TypeError) as error:
        raise Malformed(f"the listing of a checkpoint cannot be read: {error}") from None
    return found


def _facts(item: Item) -> Mapping[str, object]:
    facts = {name: getattr(item, name) for name in Item.__slots__}
    always = ("path", "kind", "mode")
    return {
        name: value for name, value in facts.items() if name in always or value or (name == "target" and value == "")
    }
