"""Write what became of files in git's extended format (git-diff(1), "generating patch text with -p").

Text is compared by lines, links by where they lead, and what was moved is a rename. Of what git has no words for, such as
directories, and of contents that cannot be shown, a sentence tells.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from wink.filesystem._quoting import quoted_path
from wink.filesystem.diffs._binary import binary_patch, is_binary, kind_of, object_id
from wink.filesystem.diffs._lines import Hunk, hunks_between, lines_of

if TYPE_CHECKING:
    from wink.filesystem._change import FileChange, FileVersion

_LINK: Final = "120000"
_NO_NEWLINE: Final = b"\\ No newline at end of file\n"


class FileDiff:
    """What became of one path, or of one that was moved, from `before` to `after`; contents are read when they are asked for.

    `old_path` and `new_path` differ where it was moved. Files above `most` bytes, and above 16 MiB, are not compared.
    """

    def __init__(
        self,
        old_path: str,
        new_path: str,
        before: FileVersion | None,
        after: FileVersion | None,
        *,
        most: int | None = None,
    ) -> None:
        self.old_path, self.new_path, self.before, self.after = old_path, new_path, before, after
        self._most = most

    @cached_property
    def contents(self) -> tuple[bytes | None, bytes | None]:
        """Both contents, of links where they lead; None for one that is not there, too large, or not at hand any more."""
        return _content(self.before, self._most), _content(self.after, self._most)

    @cached_property
    def is_same(self) -> bool:
        """Whether nothing but the path and the permission bits differs, as far as that is known."""
        before, after = self.before, self.after
        if before is None or after is None or before.kind != after.kind:
            return before is after
        if before.kind != "file":
            return before.target == after.target
        if before.size != after.size:
            return False
        old, new = self.contents
        if old is not None and new is not None:
            return old == new
        digests = before.digest(), after.digest()
        return digests[0] == digests[1] and digests[0] is not None

    @property
    def is_known(self) -> bool:
        """Whether all is at hand that a patch needs."""
        old, new = self.contents
        missing = (self.before is not None and old is None) or (self.after is not None and new is None)
        return self._has_git_modes and (self.is_same or not missing)

    @property
    def is_text(self) -> bool:
        """Whether lines tell what became of the content."""
        known = [content for content in self.contents if content is not None]
        is_one_kind = self.before is None or self.after is None or self.before.kind == self.after.kind
        return self.is_known and not self.is_same and is_one_kind and not any(map(is_binary, known))

    @cached_property
    def lines(self) -> tuple[list[bytes], list[bytes]]:
        """The lines of both sides, each with its newline; none where there is no text."""
        old, new = self.contents if self.is_text else (None, None)
        return lines_of(old or b""), lines_of(new or b"")

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """Which of the `lines` changed, with three lines around."""
        return tuple(hunks_between(*self.lines))

    @property
    def added(self) -> int:
        """How many lines are new."""
        return sum(block.new_end - block.new for hunk in self.hunks for block in hunk.blocks)

    @property
    def removed(self) -> int:
        """How many lines have gone."""
        return sum(block.old_end - block.old for hunk in self.hunks for block in hunk.blocks)

    @property
    def summary(self) -> str:
        """In words what lines do not tell: what a path is or was that is no text, and its permission bits; "" for nothing.

        It is one line, with names quoted as git quotes them, and does not name the path.
        """
        before, after = self.before, self.after
        moved = f", moved from {quoted_path(self.old_path)}" if self.old_path != self.new_path else ""
        if before is None or after is None:
            one = before or after
            is_plain = self.is_text and one is not None and one.kind != "link"
            return "" if is_plain else f"deleted {self._what(0)}" if after is None else f"created {self._what(1)}"
        mode = _mode(before, after)
        if self.is_text and before.kind != "link":
            return mode + moved if mode else moved.removeprefix(", ")
        if self.is_same or before.kind == after.kind == "directory":
            return f"{mode}{moved}".removeprefix(", ") or f"{before.kind} touched"
        return f"{self._what(0)} became {self._what(1)}{moved}"

    @property
    def unsaid(self) -> str:
        """The same of what `patch` does not hold: git has no words for it, or the content is not at hand."""
        before, after = self.before, self.after
        if not self.is_known:
            return self.summary
        mode = "" if before is None or after is None else _mode(before, after)
        return "" if self._is_executable_bit(before, after) else mode

    def text(self) -> str:
        r"""The diff for people and models; what is no UTF-8 is written as `\xff`."""
        header = self.header()
        body = b"".join(hunk_text(hunk.old, hunk.new, signed_lines(hunk, *self.lines)) for hunk in self.hunks)
        return header + body.decode("utf-8", "backslashreplace")

    def header(self) -> str:
        """What stands before the hunks, and all there is where there are none."""
        is_summed_up = not self.is_known or not (self.is_same or self.is_text)
        is_link = self.after is not None and self.after.kind == "link" and self.before is not None
        said = self.summary if is_summed_up or is_link else self.unsaid
        said = f"{quoted_path(self.new_path)}: {said}\n" if said else ""
        if is_summed_up or not self._needs_header:
            return said
        return said + b"".join((*self._header(), *self._names())).decode()

    def patch(self) -> bytes:
        """The same for `git apply`, which then makes exactly this of the file; what is `unsaid` is not in it.

        Of what is not `is_known` there is a line which `git apply` refuses, so that nothing gets lost behind somebody's back.
        """
        if not self._has_git_modes or not self._needs_header:
            return b""
        if self.is_known and (self.is_same or self.is_text):
            return b"".join((*self._header(), *self._body()))
        old, new = self.contents
        if not self.is_known:
            names = (self._name("a", 0), self._name("b", 1))
            return b"".join((*self._header(), f"Binary files {names[0]} and {names[1]} differ\n".encode()))
        ids = object_id(old), object_id(new)
        index = f"index {ids[0]}..{ids[1]}\n".encode()
        return b"".join((*self._header(), index, *binary_patch(old or b"", new or b"")))

    # -- parts

    @property
    def _has_git_modes(self) -> bool:
        return all(side is None or side.kind in ("file", "link") for side in (self.before, self.after))

    @property
    def _needs_header(self) -> bool:
        before, after = self.before, self.after
        is_moved = self.old_path != self.new_path
        return before is None or after is None or is_moved or not self.is_same or _git_mode(before) != _git_mode(after)

    def _is_executable_bit(self, before: FileVersion | None, after: FileVersion | None) -> bool:
        if before is None or after is None:
            return False
        return _git_mode(before) != _git_mode(after) and not (before.mode ^ after.mode) & ~0o111

    def _name(self, prefix: str, side: int) -> str:
        if (self.before, self.after)[side] is None:
            return "/dev/null"
        return quoted_path(f"{prefix}/{(self.old_path, self.new_path)[side]}")

    def _header(self) -> Iterator[bytes]:
        before, after = self.before, self.after
        names = quoted_path(f"a/{self.old_path}"), quoted_path(f"b/{self.new_path}")
        yield f"diff --git {names[0]} {names[1]}\n".encode()
        if before is None or after is None:
            kind = "new file" if before is None else "deleted file"
            yield f"{kind} mode {_git_mode(before or after)}\n".encode()
        elif _git_mode(before) != _git_mode(after):
            yield f"old mode {_git_mode(before)}\nnew mode {_git_mode(after)}\n".encode()
        if self.old_path != self.new_path:
            yield f"similarity index {self._similarity()}%\n".encode()
            yield f"rename from {quoted_path(self.old_path)}\nrename to {quoted_path(self.new_path)}\n".encode()

    def _similarity(self) -> int:
        if self.is_same:
            return 100
        sizes = [side.size for side in (self.before, self.after) if side is not None]
        replaced = (
            line for hunk in self.hunks for block in hunk.blocks for line in self.lines[0][block.old : block.old_end]
        )
        kept = (len(self.contents[0] or b"") - sum(map(len, replaced))) if self.is_text else 0
        return min(99, 100 * kept // max(*sizes, 1))

    def _body(self) -> Iterator[bytes]:
        yield from self._names()
        for hunk in self.hunks:
            yield hunk_text(hunk.old, hunk.new, signed_lines(hunk, *self.lines))

    def _names(self) -> Iterator[bytes]:
        for sign, name in (("---", self._name("a", 0)), ("+++", self._name("b", 1))) if self.hunks else ():
            # So that a name that ends in spaces has an end, as git does it.
            end = "\t\n" if " " in name and not name.startswith('"') else "\n"
            yield f"{sign} {name}{end}".encode()

    def _what(self, which: int) -> str:
        version = (self.before, self.after)[which]
        assert version is not None
        if version.kind == "link":
            return f"a link to {quoted_path(version.target or '')}"
        if version.kind != "file":
            return "a directory" if version.kind == "directory" else "something that is no file"
        content = self.contents[which]
        kind = (
            "a file" if content is None else kind_of(content) or ("a binary file" if is_binary(content) else "a file")
        )
        digest = version.digest() if content is None else None
        return f"{kind} of {version.size} bytes" + (f" (SHA-256 {digest})" if digest and digest.isalnum() else "")


def file_diffs(changes: Iterable[FileChange], *, most: int | None = None) -> Iterator[FileDiff]:
    """All of the changes, in their order: what was moved once, with where it came from, and not as deleted there, too.

    What was a file and is a link or a directory now, or the other way round, is first deleted and then created.
    """
    changes = tuple(changes)
    origins = _origins(changes)
    moved = {origin.path for origin in origins.values()}
    for change in changes:
        origin = origins.get(change.path)
        if origin is not None:
            yield FileDiff(origin.path, change.path, origin.before, change.after, most=most)
        elif change.path not in moved or change.after is not None:
            yield from diffs_of(change, most=most)


def diffs_of(change: FileChange, *, most: int | None = None) -> tuple[FileDiff, ...]:
    """One change by itself: two, where the path is another kind of thing now."""
    path, before, after = change.path, change.before, change.after
    if before is not None and after is not None and before.kind != after.kind:
        return (FileDiff(path, path, before, None, most=most), FileDiff(path, path, None, after, most=most))
    return (FileDiff(path, path, before, after, most=most),)


def diff_text(changes: Iterable[FileChange], *, most: int | None = None) -> str:
    """One diff of all, for people and models."""
    return "".join(diff.text() for diff in file_diffs(changes, most=most))


def hunk_text(old: int, new: int, lines: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A hunk as a unified diff has it, with its header: signs and lines, from line `old` and line `new` on, counted from 0."""
    lines = tuple(lines)
    olds, news = (sum(sign != other for sign, _ in lines) for other in (b"+", b"-"))
    parts = [f"@@ -{_numbers(old, olds)} +{_numbers(new, news)} @@\n".encode()]
    for sign, line in lines:
        parts += (sign, line) if line.endswith(b"\n") else (sign, line, b"\n", _NO_NEWLINE)
    return b"".join(parts)


