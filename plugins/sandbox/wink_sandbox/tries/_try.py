"""One try: an overlay with a name, the programs that ran in it, and what of it becomes the workspace's."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from wink.dataclass import dataclass, replace
from wink.errors import (
    MergeConflict,
    MergeRefused,
    NothingTried,
    PathRefused,
    TryBusy,
    TryConflict,
    UnknownTry,
)
from wink.filesystem import (
    FileChange,
    FileTransaction,
    git_index_meaning,
    is_git_index,
    quoted_path,
    workspace_path,
)
from wink.state import DIRECTORY as STATE
from wink.state import make, opened_directory, read_file, replace_file
from wink.workspace import Workspace, apply, session_name
from wink_sandbox import (
    COPY,
    DEEPEST,
    SINCE,
    Beside,
    Differences,
    GitOutside,
    Mount,
    Overlay,
    Step,
    beside,
    changed_meanwhile,
    differences,
    forget,
    git_outside,
    has_copy,
    index_in,
    is_directory,
    is_unsettled,
    keep_base,
    lay_aside,
    main_tree,
    merge,
    overlays_in,
    refused,
    remove_tree,
    repository_of,
    steering,
    walk_tree,
    with_git_config,
)
from wink_sandbox.tries._dropped import KEPT, Dropped, dropped, free, is_name, place_for
from wink_sandbox.tries._dropped import bring_back as _bring_back
from wink_sandbox.tries._private import HOME

if TYPE_CHECKING:
    from wink_sandbox import CopyOfTry, RemoteSetting
    from wink_sandbox.tries._hunks import Content, Picked, Unit
    from wink_sandbox.tries._worktree import MainTree

DIRECTORY: Final = "tries"
"""Where tries are, in the workspace's state."""

_OUTSIDE: Final = "leads to {}, where git wrote something in the try that cannot be accepted: commit again afterwards"
_FACTS: Final = "try.json"
_UPPERS: Final = frozenset(("home/upper", "tmp/upper", "var-tmp/upper", "main/upper"))
_MOST_BYTES: Final = 256 << 20
_FOREVER: Final = 1 << 62
_MODE: Final = 3
"""Where in a mark is the mode."""
_CHANGED: Final = 4
"""Where in a mark is the time of the last change of anything."""
_COMMANDS: Final = 20
"""So many commands, the last ones, are told in the log of what was accepted."""
_TEXTS: Final = 100
"""So many contents of one text are known."""
_NO_PARTS: Final[Mapping[str, Content]] = MappingProxyType({})
_REPOSITORY: Final = ".git"
_NAMED: Final = 5
"""So many paths are named in a command that leaves them out."""
_LARGEST: Final = 64 << 20
"""Larger content is not read to be known again: whatever happens to such a file in the workspace is in the way."""


