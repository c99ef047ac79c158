"""One try: an overlay with a name, the programs that ran in it, and what of it becomes the workspace's."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final

from wink.dataclass import replace
from wink.errors import PathRefused, TryBusy, UnknownTry, WinkError
from wink.filesystem import FileChange
from wink.state import make
from wink.workspace import Workspace, session_name
from wink_sandbox import (
    Differences,
    GitHome,
    GitOutside,
    Mount,
    Overlay,
    differences,
    forget,
    git_home,
    has_copy,
    index_in,
    is_directory,
    is_unsettled,
    keep_base,
    lay_aside,
    overlays_in,
    remove_tree,
    with_git_config,
)
from wink_sandbox.tries._beside import is_confirmed, layers_beside, outside
from wink_sandbox.tries._dropped import KEPT, Dropped, dropped, free, is_name, move_out, place_for, sweep_ended
from wink_sandbox.tries._dropped import bring_back as _bring_back
from wink_sandbox.tries._facts import Facts, Run
from wink_sandbox.tries._layer import CHECK, is_accepted, is_pending, let_go_of_accepted, seen
from wink_sandbox.tries._private import HOME

if TYPE_CHECKING:
    from datetime import datetime

    from wink_sandbox import CopyOfTry, RemoteSetting, SettingsProblem, Step
    from wink_sandbox.tries._accepted import Accepted
    from wink_sandbox.tries._bases import Bases
    from wink_sandbox.tries._check import Check
    from wink_sandbox.tries._hunks import Picked, Unit
    from wink_sandbox.tries._update import Updated
    from wink_sandbox.tries.merging import Choice, Conflict

DIRECTORY: Final = "tries"
"""Where tries are, in the workspace's state."""


