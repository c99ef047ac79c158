"""Sort changes by what matters: files that people look for, then what is made from others, then what git keeps for itself.

What is ignored or generated is told for a whole directory at once. A `.gitignore` that is itself among the changes has no
say, or a program could hide by one what else it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from wink.filesystem._git_data import is_git_data
from wink.filesystem._quoting import quoted_path
from wink.filesystem.diffs._format import FileDiff

if TYPE_CHECKING:
    from wink.filesystem._change import FileChange
    from wink.filesystem.search import Ignored

_NAMES: Final = """
    .venv venv node_modules bower_components __pycache__ .tox .nox .eggs .mypy_cache .pytest_cache .ruff_cache
    .hypothesis .gradle .next .nuxt .parcel-cache .svelte-kit .turbo .terraform .ipynb_checkpoints .dart_tool
"""
GENERATED: Final = frozenset(_NAMES.split())
"""Names of directories that only programs write to, in whatever workspace."""
_UNITS: Final = ("kB", "MB", "GB", "TB")
_LOG_BYTES: Final = 1 << 20
_BRANCH: Final = re.compile(r"(?:.*/)?logs/refs/heads/(.+)", re.DOTALL)


class Folded(NamedTuple):
    """What is told of a directory at once: its `changes`, or a single one of an ignored file, whose path `directory` is then.

    `reason` is `ignored` or `generated`.
    """

    directory: str
    reason: str
    changes: tuple[FileChange, ...]

    def __str__(self) -> str:
        return f"{quoted_path(self.directory)}: {summed_up(self.changes)} ({self.reason})"


class Repository(NamedTuple):
    """What git keeps for itself in one `.git` directory."""

    directory: str
    changes: tuple[FileChange, ...]

    def __str__(self) -> str:
        said = f"{quoted_path(self.directory)}: {len(self.changes)} of git's own"
        meaning = ", ".join(_meanings(self.directory, self.changes))
        return f"{said} ({meaning})" if meaning else said


class Grouped(NamedTuple):
    """Changes in three heaps; each is in exactly one."""

    shown: tuple[FileChange, ...]
    folded: tuple[Folded, ...]
    repositories: tuple[Repository, ...]


def grouped(changes: Iterable[FileChange], ignored: Ignored | None = None) -> Grouped:
    """Sort changes; without `ignored` by names alone."""
    changes = tuple(changes)
    shown: list[FileChange] = []
    heaps: dict[tuple[str, str], list[FileChange]] = {}
    git: dict[str, list[FileChange]] = {}
    rules_changed = {place for change in changes if (place := _ruled_by(change.path)) is not None}
    for change in sorted(changes, key=lambda change: change.path.split("/")):
        if is_git_data(change.path):
            git.setdefault(_repository(change.path), []).append(change)
            continue
        heap = _generated(change.path) or _ignored(change, ignored, rules_changed)
        if heap is None:
            shown.append(change)
        else:
            heaps.setdefault(heap, []).append(change)
    folded = tuple(Folded(place, reason, tuple(made)) for (place, reason), made in heaps.items())
    repositories = tuple(Repository(place, tuple(made)) for place, made in git.items())
    return Grouped(tuple(shown), folded, repositories)


def without_filled(shown: Iterable[FileChange], changes: Iterable[FileChange]) -> list[FileChange]:
    """Those that say something by themselves: not a directory that came or went with what is in it."""
    filled = {change.path[:at] for change in changes for at, letter in enumerate(change.path) if letter == "/"}
    return [change for change in shown if change.path not in filled or not _came_or_went(change)]


def summed_up(changes: Sequence[FileChange]) -> str:
    """Changes in numbers, as "2 files added, 1 changed, 42 MB"; the size is that of what is there now, or was, of files."""
    words: list[str] = []
    size = 0
    for kind, word in (("created", "added"), ("modified", "changed"), ("deleted", "deleted")):
        sides = [change.after or change.before for change in changes if change.kind == kind]
        files = [side for side in sides if side is not None and side.kind != "directory"]
        size += sum(side.size for side in files)
        if files:
            noun = "" if words else " file" if len(files) == 1 else " files"
            words.append(f"{len(files):,}{noun} {word}")
    if not words:
        return f"{len(changes):,} director{'y' if len(changes) == 1 else 'ies'}"
    return f"{', '.join(words)}, {size_in_words(size)}"


def size_in_words(size: int) -> str:
    """A number of bytes for people.

    >>> size_in_words(1), size_in_words(1_500), size_in_words(42_000_000)
    ('1 byte', '1.5 kB', '42 MB')
    """
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    power = min((len(str(size)) - 1) // 3, len(_UNITS))
    number = size / 1000**power
    return f"{number:.{1 if number < 10 else 0}f} {_UNITS[power - 1]}".replace(".0 ", " ")


def _generated(path: str) -> tuple[str, str] | None:
    names = path.split("/")
    at = next((at for at, name in enumerate(names) if name in GENERATED or name.endswith(".egg-info")), None)
    return None if at is None else ("/".join(names[: at + 1]), "generated")


def _ignored(change: FileChange, ignored: Ignored | None, rules_changed: set[str]) -> tuple[str, str] | None:
    path = change.path
    if ignored is None or any(not place or path.startswith(f"{place}/") for place in rules_changed):
        return None
    for at, letter in enumerate(path):
        if letter == "/" and ignored.covers(path[:at], is_directory=True):
            return path[:at], "ignored"
    side = change.after or change.before
    is_directory = side is not None and side.kind == "directory"
    return (path, "ignored") if ignored.covers(path, is_directory=is_directory) else None


def _ruled_by(path: str) -> str | None:
    """The directory in which a file says what is ignored; None for a file that says nothing of that."""
    if path == ".git/info/exclude":
        return ""
    directory, _, name = path.rpartition("/")
    return directory if name == ".gitignore" else None


def _came_or_went(change: FileChange) -> bool:
    sides = [side for side in (change.before, change.after) if side is not None]
    return len(sides) == 1 and sides[0].kind == "directory"


def _repository(path: str) -> str:
    return re.sub(r"(^|/)\.git/.*", r"\1.git", path, flags=re.DOTALL)


def _meanings(directory: str, changes: Sequence[FileChange]) -> list[str]:
    """What the changes in a repository mean, commits first."""
    begin = len(directory) + 1
    commits: list[str] = []
    others: dict[str, None] = {}
    for change in changes:
        path, side = change.path[begin:], change.after or change.before
        if side is None or side.kind == "directory":
            continue
        branch = _BRANCH.fullmatch(path)
        if branch is not None and change.after is not None:
            commits += _commits(branch[1], change)
        elif path.startswith("refs/tags/"):
            others[f"tag {quoted_path(path.removeprefix('refs/tags/'))}"] = None
        elif path.startswith("refs/heads/") and change.kind != "modified":
            verb = "new" if change.kind == "created" else "deleted"
            others[f"{verb} branch {quoted_path(path.removeprefix('refs/heads/'))}"] = None
        elif path in ("index", "HEAD", "packed-refs", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD"):
            others[path] = None
        elif path == "refs/stash":
            others["stash"] = None
        elif path.startswith("refs/remotes/"):
            others["remote branches"] = None
    return [*commits, *others]


def _commits(branch: str, change: FileChange) -> list[str]:
    """What the log of a branch says has happened on it."""
    diff = FileDiff(change.path, change.path, change.before, change.after, most=_LOG_BYTES)
    lines = [line for hunk in diff.hunks for block in hunk.blocks for line in diff.lines[1][block.new : block.new_end]]
    said = [line.rpartition(b"\t")[2].decode("utf-8", "backslashreplace").rstrip("\n") for line in lines]
    made = [text.partition(": ")[2] for text in said if text.startswith("commit")]
    name = quoted_path(branch)
    if not made:
        return [f"{name} moved"] if change.before is not None and (said or not diff.is_known) else []
    last = made[-1] if len(made[-1]) <= 50 else f"{made[-1][:49]}…"
    return [f"{len(made)} commit{'' if len(made) == 1 else 's'} on {name}: {last}"]
