"""Notice what git wrote to a git directory outside of the workspace, of which a try has nothing to merge.

A worktree's `.git` is a file that names its git directory, as are those of submodules and of `--separate-git-dir`; and a
workspace may be a directory of a repository that begins above it. So may be directories in the workspace. All of that is
text by whoever: it decides where is looked in what a program wrote, and nothing is shown or written because of it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from wink.bounded import content_of
from wink.dataclass import dataclass
from wink.errors import RecordCorrupt
from wink.filesystem import git_index_meaning, protected_as
from wink.state import open_directory
from wink.trust import is_inside
from wink_sandbox._deep import Opened
from wink_sandbox._overlay import Overlay
from wink_sandbox._upper import Reader, Step

_MOST: Final = 8192
_LARGEST: Final = 1 << 24
_PARTS: Final = frozenset(("HEAD", "index", "objects", "refs"))
"""Names of which git writes one, whatever it writes."""
_WRITTEN: Final = ("logs", "logs/refs", "objects", "refs")
"""Directories in one in which git makes directories, or finds links in their place."""
_ANY_WORKTREE: Final = re.compile(rb"""(?im)^[ \t]*(?:\[[^\n\]]*\])?[ \t]*worktree[ \t]*=[ \t]*"?([^\n"]*)""")
"""Where a work tree is named in git's settings; that the section is another one is looked past."""
_WORKTREE: Final = re.compile(rb"""(?m)^\tworktree = ([^"\\#;\n]+)$""")
"""Where settings name a work tree as git writes it itself."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class GitHome(NamedTuple):
    """Where what git wrote outside of a workspace is accepted to.

    `place` is the main working tree whose `.git` has it, or with `is_git` the git directory itself, as a bare repository is.
    What does not `point back` has to be confirmed by a person: the workspace alone says that it belongs there.
    """

    place: str
    is_git: bool = False
    points_back: bool = True

    @property
    def inside(self) -> str:
        """The path in there beneath which all lies that is accepted."""
        return "" if self.is_git else ".git"


class GitOutside(NamedTuple):
    """A git directory outside of a workspace that programs have written to; the `.git` at the path `at` leads there.

    `home` is where it is accepted to; None where it cannot be.
    """

    at: str
    directory: str
    home: GitHome | None


def git_outside(root: str, places: Iterable[tuple[str, str]], named: str = "") -> tuple[GitOutside, ...]:
    """The git directories of the workspace and of what lies in it, outside of it, that something was changed in.

    `places` are directories outside and what holds the changes there, both absolute. Of worktrees of one repository only
    those are given that have changes of their own, or else the first. `named` is one that the caller's environment names.
    """
    places = tuple(places)

    def is_changed(directory: str) -> bool:
        return any(_is_changed(place, upper, directory) for place, upper in places)

    found = list(_directories(root))
    if any(not _PARTS.isdisjoint(names) for _, upper in places for _, names in _names_below(upper)):
        found += _directories_below(root)
    by_name = [one for one in _outside(root, ".git", os.path.realpath(named)) if one not in found] if named else []
    found += by_name
    own = [one for one in found if is_changed(one[1])]
    shared = {common for *_, common in own}
    for one in found:
        if one[2] not in shared and is_changed(one[2]):
            own.append(one)
            shared.add(one[2])
    homes = {one: None if one in by_name else git_home(f"{root}/{one[0]}".removesuffix("/.git")) for one in own}
    return tuple(GitOutside(at, git, homes[at, git, common]) for at, git, common in sorted(own))


@dataclass(slots=True)
class Beside(Overlay):
    """A part of what a try keeps of other directories than the workspace, as an overlay of its own over `root`."""

    layer: str = ""

    @property
    def upper(self) -> str:
        """The directory that holds what was changed."""
        return self.layer


def git_home(root: str) -> GitHome | None:
    """Where what git writes for a workspace is accepted to, if its `.git` is a file that leads out of it to what is this user's.

    That file is by whoever. The git directory of a worktree or submodule names its working tree, and must name this one.
    That of `git init --separate-git-dir` names none: it is one that belongs to no other working tree.
    """
    git = _git_directory(f"{root}/.git") if stat.S_ISREG(_mode(f"{root}/.git")) else None
    if git is None:
        return None
    shared, back = _line(f"{git}/commondir"), _line(f"{git}/gitdir")
    if shared is None or back is None:
        main = _superproject(root, git)
        return _separate(root, git) if main is None else GitHome(main)
    if os.path.realpath(os.path.join(git, back)) != f"{root}/.git":
        return None
    common = os.path.realpath(os.path.join(git, shared))
    if os.path.dirname(git) != f"{common}/worktrees" or is_inside(common, root):
        return None
    places = (common, f"{common}/worktrees", git, f"{git}/commondir", f"{git}/gitdir")
    main = os.path.dirname(common)
    if common != f"{main.rstrip('/')}/.git":
        return GitHome(common, is_git=True) if all(map(_is_own, places)) and _is_repository(common) else None
    return GitHome(main) if all(map(_is_own, (main, *places))) and not is_inside(main, root) else None


def _separate(root: str, git: str) -> GitHome | None:
    """A git directory that is nobody's but perhaps that of a workspace at `root`, and where it does not say so, has to be confirmed."""
    if os.path.basename(git) == ".git" or is_inside(git, root) or is_inside(root, git) or "/.git/" in git:
        return None
    if not _is_repository(git) or os.path.lexists(f"{git}/commondir"):
        return None
    settings = (bounded_content(f"{git}/{name}", _LARGEST) or b"" for name in ("config", "config.worktree"))
    named = [os.fsdecode(found[1]) for text in settings for found in _ANY_WORKTREE.finditer(text)]
    if any(os.path.realpath(os.path.join(git, one)) != root for one in named):
        return None
    return GitHome(git, is_git=True, points_back=bool(named))