class Try:
    """Changes that are not real yet. Made by `tries`, or by the first `use` of a new name."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.name = session_name(name, "try")
        self._workspace = workspace
        self._directory = _directory(workspace)
        self.overlay = Overlay(os.path.realpath(workspace.root), f"{self._directory}/{self.name}")
        self._facts = Facts(self.overlay)
        self._is_aside = False

    def lying_in(self, directory: str) -> Try:
        """The same, where it was put aside to."""
        return self.over(Overlay(self.overlay.root, directory))

    def over(self, overlay: Overlay) -> Try:
        """Another one of the same name, over an overlay."""
        one = Try(self._workspace, self.name)
        one.overlay, one._is_aside = overlay, True
        one._facts = Facts(overlay)
        return one

    @cached_property
    def _bases(self) -> Bases:
        from wink_sandbox.tries._bases import Bases  # which listing tries does not need

        return Bases(self.overlay)

    @property
    def exists(self) -> bool:
        """Whether something has been tried under this name and neither been accepted nor dropped as a whole."""
        self._settle_accepted()
        return is_directory(self.overlay.upper)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The programs that ran in it, oldest first."""
        return self._facts.runs

    @contextmanager
    def use(self) -> Generator[Overlay]:
        """The overlay, to run programs over, and nobody else's meanwhile; raises `TryBusy`."""
        os.close(make(self._workspace.state))
        self._settle_accepted()
        with self._held():
            keep_base(self.overlay)
            try:
                with self._bases.kept():
                    yield self.overlay
            finally:
                if self.exists:
                    # What these files are now is what was changed: if they are that again, nobody is in the way.
                    found = seen(self.overlay)
                    self._facts.let_go(self._bases.fresh)
                    self._facts.remember({step.path: None for step in found.steps}, until=self.overlay.since)
                    for git, layer in layers_beside(self.overlay, self._facts):
                        steps = differences(layer).only([git.inside]).steps
                        paths = {step.path: None for step in steps}
                        self._facts.remember(paths, until=self.overlay.since, root=git.place)

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
        if (is_unsettled(self.overlay) or is_pending(self.overlay)) and not self._is_aside:
            with suppress(TryBusy), self._held():
                pass

    def _settle_accepted(self) -> None:
        """Let go of what was accepted, where wink was killed meanwhile; there may be no such try any more then."""
        if self.overlay.lock < 0 and not self._is_aside and is_accepted(self.overlay):
            with suppress(OSError, WinkError), self._held():  # whoever uses it next is told
                pass

    @contextmanager
    def _held(self, *, is_dropped: bool = False) -> Generator[None]:
        try:
            self.overlay.open()
        except BlockingIOError:
            raise TryBusy(self.name) from None
        try:
            is_over = False
            if is_accepted(self.overlay):
                with suppress(WinkError, OSError) if is_dropped else nullcontext():
                    is_over = self._let_go()
            if is_over:
                raise UnknownTry(self.name, [one.name for one in tries(self._workspace)])
            if is_pending(self.overlay):
                from wink_sandbox.tries._update import go_on

                with suppress(WinkError, OSError) if is_dropped else nullcontext():
                    go_on(self.overlay, self._facts)
            if is_unsettled(self.overlay):
                from wink_sandbox import CopyLost, CopyOfTry

                # What cannot be read is dropped as it is.
                with suppress(OSError) if is_dropped else nullcontext():
                    for moved in (False, True):
                        if is_unsettled(self.overlay, moved=moved):
                            copy = CopyOfTry(self.overlay, moved=moved)
                            try:
                                copy.end()
                            except CopyLost:
                                if not is_dropped:
                                    raise
                                copy.give_up()
            with suppress(OSError) if is_dropped else nullcontext():
                if os.path.lexists(f"{self.overlay.directory}/{CHECK}"):
                    remove_tree(f"{self.overlay.directory}/{CHECK}")
                let_go_of_accepted(self.overlay)
                for _, layer in layers_beside(self.overlay, self._facts):
                    let_go_of_accepted(layer, is_beside=True)
            yield
        finally:
            self.overlay.close()

    def note(self, run: Run, home: str = "") -> None:
        """Keep that a program runs, or how it ended if it is the one that was noted last, while the try is in use; `home` is what it has as such."""
        self._facts.note(run, self._workspace.masking.value(run.argv), home)

    def note_places(self, mounts: Sequence[Mount], git: str = "") -> None:
        """Keep what is shown to the next program beside the workspace, with changes of its own, while the try is in use.

        `git` is the git directory that its environment names.
        """
        self._facts.note_places(mounts, git)
        home = self.accepts_git_to()
        if home is not None and home not in dict(layers_beside(self.overlay, self._facts)):
            # While the program runs, others may look at the worktree, and git then writes its index anew.
            self._facts.remember({index_in(home, self.overlay.root): None}, root=home.place)

    def git_outside(self) -> tuple[GitOutside, ...]:
        """The git directories outside of the workspace, of it or of what lies in it, that programs have written to in the try.

        Where its `home` is none, that stays in the try: it is not accepted, and gone with it.
        """
        return outside(self.overlay, self._facts)

    def accepts_git_to(self) -> GitHome | None:
        """Where what git writes is accepted to, where the workspace's git directory lies outside of it."""
        return git_home(self.overlay.root)

    def is_confirmed(self, git: GitOutside) -> bool:
        """Whether a git directory outside is known to be the workspace's: it says so, or a person has."""
        return git.home is not None and is_confirmed(self._workspace, git.home)

    def differences(self) -> Differences:
        """What was changed in it so far; raises `UnknownTry`."""
        self._must_exist()
        self._settle()
        if self.overlay.lock < 0:
            self.overlay.since = self._facts.since
        return seen(self.overlay)

    def home(self) -> tuple[FileChange, ...]:
        """What its programs have changed in the home directory, by paths in it: it is there when the next one runs, and never accepted.

        What git wrote there to the repository of a worktree, which is accepted, is not given. Raises `UnknownTry`.
        """
        self._must_exist()
        place, directory = self._facts.read()["home"], f"{self.overlay.directory}/{HOME}"
        if not place or not is_directory(f"{directory}/upper") or not os.path.isdir(place):
            return ()
        homes = [one.home for one in self.git_outside() if one.home is not None]
        gits = [os.path.relpath(f"{home.place}/{home.inside}", place) for home in homes]
        changes = differences(Overlay(place, directory)).changes()
        if not gits:
            return changes
        from wink_sandbox.tries._choosing import is_at

        return tuple(change for change in changes if not any(is_at(change.path, git) for git in gits))

    def refusals(
        self,
        found: Differences,
        *,
        portable_names: bool = False,
        settings: SettingsProblem | None = None,
        denial: Callable[[str], str] | None = None,
    ) -> tuple[tuple[str, str], ...]:
        """What of `found` no `accept` would take, paths with the reasons; remotes that a person can confirm are none of it, nor is what others change."""
        from wink_sandbox.tries._accept import problems  # which most commands do not need

        found = with_git_config(found)
        found = with_git_config(found, frozenset(found.asked)) if found.asked else found
        part = self._workspace.filesystem.begin()
        return problems(found, part, portable_names=portable_names, settings=settings, denial=denial)

    def conflicts(self) -> tuple[str, ...]:
        """The paths that it has changed, and that have changed in the workspace too since it began, also those that would merge; raises `UnknownTry`."""
        from wink_sandbox.tries._accept import conflicts  # which most commands do not need

        return tuple(conflicts(self.differences(), self._facts, self._bases))

    def unmerged(self) -> tuple[Conflict, ...]:
        """What an accept of all of it could not merge with what the workspace has changed meanwhile; raises `UnknownTry`.

        Programs may run in it.
        """
        from wink_sandbox.tries._accept import conflicts
        from wink_sandbox.tries.merging import Renames, ThreeWay, is_merged

        found = self.differences()
        changed = conflicts(found, self._facts, self._bases)
        followed = Renames(self.overlay, self._bases).settled(found, changed)
        others = [path for path in changed if path not in followed and not is_merged(path, self.overlay.root)]
        return ThreeWay(self.overlay, self._bases).conflicts(found, others)

    @property
    def begun_at(self) -> datetime | None:
        """When its first program began; None where that is not known."""
        return self._facts.begun_at

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
        git_directory: Callable[[str], bool] | None = None,
        settings: SettingsProblem | None = None,
        denial: Callable[[str], str] | None = None,
        choice: Choice | None = None,
        check: Sequence[str] | Check | None = None,
        on_wait: Callable[[], object] | None = None,
    ) -> Accepted:
        """Make all of it, or what is at and beneath some paths, the workspace's: one call, which can be undone.

        Paths may be patterns, as those of git: `*`, `?` and `[…]`, of which the first crosses directories. What bears such
        a name itself, or lies beneath it, is meant first. Raises `NothingTried` for what fits nothing that was tried. What is at and
        beneath the paths of `without` is left out.

        What is not accepted stays in the try, and so does what was written to the home; when nothing is left there is no try any more. `confirm` is told what is about
        to be done, when nobody else can change it any more; where it raises, nothing is. Raises `UnknownTry`,
        `TryBusy`, `TryConflict` where the workspace has changed there meanwhile and that cannot be merged, and `MergeRefused` for what must not
        become a workspace's, with `portable_names` also new names that Windows cannot hold; then nothing was changed. With `rest` such paths are left out, and the rest is accepted.
        `pick` chooses from what there is, while no program can change the try; only what it gives is looked at further.
        `remotes` is asked, likewise, whether to take new remotes and other addresses of those there are; nobody asked, they are refused.
        `git_directory` is asked, once for a workspace, whether one outside belongs to it that does not say so itself, as of
        `git init --separate-git-dir`; what git wrote there is refused otherwise.
        Texts that both have changed are merged by lines; where both have changed the same, `choice` decides: the "workspace"'s lines,
        those of the "try", or both with git's "markers". "try" decides for whole files too, which cannot be merged.
        `check` is a program that must exit with 0, over what would become of the workspace, in the sandbox and without network: otherwise it is
        `CheckFailed`, and nothing has happened. What it writes is dropped. One check runs at a time in a workspace; `on_wait` is told when this one has to wait.
        `settings` says what is wrong with what a file of wink's settings would have, and `denial` why a path is not to be changed; either is refused.
        """
        from wink_sandbox.tries._accept import Accepting, Request  # which most commands do not need

        self._must_exist()
        if check is not None and not callable(check):
            from wink_sandbox.tries._check import check_of

            check = check_of(check)
        if check is not None and (dry_run or pick is not None):
            raise ValueError("a check is run when all that was chosen is accepted: give it without dry_run and pick")
        request = Request(paths, without, rest, choice, portable_names, settings, denial)
        with self._held():
            accepting, is_over = Accepting(self._workspace, self.overlay, self.name, self._facts, request), False
            try:
                done = accepting.run(
                    session=session,
                    dry_run=dry_run,
                    pick=pick,
                    confirm=confirm,
                    remotes=remotes,
                    git_directory=git_directory,
                    checked=None if check is None else (self, check, on_wait),
                )
            finally:
                if not dry_run:
                    with suppress(OSError, WinkError):  # it is accepted: who opens the try next goes on
                        is_over = self._let_go()
            return done if dry_run else replace(done, is_over=is_over)

    def _let_go(self) -> bool:
        """Take out what was accepted, while it is in use; whether nothing is left then, and it is no try any more."""
        from wink_sandbox.tries._accepted import end, let_go, noted

        letting = noted(self.overlay)
        if letting is not None and (not letting.transaction or self._workspace.record.committed(letting.transaction)):
            let_go(self.overlay, self._facts, letting, self._lay_aside)
            if self.end_if_empty():
                return True
        end(self.overlay)
        return False

    def update(self, *, dry_run: bool = False) -> Updated:
        """Merge what the workspace has changed meanwhile into it, where programs that run in it next see and resolve it.

        Where both have changed the same lines it has git's markers, and is not accepted while it has them. Raises `UnknownTry` and
        `TryBusy`.
        """
        from wink_sandbox.tries._update import update

        self._must_exist()
        with self._held():
            return update(self.overlay, self._facts, dry_run=dry_run)

    def undo_update(self, *, dry_run: bool = False) -> Updated | None:
        """Take its last update back, None where there is none; raises also `MergeRefused` where programs have built on it."""
        from wink_sandbox.tries._update import undo

        self._must_exist()
        with self._held():
            return undo(self.overlay, self._facts, dry_run=dry_run)

    def drop(self, *paths: str, dry_run: bool = False, confirm: Callable[[Accepted], object] | None = None) -> Accepted:
        """Forget all of it, or what is at and beneath some paths; what was accepted stays. Raises like `accept`.

        What was dropped last, up to `KEPT` times, lies aside: `bring_back` undoes it until `free_dropped`.
        """
        from wink_sandbox.tries._accepted import Accepted
        from wink_sandbox.tries._choosing import chosen

        self._must_exist()
        with self._held(is_dropped=not paths):
            try:
                whole = seen(self.overlay)
                found = chosen(self.overlay, self.name, paths)
                changes = found.changes()
                for step in found.steps:
                    _check_whole(step, whole)
            except OSError:
                if paths:
                    raise
                found, changes = Differences(self.overlay, ()), ()  # all of it goes, whatever it is
            if dry_run:
                return Accepted(None, changes)
            if confirm is not None:
                confirm(Accepted(None, changes))
            if not paths:
                if not is_unsettled(self.overlay):
                    self._forget_copies()
                self.overlay.move(place_for(self._directory, self.name))
            else:
                self._lay_aside(found)
                forget(found)
            free(self._directory, self.overlay.root, but=KEPT)
            return Accepted(None, changes, is_over=not paths or self.end_if_empty())

    def _lay_aside(self, found: Differences) -> None:
        """Make a part of it a try of its own that was dropped, as old as this one and with what is known of the workspace's files."""
        directory = place_for(self._directory, self.name)
        part = Overlay(self.overlay.root, directory)
        part.open()
        try:
            self._facts.copy_to(directory)
            lay_aside(found, part.upper)
            self._bases.move_to(directory, (step.path for step in found.steps))
        finally:
            part.close()

    def end_if_empty(self) -> bool:
        """End the try where nothing of it is left, in the home neither; while it is in use."""
        if seen(self.overlay) or self.home() or self.git_outside() or is_unsettled(self.overlay):
            return False
        self._forget_copies()
        place = self.overlay.directory
        try:
            move_out(self.overlay)
            with suppress(OSError):  # what is left of it is swept
                self.overlay.drop()
        finally:
            self.overlay.directory = place
        return True

    def _forget_copies(self) -> None:
        if self.is_copied:
            from wink_sandbox import forget_copies

            forget_copies(self.overlay.directory)

    def _must_exist(self) -> None:
        if not self.exists:
            raise UnknownTry(self.name, [one.name for one in tries(self._workspace)])


