"""Tell which files one of Codex's patches is about, given as such or typed into a shell.

Codex reads its markers with blanks around them. In a shell a patch can be put together in more ways than anybody can read, and
where a relative path of it leads is not known: the hook is not told where the shell starts. What cannot be told is said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from wink_attach._agent import Meaning

_MARKS: Final = r"\*\*\* (Add File|Update File|Delete File|Move to): (.*)"
_MARK: Final = re.compile(rf"^[^\S\n]*{_MARKS}$", re.MULTILINE)
_ODD: Final = re.compile(
    r"^\*\*\* (?!(?:Begin Patch|End Patch|End of File)\s*$|(?:Add|Update|Delete) File: |Move to: )", re.MULTILINE
)
"""A marker that a Codex newer than this module may know."""
_LOOSE: Final = re.compile(r"\*\*\* (?:Add File|Update File|Delete File|Move to):")
_BEGIN: Final = re.compile(r"\*\*\* Begin Patch")
_TYPED: Final = re.compile(
    r"""(?:^|[;&|({`!]|\$\(|<\(|\b(?:ba|da|k|z)?sh\s(?:\s*-\w+)*\s*\$?['"]|\b(?:then|do|else|env|exec|command|sudo|time|nohup|xargs)\s)"""
    r"""[^\S\n]*(?:\w+=\S*[^\S\n]+)*["'\\]?(?:[\w.~-]*/)*apply_?patch["']?(?=[\s<;|&)]|$)""",
    re.MULTILINE,
)
"""Where a command line runs it: at the beginning of a command, not where its name is looked for."""
_SHELLS: Final = frozenset("$`'\"\\*?[{")
_TOOLS: Final = {"Add File": "write_file", "Update File": "edit_file", "Delete File": "rm", "Move to": "move_file"}


class Patch(NamedTuple):
    """What a patch does: `files` by marker, and why it cannot be told, where it cannot."""

    files: tuple[tuple[str, str], ...]
    doubt: str = ""

    def meanings(self) -> Iterator[Meaning]:
        """What it is to rules: each of wink's tools that does such a thing, of one in doubt all."""
        for mark, tool in _TOOLS.items():
            paths = [path for kind, path in self.files if kind == mark]
            if mark == "Move to":  # what is moved stands in the line before
                pairs = zip(self.files, self.files[1:], strict=False)
                paths = [path for (_, source), (kind, target) in pairs if kind == mark for path in (source, target)]
            if paths or self.doubt:
                yield Meaning(tool, "workspace", {"paths": paths})


def patch(text: Any, directory: str) -> Patch:
    r"""What a patch is about; its paths begin in `directory`.

    >>> patch("*** Begin Patch\n  *** Delete File: a.txt \n*** End Patch", "/srv/project").files
    (('Delete File', '/srv/project/a.txt'),)
    >>> patch("*** Begin Patch", "").doubt
    'it names no file in a way that is known'
    """
    if not isinstance(text, str):
        return Patch((), "it is not given as text")
    files = _files(text, directory)
    if _ODD.search(text):
        return Patch(files, "it holds a marker that is not known")
    moved = [source for (source, _), (mark, _) in zip((("", ""), *files), files, strict=False) if mark == "Move to"]
    if any(mark != "Update File" for mark in moved):
        return Patch(files, "it moves what it does not name")
    if not files or not all(path for _, path in files):
        return Patch(files, "it names no file in a way that is known")
    return Patch(files)


def typed_patch(command: Any) -> Patch | None:
    r"""What a patch in a command line of a shell is about, None where there is none.

    >>> typed_patch("grep -rn apply_patch docs") is None
    True
    >>> typed_patch("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: /srv/a\n*** End Patch\nEOF")
    Patch(files=(('Delete File', '/srv/a'),), doubt='')
    >>> typed_patch("cat some.patch | apply_patch").doubt[:30]
    'what it holds cannot be read i'
    """
    if isinstance(command, list):
        command = "\n".join(one for one in command if isinstance(one, str))  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(command, str):
        return None
    count = sum(1 for _ in _TYPED.finditer(command))
    if not count:
        return None
    files = _files(command, "")
    if count != len(_BEGIN.findall(command)) or len(_LOOSE.findall(command)) != len(files) or not files:
        return Patch(files, "what it holds cannot be read in this command; call apply_patch itself")
    if not all(path.startswith("/") and _SHELLS.isdisjoint(path) for _, path in files):
        return Patch(
            files, "where its paths lead cannot be told in a shell; call apply_patch itself, or give absolute paths"
        )
    return patch(command, "/")


def _files(text: str, directory: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (one[1], os.path.join(directory, one[2].rstrip()) if one[2].strip() else "") for one in _MARK.finditer(text)
    )