def _is_repository(git: str) -> bool:
    """Whether a directory has what git needs to take it for its own, as this user's."""
    places = (git, f"{git}/HEAD", f"{git}/objects", f"{git}/refs")
    kinds = (stat.S_ISDIR, stat.S_ISREG, stat.S_ISDIR, stat.S_ISDIR)
    return all(is_kind(_mode(place)) and _is_own(place) for place, is_kind in zip(places, kinds, strict=True))


def _superproject(root: str, git: str) -> str | None:
    """The directory of the project that a workspace is a submodule of, in whose `.git` its git directory `git` lies."""
    main, _, within = git.partition("/.git/")
    if not within.startswith(("modules/", "worktrees/")) or is_inside(main, root):
        return None
    named = _WORKTREE.findall(bounded_content(f"{git}/config", _LARGEST) or b"")
    if len(named) != 1 or os.path.realpath(os.path.join(git, os.fsdecode(named[0]))) != root:
        return None
    places = [f"{git}/config", git]
    while places[-1] != main:
        places.append(os.path.dirname(places[-1]))
    return main if all(map(_is_own, places)) else None


def _is_own(place: str) -> bool:
    return os.lstat(place).st_uid == os.geteuid()


def leads_elsewhere(root: str, path: str) -> bool:
    """Whether a path of the workspace is a `.git` by which git, in a copy of the workspace, would work on what is not in the copy."""
    if protected_as(path.rpartition("/")[2]) != ".git":
        return False
    place = f"{root}/{path}"
    mode = _mode(place)
    named = ""
    if stat.S_ISLNK(mode):
        named = os.readlink(place)
    elif stat.S_ISREG(mode):
        line = _line(place) or ""
        if not line.startswith("gitdir:"):
            return True  # git reads some such texts otherwise than we do
        named = line.removeprefix("gitdir:").strip()
    git = os.path.realpath(os.path.join(os.path.dirname(place), named)) if named else place
    if _has_its_files_elsewhere(git, root):
        return True
    shared = _line(f"{git}/commondir")
    if shared is None:
        return os.path.isabs(named) or not is_inside(git, root) or os.path.lexists(f"{git}/commondir")
    common = os.path.realpath(os.path.join(git, shared))
    return any(map(os.path.isabs, (named, shared))) or not (is_inside(git, root) and is_inside(common, root))


def _has_its_files_elsewhere(git: str, root: str) -> bool:
    """Whether git would write, because of a link or of `core.worktree` in a git directory, to what is outside of the workspace."""
    links: list[str] = []
    for place in (git, *(f"{git}/{name}" for name in _WRITTEN)):
        with suppress(OSError), os.scandir(place) as entries:
            links += [entry.path for entry in entries if entry.is_symlink()]
    if any(os.path.isabs(os.readlink(one)) or not is_inside(os.path.realpath(one), root) for one in links):
        return True
    settings = (bounded_content(f"{git}/{name}", _LARGEST) or b"" for name in ("config", "config.worktree"))
    named = (os.fsdecode(found[1]) for text in settings for found in _ANY_WORKTREE.finditer(text))
    return any(not is_inside(os.path.realpath(os.path.join(git, one)), root) or os.path.isabs(one) for one in named)


