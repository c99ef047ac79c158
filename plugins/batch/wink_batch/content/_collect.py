"""See what an attempt changed, and make a patch, a commit and a bundle of it, or send the commit to a repository."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

from wink.dataclass import dataclass
from wink_batch._git import GitFailed, commit_at, git, make, masked
from wink_batch._plan import BUNDLE, NO_CHECKPOINT
from wink_batch.content._cache import Base

REFERENCES: Final = "refs/wink"
_PUSHES: Final = 4


@dataclass(frozen=True, slots=True)
class Side:
    """A file at one time: git's mode, and where its content is."""

    mode: str
    place: str

    def content(self) -> bytes:
        """The bytes, or where a link leads."""
        if self.mode == "120000":
            return os.fsencode(os.readlink(self.place))
        with open(self.place, "rb") as file:
            return file.read()


@dataclass(frozen=True, slots=True)
class Changed:
    """One path that is not as it was; None stands for no file."""

    path: str
    before: Side | None
    after: Side | None


@dataclass(frozen=True, slots=True)
class Collected:
    """What an attempt changed, in the forms in which it is kept."""

    paths: tuple[str, ...] = ()
    patch: bytes = b""
    bundle: bytes = b""
    checkpoint: str = ""
    commit: str = ""
    base: str = ""


def changes_over(lower: str, upper: str) -> tuple[Changed, ...]:
    """What an overlay of `lower` holds, files and links alone."""
    from wink_sandbox import Overlay, differences

    found = differences(Overlay(lower, os.path.dirname(upper)))
    changed: list[Changed] = []
    for change in found.changes():
        before = side(f"{lower}/{change.path}") if change.before is not None else None
        after = side(f"{upper}/{change.path}") if change.after is not None else None
        if before is not None or after is not None:
            changed.append(Changed(change.path, before, after))
    return tuple(changed)


def changes_between(lower: str, copy: str, copied_ns: int) -> tuple[Changed, ...]:
    """What differs between a tree and a copy of it, which was complete at `copied_ns`, by the time of any change."""
    old, new = dict(_files(lower)), dict(_files(copy))
    changed: list[Changed] = []
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before is not None and after is not None and _is_alike(before, after):
            one, two = side(f"{lower}/{path}"), side(f"{copy}/{path}")
            is_untouched = after.st_ctime_ns < copied_ns
            if is_untouched or (one is not None and two is not None and one.content() == two.content()):
                continue
        changed.append(
            Changed(
                path,
                side(f"{lower}/{path}") if before is not None else None,
                side(f"{copy}/{path}") if after is not None else None,
            )
        )
    return tuple(changed)


def _is_alike(before: os.stat_result, after: os.stat_result) -> bool:
    kinds = [(stat.S_IFMT(one.st_mode), one.st_mode & 0o100, one.st_size) for one in (before, after)]
    return kinds[0] == kinds[1]


def side(place: str) -> Side | None:
    """What is at a place, as git sees it; None for what git does not keep."""
    try:
        found = os.lstat(place)
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return Side("120000", place)
    if stat.S_ISREG(found.st_mode):
        return Side("100755" if found.st_mode & 0o100 else "100644", place)
    return None


def collect(
    changed: tuple[Changed, ...], base: Base, place: str, *, name: str, batch: str, message: str, checkpoint: str
) -> Collected:
    """Put changes into a repository of their own beneath `place`, and from there where `checkpoint` says.

    Raises `GitFailed`.
    """
    changed = tuple(one for one in changed if not _is_git_data(one.path))
    if not changed:
        return Collected()
    repository = os.path.join(place, "result.git")
    make(repository)
    if base.commit:
        _borrow(repository, base.repository)
    reference = f"{REFERENCES}/{batch}/{name}"
    stream = b"".join(_stream(changed, base.commit, reference, message))
    git(repository, "fast-import", "--quiet", "--done", stdin=stream)
    commit = commit_at(repository, reference)
    before = base.commit or commit_at(repository, f"{reference}-base")
    patch = git(
        repository, "diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
        before, commit,
    )  # fmt: skip
    bundle, where = b"", ""
    if checkpoint == BUNDLE:
        without = [f"^{base.commit}"] if base.commit else []
        bundle = git(repository, "bundle", "create", "--quiet", "-", reference, *without)
    elif checkpoint != NO_CHECKPOINT:
        _push(repository, checkpoint, commit, reference)
        where = f"{masked(checkpoint)} {reference}"
    return Collected(tuple(one.path for one in changed), patch, bundle, where, commit, before)


def _push(repository: str, address: str, commit: str, reference: str) -> None:
    """Send a commit; others may be writing to the same repository."""
    for trial in range(1, _PUSHES + 1):
        try:
            git(repository, "push", "--quiet", "--force", "--", address, f"{commit}:{reference}", network=True)
            return
        except GitFailed as error:
            if trial == _PUSHES or "lock" not in error.said:
                raise


def _borrow(repository: str, other: str) -> None:
    """Use another repository's objects, without a copy of them."""
    with open(f"{repository}/objects/info/alternates", "w", encoding="utf-8") as file:
        file.write(f"{other}/objects\n")
    try:
        with open(f"{other}/shallow", "rb") as file:
            kept = file.read()
    except FileNotFoundError:
        return
    with open(f"{repository}/shallow", "wb") as file:
        file.write(kept)


def _stream(changed: tuple[Changed, ...], base: str, reference: str, message: str) -> Iterator[bytes]:
    """What `git fast-import` reads: the files as they were, if nothing else holds them, and as they are now."""
    start = f"from {base}\n".encode()
    if not base:
        yield _commit(f"{reference}-base", f"What {message} began with, of what it changed")
        for one in changed:
            if one.before is not None:
                yield _file(one.path, one.before)
        yield b"\n"
        start = f"from {reference}-base\n".encode()
    yield _commit(reference, message)
    yield start
    # What is deleted goes first: a directory may have taken the place of a file.
    for one in changed:
        if one.after is None:
            yield b"D " + _quoted(one.path) + b"\n"
    for one in changed:
        if one.after is not None:
            yield _file(one.path, one.after)
    yield b"\ndone\n"


def _commit(reference: str, message: str) -> bytes:
    text = message.encode("utf-8", "replace")
    # The same content is the same commit, whichever node made it, and however often.
    return (
        f"commit {reference}\ncommitter wink <wink@localhost> 946684800 +0000\ndata {len(text)}\n".encode()
        + text
        + b"\n"
    )


def _file(path: str, found: Side) -> bytes:
    content = found.content()
    return f"M {found.mode} inline ".encode() + _quoted(path) + f"\ndata {len(content)}\n".encode() + content + b"\n"


def _quoted(path: str) -> bytes:
    """A path as fast-import takes any: in quotes, with what is not plain written as octal numbers."""
    plain = b"".join(
        bytes([byte]) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte for byte in os.fsencode(path)
    )
    return b'"' + plain + b'"'


def _is_git_data(path: str) -> bool:
    return any(part.lower() == ".git" for part in path.split("/"))


def _files(tree: str) -> Iterator[tuple[str, os.stat_result]]:
    pending = [""]
    while pending:
        above = pending.pop()
        with os.scandir(os.path.join(tree, above)) as found:
            for entry in found:
                path = f"{above}/{entry.name}" if above else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if path != ".wink":
                        pending.append(path)
                else:
                    yield path, entry.stat(follow_symlinks=False)
