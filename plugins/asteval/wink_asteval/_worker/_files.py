"""The files as a script sees them: what was read for it, and what it asks to be written."""

from __future__ import annotations

import posixpath
from typing import Any, Final

MODES: Final = ("create", "overwrite", "append")


class Files:
    """`read_text` and `write_text`; nothing is written before the script has ended well."""

    def __init__(self, reads: dict[str, str], limit: int) -> None:
        self._texts = {posixpath.normpath(path): text for path, text in reads.items()}
        self._room = limit
        self.written: list[tuple[str, str, str]] = []

    def read(self, path: str) -> str:
        """The text of a file that the call names in `reads`, or that the script has written."""
        try:
            return self._texts[posixpath.normpath(str(path))]
        except KeyError:
            raise FileNotFoundError(f"{path!r} is not among the files that this call reads; name it in reads") from None

    def write(self, path: Any, content: Any, mode: str = "overwrite") -> None:
        """Have `content` written to `path` when the script has ended well."""
        if not isinstance(path, str) or not isinstance(content, str):
            raise TypeError("write_text takes a path and a text")
        if mode not in MODES:
            raise ValueError(f"the mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
        self._room -= len(content)
        if self._room < 0:
            raise ValueError("the script writes more text than one call may; write less, or in several calls")
        self.written.append((path, content, mode))
        name = posixpath.normpath(path)
        if mode != "append":
            self._texts[name] = content
        elif name in self._texts:
            self._texts[name] += content