@dataclass(frozen=True, slots=True)
class Run:
    """A program that ran in a try; `status` is its exit status, None where it was ended from outside."""

    argv: tuple[str, ...]
    started_at: datetime
    seconds: float
    status: int | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became the workspace's: `call` is its number in the log, None where nothing changed or for a dry run.

    `left` pairs paths that had to stay in the try with the reasons, where the rest was accepted without them.
    `git` pairs the main working trees, of repositories that the workspace or a directory in it is a worktree of, with the
    numbers of the calls there.
    """

    call: int | None
    changes: tuple[FileChange, ...]
    notes: tuple[tuple[str, str], ...] = ()
    is_over: bool = False
    left: tuple[tuple[str, str], ...] = ()
    git: tuple[tuple[str, int], ...] = ()


class AcceptRefused(MergeRefused):
    """Something of what was tried may not become the workspace's; `name` is the try's. The message says how to go on."""

    def __init__(self, problems: Sequence[tuple[str, str]], name: str) -> None:
        super().__init__(problems)
        self.name = name
        self.args = (self.problems, name)

    def __str__(self) -> str:
        import shlex  # every try loads this module, and few are refused

        named = () if self.name == "default" else ("--name", self.name)
        left_out = [word for path in _few(self.paths) for word in ("--without", quoted_path(path))]
        return f"{super().__str__()}; to accept the rest: {shlex.join(('wink', 'accept', *named, *left_out))}"


class Try:
    """Changes that are not real yet. Made by `tries`, or by the first `use` of a new name."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.name = session_name(name, "try")
        self._workspace = workspace
        self._directory = _directory(workspace)
        self.overlay = Overlay(os.path.realpath(workspace.root), f"{self._directory}/{self.name}")
        self._is_aside = False

    def lying_in(self, directory: str) -> Try:
        """The same, where it was put aside to."""
        self.overlay, self._is_aside = Overlay(self.overlay.root, directory), True
        return self

    @property
    def exists(self) -> bool:
        """Whether something has been tried under this name and neither been accepted nor dropped as a whole."""
        return is_directory(self.overlay.upper)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The programs that ran in it, oldest first."""
        return tuple(run for one in self._facts()["runs"] if (run := _run(one)) is not None)

    @contextmanager
    def use(self) -> Generator[Overlay]:
        """The overlay, to run programs over, and nobody else's meanwhile; raises `TryBusy`."""
        os.close(make(self._workspace.state))
        with self._held():
            keep_base(self.overlay)
            try:
                yield self.overlay
            finally:
                if self.exists:
                    # What these files are now is what was changed: if they are that again, nobody is in the way.
                    found = _seen(self.overlay)
                    self._remember({step.path: None for step in found.steps}, until=self.overlay.since)
                    for main, layer in self._layers():
                        steps = differences(layer).only([_REPOSITORY]).steps
                        self._remember({step.path: None for step in steps}, until=self.overlay.since, root=main)

    @property
    def is_copied(self) -> bool:
        """Whether its programs work on a copy of the workspace."""
        return has_copy(self.overlay)

    @contextmanager
    def copied(self, *, moved: bool = False) -> Generator[CopyOfTry]:
        """A copy of what it shows, for a program to work on, while the try is in use; what is done there is the try's in the end.

        With `moved` the copy is seen at its own path. Raises `SandboxUnavailable`.
        """
        from wink_sandbox import CopyOfTry

        copy = CopyOfTry(self.overlay, moved=moved)
        copy.begin()
        try:
            yield copy
        finally:
            copy.end()

    def _settle(self) -> None:
        """Take in what a program did to the copy, where wink was killed meanwhile."""
        if is_unsettled(self.overlay) and not self._is_aside:
            with suppress(TryBusy), self._held():
                pass

    @contextmanager
    def _held(self, *, is_dropped: bool = False) -> Generator[None]:
        try:
            self.overlay.open()
        except BlockingIOError:
            raise TryBusy(self.name) from None
        try:
            if is_unsettled(self.overlay):
                from wink_sandbox import CopyLost, CopyOfTry

                # What cannot be read is dropped as it is.
                with suppress(OSError, CopyLost) if is_dropped else nullcontext():
                    CopyOfTry(self.overlay).end()
            _let_go_of_accepted(self.overlay)
            for _, layer in self._layers():
                _let_go_of_accepted(layer)
            yield
        finally:
            self.overlay.close()

    def note(self, run: Run, home: str = "") -> None:
        """Keep that a program runs, or how it ended if it is the one that was noted last, while the try is in use; `home` is what it has as such."""
        facts = self._facts()
        facts["home"] = os.path.realpath(home) if home else facts["home"]
        runs = [one for one in facts["runs"] if _run(one) is not None]
        noted = {
            "argv": self._workspace.masking.value(run.argv),
            "started_at": run.started_at.isoformat(),
            "seconds": round(run.seconds, 3),
            "status": run.status,
        }
        if runs and runs[-1]["started_at"] == noted["started_at"]:
            runs.pop()
        self._keep({**facts, "runs": [*runs, noted]})

    def note_places(self, mounts: Sequence[Mount]) -> None:
        """Keep what is shown to the next program beside the workspace, with changes of its own, while the try is in use."""
        facts = self._facts()
        shown = {mount.target: os.path.relpath(mount.upper, self.overlay.directory) for mount in mounts}
        self._keep({**facts, "places": {**facts["places"], **shown}})
        main = self.accepts_git_to()
        if main is not None and main not in dict(self._layers()):
            # While the program runs, others may look at the worktree, and git then writes its index anew.
            self._remember({index_in(main, self.overlay.root): None}, root=main)

    def git_outside(self) -> tuple[GitOutside, ...]:
        """The git directories outside of the workspace, of it or of what lies in it, that programs have written to in the try.

        Where its `main` is none, that stays in the try: it is not accepted, and gone with it.
        """
        return git_outside(self.overlay.root, self._places_shown())

    def accepts_git_to(self) -> str | None:
        """The main working tree of the repository, where the workspace is a worktree: what git wrote is accepted there."""
        return main_tree(self.overlay.root)

    def _layers(self) -> tuple[tuple[str, Beside], ...]:
        """The main working trees that git has written to in the try, each with what was changed there."""
        mains = {one.main: None for one in self.git_outside() if one.main is not None}
        found = ((main, beside(self.overlay, main, self._places_shown())) for main in mains)
        return tuple((main, layer) for main, layer in found if layer is not None and is_directory(layer.upper))

    def _places_shown(self) -> tuple[tuple[str, str], ...]:
        places = self._facts()["places"].items()
        return tuple((target, f"{self.overlay.directory}/{upper}") for target, upper in places)

    def differences(self) -> Differences:
        """What was changed in it so far; raises `UnknownTry`."""
        self._must_exist()
        self._settle()
        return _seen(self.overlay)

    def home(self) -> tuple[FileChange, ...]:
        """What its programs have changed in the home directory, by paths in it: it is there when the next one runs, and never accepted.

        Raises `UnknownTry`.
        """
        self._must_exist()
        place, directory = self._facts()["home"], f"{self.overlay.directory}/{HOME}"
        if not place or not is_directory(f"{directory}/upper") or not os.path.isdir(place):
            return ()
        return differences(Overlay(place, directory)).changes()

    def conflicts(self) -> tuple[str, ...]:
        """The paths that it has changed, and that have changed in the workspace too since it began; raises `UnknownTry`."""
        return tuple(self._conflicts(self.differences()))

    def accept(
        self,
        *paths: str,
        without: Sequence[str] = (),
        session: str = "default",
        rest: bool = False,
        dry_run: bool = False,
        pick: Callable[[tuple[Unit, ...]], Iterable[Picked]] | None = None,
        confirm: Callable[[Accepted], object] | None = None,
        portable_names: bool = False,
        remotes: Callable[[tuple[RemoteSetting, ...]], bool] | None = None,
    ) -> Accepted:
        """Make all of it, or what is at and beneath some paths, the workspace's: one call, which can be undone.

        Paths may be patterns, as those of git: `*`, `?` and `[…]`, of which the first crosses directories. What bears such
        a name itself, or lies beneath it, is meant first. Raises `NothingTried` for what fits nothing that was tried. What is at and
        beneath the paths of `without` is left out.

        What is not accepted stays in the try, and so does what was written to the home; when nothing is left there is no try any more. `confirm` is told what is about
        to be done, when nobody else can change it any more; where it raises, nothing is. Raises `UnknownTry`,
        `TryBusy`, `TryConflict` where the workspace has changed there meanwhile, and `MergeRefused` for what must not
        become a workspace's, with `portable_names` also new names that Windows cannot hold; then nothing was changed. With `rest` such paths are left out, and the rest is accepted.
        `pick` chooses from what there is, while no program can change the try; only what it gives is looked at further.
        `remotes` is asked, likewise, whether to take new remotes and other addresses of those there are; nobody asked, they are refused.
        """
        self._must_exist()
        with self._held(), ExitStack() as opened:
            found, left = self._chosen(paths, without), tuple[tuple[str, str], ...]()
            told = self._told(found)
            outside = () if paths or pick is not None else self._git_to_accept(without)
            mains, stays = self._main_trees(outside, opened) if outside else ((), ())
            confirmed: frozenset[RemoteSetting] = frozenset()
            asked = (*found.asked, *(setting for main in mains for setting in main.asked))
            if asked and remotes is not None and remotes(asked):
                confirmed = frozenset(asked)
                found = self._chosen(paths, without, confirmed)
            for main in mains:
                main.confirmed = confirmed
                stays = (*stays, *main.problems())
            if stays and rest:
                mains = ()
            acceptable = partial(
                self._acceptable, paths, without, confirmed, stays=stays, portable_names=portable_names
            )
            if dry_run:
                found, left = acceptable(self._workspace.filesystem.begin(), rest=rest)
                return Accepted(None, found.changes(), self._told(found), left=left)
            parts: dict[str, Content] = {}
            taken: set[str] | None = None
            if pick is not None:
                if rest:
                    found, left = acceptable(self._workspace.filesystem.begin(), rest=True)
                from wink_sandbox.tries._hunks import content_of, units

                picked = tuple(pick(units(found)))
                parts = {one.unit.path: made for one in picked if (made := content_of(one)) is not None}
                taken = {path for one in picked for path in one.unit.paths}
            said: dict[str, object] = {"try": self.name, **({"paths": list(paths)} if paths else {})}
            said |= {"without": list(without)} if without else {}
            commands = list(dict.fromkeys(run.argv for run in self.runs))
            if len(commands) == 1:
                said["command"] = list(commands[0])
            elif commands:
                said["commands"] = [list(argv) for argv in commands[-_COMMANDS:]]
                said |= {"earlier_commands": len(commands) - _COMMANDS} if len(commands) > _COMMANDS else {}

            contents: dict[str, str | None] = {}

            def take(part: FileTransaction) -> None:
                nonlocal found, told, left
                # As of now: others had their turns before this one.
                found, more = acceptable(part, rest=rest, taken=taken)
                left = more if taken is None else tuple(sorted({*left, *more}))
                told = self._told(found)
                if confirm is not None:
                    confirm(Accepted(None, found.changes(), told))
                contents.update(_contents(found))
                try:
                    some = {path: parts[path] for path in parts if any(step.path == path for step in found.steps)}
                    with self._laid_out(found.exactly(some), some) as drafts:
                        for step in drafts.steps:
                            contents[step.path] = _digest(f"{drafts.overlay.upper}/{step.path}")
                        found = found.without(some)
                        # Kept until it is committed: a failure must leave the try as it was.
                        merge(self._unchanged(found), part, keep=True)
                        merge(drafts, part, keep=True)
                except MergeConflict as error:
                    raise self._conflict(error.paths) from error

            call, changes = apply(self._workspace, "accept", said, take, session=session)
            forget(found)
            self._remember(contents, parts=parts)
            # Last: what fails here is still in the try, and the files are in the workspace, to be committed once more.
            git: list[tuple[str, int]] = []

            def take_git(found: Differences, problems: Sequence[tuple[str, str]]) -> None:
                if problems:
                    raise AcceptRefused(problems, self.name)
                contents.update(_contents(found))

            for main in mains:
                contents.clear()
                number = main.accept(said, session, take_git)
                self._remember(contents, root=main.place)
                git += [(main.place, number)] if number is not None else []
            return Accepted(call, changes, told, self.end_if_empty(), left, tuple(git))

    def drop(self, *paths: str, dry_run: bool = False, confirm: Callable[[Accepted], object] | None = None) -> Accepted:
        """Forget all of it, or what is at and beneath some paths; what was accepted stays. Raises like `accept`.

        What was dropped last, up to `KEPT` times, lies aside: `bring_back` undoes it until `free_dropped`.
        """
        self._must_exist()
        with self._held(is_dropped=not paths):
            found = self._chosen(paths)
            changes = found.changes()
            if dry_run:
                return Accepted(None, changes)
            if confirm is not None:
                confirm(Accepted(None, changes))
            aside = place_for(self._directory, self.name)
            if not paths:
                if not is_unsettled(self.overlay):
                    remove_tree(f"{self.overlay.directory}/{COPY}")
                self.overlay.move(aside)
            else:
                self._lay_aside(found, aside)
                forget(found)
            free(self._directory, self.overlay.root, but=KEPT)
            return Accepted(None, changes, is_over=not paths or self.end_if_empty())

    def _lay_aside(self, found: Differences, directory: str) -> None:
        """Make a part of it a try of its own, as old as this one and with what is known of the workspace's files."""
        part = Overlay(self.overlay.root, directory)
        part.open()
        try:
            with opened_directory(self.overlay.directory) as here, opened_directory(directory) as there:
                replace_file(there, SINCE, str(self.overlay.since).encode())
                with suppress(FileNotFoundError):
                    replace_file(there, _FACTS, read_file(here, _FACTS, _MOST_BYTES))
            lay_aside(found, part.upper)
        finally:
            part.close()

    def _told(self, found: Differences) -> tuple[tuple[str, str], ...]:
        return (*steering(found.changes(), self.overlay.root), *found.notes)

    def _chosen(
        self, paths: Sequence[str], without: Sequence[str] = (), confirmed: Collection[RemoteSetting] = ()
    ) -> Differences:
        found = _seen(self.overlay)
        if paths:
            found = found.only(place for path in paths for place in self._at(path, found))
        left_out = [place for path in without for place in self._repository_at(path) or self._at(path, found)]
        if left_out:
            names = {step.path for step in found.steps}
            found = found.without(name for name in names if any(_is_at(name, place) for place in left_out))
        return with_git_config(found, confirmed)

    def _at(self, path: str, found: Differences) -> list[str]:
        """Where a path leads to that was changed, or a pattern as those of git; raises `NothingTried`."""
        # A name that no file tool would take can be given as it is, and one with a bracket in it means itself.
        place = path if any(step.path == path for step in found.steps) else _plain(path)
        if place is not None and any(not place or f"{step.path}/".startswith(f"{place}/") for step in found.steps):
            return [place]
        from wink_sandbox.tries._pathspec import matching  # few paths are patterns

        fits = matching(path)
        places = [
            step.path
            for step in found.steps
            if fits is not None and fits.covers(step.path, is_directory=_is_directory(step))
        ]
        if not places and place is None:
            workspace_path(path)  # which says what is wrong with it
        if not places and place != "":
            raise NothingTried(path, self.name)
        return places

    def _repository_at(self, path: str) -> list[str]:
        """The path, where that is of a `.git`: what git wrote elsewhere because of it is meant too."""
        place = _plain(path) or ""
        is_one = os.path.basename(place) == _REPOSITORY and os.path.lexists(f"{self.overlay.root}/{place}")
        return [place] if is_one or place == _REPOSITORY else []

    def _git_to_accept(self, without: Sequence[str]) -> tuple[GitOutside, ...]:
        places = [place for path in without if (place := _plain(path)) is not None]
        return tuple(one for one in self.git_outside() if not any(_is_at(one.at, place) for place in places))

    def _main_trees(
        self, outside: Iterable[GitOutside], opened: ExitStack
    ) -> tuple[tuple[MainTree, ...], tuple[tuple[str, str], ...]]:
        """The main working trees that what git wrote is accepted to, until `opened` is closed, and what cannot be, with the reasons."""
        from wink_sandbox.tries._worktree import MainTree

        mains, stays = dict[str, MainTree](), list[tuple[str, str]]()
        layers = dict(self._layers())
        for one in outside:
            if one.main is None or one.main not in layers:
                stays.append((one.at, _OUTSIDE.format(quoted_path(one.directory))))
            elif one.main not in mains:
                main = opened.enter_context(Workspace.open(one.main, masking=self._workspace.masking))
                knows = partial(self._knows, root=one.main)
                mains[one.main] = MainTree(main, layers[one.main], one.at, knows)
        return tuple(mains.values()), tuple(stays)

    def _acceptable(
        self,
        paths: Sequence[str],
        without: Sequence[str],
        confirmed: Collection[RemoteSetting],
        part: FileTransaction,
        *,
        rest: bool,
        stays: tuple[tuple[str, str], ...] = (),
        taken: set[str] | None = None,
        portable_names: bool = False,
    ) -> tuple[Differences, tuple[tuple[str, str], ...]]:
        """What was chosen and may be accepted, and with `rest` what has to stay, with the reasons; without, that is raised.

        `stays` is what git wrote elsewhere and cannot be accepted, with the reasons.
        """
        found = self._chosen(paths, without, confirmed)
        if taken is not None:
            found = found.exactly(taken)
        left: dict[str, str] = {}
        # Whether something makes a directory a repository, for one, depends on what else is left out.
        while problems := refused(found, part, portable_names=portable_names):
            if not rest:
                raise AcceptRefused((*problems, *stays), self.name)
            left.update(problems)
            found = found.without(path for path, _ in problems)
        if stays and not rest:
            raise AcceptRefused(stays, self.name)
        left.update(stays)
        conflicts = self._conflicts(found)
        if conflicts and not rest:
            raise self._conflict(conflicts)
        calls = self._writers(conflicts)
        left.update((path, _meanwhile(calls.get(path))) for path in conflicts)
        # A repository with some of its refs and not its index is none: what has changed in one leaves all of it out.
        return found.without(repository_of(path)[0] or path for path in conflicts), tuple(sorted(left.items()))

    @contextmanager
    def _laid_out(self, found: Differences, parts: Mapping[str, Content]) -> Generator[Differences]:
        """The texts of which a part was chosen as what a program could have left; raises `TryConflict`."""
        drafts = Overlay(self.overlay.root, f"{self.overlay.directory}/picked", since=_FOREVER)
        steps: list[Step] = []
        try:
            remove_tree(drafts.directory)
            for step in found.steps:
                place, there, made = f"{drafts.upper}/{step.path}", f"{self.overlay.root}/{step.path}", parts[step.path]
                if _read(there, len(made.before)) != made.before:
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

    def _conflicts(self, found: Differences) -> list[str]:
        return [path for path in changed_meanwhile(found) if not self._knows(path)]

    def _writers(self, paths: Sequence[str]) -> dict[str, int]:
        return self._workspace.record.writers(self.overlay.root, paths)

    def _conflict(self, paths: Sequence[str]) -> TryConflict:
        return TryConflict(self.name, paths, self._writers(paths))

    def _unchanged(self, found: Differences) -> Differences:
        """The same, as of now: that nobody else has changed these files has just been seen, with the turn held."""
        own = any(self._knows(path) for path in changed_meanwhile(found))
        return replace(found, overlay=replace(found.overlay, since=_FOREVER)) if own else found

    def end_if_empty(self) -> bool:
        """End the try where nothing of it is left, in the home neither; while it is in use."""
        if _seen(self.overlay) or self.home() or self.git_outside() or is_unsettled(self.overlay):
            return False
        self.overlay.drop()
        return True

    # -- what is kept beside the overlay

    def _facts(self) -> dict[str, Any]:
        try:
            with opened_directory(self.overlay.directory) as place:
                found: object = json.loads(read_file(place, _FACTS, _MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            found = None
        facts = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        runs, known, texts = facts.get("runs"), facts.get("known"), facts.get("texts")
        facts["runs"] = cast("list[Any]", runs) if isinstance(runs, list) else []
        facts["home"] = home if isinstance(home := facts.get("home"), str) and os.path.isabs(home) else ""
        marks = cast("dict[str, Any]", known) if isinstance(known, dict) else {}
        places = facts.get("places")
        shown = cast("dict[str, Any]", places) if isinstance(places, dict) else {}
        facts["places"] = {place: upper for place, upper in shown.items() if str(upper) in _UPPERS}
        facts["known"] = {path: mark for path, mark in marks.items() if isinstance(mark, list)}
        lists = cast("dict[str, Any]", texts) if isinstance(texts, dict) else {}
        facts["texts"] = {path: one for path, one in lists.items() if isinstance(one, list)}
        return facts

    def _keep(self, facts: Mapping[str, object]) -> None:
        with opened_directory(self.overlay.directory) as place:
            replace_file(place, _FACTS, json.dumps(facts).encode())

    def _remember(
        self,
        contents: Mapping[str, str | None],
        *,
        until: int = _FOREVER,
        parts: Mapping[str, Content] = _NO_PARTS,
        root: str = "",
    ) -> None:
        """Know again what is at some paths of the workspace, or of `root`; their content's digests, None where that is yet to be read.

        What has changed after `until` is somebody else's. Texts of which `parts` were accepted are known by content and mode
        alone, before and after, so that what was chosen can be undone, and chosen again.
        """
        facts = self._facts()
        known, texts = facts["known"], facts["texts"]
        for path, made in parts.items():
            both = [_text(made.old_mode, made.before), _text(made.mode, made.after)]
            texts[path] = [*(texts.get(path) or ()), *both][-_TEXTS:]
        for path, digest in contents.items():
            name = f"{root}/{path}" if root else path
            mark = _mark(f"{root or self.overlay.root}/{path}", digest, known.get(name))
            if mark is not None and mark[_CHANGED] <= until:
                known[name] = mark
        self._keep(facts)

    def _knows(self, path: str, *, root: str = "") -> bool:
        """Whether a path, of the workspace or of `root`, is as it is known: it was accepted from here, or changed and exactly put back, as a rollback does.

        Its time alone does not say so: people keep that when they copy a file. Content decides, and where that is not
        read, whether nothing at all has happened to the file.
        """
        facts, mark = self._facts(), _mark(f"{root or self.overlay.root}/{path}")
        known = facts["known"].get(f"{root}/{path}" if root else path)
        texts = facts["texts"].get(path) if not root else None
        if texts and mark is not None and f"{mark[_MODE] & 0o7777:o} {mark[-1]}" in texts:
            return True
        if not isinstance(known, list) or len(cast("list[object]", known)) <= _CHANGED or mark is None:
            return False
        known = cast("list[object]", known)
        if is_git_index(path) and mark[-1] is not None:
            return (known[_MODE], known[-1]) == (mark[_MODE], mark[-1])  # git writes it anew, and it says the same
        if known[:_CHANGED] != mark[:_CHANGED]:
            return False
        return known[-1] == mark[-1] if mark[-1] is not None else known == mark

    def _must_exist(self) -> None:
        if not self.exists:
            raise UnknownTry(self.name, [one.name for one in tries(self._workspace)])


def bring_back(workspace: Workspace, one: Dropped) -> str | None:
    """Make a try that was dropped one again; its name, which has a number where another one is called so by now.

    None where it has just been freed, or somebody else brings it back.
    """
    return _bring_back(_directory(workspace), os.path.realpath(workspace.root), one)


def dropped_tries(workspace: Workspace) -> tuple[tuple[Dropped, Try], ...]:
    """The tries that were dropped and can come back, the last one at the end, with what is in them."""
    found = ((one, Try(workspace, one.name)) for one in dropped(_directory(workspace)))
    return tuple((one, attempt.lying_in(one.directory)) for one, attempt in found)


def free_dropped(workspace: Workspace) -> int:
    """Free the disk of what was dropped; how many tries that were. It cannot be brought back afterwards."""
    return free(_directory(workspace), os.path.realpath(workspace.root))


def _directory(workspace: Workspace) -> str:
    return os.path.join(workspace.state, DIRECTORY)


def tries(workspace: Workspace) -> tuple[Try, ...]:
    """What is being tried, the one that was used last at the end."""
    names = overlays_in(_directory(workspace))
    found = [Try(workspace, name) for name in names if is_name(name)]
    return tuple(sorted((one for one in found if one.exists), key=lambda one: (_last_use(one), one.name)))


def _plain(path: str) -> str | None:
    """The path in the workspace that a text names; None where it names none, as many a pattern does."""
    try:
        return str(workspace_path(path))
    except PathRefused:
        return None


def _is_directory(step: Step) -> bool:
    found = step.made if step.made is not None else step.found
    return found is not None and stat.S_ISDIR(found.st_mode)


def _meanwhile(call: int | None) -> str:
    """Why a path that has changed stays in a try."""
    by = f"call c{call}" if call is not None else "somebody outside of wink"
    return f"was changed in the workspace meanwhile, by {by}"


def _is_at(name: str, place: str) -> bool:
    return not place or name == place or name.startswith(f"{place}/")


def _contents(found: Differences) -> dict[str, str | None]:
    """The digests of what is about to be merged, None for what is deleted."""
    root = found.overlay.root
    return {
        step.path: None
        if step.kind == "drop"
        else _digest(f"{root}/{step.path}" if step.kind == "mode" else found.source(step.path))
        for step in found.steps
    }


def _few(paths: Sequence[str]) -> Sequence[str]:
    """Not many paths that have some in them: directories, where there are many."""
    few = list(dict.fromkeys(paths))
    while len(few) > _NAMED and any("/" in path for path in few):
        deepest = max(path.count("/") for path in few)
        few = list(dict.fromkeys(path.rpartition("/")[0] if path.count("/") == deepest else path for path in few))
    return few


def _run(noted: Any) -> Run | None:
    """A program that was noted, unless what stands there is none."""
    try:
        started = datetime.fromisoformat(noted["started_at"])
        return Run(tuple(map(str, noted["argv"])), started, float(noted["seconds"]), noted["status"])
    except (KeyError, TypeError, ValueError):
        return None


def _last_use(one: Try) -> float:
    runs = one.runs
    return runs[-1].started_at.timestamp() if runs else 0.0


def _seen(overlay: Overlay) -> Differences:
    """What was changed; that wink's state was covered up leaves a trace in the overlay, and is not worth a word."""
    found = differences(overlay)
    return replace(found, notes=tuple(note for note in found.notes if note[0] != STATE))


def _let_go_of_accepted(overlay: Overlay) -> None:
    """See that no file in it is the workspace's too, as after a crash: a program would write into both.

    What the workspace has at the same path was accepted, and goes; any other that has a name elsewhere becomes a copy.
    """
    names: dict[int, list[str]] = {}
    for path, found in walk_tree(overlay.upper):
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            place = f"{overlay.upper}/{path}"
            with suppress(OSError):
                if os.path.samestat(found, os.lstat(f"{overlay.root}/{path}")):
                    os.unlink(place)
                    continue
            names.setdefault(found.st_ino, []).append(place)
    for first, *others in names.values():
        # What is too deep to have a path was never taken over, nor was any file that has such a name.
        is_reached = all(len(os.fsencode(place)) <= DEEPEST for place in (first, *others))
        if is_reached and os.lstat(first).st_nlink > 1 + len(others):
            from wink_sandbox import copy_file

            apart = f"{overlay.directory}/apart"
            remove_tree(apart)
            copy_file(first, apart, os.lstat(first))
            os.replace(apart, first)
            for other in others:
                os.unlink(other)
                os.link(first, other)


def _mark(place: str, digest: str | None = None, known: Sequence[Any] | None = None) -> list[Any] | None:
    """By what a file is known again: inode, time, size and mode, the time of any change, and the content's digest.

    With `digest` that is the content; without it nothing is read where all else is as in the mark `known`.
    """
    try:
        found = os.lstat(place)
        facts = [found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_ctime_ns]
        if digest is None and known and known[:-1] == facts:
            return list(known)
        digest = digest if digest is not None else _digest(place)
        return [*facts, digest if os.lstat(place).st_ctime_ns == found.st_ctime_ns else None]
    except OSError:
        return None


def _text(mode: int, content: bytes) -> str:
    return f"{mode:o} {hashlib.sha256(content).hexdigest()}"


def _read(place: str, most: int) -> bytes | None:
    """The content of a file, if it has no more bytes than that."""
    try:
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = file.read(most + 1)
    except OSError:
        return None
    return content if len(content) <= most else None


def _digest(place: str) -> str | None:
    """What tells the content of a file, link or directory from another; None for what is too large or cannot be read.

    Of a git index that is what it says, whatever times git has noted in it.
    """
    try:
        found = os.lstat(place)
        if stat.S_ISLNK(found.st_mode):
            return os.readlink(place)
        if not stat.S_ISREG(found.st_mode):
            return ""  # what is in it has marks of its own
        if found.st_size > _LARGEST:
            return None
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            said = git_index_meaning(file.read()) if is_git_index(place) else None
            file.seek(0)
            return said or hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
