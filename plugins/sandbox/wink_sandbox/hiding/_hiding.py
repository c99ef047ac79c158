"""Find which paths of a workspace are hidden from the next program, by a walk that goes only where one can be."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from typing import TYPE_CHECKING, Any, Final

from wink.errors import SandboxUnavailable
from wink.filesystem import Pattern, quoted_path

if TYPE_CHECKING:
    from wink_rules import Rule, RulesPolicy

MOST_LOOKED_AT: Final = 2_000_000
"""Names that one walk looks at; a workspace with more is not walked to the end, and its programs are not run."""
MOST_HIDDEN: Final = 1_000
"""bubblewrap takes the longer for each mount the more there are: seconds for a thousand."""
_DEEPEST: Final = 400
_SHOWN: Final = 5
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WITHIN: Final = "\1" * 40
"""A name that no pattern has in mind, to see whether a rule means all that is in a directory."""
_STATE: Final = ".wink"
_GIT: Final = ".git"
_MOST_STEPS: Final = 10_000

_State = tuple[int, ...] | None
"""Where each pattern's automaton is; None where anything may fit."""
_Link = tuple[int, int]
"""The device and the inode of a file that has several names."""


@dataclass(slots=True)
class Hiding:
    """What rules hide from programs of one kind: `policies` hold nothing but rules that do. `hidden` is what the last program did not see."""

    policies: Sequence[RulesPolicy]
    reader: object
    """The tool that the rules are asked about."""
    hidden: tuple[str, ...] = ()
    _starts: tuple[Pattern, ...] | None = field(default=None, repr=False)
    _start: _State = field(default=None, repr=False)
    _any: re.Pattern[str] | None = field(default=None, repr=False)
    """Finds every name that some part of a pattern is about; None where that is not so simple."""
    _steps: dict[tuple[_State, str], tuple[_State, bool, bool]] = field(default_factory=dict[Any, Any], repr=False)
    _has_git: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        wanted = [
            path for one in self.policies for rule in one.rules for path in rule.paths if not path.startswith("!")
        ]
        patterns = [_pattern(path) for path in wanted]
        self._has_git = any(_GIT in path.casefold() for path in wanted)
        self._starts = None if None in patterns else tuple(filter(None, patterns))
        self._start = None if self._starts is None else tuple(one.start for one in self._starts)
        if not any("{" in path for path in wanted):
            parts = {part.lower() for path in wanted for part in path.split("/")} - {"", ".", "**"}
            self._any = re.compile("|".join(map(translate, sorted(parts))))

    def rule(self, path: str) -> Rule | None:
        """The rule that hides a path, by its name."""
        found = (one.denied(self.reader, path) for one in self.policies)  # type: ignore[arg-type]
        return next(filter(None, found), None)

    def find(self, root: str, *more: str) -> tuple[str, ...]:
        """The paths in the workspace `root`, and in what is shown in its place or over it, that are not to be seen.

        What is in a hidden directory is not named. Other names in `root` of a file that is hidden are hidden too. Raises
        `SandboxUnavailable` where there is more to look at than is bearable.
        """
        walk, links = _Walk(self), set[_Link]()
        found = dict.fromkeys(walk.matching(root, links))
        for place in more:
            found.update(dict.fromkeys(walk.matching(place, set(), is_real=False)))
        if links:
            found.update(dict.fromkeys(walk.linked(root, links)))
        self.hidden = tuple(sorted(path for path in found if found.keys().isdisjoint(_with_above(path) - {path})))
        if len(self.hidden) > MOST_HIDDEN:
            raise _too_much(f"rules hide {len(self.hidden)} paths from programs, and {MOST_HIDDEN} can be hidden")
        return self.hidden

    def __str__(self) -> str:
        """What was hidden, some of it by name; empty where nothing was."""
        return shown(self.hidden)

    def touched(self, paths: Iterable[str]) -> dict[str, None]:
        """Which of some changed paths are hidden ones, or held one."""
        hidden = set(self.hidden)
        above = {path[:at] for path in hidden for at in range(len(path)) if path[at] == "/"}
        return {path: None for path in paths if path in above or not hidden.isdisjoint(_with_above(path))}

    @property
    def start(self) -> _State:
        """Before the first name of a path."""
        return self._start

    def step(self, state: _State, name: str) -> tuple[_State, bool, bool]:
        """After one more name; whether something may fit here or beneath, and whether the path so far may itself."""
        if state is None or _is_odd(name):
            return None, True, True
        lower = name.lower()
        # Most names are those of no pattern, and all of these lead to the same.
        key = state, lower if self._any is None or self._any.match(lower) else ""
        known = self._steps.get(key)
        if known is None:
            known = self._stepped(state, lower)
            if len(self._steps) < _MOST_STEPS:
                self._steps[key] = known
        return known

    def _stepped(self, state: tuple[int, ...], lower: str) -> tuple[_State, bool, bool]:
        starts = self._starts or ()
        after = tuple(one.step(at, lower) if at else 0 for one, at in zip(starts, state, strict=True))
        return after, any(after), any(one.is_end(at, is_directory=True) for one, at in zip(starts, after, strict=True))

    def passes(self, name: str) -> bool:
        """Whether a directory is not looked into: wink's own, which no program sees, and git's unless a rule is about it."""
        return name == _STATE or (name == _GIT and not self._has_git)


