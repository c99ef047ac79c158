"""What has to become of a workspace and of tries over it: dictionaries, and the rules as the guide gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from plugins.sandbox.tests.tries_laws.edits import Action, File, Tree, actions, done, first_tree
from plugins.sandbox.tests.tries_laws.merging import Ambiguous, is_marked, is_text, merge

KEPT: Final = 5
"""So many tries that were dropped can come back."""
Told = tuple[Any, ...]
"""What an operation comes to: a word, and what goes with it."""


class Entry(NamedTuple):
    """A path that a try has changed: what it shows there, nothing where it was deleted, and what the workspace had.

    One that is `like` a file of the workspace has its time, where programs have at most changed its permissions. `inode`
    tells it from others that were there.
    """

    value: File | None
    base: File | None
    like: int | None = None
    inode: int = 0


class Step(NamedTuple):
    """What is merged at a path that a try has changed: `is_mode` where that is the permissions alone."""

    path: str
    entry: Entry
    is_mode: bool


class Settled(NamedTuple):
    """What becomes of a path: its `value`, and whether that is the workspace's own, or `laid` down from both.

    A `conflict` is decided or not; what is not has no value. Lines decided by markers are `marked`.
    """

    value: File | None = None
    is_same: bool = False
    is_laid: bool = False
    conflict: str = ""
    is_decided: bool = True


class Followed(NamedTuple):
    """What becomes of the old and of the new name of a file that one side has renamed and the other changed.

    Where the workspace has renamed it, the new name is none that the try has changed.
    """

    old: str
    new: str
    of_old: Settled
    of_new: Settled


class Planned(NamedTuple):
    """What an update has done to a path: before and after, and what else the try noted of it before."""

    before: Entry
    after: Entry | None
    known_before: int | None
    known: int
    was_marked: bool


@dataclass
class Tried:
    """One try. `known` are versions of the workspace's files that are no other one's work; `update` is the last one."""

    since: int
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    known: dict[str, int] = field(default_factory=dict[str, int])
    marked: set[str] = field(default_factory=set[str])
    update: dict[str, Planned] = field(default_factory=dict[str, Planned])


@dataclass
class Call:
    """What a call has made of each path that it changed, and whether it is undone; `of` is the call that an undo took back."""

    changes: dict[str, tuple[File | None, File | None]]
    is_undone: bool = False
    of: int | None = None


class Model:
    """A workspace and its tries. `times` are those of the workspace's files, which no rule is about, as somebody has read them.

    `renames` counts those of one side that what the other had changed has followed.
    """

    def __init__(self, times: Callable[[], Mapping[str, int]]) -> None:
        self.tree: Tree = first_tree()
        self.times = times
        self.clock = self._inodes = self.renames = 0
        self.versions: dict[str, int] = {}
        self.tries: dict[str, Tried] = {}
        self.dropped: list[tuple[str, Tried]] = []
        self.calls: list[Call] = []

    def _fresh(self) -> int:
        self._inodes += 1
        return self._inodes

    def copy(self) -> Model:
        """Another one, to see what would be."""
        other = Model(self.times)
        state = (self.tree, self.versions, self.tries, self.dropped, self.calls)
        other.tree, other.versions, other.tries, other.dropped, other.calls = deepcopy(state)
        other.clock, other._inodes, other.renames = self.clock, self._inodes, self.renames
        return other

    def view(self, name: str) -> Tree:
        """What a try shows."""
        found: dict[str, File | None] = {**self.tree}
        if name in self.tries:
            found |= {path: entry.value for path, entry in self.tries[name].entries.items()}
        return {path: value for path, value in found.items() if value is not None}

    def steps(self, name: str) -> list[Step]:
        """What a try has changed, as it is now: what is as in the workspace again by its time too is no change."""
        found: list[Step] = []
        times = self.times()
        for path, entry in self.tries[name].entries.items():
            here, there = self.tree.get(path), entry.value
            if here is None and there is None:
                continue
            if here is not None and there is not None and entry.like == times[path] and here.content == there.content:
                if here.mode != there.mode:
                    found.append(Step(path, entry, is_mode=True))
                continue
            found.append(Step(path, entry, is_mode=False))
        return found

    def do(self, operation: Sequence[Any]) -> Told:
        """Do one operation; raises `Ambiguous` where no rule says what is to become of it, and then this is of no use."""
        self.clock += 1
        verb, *given = operation
        return getattr(self, f"_{verb}")(*given)

    # -- what people and programs do

    def _person(self, edits: Iterable[Any]) -> Told:
        todo = tuple(actions(self.tree, edits))
        for action in todo:
            done(self.tree, action)
            for path in filter(None, (action.path, action.target)) if action.verb != "open" else ():
                self.versions[path] = self.clock
        return ("saved", todo)

    def _run(self, name: str, edits: Iterable[Any]) -> Told:
        tried = self.tries.setdefault(name, Tried(self.clock))
        todo, times, had = tuple(actions(self.view(name), edits)), self.times(), dict(tried.entries)
        for action in todo:
            self._act(tried, action, times)
        for path, entry in tried.entries.items():
            if path in had:  # also of what was moved away and back meanwhile
                tried.entries[path] = entry._replace(base=had[path].base)
            elif entry.base is not None:
                tried.known.pop(path, None)
        return ("ran", todo)

    def _act(self, tried: Tried, action: Action, times: Mapping[str, int]) -> None:
        path = action.path
        if action.verb == "write":
            there = self._opened(tried, path, times)
            inode = there.inode if action.in_place and there is not None and there.value is not None else self._fresh()
            base = there.base if there is not None else self.tree.get(path)
            tried.entries[path] = Entry(File(action.mode, action.content), base, None, inode)
        elif action.verb == "delete":
            self._gone(tried, path)
        elif action.verb == "move":
            there = self._opened(tried, path, times)
            assert there is not None
            base = tried.entries[action.target].base if action.target in tried.entries else self.tree.get(action.target)
            tried.entries[action.target] = Entry(there.value, base, there.like, there.inode)
            self._gone(tried, path)
        else:
            there = self._opened(tried, path, times)
            assert there is not None
            assert there.value is not None
            mode = action.mode if action.verb == "mode" else there.value.mode
            tried.entries[path] = there._replace(value=there.value._replace(mode=mode))

    def _opened(self, tried: Tried, path: str, times: Mapping[str, int]) -> Entry | None:
        """What a try has at a path when it is opened for writing: its own, or a copy."""
        if path in tried.entries:
            return tried.entries[path]
        here = self.tree.get(path)
        return None if here is None else Entry(here, here, times[path], self._fresh())

    def _gone(self, tried: Tried, path: str) -> None:
        entry = tried.entries.pop(path, None)
        if path in self.tree:
            tried.entries[path] = Entry(None, self.tree[path] if entry is None else entry.base, None, self._fresh())

    # -- merging

    def _accept(
        self, name: str, paths: Sequence[str], without: Sequence[str], choice: str | None, is_rest: bool
    ) -> Told:
        if name not in self.tries:
            return ("UnknownTry",)
        tried, steps = self.tries[name], {step.path: step for step in self.steps(name)}
        if not all(any(_is_at(path, place) for path in steps) for place in (*paths, *without)):
            return ("NothingTried",)
        chosen = [path for path in steps if not paths or any(_is_at(path, place) for place in paths)]
        if not all(any(_is_at(path, place) for path in steps) for place in without):
            return ("NothingTried",)
        chosen = [path for path in chosen if not any(_is_at(path, place) for place in without)]
        followed = self._followed(tried, [steps[path] for path in chosen])
        settled = {one.old: one.of_old for one in followed} | {one.new: one.of_new for one in followed}
        settled |= {path: self._settled(tried, steps[path], choice) for path in chosen if path not in settled}
        taken = [path for path, one in settled.items() if not one.is_same]
        files = {path for path in chosen if not steps[path].is_mode}
        refused = set[str]()
        if choice != "markers":
            refused = self._with_markers(tried, [path for path in taken if path in files])
        conflicts = {path for path in taken if not settled[path].is_decided} - refused
        if refused and not is_rest:
            return ("AcceptRefused", sorted(refused))
        if conflicts and not is_rest:
            return ("TryConflict", sorted(conflicts))
        refused |= {path for one in followed if {one.old, one.new} & refused for path in (one.old, one.new)}
        here = {path: one for path, one in settled.items() if path not in refused | conflicts}
        decided = sorted(path for path, one in here.items() if one.conflict)
        marked = set[str]()
        if choice == "markers":
            some = [path for path, one in here.items() if not one.is_same and path in files]
            marked = {*decided, *self._with_markers(tried, some)}
        if choice == "workspace" and decided:
            entries = {path: tried.entries[path] for path in decided}
            aside = deepcopy(Tried(tried.since, entries, tried.known, tried.marked))
            self.dropped.append((name, aside))
        self.renames += sum(one.old in here for one in followed)
        wanted = {path: one.value for path, one in here.items() if not one.is_same}
        is_call = self._become(wanted)
        for path in here:
            tried.entries.pop(path, None)
        for path, value in wanted.items():
            if value is not None:
                tried.known[path] = self.versions[path]
        is_over = self._ended(name)
        merged = sorted(path for path, one in here.items() if one.is_laid)
        return (
            "accepted",
            {
                "call": is_call,
                "over": is_over,
                "merged": merged,
                "marked": sorted(marked),
                "left": sorted(refused | conflicts),
                "aside": decided if choice == "workspace" else [],
            },
        )

    def _become(self, wanted: Mapping[str, File | None]) -> bool:
        """Change the workspace by a call; whether there is one."""
        changes = {path: (self.tree.get(path), value) for path, value in wanted.items()}
        for path, value in wanted.items():
            self.versions[path] = self.clock
            self.tree.pop(path, None)
            if value is not None:
                self.tree[path] = value
        changes = {path: change for path, change in changes.items() if change[0] != change[1]}
        if changes:
            self.calls.append(Call(changes))
        return bool(changes)

    def _ended(self, name: str) -> bool:
        if self.steps(name):
            return False
        del self.tries[name]
        return True

    def _with_markers(self, tried: Tried, files: Sequence[str]) -> set[str]:
        """Those of some files that still have markers of an update; wherever they are now, where a program has moved one away."""
        values = {path: entry.value for path, entry in tried.entries.items()}
        if not tried.marked:
            return set()
        if all(values.get(path) is not None for path in tried.marked):
            files = [path for path in files if path in tried.marked]
        return {path for path in files if (value := values[path]) is not None and is_marked(value.content)}

    def _changed(self, tried: Tried, path: str) -> bool:
        """Whether somebody has touched the workspace's file since the try began."""
        version = self.versions.get(path, 0)
        return version > tried.since and tried.known.get(path) != version

    def _settled(self, tried: Tried, step: Step, choice: str | None) -> Settled:
        """What becomes of a path: the rules of three ways."""
        here, base, there = self.tree.get(step.path), step.entry.base, step.entry.value
        if not self._changed(tried, step.path):
            return Settled(there)
        if here == there:
            return Settled(here, is_same=True)
        if here == base:
            if here is not None and there is not None and there.content == here.content and not step.is_mode:
                raise Ambiguous("whether a file with the same content is another one")
            return Settled(there)
        whole = Settled(there, conflict="whole", is_decided=choice == "try")
        if here is None or base is None or there is None:
            return Settled(there) if here is None and base is None else whole
        mode, conflict = _mode(here.mode, base.mode, there.mode), ""
        if mode is None:
            conflict = "mode"
            if choice not in ("workspace", "try"):
                return Settled(conflict="mode", is_decided=False)
            mode = here.mode if choice == "workspace" else there.mode
        if there.content == base.content or there.content == here.content:
            content = here.content
        elif here.content == base.content:
            content = there.content
        elif not all(is_text(one.content) for one in (here, base, there)):
            return whole
        else:
            merged = merge(here.content, base.content, there.content)
            if merged.conflicts:
                conflict = "lines"
                if choice is None:
                    return Settled(conflict="lines", is_decided=False)
            content = {"workspace": merged.workspace, "try": merged.tried}.get(choice or "", merged.markers)
        value = File(mode, content)
        is_its_own = value == there and (step.is_mode or here.content == base.content)
        return Settled(value, value == here, value != here and not is_its_own, conflict)

    def _followed(self, tried: Tried, steps: Sequence[Step]) -> list[Followed]:
        """The renames of one side that what the other has changed follows: with what had a name at the beginning, alone and to the byte."""
        found: list[Followed] = []
        changed = [step for step in steps if not step.is_mode and self._changed(tried, step.path)]
        changed = [step for step in changed if step.entry.base is not None and step.entry.base.content]
        deleted = {step.path: self.tree[step.path].content for step in steps if step.entry.value is None}
        deleted |= {step.path: base.content for step in changed if step.path in deleted and (base := step.entry.base)}
        # One in the place of a file that the workspace has deleted is none that is new.
        new = {step.path: step.entry.value for step in steps if step.path not in self.tree and step.entry.base is None}
        there = {path: value.content for path, value in new.items() if value is not None}
        for step in changed:
            base, path = step.entry.base, _alone(there, deleted, step.path)
            if path is not None and (made := new[path]) is not None:
                here, of_old = self.tree[step.path], Settled(None)
                if base is not None and (mode := _mode(here.mode, base.mode, made.mode)) is not None:
                    value = File(mode, here.content)
                    found.append(Followed(step.path, path, of_old, Settled(value, is_laid=value != made)))
        edited = {step.path: step for step in changed if step.entry.value is not None and step.path not in self.tree}
        olds = {path: base.content for path, step in edited.items() if (base := step.entry.base)}
        olds = {path: content for path, content in olds.items() if is_text(content)}
        saved = [path for path in self.tree if self.versions.get(path, 0) > tried.since and path not in tried.entries]
        there = {path: self.tree[path].content for path in saved}
        for old in olds:
            base, value, path = edited[old].entry.base, edited[old].entry.value, _alone(there, olds, old)
            if path is None or base is None or value is None or (tried.marked and is_marked(value.content)):
                continue
            here = self.tree[path]
            if (mode := _mode(here.mode, base.mode, value.mode)) is not None:
                made = File(mode, value.content)
                of_new = Settled(made, is_same=made == here, is_laid=made != here)
                found.append(Followed(old, path, Settled(None, is_same=True), of_new))
        return found

    def _update(self, name: str) -> Told:
        if name not in self.tries:
            return ("UnknownTry",)
        tried, plan = self.tries[name], dict[str, Planned]()
        merged, marked, same, refused = list[str](), list[str](), list[str](), list[str]()
        for step in self.steps(name):
            path, known = step.path, tried.known.get(step.path)
            if not self._changed(tried, path):
                continue
            one = self._settled(tried, step, "markers")
            if not one.is_decided:
                refused.append(path)
                continue
            here = self.tree.get(path)
            if here is None or here == step.entry.base:
                if one.is_same:
                    raise Ambiguous("whether a try has its own of what is the same")
                continue
            if not one.is_same and not one.is_laid:
                continue
            after = None if one.is_same else Entry(one.value, here, None, self._fresh())
            plan[path] = Planned(step.entry, after, known, self.versions[path], path in tried.marked)
            (same if one.is_same else merged).append(path)
            if one.conflict and not one.is_same:
                marked.append(path)
        for path, planned in plan.items():
            was_marked = path in tried.marked
            tried.marked.discard(path)
            if planned.after is None:
                del tried.entries[path]
            else:
                tried.entries[path] = planned.after
                if path in marked or was_marked:
                    tried.marked.add(path)
            tried.known[path] = planned.known
        if plan:
            tried.update = plan
        return ("updated", *map(sorted, (merged, marked, same, refused)))

    def _undo_update(self, name: str) -> Told:
        if name not in self.tries:
            return ("UnknownTry",)
        tried = self.tries[name]
        if not tried.update:
            return ("nothing",)
        changed = [path for path, planned in tried.update.items() if not self._is_as_updated(tried, path, planned)]
        if changed:
            return ("MergeRefused", sorted(changed))
        merged = sorted(path for path, planned in tried.update.items() if planned.after is not None)
        same = sorted(tried.update.keys() - set(merged))
        for path, planned in tried.update.items():
            tried.entries[path] = planned.before
            tried.marked.discard(path)
            tried.marked |= {path} if planned.was_marked else set()
            tried.known.pop(path, None)
            if planned.known_before is not None:
                tried.known[path] = planned.known_before
        tried.update = {}
        return ("undone", merged, same)

    def _is_as_updated(self, tried: Tried, path: str, planned: Planned) -> bool:
        entry = tried.entries.get(path)
        if tried.known.get(path) != planned.known:
            return False
        if entry is None or planned.after is None:
            return entry is planned.after
        return (entry.inode, entry.value) == (planned.after.inode, planned.after.value)

    # -- forgetting, and going back

    def _drop(self, name: str, paths: Sequence[str]) -> Told:
        if name not in self.tries:
            return ("UnknownTry",)
        tried, steps = self.tries[name], [step.path for step in self.steps(name)]
        if not paths:
            del self.tries[name]
            self.dropped.append((name, tried))
        else:
            if not all(any(_is_at(path, place) for path in steps) for place in paths):
                return ("NothingTried",)
            gone = [path for path in steps if any(_is_at(path, place) for place in paths)]
            entries = {path: tried.entries.pop(path) for path in gone}
            self.dropped.append((name, deepcopy(Tried(tried.since, entries, tried.known, tried.marked))))
        self.dropped = self.dropped[-KEPT:]
        return ("dropped", True if not paths else self._ended(name))

    def _bring_back(self) -> Told:
        if not self.dropped:
            return ("nothing",)
        name, tried = self.dropped.pop()
        number, as_name = 1, name
        while as_name in self.tries:
            number += 1
            as_name = f"{name}-{number}"
        self.tries[as_name] = tried
        return ("back", as_name)

    def _undo(self, at: int) -> Told:
        """Take back one of the calls that stand; `at` counts them from the last one, and round."""
        standing = [number for number, call in enumerate(self.calls) if not call.is_undone]
        if not standing:
            return ("nothing",)
        number = standing[-1 - at % len(standing)]
        call = self.calls[number]
        conflicts = [
            path for path, (before, after) in call.changes.items() if self.tree.get(path) not in (before, after)
        ]
        if conflicts:
            return ("UndoConflict", number, sorted(conflicts))
        wanted = {path: before for path, (before, _) in call.changes.items() if self.tree.get(path) != before}
        if not wanted:
            raise Ambiguous("whether taking back nothing is a call")
        self._become(wanted)
        call.is_undone, self.calls[-1].of = True, number
        if call.of is not None:
            self.calls[call.of].is_undone = False
        return ("undone", number)


def _mode(here: int, base: int, there: int) -> int | None:
    if here in (base, there):
        return there
    return here if there == base else None


def _alone(new: Mapping[str, bytes], old: Mapping[str, bytes], path: str) -> str | None:
    """The one path of some new ones with what was at an old one, where no other old one had that."""
    fits = [one for one, content in new.items() if content == old.get(path)]
    return fits[0] if len(fits) == 1 and list(old.values()).count(old[path]) == 1 else None


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
