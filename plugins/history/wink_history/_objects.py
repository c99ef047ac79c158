"""Say in git's own bytes what a blob, a tree or a commit is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, Literal

from wink.dataclass import dataclass

Kind = Literal["commit", "tree", "blob"]

FILE: Final = b"100644"
EXECUTABLE: Final = b"100755"
LINK: Final = b"120000"
DIRECTORY: Final = b"40000"
ID_BYTES: Final = 20


class Malformed(ValueError):
    """These bytes are not what git would have written."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who did something and when, in whole seconds since 1970; name and address must be free of `<`, `>` and newlines."""

    name: str
    address: str
    seconds: int

    def line(self) -> bytes:
        """As it stands in a commit; nothing in git can be older than 1970."""
        return f"{self.name} <{self.address}> {max(self.seconds, 0)} +0000".encode()


def object_id(kind: Kind, content: bytes) -> bytes:
    """The name by which git knows an object, as 20 bytes.

    >>> object_id("blob", b"").hex()
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content, usedforsecurity=False).digest()


def tree_content(entries: Mapping[bytes, tuple[bytes, bytes]]) -> bytes:
    """A tree of mode and id by name.

    Git sorts a directory as if its name ended in a slash:

    >>> entries = {b"a": (DIRECTORY, bytes(20)), b"a.c": (FILE, bytes(20))}
    >>> tree_content(entries)[:10]
    b'100644 a.c'
    """
    lines = {sort_key(name, entry[0]): tree_line(name, entry) for name, entry in entries.items()}
    return b"".join([lines[key] for key in sorted(lines)])


def sort_key(name: bytes, mode: bytes) -> bytes:
    """By what git sorts the entries of a tree."""
    return name + b"/" if mode == DIRECTORY else name


def tree_line(name: bytes, entry: tuple[bytes, bytes]) -> bytes:
    """One entry of a tree."""
    return b"%s %s\0%s" % (entry[0], name, entry[1])


def parse_tree(content: bytes) -> dict[bytes, tuple[bytes, bytes]]:
    """The reverse of `tree_content`; raises `Malformed`."""
    entries: dict[bytes, tuple[bytes, bytes]] = {}
    at = 0
    while at < len(content):
        space, end = content.find(b" ", at), content.find(b"\0", at)
        if not at < space < end or end + 1 + ID_BYTES > len(content):
            raise Malformed("a tree ends in the middle of an entry")
        entries[content[space + 1 : end]] = content[at:space], content[end + 1 : end + 1 + ID_BYTES]
        at = end + 1 + ID_BYTES
    return entries


def commit_content(tree: bytes, parent: bytes | None, author: Person, committer: Person, message: bytes) -> bytes:
    """A commit with at most one parent."""
    lines = [b"tree " + tree.hex().encode()]
    if parent is not None:
        lines.append(b"parent " + parent.hex().encode())
    lines += [b"author " + author.line(), b"committer " + committer.line(), b"", message]
    return b"\n".join(lines)


def tree_of(commit: bytes) -> bytes:
    """The id of a commit's tree; raises `Malformed`."""
    return _field(commit, b"tree ", 0)


def parents_of(commit: bytes) -> tuple[bytes, ...]:
    """The ids of a commit's parents; raises `Malformed`."""
    found: list[bytes] = []
    at = commit.find(b"\n") + 1
    while commit.startswith(b"parent ", at):
        found.append(_field(commit, b"parent ", at))
        at = commit.find(b"\n", at) + 1
    return tuple(found)


def _field(commit: bytes, name: bytes, at: int) -> bytes:
    text = commit[at + len(name) : at + len(name) + 2 * ID_BYTES]
    if not commit.startswith(name, at) or len(text) != 2 * ID_BYTES:
        raise Malformed("a commit lacks its first lines")
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        raise Malformed("a commit names no object") from None
