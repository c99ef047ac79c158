"""Write down what git cannot hold of a change: modes, times to the nanosecond, extended attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from wink.filesystem import Attributes, FileChange, FileVersion

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


def side_content(changes: Sequence[FileChange], attributes: Mapping[str, Mapping[str, str]]) -> bytes:
    """JSON, one line a changed path; `attributes` are extended attributes by the name of a pre-image.

    Modes are octal, times in nanoseconds, values of attributes hexadecimal. A lone surrogate stands for a byte of a name
    that is no UTF-8.
    """
    lines = [_encode(_line(change, attributes)) for change in changes]
    return ("\n".join(lines) + "\n").encode("ascii")


def attributes_text(attributes: Attributes) -> str:
    """What a file has besides its content, as JSON: owner, group, mode and extended attributes."""
    extended = {name: value.hex() for name, value in attributes.extended}
    return _encode([attributes.uid, attributes.gid, attributes.mode, extended])


def read_attributes(text: str) -> Attributes | None:
    """The reverse; None for a text that is not of this form."""
    try:
        uid, gid, mode, extended = json.loads(text)
        named = tuple((str(name), bytes.fromhex(value)) for name, value in extended.items())
        return Attributes(int(uid), int(gid), int(mode) & 0o7777, named)
    except (ValueError, TypeError, AttributeError):
        return None


def _line(change: FileChange, attributes: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    line: dict[str, object] = {"path": change.path}
    if change.moved_from is not None:
        line["moved_from"] = change.moved_from
    for name, version in (("before", change.before), ("after", change.after)):
        if version is not None:
            line[name] = _version(version, attributes)
    return line


def _version(version: FileVersion, attributes: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    told: dict[str, object] = {"kind": version.kind, "mode": f"{version.mode:04o}"}
    if version.kind == "file":
        told["size"] = version.size
    kept = version.kept
    if kept is not None:
        told["modified_ns"] = kept.modified_ns
        if kept.digest is not None:
            told["sha256"] = kept.digest
        extended = None if kept.staged is None else attributes.get(kept.staged)
        if extended:
            told["xattrs"] = extended
    return told
