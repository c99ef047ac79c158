"""Whatever calls, people, tries, undos and restores do, blame says of each line who brought it in, or that this is not kept.

No line is ever written twice, so that the model needs no comparison of texts: it notes when it sees a line for the first time.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.workspace.working import call

from wink.errors import MergeConflict, MergeRefused, NothingToUndo, NothingTried, TryConflict, UndoConflict
from wink.filesystem import Filesystem
from wink.workspace import Reverted, Workspace
from wink_history import Author, BlameError, blame
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Try

EXAMPLES = int(os.environ.get("WINK_BLAME_EXAMPLES", "25"))
PATHS = ("a", "b", "d/c")
Lines = tuple[str, ...]
Edit = tuple[str, int, int, int]
edits = st.tuples(st.sampled_from(PATHS), st.integers(0, 6), st.integers(0, 2), st.integers(0, 3))
steps = st.one_of(
    edits,
    edits,
    st.tuples(st.just("move"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.tuples(st.just("delete"), st.sampled_from(PATHS)),
)


class Blamed(RuleBasedStateMachine):
    """Knows of each line which call brought it in, or between which two calls that changed the path somebody did."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.workspace = Workspace.open(self.root)
        self.fresh = (f"line {number}\n" for number in itertools.count())
        self.calls: dict[str, int] = {}
        self.others: dict[str, tuple[int | None, int | None]] = {}
        """After which call somebody brought a line in, and before which."""
        self.touched: dict[str, int] = {}
        """The last call that changed each path."""
        self.lost: set[int] = set()
        """The calls of which somebody has changed what they left before anybody kept it."""
        self.unfolded: set[int] = set()
        self.changed: dict[int, set[str]] = {}
        self.compound: set[int] = set()
        """The calls that moved something and did more: of them the record may not say what came from where."""
        self.after: dict[int, dict[str, Lines]] = {}
        """What each call has left."""
        self.tried = 0

    @initialize(path=st.sampled_from(PATHS), lines=st.integers(1, 8))
    def begin(self, path: str, lines: int) -> None:
        self.somebody_writes((path, 0, 0, lines))

    def teardown(self) -> None:
        self.workspace.close()
        shutil.rmtree(self.root)

    def now(self) -> dict[str, Lines]:
        there = {path: self.root / path for path in PATHS}
        return {path: lines_of(place.read_text()) for path, place in there.items() if place.is_file()}

    def edited(self, lines: Lines, edit: Edit) -> Lines:
        _, at, gone, new = edit
        return (*lines[:at], *itertools.islice(self.fresh, new), *lines[at + gone :])

    def took(self, number: int) -> None:
        """Note what a call has brought in, and what it has found of somebody."""
        changes = self.workspace.call(number).changes
        self.changed[number] = {change.path for change in changes} & set(PATHS)
        for change in changes:
            for line, (after, before) in list(self.others.items()):
                if (
                    before is None
                    and after == self.touched.get(change.path)
                    and line in self.found.get(change.path, ())
                ):
                    self.others[line] = after, number
            self.touched[change.path] = number
        self.unfolded.add(number)
        self.after[number] = self.now()
        for lines in self.after[number].values():
            for line in lines:
                if line not in self.others:
                    self.calls.setdefault(line, number)

    @property
    def found(self) -> dict[str, Lines]:
        return self._found

    # -- what happens

    @rule(work=st.lists(steps, min_size=1, max_size=3))
    def call(self, work: list[Any]) -> None:
        self._found = self.now()

        def do(files: Filesystem, _: object) -> None:
            for step in work:
                try:
                    if step[0] == "move":
                        files.move(step[1], step[2], overwrite=True)
                    elif step[0] == "delete":
                        files.delete(step[1])
                    else:
                        is_there = files.exists(step[0])
                        lines = lines_of(files.read(step[0]).content) if is_there else ()
                        files.write(step[0], "".join(self.edited(lines, step)))
                except OSError:
                    pass

        number = call(self.workspace, do)
        if len(work) > 1 and any(step[0] == "move" for step in work):
            self.compound.add(number)
        self.took(number)

    @rule(edit=edits)
    def somebody_writes(self, edit: Edit) -> None:
        path, place = edit[0], self.root / edit[0]
        before = self.now().get(path, ())
        place.parent.mkdir(exist_ok=True)
        place.write_text("".join(self.edited(before, edit)))
        self.somebody(path, before)

    @rule(path=st.sampled_from(PATHS))
    def somebody_deletes(self, path: str) -> None:
        before = self.now().get(path, ())
        (self.root / path).unlink(missing_ok=True)
        self.somebody(path, before)

    def somebody(self, path: str, before: Lines) -> None:
        now, last = self.now().get(path, ()), self.touched.get(path)
        for line in now:
            if line not in self.calls:
                self.others.setdefault(line, (last, None))
        if now != before:  # a call that has moved the file since had not made another of it
            self.lost |= {
                number
                for number in self.unfolded
                if any(self.after[number].get(one) == before for one in self.changed[number])
            }

    def attempt(self, act: Any) -> None:
        self._found = self.now()
        try:
            done: Reverted = act()
        except (NothingToUndo, UndoConflict):
            return
        assert done.call is not None
        self.took(done.call)

    @precondition(lambda self: self.after)
    @rule(data=st.data(), force=st.booleans())
    def undo_one(self, data: Any, force: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.after)))
        self.attempt(lambda: self.workspace.undo(number, force=force))

    @rule(n=st.integers(1, 3))
    def undo_last(self, n: int) -> None:
        self.attempt(lambda: self.workspace.undo(n=n))

    @rule()
    def redo(self) -> None:
        self.attempt(self.workspace.redo)

    @precondition(lambda self: self.after)
    @rule(data=st.data(), paths=st.lists(st.sampled_from(PATHS), max_size=2))
    def restore(self, data: Any, paths: list[str]) -> None:
        number = data.draw(st.sampled_from(sorted(self.after)))
        self.attempt(lambda: self.workspace.restore(number, *paths))

    @rule()
    def fold(self) -> None:
        self.workspace.fold()
        # A fold takes in what is there, and what somebody has changed by then is lost.
        self.unfolded.clear()

    @rule()
    def open_again(self) -> None:
        self.workspace.close()
        self.workspace = Workspace.open(self.root)

    @precondition(lambda self: self.tried < 2)
    @rule(edit=edits, meanwhile=st.none() | edits)
    def try_and_accept(self, edit: Edit, meanwhile: Edit | None) -> None:
        self.tried += 1
        becomes = "".join(self.edited(self.now().get(edit[0], ()), edit))
        attempt = Try(self.workspace, f"t{self.tried}")
        with attempt.use() as overlay:
            script = f"mkdir -p d; printf '%s' '{becomes}' > {edit[0]}"
            Sandbox().run(Command(("sh", "-c", script)), overlay)
        if meanwhile is not None:
            self.somebody_writes(meanwhile)
        self._found = self.now()
        try:
            done = attempt.accept()
        except (NothingTried, TryConflict, MergeConflict, MergeRefused):
            attempt.drop()
            return
        if done.call is not None:
            self.took(done.call)

    # -- what blame says

    @invariant()
    def every_line_has_its_author(self) -> None:
        for path, lines in self.now().items():
            told = blame(self.workspace, path)
            assert [line.text.decode() for line in told] == list(lines)
            for line in told:
                self.fits(line.text.decode(), line.author, path)
        for path in set(PATHS) - self.now().keys():
            try:
                blame(self.workspace, path)
            except BlameError:
                continue
            raise AssertionError(f"{path} has no lines")

    @precondition(lambda self: self.after)
    @rule(data=st.data(), path=st.sampled_from(PATHS))
    def as_it_was(self, data: Any, path: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.after)))
        last = max((at for at, paths in self.changed.items() if at <= number and path in paths), default=None)
        try:
            told = blame(self.workspace, path, at=number)
        except BlameError:
            assert last is None or last in self.lost or path not in self.after[last]
            return
        if last is not None:  # before that the first call has found it
            assert [line.text.decode() for line in told] == list(self.after[last][path])
        for line in told:
            self.fits(line.text.decode(), line.author, path)

    def fits(self, text: str, author: Author, path: str) -> None:
        if self.compound & set(author.calls):
            return
        if author.by == "unknown":
            assert self.lost & set(author.calls), (text, author)
        if text in self.calls:
            assert self.calls[text] in author.calls, (text, author)
            assert author.by == "unknown" or len(author.calls) == 1
            return
        after, before = self.others[text]
        if author.by == "unknown":
            assert (author.after or 0) <= (after or 0), (text, author, after, before)
            assert author.before is None or (before is not None and before <= author.before), (text, author)
        elif after is None:
            assert author.by == ("others" if path not in self.touched else "before"), (text, author)
        else:
            assert (author.by, author.after, author.before) == ("others", after, before), (text, author)


def lines_of(text: str) -> Lines:
    return tuple(text.splitlines(keepends=True))


def test_every_line_has_its_author() -> None:
    """Against the model."""
    run_state_machine_as_test(
        Blamed,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