class _Walk:
    """One look at a workspace, by descriptors: no name is followed twice, and no link at all."""

    def __init__(self, hiding: Hiding) -> None:
        self._hiding, self._looked_at = hiding, 0

    def matching(self, place: str, links: set[_Link], *, is_real: bool = True) -> Iterator[str]:
        """The paths that rules hide, each directory that is hidden as a whole once; what has other names goes to `links`.

        Where it is the real workspace, directories that links in it lead to are looked into by the links' names too.
        """
        hiding, seen = self._hiding, set[tuple[str, _State]]()
        pending = [(_Opened.at(place), "", "", hiding.start)]
        while pending:
            opened, above, named, state = pending.pop()
            entries = self._entries(opened)
            if opened.is_closed and above:
                yield above.removesuffix("/")
            for entry in entries:
                after, may_be, may_fit = hiding.step(state, entry.name)
                if not may_be:
                    continue
                path, name, is_directory = (
                    f"{above}{entry.name}",
                    f"{named}{entry.name}",
                    entry.is_dir(follow_symlinks=False),
                )
                rule = hiding.rule(name) if may_fit else None
                if may_fit:
                    after = None  # a name at the end of a pattern stands for all that is in it, exceptions aside
                if rule is not None and not is_directory:
                    _note(entry, links)
                    yield path
                elif rule is not None and _is_whole(rule) and hiding.rule(f"{name}/{_WITHIN}/{_WITHIN}") is not None:
                    self._note_all(opened.into(entry.name), links)
                    yield path
                elif is_directory and not hiding.passes(entry.name):
                    pending.append((opened.into(entry.name), f"{path}/", f"{name}/", after))
                elif (
                    is_real
                    and after != hiding.start  # what fits there fits by its real name too
                    and entry.is_symlink()
                    and (inner := _led_to(place, path))
                    and (inner, after) not in seen
                ):
                    # Rules judge a path by the names that it is given, too.
                    seen.add((inner, after))
                    pending.append((_Opened.at(f"{place}/{inner}"), f"{inner}/", f"{name}/", after))

    def linked(self, place: str, links: Collection[_Link]) -> Iterator[str]:
        """Every name of these files; most workspaces have none, so that looking at each file is bearable."""
        pending = [(_Opened.at(place), "")]
        while pending:
            opened, above = pending.pop()
            for entry in self._entries(opened):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != _STATE:
                        pending.append((opened.into(entry.name), f"{above}{entry.name}/"))
                elif entry.is_file(follow_symlinks=False):
                    try:
                        found = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if (found.st_dev, found.st_ino) in links:
                        yield f"{above}{entry.name}"

    def _note_all(self, opened: _Opened, links: set[_Link]) -> None:
        pending = [opened]
        while pending:
            at = pending.pop()
            for entry in self._entries(at):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(at.into(entry.name))
                else:
                    _note(entry, links)

    def _entries(self, opened: _Opened) -> Iterator[os.DirEntry[str]]:
        fd = opened.open()
        return iter(()) if fd < 0 else self._entries_of(fd)

    def _entries_of(self, fd: int) -> Iterator[os.DirEntry[str]]:
        with os.scandir(fd) as entries:
            for entry in entries:
                self._looked_at += 1
                if self._looked_at > MOST_LOOKED_AT:
                    raise _too_much(
                        f"rules hide paths from programs, and the workspace has more than {MOST_LOOKED_AT} names to look at"
                    )
                yield entry


