"""No honest history is accused: whatever calls, people, undos, accepts, folds, forgetting, packing and kills do, the record fits.

And after each history one edit of a row that was committed to is found.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tests.states import state_of
from tests.workspace.working import call

from wink.errors import MergeConflict, MergeRefused, NothingToUndo, NothingTried, TryConflict, UndoConflict
from wink.filesystem import Filesystem
from wink.transactions import CommitEntry
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Try
from wink_verify import verify

EXAMPLES = int(os.environ.get("WINK_VERIFY_EXAMPLES", "25"))
PATHS = ("a", "b", "d/c")
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
texts = st.sampled_from(["x", "secret " + SECRET, "long line\n" * 60, "\ud800 \U0001f600 \0"])
sessions = st.sampled_from(["default", "other", "third"])


class Honest(RuleBasedStateMachine):
    """Does what may be done with a workspace, and asks after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.workspace = Workspace.open(self.root)
        self.tried = self.made = 0

    def teardown(self) -> None:
        self.workspace.close()
        self.one_edit_is_found()
        shutil.rmtree(self.root)

    @rule(path=st.sampled_from(PATHS), text=texts, session=sessions, fail=st.booleans())
    def call(self, path: str, text: str, session: str, fail: bool) -> None:
        def do(files: Filesystem, _: object) -> None:
            files.write(path, text.replace("\ud800", "").replace("\0", "") + str(self.made))

        self.made += 1
        call(self.workspace, do, session=session, fail=fail)

    @rule(text=texts, session=sessions, nested=st.integers(0, 2))
    def told(self, text: str, session: str, nested: int) -> None:
        """With any text, and calls inside of it."""
        self.made += 1

        def entry(name: str) -> CommitEntry:
            at = datetime.now(UTC)
            return CommitEntry(
                f"told-{self.made}", session, name, "tool", "p", text, "committed", text, at, at - at,
                (("a", True, text, False),), (), (), run="t1", error=text,
            )  # fmt: skip

        self.workspace.session(session)
        self.workspace.record.commit(entry("outer"), [entry(f"inner-{n}") for n in range(nested)])

    @rule(path=st.sampled_from(PATHS), source=st.sampled_from(PATHS))
    def move(self, path: str, source: str) -> None:
        def do(files: Filesystem, _: object) -> None:
            try:
                files.move(source, path, overwrite=True)
            except OSError:
                pass

        call(self.workspace, do)

    @rule(path=st.sampled_from(PATHS), text=texts)
    def somebody_writes(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(text.encode("utf-8", "surrogatepass"))

    def attempt(self, act: Any) -> None:
        try:
            act()
        except (NothingToUndo, UndoConflict):
            pass

    @rule(n=st.integers(1, 3), force=st.booleans())
    def undo(self, n: int, force: bool) -> None:
        self.attempt(lambda: self.workspace.undo(n=n, force=force))

    @rule(session=sessions)
    def undo_of_a_session(self, session: str) -> None:
        self.attempt(lambda: self.workspace.undo(session=session))

    @rule()
    def redo(self) -> None:
        self.attempt(self.workspace.redo)

    @rule()
    def fold(self) -> None:
        self.workspace.fold()

    @rule(calls=st.integers(0, 3))
    def gc(self, calls: int) -> None:
        self.workspace.gc(calls=calls)

    @rule(leave=st.integers(0, 4))
    def pack(self, leave: int) -> None:
        self.workspace.record.texts.pack(leave=leave)

    @rule()
    def open_again(self) -> None:
        self.workspace.close()
        self.workspace = Workspace.open(self.root)

    @rule(text=texts)
    def another_process_is_killed(self, text: str) -> None:
        """After calls of which it has kept no head, and in the middle of one."""
        child = os.fork()
        if not child:
            # A thread of this process may have held a lock that the child waits for: then it is killed before its first call.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, 2)
            try:
                workspace = Workspace.open(self.root)
                call(workspace, lambda files, _: files.write("a", f"{len(text)} killed"))
                call(workspace, lambda files, _: (files.write("b", "half"), os._exit(0)))
            finally:
                os._exit(1)
        os.waitpid(child, 0)

    @rule(meanwhile=st.booleans())
    def try_and_accept(self, meanwhile: bool) -> None:
        if self.tried == 2:
            return
        self.tried += 1
        attempt = Try(self.workspace, f"t{self.tried}")
        with attempt.use() as overlay:
            Sandbox().run(
                Command(("sh", "-c", f"mkdir -p d; echo {self.tried} > a; echo new > d/n{self.tried}")), overlay
            )
        if meanwhile:
            self.somebody_writes("a", "x")
        try:
            attempt.accept()
        except (NothingTried, TryConflict, MergeConflict, MergeRefused):
            attempt.drop()

    @invariant()
    def it_fits(self) -> None:
        verdict = verify(self.workspace)
        assert verdict.fits, verdict
        assert verdict.upto == self.workspace.record.last_position()

    def one_edit_is_found(self) -> None:
        """Of the last call that is there."""
        record = state_of(self.root) / "record.db"
        if not record.exists():
            return
        connection = sqlite3.connect(record, isolation_level=None)
        edited = connection.execute(
            "UPDATE calls SET duration = duration + 1 WHERE seq = (SELECT max(seq) FROM calls)"
        ).rowcount
        connection.close()
        if edited:
            with Workspace.open(self.root) as workspace:
                assert not verify(workspace).fits


def test_no_honest_history_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Almost nothing is too young to be forgotten."""
    import wink.record._forgetting as forgetting

    monkeypatch.setattr(forgetting, "_FREE", forgetting._FREE.replace("OFFSET 999", "OFFSET 2"))
    monkeypatch.setattr(forgetting, "_AT_ONCE", 2)
    run_state_machine_as_test(
        Honest,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
