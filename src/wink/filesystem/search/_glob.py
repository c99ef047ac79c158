"""Find paths by a pattern, looking only into directories where something can fit."""

from __future__ import annotations

from collections.abc import Iterator

from wink.filesystem._transaction import FileTransaction
from wink.filesystem.search._listing import GlobMatch, Listing
from wink.filesystem.search._pattern import Pattern
from wink.filesystem.search._walk import check_limit, walk


def glob(
    files: FileTransaction, pattern: str, path: str, limit: int, include_git: bool, respect_ignore: bool
) -> Listing[GlobMatch]:
    """The first `limit` paths beneath `path` that fit."""
    check_limit(limit)
    found: list[GlobMatch] = []
    for match in iglob(files, pattern, path, include_git, respect_ignore):
        if len(found) == limit:
            return Listing(found, truncated=True)
        found.append(match)
    return Listing(found)


def iglob(
    files: FileTransaction, pattern: str, path: str, include_git: bool, respect_ignore: bool
) -> Iterator[GlobMatch]:
    """All paths that fit, each when it is found; what is wrong with a pattern is said at once."""
    found = walk(files, path, Pattern(pattern), include_git=include_git, respect_ignore=respect_ignore)
    return (GlobMatch(at.path, at.kind != "directory") for at in found)