class _Opened:
    """A directory that is opened by its name in the one above, when it is its turn, and closed when nothing in it is left to be."""

    __slots__ = ("_above", "_depth", "_fd", "_name", "is_closed")

    def __init__(self, above: _Opened | None, name: str, depth: int) -> None:
        self.is_closed = False
        """Whether it could not be looked into, and a program that we run could change its mode."""
        self._above, self._name, self._depth, self._fd = above, name, depth, -1

    @classmethod
    def at(cls, place: str) -> _Opened:
        """One by its path."""
        return cls(None, place, 0)

    def into(self, name: str) -> _Opened:
        """One in it; raises `SandboxUnavailable` where that is too deep."""
        if self._depth >= _DEEPEST:
            raise _too_much(
                f"rules hide paths from programs, and a directory called {quoted_path(name)!r} lies {_DEEPEST} levels deep"
            )
        return _Opened(self, name, self._depth + 1)

    def open(self) -> int:
        """Its descriptor, which it keeps; -1 where it is gone, no directory any more, or closed to us."""
        at = None if self._above is None else self._above._fd
        try:
            self._fd = os.open(self._name, _DIRECTORY, dir_fd=at)
        except (FileNotFoundError, NotADirectoryError):
            return -1
        except PermissionError:
            self.is_closed = _is_ours(self._name, at)
            return -1
        except OSError as error:
            if error.errno != errno.ELOOP:  # a link took its place
                raise
            return -1
        self._above = None  # which closes it when this was the last one in it
        return self._fd

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _is_ours(name: str, directory: int | None) -> bool:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_uid == os.geteuid()
    except FileNotFoundError:
        return False
    except PermissionError:  # the one above can be listed, and no more
        return True


def shown(hidden: Sequence[str]) -> str:
    """Some paths by name, and how many more there are."""
    more = f" and {len(hidden) - _SHOWN} more" if len(hidden) > _SHOWN else ""
    return ", ".join(map(quoted_path, hidden[:_SHOWN])) + more


def _note(entry: os.DirEntry[str], links: set[_Link]) -> None:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
        links.add((found.st_dev, found.st_ino))


def _led_to(root: str, path: str) -> str:
    """The path in the workspace of the directory that a link in it leads to; empty for one elsewhere, or for the workspace."""
    place = os.path.realpath(f"{root}/{path}")
    return place[len(root) + 1 :] if place.startswith(f"{root}/") and os.path.isdir(place) else ""


def _is_whole(rule: Rule) -> bool:
    """Whether a rule leaves out nothing of what it means."""
    return not any(path.startswith("!") for path in rule.paths)


def _pattern(text: str) -> Pattern | None:
    """What a path's names are held against, more widely than the rule means them; None where anything may be meant."""
    names = [name for name in text.split("/") if name not in ("", ".")]
    while names[-1:] == ["**"]:
        names.pop()
    return Pattern("/".join(names).lower()) if names and not any(map(_is_odd, names)) else None


def _is_odd(name: str) -> bool:
    """Whether some filesystem knows a name by another spelling than upper and lower case."""
    return not name.isascii() or ":" in name or name.endswith((".", " "))


def _with_above(path: str) -> set[str]:
    return {path, *(path[:at] for at in range(len(path)) if path[at] == "/")}


def _too_much(what: str) -> SandboxUnavailable:
    return SandboxUnavailable("hiding", (f"{what}; name directories in these rules, as in `secrets/**`",))