def signed_lines(hunk: Hunk, old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each line of a hunk after what became of it: a space where it stays, `-` where it goes and `+` where it comes."""
    at = hunk.old
    for block in hunk.blocks:
        yield from ((b" ", line) for line in old[at : block.old])
        yield from ((b"-", line) for line in old[block.old : block.old_end])
        yield from ((b"+", line) for line in new[block.new : block.new_end])
        at = block.old_end
    yield from ((b" ", line) for line in old[at : hunk.old_end])


def _numbers(begin: int, length: int) -> str:
    return str(begin + 1) if length == 1 else f"{begin + bool(length)},{length}"


def _content(version: FileVersion | None, most: int | None) -> bytes | None:
    if version is None:
        return None
    if version.kind == "link":
        return None if version.target is None else os.fsencode(version.target)
    return version.content(most) if version.kind == "file" else None


def _origins(changes: Sequence[FileChange]) -> dict[str, FileChange]:
    """Which of the deletions each new file came from, by its path.

    What was moved by a tool is known. A program leaves only a file that has gone, and a new one: these are one where their
    contents are the same, and no other file that has gone is as large. A link is deleted and created all the same, and so is
    what moves beneath its own old name: `git apply` would take the old path for a link, or a file, that is still there.
    """
    gone = {change.path: change for change in changes if change.after is None}
    found: dict[str, FileChange] = {}
    for change in changes:
        origin = gone.get(change.moved_from or "")
        if origin is not None and _is_rename(origin, change):
            found[change.path] = gone.pop(origin.path)
    by_size: dict[int, list[FileChange]] = {}
    for change in gone.values():
        if change.before is not None and change.before.kind == "file" and change.before.size:
            by_size.setdefault(change.before.size, []).append(change)
    for change in changes if by_size else ():
        candidates = by_size.get(change.after.size, []) if change.after is not None else []
        if len(candidates) == 1 and change.path not in found and _is_rename(candidates[0], change):
            (origin,) = candidates
            if FileDiff(origin.path, change.path, origin.before, change.after).is_same:
                found[change.path] = by_size.pop(change.after.size if change.after else 0)[0]
    return found


def _is_rename(gone: FileChange, change: FileChange) -> bool:
    before, after = gone.before, change.after
    is_within = change.path.startswith(f"{gone.path}/") or gone.path.startswith(f"{change.path}/")
    is_new = change.before is None and not is_within
    return is_new and before is not None and after is not None and before.kind == after.kind == "file"


def _git_mode(version: FileVersion | None) -> str:
    if version is None or version.kind != "link":
        return "100755" if version is not None and version.mode & 0o100 else "100644"
    return _LINK


def _mode(before: FileVersion, after: FileVersion) -> str:
    is_told = before.kind == after.kind != "link" and before.mode != after.mode
    return f"mode {before.mode:o} became {after.mode:o}" if is_told else ""
