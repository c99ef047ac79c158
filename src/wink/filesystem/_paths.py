"""Turn a path sent by the model into a path inside the workspace, or refuse it; say where it ends when links are followed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from wink.dataclass import dataclass
from wink.errors import PathRefused
from wink.filesystem._store import Store

MAX_NAME_BYTES: Final = 255
"""The longest name that every common filesystem can hold."""

MAX_PATH_BYTES: Final = 4095
"""Linux's PATH_MAX without its final NUL."""

MAX_LINKS: Final = 40
"""How many links one path may lead through: as many as Linux itself follows."""

OUTSIDE: Final = "leads out of the workspace; only links that are relative and stay inside are followed"
CIRCLES: Final = "goes through links that lead in circles"
"""What is said of paths that links lead astray."""

# Text, not compiled: importing should cost nothing, and what was found is kept.
_PLAIN: Final = r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}/){0,20}[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}"
_CONTROL: Final = r"[\x00-\x1f\x7f-\x9f]"
_SURROGATE: Final = r"[\ud800-\udfff]"
_URL: Final = r"[A-Za-z][A-Za-z0-9+.-]*://"
_DRIVE: Final = r"[A-Za-z]:"
_HOME: Final = r"~([A-Za-z_][\w-]*)?(/|$)"

IGNORABLE: Final = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""A pattern for the characters that some filesystem leaves out when it compares names.

HFS+ does so with those that git's utf8.c lists, ext4 and f2fs with all that Unicode calls default ignorable, in directories
that fold case.
"""
_SHORT_NAME: Final = r"(git|wink)~\d+"

_RESERVED: Final = r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\s*\..*)?\s*"
_UNPORTABLE: Final = r'[<>:"|?*]'


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A relative path that cannot name anything above the workspace root.

    `parts` is empty for the root itself. `is_directory` remembers a slash at the end, which only a directory may have.
    """

    parts: tuple[str, ...]
    is_directory: bool = False

    def __str__(self) -> str:
        return "/".join(self.parts)


@lru_cache(maxsize=4096)
def workspace_path(text: str) -> WorkspacePath:
    """Read `text` as a path under the workspace root; `""` and `"."` are the root.

    `..` takes back the name before it, whatever that is on the disk. Raises `PathRefused`.

    >>> str(workspace_path("src/../README.md"))
    'README.md'
    >>> workspace_path("../secrets.txt")
    Traceback (most recent call last):
    ...
    wink.errors.PathRefused: '../secrets.txt' is outside the workspace
    """
    if re.fullmatch(_PLAIN, text):
        return WorkspacePath(tuple(text.split("/")))
    refused = _refusal(text)
    if refused:
        raise PathRefused(text if len(text) <= MAX_NAME_BYTES else text[:80] + "…", refused)
    parts: list[str] = []
    for name in text.split("/"):
        if name in ("", "."):
            continue
        if name != "..":
            parts.append(name)
        elif parts:
            parts.pop()
        else:
            raise PathRefused(text, "is outside the workspace")
    if any(len(name.encode()) > MAX_NAME_BYTES for name in parts):
        raise PathRefused(text[:80] + "…", f"has a name that is longer than {MAX_NAME_BYTES} bytes")
    return WorkspacePath(tuple(parts), not parts or text.endswith(("/", "/.", "/..")))


@lru_cache(maxsize=4096)
def located(text: str) -> tuple[str, bool]:
    """The normalised path as a store takes it, and whether `text` insists on a directory; refuses wink's own state."""
    path = workspace_path(text)
    normal = str(path)
    check_readable(normal, text)
    return normal, path.is_directory


def _refusal(text: str) -> str | None:
    """Why `text` cannot be a path, however the workspace looks."""
    if text.startswith("/"):
        return "is absolute; paths are relative to the workspace root, so leave out the leading '/'"
    if re.search(_SURROGATE, text):
        return "is not valid Unicode"
    if len(text.encode()) > MAX_PATH_BYTES:
        return f"is longer than {MAX_PATH_BYTES} bytes"
    if re.search(_CONTROL, text):
        return "has a control character in it"
    if re.match(_URL, text):
        return "is a URL; only files of the workspace can be named"
    if "\\" in text:
        return "has a backslash in it; put '/' between names"
    if re.match(_DRIVE, text):
        return "begins with a drive; paths are relative to the workspace root"
    if re.match(_HOME, text):
        return "begins with a home directory; paths are relative to the workspace root"
    return None


def protected_as(name: str) -> str | None:
    """`".git"` or `".wink"` when some filesystem would take `name` for it, otherwise None.

    >>> protected_as(".GIT "), protected_as("git~1"), protected_as(".github")
    ('.git', '.git', None)
    """
    if name.isascii() and name[:1] != "." and "~" not in name:
        return None  # nothing folds such a name onto one that has a dot in front, or a tilde
    return _folded(name)


@lru_cache(maxsize=4096)
def _folded(name: str) -> str | None:
    # NTFS drops trailing dots and spaces and everything from a colon on (a stream of the file); HFS+ drops what is
    # ignorable; both fold case. See CVE-2014-9390 and CVE-2019-1353.
    plain = re.sub(IGNORABLE, "", unicodedata.normalize("NFKC", name)).split(":", 1)[0].rstrip(". ")
    for folded in (plain.casefold(), plain.upper().lower()):
        if folded in (".git", ".wink"):
            return folded
        short = re.fullmatch(_SHORT_NAME, folded)
        if short:
            return f".{short[1]}"
    return None


