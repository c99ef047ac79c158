"""Merge a text by three ways, by lines, as git does: what it was, what one made of it, and what another did."""

from __future__ import annotations

import subprocess
import tempfile
from typing import Final, Literal, NamedTuple

from wink_sandbox import git_environment
from wink_sandbox.tries._marks import is_text

_SECONDS: Final = 60.0
_FAILED: Final = 128
"""From this exit status on it is no number of conflicts."""
_MARKS: Final = (b"<<<<<<< ", b">>>>>>> ")

Favor = Literal["ours", "theirs"]


class MergeFailed(Exception):
    """Why texts could not be merged at all."""


class MergedText(NamedTuple):
    """What becomes of a text, and in how many places both changed the same lines: there it has git's markers."""

    content: bytes
    conflicts: int

    @property
    def hunks(self) -> tuple[str, ...]:
        """The places in conflict, with their markers."""
        found, lines = list[str](), list[bytes]()
        for line in self.content.splitlines(keepends=True):
            if lines or line.startswith(_MARKS[0]):
                lines.append(line)
            if lines and line.startswith(_MARKS[1]):
                found.append(b"".join(lines).decode("utf-8", "backslashreplace"))
                lines = []
        return tuple(found) if self.conflicts else ()


def merge_texts(
    ours: bytes,
    base: bytes,
    theirs: bytes,
    *,
    labels: tuple[str, str, str] = ("ours", "base", "theirs"),
    favor: Favor | None = None,
) -> MergedText | None:
    """Both changes of a text; None where one of the three is none. `favor` takes one side where both changed the same lines.

    Where they differ in how their lines end, it is merged without regard to that, and its lines end as ours do. Raises
    `MergeFailed`.
    """
    if not all(map(is_text, (ours, base, theirs))):
        return None
    if ours == theirs or theirs == base:
        return MergedText(ours, 0)
    if ours == base:
        return MergedText(theirs, 0)
    endings = {ending for text in (ours, base, theirs) if (ending := _ending(text)) is not None}
    if len(endings) > 1 and b"" not in endings:
        plain = [text.replace(b"\r\n", b"\n") for text in (ours, base, theirs)]
        merged = _merged(plain[0], plain[1], plain[2], labels, favor)
        return merged._replace(content=merged.content.replace(b"\n", b"\r\n")) if _ending(ours) == b"\r\n" else merged
    return _merged(ours, base, theirs, labels, favor)


def _ending(text: bytes) -> bytes | None:
    """How all lines end, nothing where they end differently, None where there is but one."""
    lines, with_return = text.count(b"\n"), text.count(b"\r\n")
    if not lines:
        return None
    return b"\r\n" if with_return == lines else b"\n" if not with_return else b""


def _merged(ours: bytes, base: bytes, theirs: bytes, labels: tuple[str, str, str], favor: Favor | None) -> MergedText:
    with tempfile.TemporaryDirectory(prefix="wink-merge-") as place:
        names = ("1", "2", "3")
        for name, content in zip(names, (ours, base, theirs), strict=True):
            with open(f"{place}/{name}", "xb") as file:
                file.write(content)
        told = [word for label in labels for word in ("-L", label)]
        how = "--diff3" if favor is None else f"--{favor}"
        try:
            done = subprocess.run(
                ["git", "merge-file", "-p", "-q", how, *told, *names],
                capture_output=True,
                env=git_environment(f"{place}/none"),
                cwd=place,
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise MergeFailed("git is not installed, which merges texts; apt-get install git") from None
        except subprocess.TimeoutExpired:
            raise MergeFailed(f"git merge-file was not done after {_SECONDS:.0f} s") from None
    if done.returncode < 0 or done.returncode >= _FAILED:
        said = done.stderr.decode("utf-8", "backslashreplace").strip()
        raise MergeFailed(f"git merge-file failed: {said or f'exit status {done.returncode}'}")
    return MergedText(done.stdout, done.returncode)