def index_in(home: GitHome, root: str) -> str:
    """The path, in where it is accepted to, of the index of a workspace at `root`."""
    git = _git_directory(f"{root}/.git") or home.place
    return os.path.normpath(f"{os.path.relpath(git, home.place)}/index")


def worktree_in(at: str) -> str:
    """The path in the git directory of a repository of what belongs to one of its worktrees alone, whose `.git` is `at`; "" for no worktree."""
    above, name = os.path.split(_git_directory(at) or "")
    return f"worktrees/{name}" if os.path.basename(above) == "worktrees" else ""


def beside(overlay: Overlay, home: GitHome, places: Iterable[tuple[str, str]]) -> Beside | None:
    """What programs changed in where it is accepted to, with `places` as for `git_outside`."""
    main = home.place
    found = [(place, upper) for place, upper in places if is_inside(main, place)]
    if not found:
        return None
    place, upper = max(found, key=lambda one: len(one[0]))
    layer = f"{upper}{main[len(place.rstrip('/')) :]}"
    return Beside(main, overlay.directory, since=overlay.since, is_git=home.is_git, layer=layer)


def _mode(place: str) -> int:
    try:
        return os.lstat(place).st_mode
    except OSError:
        return 0


def _directories(root: str) -> Iterator[tuple[str, str, str]]:
    """Where the `.git` of a workspace is, its git directory and the one that it shares with others, unless in the workspace."""
    above: str = root
    while True:
        git = _git_directory(f"{above.rstrip('/')}/.git")
        if git is not None:
            yield from _outside(root, ".git", git)
            return
        if above == "/":
            return
        above = os.path.dirname(above)


def _directories_below(root: str) -> Iterator[tuple[str, str, str]]:
    """The same of every `.git` in a directory of the workspace."""
    for above, names in _names_below(root, but=(".git", ".wink")):
        git = _git_directory(f"{root}/{above}/.git") if above and ".git" in names else None
        if git is not None:
            yield from _outside(root, f"{above}/.git", git)


def _outside(root: str, at: str, git: str) -> Iterator[tuple[str, str, str]]:
    shared = _line(f"{git}/commondir")
    common = git if shared is None else os.path.realpath(os.path.join(git, shared))
    if not (is_inside(git, root) and is_inside(common, root)):
        yield at, git, common


def _names_below(base: str, but: tuple[str, ...] = ()) -> Iterator[tuple[str, frozenset[str]]]:
    """The directories in one, itself first, as paths in it, each with the names in it; links are not followed."""
    pending = [""]
    while pending:
        above = pending.pop()
        try:
            fd = os.open(f"{base}/{above}", _READ | os.O_DIRECTORY)
        except OSError:
            continue  # what nobody can open, or has a longer path than any, git does not either
        try:
            with os.scandir(fd) as entries:
                found = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        finally:
            os.close(fd)
        yield above, frozenset(found)
        pending += [f"{above}/{name}".lstrip("/") for name, is_dir in found.items() if is_dir and name not in but]


def _git_directory(place: str) -> str | None:
    there = os.path.realpath(place)
    if os.path.isdir(there):
        return there
    line = _line(there)
    if line is None or not line.startswith("gitdir:"):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(there), line.removeprefix("gitdir:").strip()))


def _line(place: str) -> str | None:
    """What a small file says; None for anything else."""
    content = bounded_content(place, _MOST)
    return None if content is None or b"\0" in content else os.fsdecode(content).strip() or None


def bounded_content(place: str, most: int) -> bytes | None:
    """What a regular file says, if it is no link and has no more bytes than that."""
    try:
        return content_of(os.open(place, _READ), place, most)
    except (OSError, ValueError):
        return None


def _is_changed(place: str, upper: str, git: str) -> bool:
    """Whether there is more in the layer over a directory than an index in which git has noted other times."""
    if not is_inside(git, place):
        return False
    written = f"{upper}{git[len(place.rstrip('/')) :]}"
    try:
        os.close(open_directory(written))
    except (OSError, RecordCorrupt):
        return False  # nothing is there, or no directory any more
    steps = Reader(git, written, ignored=lambda _: None, is_scratch=lambda _: False, opened=Opened()).read().steps
    return any(not _is_index_still(git, written, step) for step in steps)


def _is_index_still(git: str, written: str, step: Step) -> bool:
    if step.kind != "file" or step.found is None or step.path.rpartition("/")[2] != "index":
        return False
    before, after = (bounded_content(f"{base}/{step.path}", _LARGEST) for base in (git, written))
    if before is None or after is None:
        return False
    said = git_index_meaning(before)
    return said is not None and said == git_index_meaning(after)
