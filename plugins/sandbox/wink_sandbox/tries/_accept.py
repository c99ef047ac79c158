"""Make what was tried the workspace's, in one call: what was chosen, with what a person confirmed of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from wink.dataclass import replace
from wink.errors import MergeConflict, TryConflict
from wink.filesystem import FileChange, FileTransaction, is_git_data, is_git_index, quoted_path
from wink.workspace import Workspace, apply
from wink_sandbox import (
    Differences,
    GitOutside,
    Overlay,
    Step,
    changed_meanwhile,
    has_left_out,
    merge,
    refused,
    remove_tree,
    repository_of,
    steering,
)
from wink_sandbox.tries._accepted import Accepted, AcceptRefused, Letting, note, steps_of
from wink_sandbox.tries._bases import Bases
from wink_sandbox.tries._beside import main_trees, outside
from wink_sandbox.tries._choosing import chosen, is_at, plain
from wink_sandbox.tries._facts import FOREVER, NO_PARTS, Facts
from wink_sandbox.tries._marks import content_at, contents, digest_of, text_of
from wink_sandbox.tries.merging import (
    Arrived,
    Choice,
    Conflict,
    Merge,
    RefMerge,
    Refs,
    Renames,
    ThreeWay,
    is_marked,
    regular_files,
    with_markers,
)

if TYPE_CHECKING:
    from wink.transactions import CommitEntry
    from wink_sandbox import RemoteSetting, SettingsProblem
    from wink_sandbox.tries._beside import MainTree
    from wink_sandbox.tries._check import Check, Ran
    from wink_sandbox.tries._hunks import Content, Picked, Unit
    from wink_sandbox.tries._try import Try

_MARKED: Final = "still has the conflict markers of the update; resolve them in the try"
_UNCHECKED: Final = "leads to a git directory outside, to which the try has committed, and which no check sees; accept it without --check"
_DENIED: Final = "is denied to programs by a rule"
_COMMANDS: Final = 20
"""So many commands, the last ones, are told in the log of what was accepted."""


class Request(NamedTuple):
    """What is to be accepted: paths or all, `without` others, and with `rest` without what cannot be.

    `choice` is what is taken where the workspace has changed the same.
    """

    paths: tuple[str, ...]
    without: Sequence[str]
    rest: bool
    choice: Choice | None
    portable_names: bool
    settings: SettingsProblem | None
    denial: Callable[[str], str] | None


class Acceptable(NamedTuple):
    """What may be accepted, what has to stay with the reasons, and what merging came to; see `Merge`."""

    found: Differences
    left: tuple[tuple[str, str], ...]
    conflicts: tuple[Conflict, ...]
    merged: tuple[str, ...]
    same: Differences
    marked: tuple[str, ...]
    overruled: tuple[str, ...]
    arrived: tuple[Arrived, ...]


class _Changed(Exception):
    """What is to be accepted is not what was checked."""


class Accepting:
    """One accept of the try `name`, whose overlay is in use."""

    def __init__(
        self,
        workspace: Workspace,
        overlay: Overlay,
        name: str,
        facts: Facts,
        request: Request,
    ) -> None:
        self._workspace, self._overlay, self._name, self._facts = workspace, overlay, name, facts
        self._request = request
        self._confirmed: frozenset[RemoteSetting] = frozenset()
        self._stays: tuple[tuple[str, str], ...] = ()
        self._parts: dict[str, Content] = {}
        self._bases = Bases(overlay)
        self._three_way = ThreeWay(overlay, self._bases, request.choice)
        self._refs = Refs(overlay, self._bases.of, facts.knows, name)
        self._renames = Renames(overlay, self._bases)
        self._is_picked = False
        self._checked: Ran | None = None

    def run(
        self,
        *,
        session: str,
        dry_run: bool,
        pick: Callable[[tuple[Unit, ...]], Iterable[Picked]] | None,
        confirm: Callable[[Accepted], object] | None,
        remotes: Callable[[tuple[RemoteSetting, ...]], bool] | None,
        git_directory: Callable[[str], bool] | None,
        checked: tuple[Try, Check, Callable[[], object] | None] | None = None,
    ) -> Accepted:
        """Do it, or with `dry_run` say what would be done; see `Try.accept`."""
        with ExitStack() as opened:
            opened.callback(self._three_way.close)
            opened.callback(self._refs.close)
            opened.callback(self._renames.close)
            mains = self._main_trees(
                opened, remotes, git_directory, is_part=bool(self._request.paths) or pick is not None
            )
            if dry_run:
                able = self._acceptable(self._workspace.filesystem.begin(), rest=self._request.rest)
                return Accepted(
                    None,
                    tuple(_at_hand(one) if able.found.merged.get(one.path) else one for one in able.found.changes()),
                    _told(able.found),
                    left=able.left,
                    conflicts=able.conflicts,
                    merged=able.merged,
                    marked=able.marked,
                    aside=able.overruled,
                    arrived=able.arrived,
                )
            self._is_picked = pick is not None
            taken, left = self._picked(pick) if pick is not None else (None, ())
            if pick is None:  # what is merged is merged now, and only looked at again when nobody else can change it
                self._merged(self._chosen())
            said = self._said()
            if checked is None:
                done = self._take(said, session, taken, left, confirm)
            else:
                if mains:
                    raise AcceptRefused([(".git", _UNCHECKED)], self._name)
                done = self._take_checked(said, session, confirm, *checked)
            # Last: what fails here is still in the try, and the files are in the workspace, to be committed once more.
            git = [(main.place, *self._take_git(main, said, session)) for main in mains]
            arrived = (*done.arrived, *(one for *_, its in git for one in its))
            calls = tuple((place, call) for place, call, _ in git if call is not None)
            return replace(done, git=calls, arrived=arrived)

    def _main_trees(
        self,
        opened: ExitStack,
        remotes: Callable[[tuple[RemoteSetting, ...]], bool] | None,
        git_directory: Callable[[str], bool] | None,
        *,
        is_part: bool,
    ) -> tuple[MainTree, ...]:
        """The main working trees to accept to, when a person has been asked what is to be confirmed, there and here."""
        found = self._chosen()
        beside = () if is_part else self._git_to_accept()
        mains, stays = main_trees(
            self._overlay, self._facts, beside, self._workspace, opened, git_directory, self._name
        )
        asked = (*found.asked, *(setting for main in mains for setting in main.asked))
        if asked and remotes is not None and remotes(asked):
            self._confirmed = frozenset(asked)
        for main in mains:
            main.confirmed = self._confirmed
            stays = (*stays, *main.problems())
        self._stays = stays
        return () if stays and self._request.rest else mains

    def _git_to_accept(self) -> tuple[GitOutside, ...]:
        places = [place for path in self._request.without if (place := plain(path)) is not None]
        found = outside(self._overlay, self._facts)
        return tuple(one for one in found if not any(is_at(one.at, place) for place in places))

    def _picked(
        self, pick: Callable[[tuple[Unit, ...]], Iterable[Picked]]
    ) -> tuple[set[str], tuple[tuple[str, str], ...]]:
        """The paths of all that was picked, and what has to stay before anybody is asked; the texts of which a part was are kept."""
        from wink_sandbox.tries._hunks import TextChanged, content_of, units

        merge, refs, _ = self._merged(self._chosen())
        found, left = merge.found, tuple[tuple[str, str], ...]()
        if self._request.rest:
            found, left, *_ = self._acceptable(self._workspace.filesystem.begin(), rest=True)
        # Refs and objects that are merged are no files of which a part could be chosen.
        picked = tuple(pick(units(found.without({repository_of(path)[0] or path for path in refs.settled}))))
        try:
            self._parts = {one.unit.path: made for one in picked if (made := content_of(one)) is not None}
        except TextChanged as error:
            raise self._conflict([error.path]) from None
        return {path for one in picked for path in one.unit.paths}, left

    def _said(self) -> dict[str, object]:
        """What the log says of it."""
        paths, without = self._request.paths, self._request.without
        said: dict[str, object] = {"try": self._name, **({"paths": list(paths)} if paths else {})}
        said |= {"without": list(without)} if without else {}
        commands = list(dict.fromkeys(run.argv for run in self._facts.runs))
        if len(commands) == 1:
            said["command"] = list(commands[0])
        elif commands:
            said["commands"] = [list(argv) for argv in commands[-_COMMANDS:]]
            said |= {"earlier_commands": len(commands) - _COMMANDS} if len(commands) > _COMMANDS else {}
        return said

    def _take_checked(
        self,
        said: Mapping[str, object],
        session: str,
        confirm: Callable[[Accepted], object] | None,
        one: Try,
        check: Check,
        on_wait: Callable[[], object] | None,
    ) -> Accepted:
        """The same when a check has passed on exactly this."""
        from wink_sandbox.tries._check import TIMES, CheckFailed, queued, shown, signature

        with queued(os.path.dirname(self._overlay.directory), on_wait):
            for _ in range(TIMES):
                able = self._acceptable(self._workspace.filesystem.begin(), rest=self._request.rest)
                seen = signature(able.found)

                def is_it(found: Differences, seen: object = seen) -> bool:
                    return signature(found) == seen

                if able.found.steps:
                    with shown(one, able.found) as (there, overlay):
                        ran = check(there, overlay)
                    self._checked = ran
                    if ran.status != 0:
                        raise CheckFailed(self._name, ran.status, ran.output)
                with suppress(_Changed):
                    return self._take(said, session, None, (), confirm, only=is_it)
            raise CheckFailed(self._name, 0)

    def _take(
        self,
        said: Mapping[str, object],
        session: str,
        taken: set[str] | None,
        left: tuple[tuple[str, str], ...],
        confirm: Callable[[Accepted], object] | None,
        only: Callable[[Differences], bool] | None = None,
    ) -> Accepted:
        """Merge what is in the workspace itself, and note what the try is to let go of."""
        found, told = Differences(self._overlay, ()), tuple[tuple[str, str], ...]()
        able = Acceptable(found, (), (), (), found, (), (), ())
        made: dict[str, str | None] = {}
        parts, homes = self._parts, list[str]()

        def take(part: FileTransaction) -> None:
            nonlocal able, found, told, left, homes
            # As of now: others had their turns before this one.
            able = self._acceptable(part, rest=self._request.rest, taken=taken)
            found, more = able.found, able.left
            if only is not None and not only(found):
                raise _Changed
            left = more if taken is None else tuple(sorted({*left, *more}))
            told = _told(found)
            if confirm is not None:
                confirm(Accepted(None, found.changes(), told))
            made.update(contents(found))
            homes = self._homes(found)
            try:
                some = {path: parts[path] for path in parts if any(step.path == path for step in found.steps)}
                with self._laid_out(found.exactly(some), some) as drafts:
                    for step in drafts.steps:
                        made[step.path] = digest_of(f"{drafts.overlay.upper}/{step.path}")
                    found = found.without(some)
                    # Kept until it is committed: a failure must leave the try as it was.
                    merge(self._unchanged(found), part, keep=True)
                    merge(drafts, part, keep=True)
            except MergeConflict as error:
                raise self._conflict(error.paths) from error

        def noting(call: CommitEntry) -> CommitEntry | None:
            note(self._overlay, going()._replace(transaction=call.transaction_id))
            if not call.changes:
                return None
            self._note_programs(call)
            return call

        def going() -> Letting:
            # A part of what was merged is no text that the try has seen: the rest of it is merged again.
            known = {
                path: digest for path, digest in made.items() if path not in able.found.merged or path not in parts
            }
            seen = {path: one for path, one in parts.items() if path not in able.found.merged}
            texts = {
                path: [text_of(one.old_mode, one.before), text_of(one.mode, one.after)] for path, one in seen.items()
            }
            steps = steps_of(found.steps, able.same.steps)
            here = {path for _, path in steps}
            aside = [path for path in able.overruled if path not in parts and path in here]
            return Letting("", steps, aside, {**dict.fromkeys(homes), **known}, texts)

        call, changes = apply(self._workspace, "accept", said, take, session=session, told=noting)
        if not changes:
            note(self._overlay, going())
        return Accepted(
            call,
            changes,
            told,
            left=left,
            merged=able.merged,
            marked=able.marked,
            aside=tuple(going().aside),
            arrived=able.arrived,
        )

    def _note_programs(self, call: CommitEntry) -> None:
        """Note with the call which programs ran in the try, and which checked it."""
        from wink_sandbox.programs import note_program

        ran = [("try", run.argv, run.status, run.seconds) for run in self._facts.runs[-_COMMANDS:]]
        if self._checked is not None:
            ran.append(("check", self._checked.argv, self._checked.status, self._checked.seconds))
        for where, argv, status, seconds in ran:
            note_program(
                self._workspace.record,
                call.session,
                transaction=call.transaction_id,
                call_id=call.call_id,
                tool=call.tool,
                argv=argv,
                status=status,
                reason="ended" if status is None else "exited",
                seconds=seconds,
                guard=where,
            )

    def _homes(self, found: Differences) -> list[str]:
        """The directories, as they were when the try began, that something is taken from: that alone gives them another time."""
        root, since = self._overlay.root, self._overlay.since
        above = {os.path.dirname(step.path) for step in found.steps if step.kind == "drop"} - {""}
        times = {path: os.lstat(f"{root}/{path}").st_ctime_ns for path in above if os.path.lexists(f"{root}/{path}")}
        return [path for path, changed in times.items() if changed <= since or self._facts.knows(path)]

    def _take_git(
        self, main: MainTree, said: Mapping[str, object], session: str
    ) -> tuple[int | None, tuple[Arrived, ...]]:
        made: dict[str, str | None] = {}

        def confirm(found: Differences, problems: Sequence[tuple[str, str]]) -> None:
            if problems:
                raise AcceptRefused(problems, self._name)
            made.update(contents(found))

        call, arrived = main.accept(said, session, confirm)
        self._facts.remember(made, root=main.place)
        return call, arrived

    def _chosen(self) -> Differences:
        return chosen(self._overlay, self._name, self._request.paths, self._request.without, self._confirmed)

    def _merged(self, found: Differences) -> tuple[Merge, RefMerge, tuple[tuple[str, str], ...]]:
        """What merging comes to, of files and of refs, and the old and new names of what follows a rename."""
        changed = conflicts(found, self._facts, self._bases)
        refs = self._refs.of(found, changed)
        # A part of what follows a rename, by one name or the other, would be no rename.
        renames = self._renames.of(refs.found, () if self._is_picked else changed)
        settled = refs.settled | renames.settled | {one.path for one in refs.conflicts}
        merge = self._three_way.of(renames.found, [path for path in changed if path not in settled])
        merge = merge._replace(
            conflicts=(*merge.conflicts, *refs.conflicts),
            merged=(*merge.merged, *renames.merged),
            same=replace(merge.same, steps=(*merge.same.steps, *renames.same)),
        )
        return merge, refs, renames.pairs

    def _acceptable(self, part: FileTransaction, *, rest: bool, taken: set[str] | None = None) -> Acceptable:
        """What was chosen and may be accepted, and with `rest` what has to stay, with the reasons; without, that is raised.

        What git wrote elsewhere and cannot be accepted has to stay too.
        """
        found, stays, request = self._chosen(), self._stays, self._request
        if taken is not None:
            found = found.exactly(taken)
        merge, refs, pairs = self._merged(found)
        found = merge.found
        needed = {step.path for step in found.steps}
        left: dict[str, str] = {}
        # Whether something makes a directory a repository, for one, depends on what else is left out.
        while in_the_way := problems(
            found,
            part,
            portable_names=request.portable_names,
            settings=request.settings,
            denial=request.denial,
            parts=self._parts,
            markers=request.choice == "markers",
        ):
            if not rest:
                raise AcceptRefused((*in_the_way, *stays), self._name)
            left.update(in_the_way)
            found = _both_or_none(found.without(path for path, _ in in_the_way), pairs, needed, left)
        if stays and not rest:
            raise AcceptRefused(stays, self._name)
        still = {*conflicts(found, self._facts, self._bases), *(one.path for one in refs.conflicts)}
        changed = tuple(one for one in merge.conflicts if one.path in still)
        if changed and not rest:
            raise self._conflict([one.path for one in changed])
        calls = self._writers([one.path for one in changed])
        left.update((one.path, f"{_meanwhile(calls.get(one.path))}, {one.reason}") for one in changed)
        # A repository with some of its refs and not its index is none: what has changed in one leaves all of it out.
        found = found.without(repository_of(one.path)[0] or one.path for one in changed)
        found = _both_or_none(found, pairs, needed, left)
        here = {step.path for step in found.steps}
        stays_as_it_is = {repository_of(path)[0] for path in left if is_git_data(path)}
        same = tuple(step for step in merge.same.steps if step.path not in left)
        let_go = tuple(step for step in refs.same if repository_of(step.path)[0] not in stays_as_it_is)
        return Acceptable(
            found,
            tuple(sorted({*left.items(), *stays})),
            changed,
            tuple(path for path in merge.merged if path in here),
            replace(merge.same, steps=(*same, *let_go)),
            tuple(path for path in dict.fromkeys((*merge.marked, *sorted(_marked(found)))) if path in here),
            merge.overruled,
            tuple(one for one in refs.arrived if any(path.endswith(f"/{one.name}") for path in here)),
        )

    @contextmanager
    def _laid_out(self, found: Differences, parts: Mapping[str, Content]) -> Generator[Differences]:
        """The texts of which a part was chosen as what a program could have left; raises `TryConflict`."""
        drafts = Overlay(self._overlay.root, f"{self._overlay.directory}/picked", since=FOREVER)
        steps: list[Step] = []
        try:
            remove_tree(drafts.directory)
            for step in found.steps:
                place, there = f"{drafts.upper}/{step.path}", f"{self._overlay.root}/{step.path}"
                made = parts[step.path]
                if content_at(there, len(made.before)) != made.before:
                    raise self._conflict([step.path])
                os.makedirs(os.path.dirname(place), 0o700, exist_ok=True)
                with open(place, "xb") as file:
                    file.write(made.after)
                shutil.copystat(there, place, follow_symlinks=False)
                if step.found is not None and os.geteuid() == 0:
                    os.chown(place, step.found.st_uid, step.found.st_gid)
                os.chmod(place, made.mode & 0o777)
                os.utime(place)
                steps.append(Step("file", step.path, step.found, os.lstat(place)))
            yield Differences(drafts, tuple(steps))
        finally:
            remove_tree(drafts.directory)

    def _writers(self, paths: Sequence[str]) -> dict[str, int]:
        return self._workspace.record.writers(self._overlay.root, paths)

    def _conflict(self, paths: Sequence[str]) -> TryConflict:
        return TryConflict(self._name, paths, self._writers(paths))

    def _unchanged(self, found: Differences) -> Differences:
        """The same, as of now: that nobody else has changed these files has just been seen, with the turn held."""
        changed = changed_meanwhile(found)
        if others := [path for path in changed if not self._facts.knows(path)]:
            raise self._conflict(others)
        return replace(found, overlay=replace(found.overlay, since=FOREVER)) if changed else found


def problems(
    found: Differences,
    part: FileTransaction,
    *,
    portable_names: bool,
    settings: SettingsProblem | None,
    denial: Callable[[str], str] | None = None,
    parts: Mapping[str, Content] = NO_PARTS,
    markers: bool = False,
) -> tuple[tuple[str, str], ...]:
    """What must not become the workspace's: paths, each with the reason; of `parts` that is accepted, and not the whole text.

    With `markers` a person wants them.
    """
    refusals = refused(found, part, portable_names=portable_names)
    if not markers:
        still = _marked(found, parts)
        refusals = (*refusals, *((step.path, _MARKED) for step in found.steps if step.path in still))
    if denial is not None:
        refusals = (*refusals, *_denied(found, denial))
    if has_left_out(found.overlay):
        from wink_sandbox import in_the_place_of_left_out

        unseen = dict(in_the_place_of_left_out(found))
        refusals = (*(one for one in refusals if one[0] not in unseen), *unseen.items())
    if settings is None:
        return refusals
    from wink_sandbox import unreadable_settings

    return (*refusals, *unreadable_settings(found, settings, {path: made.after for path, made in parts.items()}))


def _both_or_none(
    found: Differences, pairs: Iterable[tuple[str, str]], needed: Collection[str], left: dict[str, str]
) -> Differences:
    """The same without what is at one of two names of a file when what is needed at the other one is not in it, and stays in the try."""
    here = {step.path for step in found.steps}
    apart = [pair for pair in pairs if any(path in needed and path not in here for path in pair)]
    for old, new in apart:
        left.setdefault(old, f"goes with {quoted_path(new)}, its new name, which stays as it is")
        left.setdefault(new, f"goes with {quoted_path(old)}, its old name, which stays as it is")
    return found.without(path for pair in apart for path in pair)


def _marked(found: Differences, parts: Mapping[str, Content] = NO_PARTS) -> frozenset[str]:
    """What of it still has the markers of an update: there, or, where a program has moved the file, wherever they are now."""
    marked = Facts(found.overlay).marked
    files = {step.path for step in found.steps if step.kind == "file"} if marked else set[str]()
    files = files & marked if marked <= set(regular_files(found.overlay, marked)) else files
    chosen = (path for path in files & parts.keys() if is_marked(parts[path].after))
    return with_markers(found.overlay, files - parts.keys()).union(chosen)


def _denied(found: Differences, denial: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """What rules deny programs to change, each by the path that can be left out: a deleted directory goes as a whole."""
    steps = {step.path for step in found.steps}
    for change in found.changes():
        if change.before is None and change.after is not None and change.after.kind == "directory":
            continue  # made on the way to a file
        if reason := denial(change.path):
            yield max(_with_above(change.path) & steps, key=len, default=change.path), f"{_DENIED}: {reason}"


def conflicts(found: Differences, facts: Facts, bases: Bases) -> list[str]:
    """The paths that somebody else has changed in the workspace since the try began, or deleted."""
    changed = [path for path in changed_meanwhile(found) if not facts.knows(path)]
    gone = {step.path for step in found.steps if step.kind == "drop"}  # what is in these is not deleted, but hidden
    new = (
        step.path
        for step in found.steps
        if step.kind == "file" and step.found is None and gone.isdisjoint(_with_above(step.path))
    )
    deleted = [path for path in bases.among(new) if path not in found.merged and path not in changed]
    # A directory that is renamed into the place of another one gives the files in it no other time.
    there = {step.path: step.found.st_ino for step in found.steps if step.kind == "file" and step.found is not None}
    passed = {*found.merged, *found.settings, *changed}  # git writes its settings and its index to a new file each time
    others = [path for path in bases.among(there) if path not in passed and not is_git_index(path)]
    swapped = [
        path for path in others if (base := bases.of(path)) and base.inode != there[path] and not facts.knows(path)
    ]
    return [*changed, *deleted, *swapped]


def _at_hand(change: FileChange) -> FileChange:
    """The same, with the content of what was merged, whose file is about to be removed."""
    content = None if change.after is None else change.after.content()
    return change if change.after is None else replace(change, after=replace(change.after, load=lambda: content))


def _with_above(path: str) -> set[str]:
    return {path, *(path[:at] for at in range(len(path)) if path[at] == "/")}


def _told(found: Differences) -> tuple[tuple[str, str], ...]:
    return (*steering(found.changes(), found.overlay.root), *found.notes)


def _meanwhile(call: int | None) -> str:
    """Why a path that has changed stays in a try."""
    by = f"call c{call}" if call is not None else "somebody outside of wink"
    return f"was changed in the workspace meanwhile, by {by}"