def _check_whole(step: Step, found: Differences) -> None:
    """Raise `PathRefused` for a part of a directory that was deleted: what hides that directory hides all of it."""
    gone = next((one for one in found.steps if one.kind == "drop" and step.path.startswith(f"{one.path}/")), None)
    if gone is not None and step.kind == "drop":
        raise PathRefused(
            step.path, f"was deleted with {gone.path!r}, of which a part cannot be dropped alone; name that"
        )


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
    directory = _directory(workspace)
    sweep_ended(directory)
    found = [Try(workspace, name) for name in overlays_in(directory) if is_name(name)]
    return tuple(sorted((one for one in found if one.exists), key=lambda one: (_last_use(one), one.name)))


def clashes(listed: Iterable[Try]) -> dict[str, dict[str, tuple[Conflict, ...]]]:
    """What could not be merged of what each of some tries has changed: with the workspace, called "", and with each other one.

    Programs may run in them; one that cannot be read is left out.
    """
    from wink_sandbox.tries._bases import Bases
    from wink_sandbox.tries.merging import between, is_merged

    found: dict[str, dict[str, tuple[Conflict, ...]]] = {}
    sides: dict[str, tuple[Differences, Bases]] = {}
    for one in listed:
        with suppress(OSError, WinkError):
            found[one.name] = {"": one.unmerged()}
            sides[one.name] = (one.differences(), Bases(one.overlay))
    for name, other in combinations(sides, 2):
        root = sides[name][0].overlay.root
        both = between(sides[name], sides[other])
        found[name][other] = found[other][name] = tuple(one for one in both if not is_merged(one.path, root))
    return {
        name: {other: conflicts for other, conflicts in those.items() if conflicts} for name, those in found.items()
    }


def _last_use(one: Try) -> float:
    runs = one.runs
    return runs[-1].started_at.timestamp() if runs else 0.0
