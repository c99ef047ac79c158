"""A call's part in a session: everything it writes, staged until the call commits.

Rules:

* Whatever touches a part holds the session's lock for that one operation, so `revoke` takes the lock, raises the flag
  and knows that no operation is under way and that none will begin.
* `prepare` takes the session's turn and `publish` or `undo` gives it back, on the same thread: between them nothing
  else is published, neither to the session nor to a part of it, so what was prepared still holds.
* Slices with the LOG policy never wait in a part: they are written through.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from wink.errors import HandleRevoked, SessionError
from wink.session._ops import SlicePolicy
from wink.session._slice import Reducer, Slice
from wink.session._stage import SliceDelta, Stage
from wink.session._view import View

if TYPE_CHECKING:
    from wink.session._session import Session
    from wink.session._state import State

# Looking a member up in its enum costs more, on Python 3.11, than appending an item.
_STATE: Final = SlicePolicy.STATE

current: Final[ContextVar[SessionPart | None]] = ContextVar("wink_session_part", default=None)
"""The innermost part of any session in this context."""


Step: TypeAlias = tuple[Slice[Any], Reducer | None, Any]
"""One reducer's share of an event; without a reducer the last is the operation itself."""


class SessionPart:
    """What one call has written to a session; made by `Session.begin`.

    `parent` is the part of the call around it in the same session, `outer` the innermost part of any session that was
    current when it began.
    """

    __slots__ = ("_calls_lock", "_holds_turn", "_log", "_prepared", "_revoked", "_stages", "outer", "parent", "state")

    def __init__(self, state: State, parent: SessionPart | None, outer: SessionPart | None) -> None:
        self.state = state
        self.parent = parent
        self.outer = outer
        self._calls_lock: threading.RLock | None = None
        self._stages: dict[type, Stage[Any]] = {}
        self._log: list[SliceDelta] = []
        self._prepared = False
        self._holds_turn = False
        self._revoked = False

    @property
    def session(self) -> Session:
        """The session that the call writes to."""
        return self.state.session

    # -- where it is current

    def enter(self) -> Token[SessionPart | None]:
        """Make this the part that the session works on in this context, and in contexts copied from it."""
        return current.set(self)

    def exit(self, token: Token[SessionPart | None]) -> None:
        """Undo `enter`, in the same context."""
        current.reset(token)

    # -- its end

    def revoke(self) -> None:
        """Wait for the operation that is under way; every later one raises `HandleRevoked` and changes nothing."""
        with self.state.lock:
            self._revoked = True

    def prepare(self) -> tuple[SliceDelta, ...]:
        """Do all that can fail, and say how the slices change.

        Where something else was published since this part first wrote to a slice, its events are reduced again over the
        slice as it is now; a reducer that raises there raises here. The deltas include what was written to logs. Inside
        another part there are none: the outer part will tell.
        """
        state = self.state
        if not self._holds_turn:
            state.turn.acquire()
            self._holds_turn = True
        try:
            with state.lock:
                if self.parent is not None:
                    self.parent.check()
                for cls, stage in self._stages.items():
                    below = self._below(stage.slice)
                    if stage.has_moved(below):
                        self._stages[cls] = stage.again(below)
                        stage.release()
                self._prepared = True
                self._revoked = True
                if self.parent is not None:
                    return ()
                deltas = tuple(self._log)
                for stage in self._stages.values():
                    deltas += stage.deltas()
                return deltas
        except BaseException:
            self._give_turn_back()
            raise

    def publish(self) -> None:
        """Make the writes visible, or part of the outer part; cannot fail after `prepare`."""
        if not self._prepared:
            self.prepare()
        with self.state.lock:
            if self.parent is None:
                self._publish_stages()
            elif not self.parent.is_over:
                self._fold_into(self.parent)
            self._stages = {}
        self._give_turn_back()

    def undo(self) -> None:
        """Forget the writes; what went to logs stays. Harmless when repeated, or after `publish`."""
        with self.state.lock:
            self._revoked = True
            for stage in self._stages.values():
                stage.release()
            self._stages = {}
        self._give_turn_back()

    def logged(self) -> tuple[SliceDelta, ...]:
        """What was written to logs; it stands, whatever becomes of the rest."""
        return tuple(self._log)

    @property
    def is_over(self) -> bool:
        """Whether this part, or one around it, takes no more writes."""
        return self._revoked or (self.parent is not None and self.parent.is_over)

    @property
    def calls_lock(self) -> threading.RLock:
        """Keeps the threads of one call apart; one for the outermost part and all within it."""
        if self.parent is not None:
            return self.parent.calls_lock
        with self.state.lock:
            self._calls_lock = self._calls_lock or threading.RLock()
            return self._calls_lock

    # -- what the session does with it, holding its lock

    def check(self) -> None:
        """Raise `HandleRevoked` if the call is over."""
        if self._revoked or (self.parent is not None and self.parent.is_over):
            raise HandleRevoked("the session was used by a call that has ended; nothing was changed")

    def view(self, slice_: Slice[Any]) -> View[Any] | Stage[Any]:
        """The slice as the call sees it."""
        stage = self._stages.get(slice_.cls)
        return self._below(slice_) if stage is None else stage

    def index(self, slice_: Slice[Any]) -> None:
        """Give keys to what the call has written to a slice that is kept by key from now on."""
        stage = self._stages.get(slice_.cls)
        if stage is not None:
            stage.index()

    def touched(self) -> dict[type, Stage[Any]]:
        """The slices that this call, and those around it, have written to."""
        outer = {} if self.parent is None else self.parent.touched()
        return {**outer, **self._stages}

    def run(self, steps: Sequence[Step], *, noted: bool = True) -> None:
        """Do all the steps, or none of them."""
        if len(steps) == 1 and steps[0][0].policy is _STATE:
            self.do(steps[0])
            return
        draft, log = SessionPart(self.state, self, None), SessionPart(self.state, None, None)
        try:
            for step in steps:
                (log if step[0].policy is not _STATE else draft).do(step)
        except BaseException:
            draft.undo()
            log.undo()
            raise
        draft._fold_into(self)
        if noted:
            self.note([delta for stage in log.touched().values() for delta in stage.deltas()])
        log._publish_stages()

    def note(self, deltas: list[SliceDelta]) -> None:
        """Remember for the record what was written to logs."""
        if self.parent is None:
            self._log += deltas
        else:
            self.parent.note(deltas)

    def do(self, step: Step) -> None:
        """Do one step of a slice with any policy."""
        slice_, reducer, payload = step
        stage = self._stages.get(slice_.cls)
        if stage is None:
            stage = self._stages[slice_.cls] = Stage(slice_, self._below(slice_))
        if reducer is None:
            stage.act(None, payload)
            return
        state = self.state
        if state.reducing:
            raise SessionError("a reducer wrote to its session; return an operation instead")
        state.reducing = True
        try:
            stage.act(reducer, payload)
        finally:
            state.reducing = False

    def _below(self, slice_: Slice[Any]) -> View[Any] | Stage[Any]:
        return self.state.root(slice_) if self.parent is None else self.parent.view(slice_)

    def _fold_into(self, parent: SessionPart) -> None:
        for cls, stage in self._stages.items():
            outer = parent._stages.get(cls)
            if outer is None:
                parent._stages[cls] = stage
            else:
                outer.absorb(stage)
                stage.release()

    def _publish_stages(self) -> None:
        for stage in self._stages.values():
            stage.release()
            self.state.publish(stage)

    def _give_turn_back(self) -> None:
        if self._holds_turn:
            self._holds_turn = False
            self.state.turn.release()
