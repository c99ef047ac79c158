"""Change what is no content: where a link leads, and which permission bits a file has.

A link must stay inside however it is followed: by wink, which takes back the name before a `..`, and by programs, which
go up from where links have led. So only bodies are taken in which every `..` comes first, and what the rest leads through
is followed before the link is made.
"""

from __future__ import annotations

import errno
from typing import Final

from wink.errors import PathRefused
from wink.filesystem._paths import is_protected_name, located, resolved, workspace_path
from wink.filesystem._store import Store, failure
from wink.filesystem._transaction import FileTransaction
from wink.filesystem._writing import check_names, exists, file_path, make_parents

PERMISSIONS: Final = 0o777
_OWNERS: Final = {"file": 0o400, "directory": 0o700}
"""What an owner keeps, so that what was changed can be shown and taken back."""

_UNSUPPORTED: Final = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def symlink(files: FileTransaction, text: str, target: str, create_parents: bool) -> None:
    """Make a symbolic link, whose body is `target`."""
    path = file_path(text)
    with files.changing(path) as change_set:
        store = files.tree.store
        if exists(store, path, follow=False):
            raise failure(errno.EEXIST, path)
        check_names(files, path)
        if create_parents:
            make_parents(files, change_set, path)
        _check_body(store, path, target)
        try:
            change_set.symlink(path, target)
        except OSError as problem:
            raise _without("links", path, problem) from None
        files.tree.siblings.made(store, path)
        files.observe(path, None)


def chmod(files: FileTransaction, text: str, mode: int) -> None:
    """Set the permission bits of a file or directory, at the end of its links."""
    path, is_directory = located(text)
    if mode & ~PERMISSIONS:
        raise ValueError(f"mode is {mode:#o}; give permission bits from 0 to 0o777, without setuid, setgid and sticky")
    with files.changing(path) as change_set:
        node = files.tree.store.node(path)
        if is_directory and node.kind != "directory":
            raise failure(errno.ENOTDIR, text)
        kept = _OWNERS.get(node.kind, 0)
        if mode & kept != kept:
            raise PathRefused(path, f"would be closed to its own owner by mode {mode:03o}; keep at least {kept:03o}")
        try:
            change_set.chmod(path, mode)
        except OSError as problem:
            raise _without("permission bits", path, problem) from None


def _check_body(store: Store, path: str, target: str) -> None:
    """Raise `PathRefused` for a link that could lead out, or to where file tools never write."""
    if not target or target.startswith("/"):
        raise PathRefused(path, "would be a link that is not relative; say where it leads from its own directory")
    names = [name for name in target.split("/") if name not in ("", ".")]
    down = names[:]
    while down and down[0] == "..":
        del down[0]
    if ".." in down:
        raise PathRefused(path, "would be a link that goes down and up again; leave out what it goes back on")
    workspace_path("/".join(["x", *down]))  # refuses names that no path can have
    directory = resolved(store, path.rpartition("/")[0].split("/"), path)
    ends = resolved(store, [*directory.split("/"), *names], path)
    if any(map(is_protected_name, (*down, *ends.split("/")))):
        raise PathRefused(path, "would be a link into .git or .wink, which file tools never write")


def _without(what: str, path: str, problem: OSError) -> OSError:
    """The problem, in words where these files do not have what was asked for."""
    return (
        PathRefused(path, f"cannot be changed so: these files have no {what}")
        if problem.errno in _UNSUPPORTED
        else problem
    )