def is_protected_name(name: str) -> bool:
    """Whether some filesystem would take `name` for `.git` or `.wink`, which file tools never write.

    >>> is_protected_name(".git::$INDEX_ALLOCATION"), is_protected_name(".gitignore")
    (True, False)
    """
    return protected_as(name) is not None


def check_readable(path: str, shown: str | None = None) -> None:
    """Raise `PathRefused` where a normalised path is in wink's own state; `shown` is the path that was asked for."""
    # What `protected_as` says of each name, for all of them at once: a search asks for ten thousand paths.
    if path[:1] != "." and path.isascii() and "/." not in path and "~" not in path:
        return
    _check_each_readable(path, shown)


@lru_cache(maxsize=4096)
def _check_each_readable(path: str, shown: str | None) -> None:
    if ".wink" in map(protected_as, path.split("/")):
        raise PathRefused(shown or path, "is wink's own state")


@lru_cache(maxsize=4096)
def check_writable(path: str, shown: str | None = None) -> None:
    """Raise `PathRefused` where file tools may not write: in wink's own state and, as a planted hook or setting
    there is run by the next git command, in any `.git`.
    """
    check_readable(path, shown)
    if ".git" in map(protected_as, path.split("/")):
        raise PathRefused(shown or path, "is in a .git directory, which file tools read and never write")


def check_link(place: str, target: str, shown: str) -> None:
    """Raise `PathRefused` for a link at the normalised path `place` that is not relative or leads out of the tree."""
    depth = place.count("/")
    if target.startswith("/") or not target or "\0" in target:
        raise PathRefused(shown, "would be a link that is not relative")
    for name in target.split("/"):
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            raise PathRefused(shown, "would be a link that leads out of the workspace")


@lru_cache(maxsize=1024)
def unportable_name(path: str) -> str | None:
    """The first name in `path` that Windows cannot hold, if there is one.

    >>> unportable_name("docs/aux.txt"), unportable_name("docs/auxiliary.txt")
    ('aux.txt', None)
    """
    for name in path.split("/"):
        if re.fullmatch(_RESERVED, name) or re.search(_UNPORTABLE, name) or name != name.rstrip(". "):
            return name
    return None


def resolved(store: Store, names: Iterable[str], shown: str) -> str:
    """The normalised path that `names` lead to, one after the other; a `..` goes up from where the links before it led.

    What is not there is taken as it is named: a link that dangles leads to what would be made there. Raises
    `PathRefused` where links lead out of the tree or in circles; `shown` is the path that was asked for.
    """
    pending = [name for name in names if name not in ("", ".")][::-1]
    passed: list[str] = []
    links, missing_from = 0, -1
    while pending:
        name = pending.pop()
        if name == "..":
            if not passed:
                raise PathRefused(shown, OUTSIDE)
            passed.pop()
            missing_from = -1 if len(passed) <= missing_from else missing_from
            continue
        passed.append(name)
        if missing_from >= 0:
            continue  # nothing can be beneath what is not there
        try:
            node = store.node("/".join(passed), follow=False)
        except (FileNotFoundError, NotADirectoryError):
            missing_from = len(passed) - 1
            continue
        if node.kind != "link" or node.target is None:
            continue
        links += 1
        if links > MAX_LINKS:
            raise PathRefused(shown, CIRCLES)
        if node.target.startswith("/"):
            raise PathRefused(shown, OUTSIDE)
        passed.pop()
        pending += [name for name in node.target.split("/") if name not in ("", ".")][::-1]
    return "/".join(passed)


def check_moved(store: Store, source: str, target: str) -> None:
    """Raise `PathRefused` for a link that stays inside, or is in a directory that is moved, and would lead out afterwards.

    What is moved further down leads out from nowhere, so nothing is looked at then.
    """
    before, after = _depth(store, source), _depth(store, target)
    pending = [(source, 0)] if after < before else []
    while pending:
        path, below = pending.pop()
        node = store.node(path, follow=False)
        if node.kind == "directory":
            inside = ((f"{path}/{name}", kind) for name, kind in store.scan(path))
            pending += [(child, below + 1) for child, kind in inside if kind in ("link", "directory")]
        elif node.kind == "link" and node.target is not None:
            rises = _rises(node.target)
            if after + below < rises <= before + below:
                raise PathRefused(
                    path,
                    f"is a link to {node.target!r}, which would lead out of the workspace from there; remove it first",
                )


def _depth(store: Store, path: str) -> int:
    """How many directories are really above a path."""
    directory = resolved(store, path.rpartition("/")[0].split("/"), path)
    return len(directory.split("/")) if directory else 0


def _rises(body: str) -> int:
    """How many directories a link's body goes up at most.

    >>> _rises("../a/../../b"), _rises("a/b")
    (2, 0)
    """
    depth = most = 0
    for name in body.split("/"):
        depth += 1 if name == ".." else -(name not in ("", "."))
        most = max(most, depth)
    return most
