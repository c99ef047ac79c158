"""Say where the files of a task come from: nowhere, a directory, a git repository at a revision, or an fsspec URL."""

from __future__ import annotations

import os
import re
from typing import Any, Final, Literal, cast

from wink.dataclass import dataclass

SourceKind = Literal["empty", "directory", "git", "url"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://|::)")
_SCP: Final = re.compile(r"[\w.-]+@[\w.-]+:[^/].*")
_GIT_SCHEMES: Final = frozenset(("git", "ssh", "git+ssh", "git+https", "git+http", "git+file"))
_REVISION: Final = re.compile(r"[A-Za-z0-9_][\w./@^~-]*")
_SECRET: Final = re.compile(r"(?<=://)[^/@\s]+@")
_ARCHIVES: Final = {".zip": "zip", ".tar": "tar", ".tar.gz": "tar", ".tgz": "tar"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a task's files come from. `revision` is a commit, branch or tag of a git repository.

    >>> Source("git", "https://example.org/project.git", "v1.2")
    Source(kind='git', address='https://example.org/project.git', revision='v1.2')
    """

    kind: SourceKind
    address: str = ""
    revision: str = ""

    def __str__(self) -> str:
        shown = _SECRET.sub("***@", self.address) or "nothing"
        return f"{shown}@{self.revision}" if self.revision else shown


EMPTY: Final = Source("empty")
"""A task that begins with an empty directory."""


def source(value: object, revision: str = "", *, base: str = "") -> Source:
    """Read what a table says about a workspace; paths are relative to `base`. Raises `ValueError`.

    >>> source("s3://bucket/project").kind, source("https://example.org/p.git", "main").kind
    ('url', 'git')
    >>> source("projects/one", base="/data").address
    '/data/projects/one'
    """
    if isinstance(value, dict):
        return _of_table(cast("dict[str, Any]", value), revision, base)
    if value is None or value == "":
        if revision:
            raise ValueError("a revision needs a workspace that is a git repository; name it in 'workspace'")
        return EMPTY
    if not isinstance(value, str):
        raise ValueError(f"must be a path, a URL or a git repository, not {value!r}")
    text = value.strip()
    if "\0" in text or "\n" in text:
        raise ValueError("has a character in it that no address can have")
    scheme = _SCHEME.match(text)
    if revision or _is_git(text, scheme[0].lower() if scheme else ""):
        return _git(text, revision, base, has_scheme=scheme is not None)
    if scheme is None or scheme[0].lower() in ("file", "local"):
        path = _local(text if scheme is None else text.split("://", 1)[1], base)
        kind = next((kind for ending, kind in _ARCHIVES.items() if path.lower().endswith(ending)), None)
        return Source("directory", path) if kind is None else Source("url", f"{kind}://::file://{path}")
    return Source("url", text)


def _of_table(table: dict[str, Any], revision: str, base: str) -> Source:
    keys = [key for key in ("directory", "git", "url") if table.get(key)]
    revision = str(table.get("revision") or revision or "")
    unknown = sorted(table.keys() - {"directory", "git", "url", "revision"})
    if unknown or len(keys) != 1:
        raise ValueError("as an object it has one of 'directory', 'git' and 'url', and beside 'git' a 'revision'")
    text = table[keys[0]]
    if not isinstance(text, str):
        raise ValueError(f"'{keys[0]}' must be a string")
    if keys[0] == "git":
        return _git(text, revision, base, has_scheme=_SCHEME.match(text) is not None)
    if revision:
        raise ValueError("only git repositories have revisions; write {'git': …, 'revision': …}")
    return Source("directory", _local(text, base)) if keys[0] == "directory" else Source("url", text)


def _is_git(text: str, scheme: str) -> bool:
    if scheme in _GIT_SCHEMES:
        return True
    if scheme in ("http", "https", "file", "") and "::" not in text:
        return text.rstrip("/").endswith(".git") or (not scheme and _SCP.fullmatch(text) is not None)
    return False


def _git(text: str, revision: str, base: str, *, has_scheme: bool) -> Source:
    if revision and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise ValueError(f"{revision!r} cannot be a revision; give a commit, a branch or a tag")
    if has_scheme:
        scheme, rest = text.split("://", 1) if "://" in text else (text, "")
        scheme = scheme.lower().removeprefix("git+")
        if scheme not in ("http", "https", "ssh", "git", "file"):
            raise ValueError(f"{scheme}:// is no way to a git repository; use https, ssh, git or file")
        return Source("git", f"{scheme}://{rest}", revision)
    if _SCP.fullmatch(text):
        return Source("git", text, revision)
    return Source("git", _local(text, base), revision)


def _local(path: str, base: str) -> str:
    if path.startswith("~"):
        raise ValueError("a path that begins with ~ means another place on each machine; write it out")
    return os.path.normpath(os.path.join(base or os.getcwd(), path))
