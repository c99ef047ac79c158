"""A call's part in a session: everything it writes, staged until the call commits.

Rules:

* Whatever touches a part holds the session's lock for that one operation, so `revoke` takes the lock, raises the flag
  and knows that no operation is under way and that none will begin.
* `prepare` takes the session's turn and `publish` or `undo` gives it back, on the same thread: between them nothing
  else is published, so what was prepared still holds. A part inside another part needs no turn.
* Slices with the LOG policy never wait in a part: they are written through.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wink.errors import HandleRevoked, SessionError
from wink.session._ops import SlicePolicy
from wink.session._slice import Reducer, Slice
from wink.session._stage import SliceDelta, Stage
from wink.session._view import View

if TYPE_CHECKING:
    import threading

    from wink.session._session import Session

_innermost: Final[ContextVar[SessionPart | None]] = ContextVar("wink_session_part", default=None)


class Step(NamedTuple):
    """One reducer's share of an event; without a reducer `payload` is the operation itself."""

    slice: Slice[Any]
    reducer: Reducer | None
    payload: Any


class SessionPart:
    """What one call has written to a session; made by `Session.begin`.

    `parent` is the part of the call around it in the same session, `outer` the innermost part of any session that was
    current when it began.
    """

    __slots__ = ("_holds_turn", "_log", "_prepared", "_revoked", "_stages", "calls_lock", "outer", "parent", "session")

    def __init__(self, session: Session, parent: SessionPart | None, outer: SessionPart | None) -> None:
        self.session = session
        self.parent = parent
        self.outer = outer
        self.calls_lock: threading.RLock | None = None
        self._stages: dict[type, Stage[Any]] = {}
        self._log: list[SliceDelta] = []
        self._prepared = False
        self._holds_turn = False
        self._revoked = False

    # -- where it is current

    def enter(self) -> Token[SessionPart | None]:
        """Make this the part that the session works on in this context, and in contexts copied from it."""
        return _innermost.set(self)

    def exit(self, token: Token[SessionPart | None]) -> None:
        """Undo `enter`, in the same context."""
        _innermost.reset(token)

    # -- its end

    def revoke(self) -> None:
        """Wait for the operation that is under way; every later one raises `HandleRevoked` and changes nothing."""
        with self.session._lock:
            self._revoked = True

    def prepare(self) -> tuple[SliceDelta, ...]:
        """Do all that can fail, and say how the slices change.

        Where something else was published since this part first wrote to a slice, its events are reduced again over the
        slice as it is now; a reducer that raises there raises here. The deltas include what was written to logs. Inside
        another part there are none: the outer part will tell.
        """
        session = self.session
        if self.parent is None and not self._holds_turn:
            session._turn.acquire()
            self._holds_turn = True
        try:
            with session._lock:
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
                return (*self._log, *(delta for stage in self._stages.values() for delta in stage.deltas()))
        except BaseException:
            self._give_turn_back()
            raise

    def publish(self) -> None:
        """Make the writes visible, or part of the outer part; cannot fail after `prepare`."""
        if not self._prepared:
            self.prepare()
        with self.session._lock:
            if self.parent is None:
                self._publish_stages()
            elif not self.parent.is_over:
                self._fold_into(self.parent)
            self._stages = {}
        self._give_turn_back()

    def undo(self) -> None:
        """Forget the writes; what went to logs stays. Harmless when repeated, or after `publish`."""
        with self.session._lock:
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
        part: SessionPart | None = self
        while part is not None:
            if part._revoked:
                return True
            part = part.parent
        return False

    # -- what the session does with it, holding its lock

    def check(self) -> None:
        """Raise `HandleRevoked` if the call is over."""
        if self.is_over:
            raise HandleRevoked("the session was used by a call that has ended; nothing was changed")

    def view(self, slice_: Slice[Any]) -> View[Any] | Stage[Any]:
        """The slice as the call sees it."""
        return self._stages.get(slice_.cls) or self._below(slice_)

    def stage_of(self, cls: type) -> Stage[Any] | None:
        """What the call has written to a slice, if it has."""
        return self._stages.get(cls)

    def touched(self) -> dict[type, Stage[Any]]:
        """The slices that this call, and those around it, have written to."""
        outer = {} if self.parent is None else self.parent.touched()
        return {**outer, **self._stages}

    def run(self, steps: Sequence[Step], *, noted: bool = True) -> None:
        """Do all the steps, or none of them."""
        if len(steps) == 1 and steps[0].slice.policy is SlicePolicy.STATE:
            self._do(steps[0])
            return
        state, log = SessionPart(self.session, self, None), SessionPart(self.session, None, None)
        try:
            for step in steps:
                (log if step.slice.policy is SlicePolicy.LOG else state)._do(step)
        except BaseException:
            state.undo()
            log.undo()
            raise
        state._fold_into(self)
        if noted:
            outermost = self
            while outermost.parent is not None:
                outermost = outermost.parent
            outermost._log += [delta for stage in log._stages.values() for delta in stage.deltas()]
        log._publish_stages()

    def _do(self, step: Step) -> None:
        slice_, reducer, payload = step
        stage = self._stages.get(slice_.cls)
        if stage is None:
            stage = self._stages[slice_.cls] = Stage(slice_, self._below(slice_))
        if reducer is None:
            stage.act(None, payload)
            return
        session = self.session
        if session._reducing:
            raise SessionError("a reducer wrote to its session; return an operation instead")
        session._reducing = True
        try:
            stage.act(reducer, payload)
        finally:
            session._reducing = False

    def _below(self, slice_: Slice[Any]) -> View[Any] | Stage[Any]:
        part = self.parent
        while part is not None:
            stage = part._stages.get(slice_.cls)
            if stage is not None:
                return stage
            part = part.parent
        return self.session._root(slice_)

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
            self.session._publish(stage)

    def _give_turn_back(self) -> None:
        if self._holds_turn:
            self._holds_turn = False
            self.session._turn.release()


def innermost() -> SessionPart | None:
    """The innermost part of any session in this context."""
    return _innermost.get()
