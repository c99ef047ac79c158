"""The state of an agent's run: typed slices of immutable items, changed by events through reducers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from wink.errors import HandleRevoked, SessionError, SnapshotRestoreError
from wink.session._accessor import SliceAccessor
from wink.session._dispatcher import Dispatcher, DispatchResult, InProcessDispatcher, logger
from wink.session._listening import tell_subscribers
from wink.session._ops import Append, Clear, ClearSlice, InitializeSlice, Replace, SliceOp, SlicePolicy
from wink.session._part import SessionPart, current
from wink.session._recorder import Recorder
from wink.session._reducers import method_reducers
from wink.session._slice import type_name
from wink.session._snapshot import Snapshot
from wink.session._stage import Assign, SliceDelta
from wink.session._state import Loader, State

if TYPE_CHECKING:
    from uuid import UUID

T = TypeVar("T")


class Session:
    """Slices of state, one a dataclass type, and the events that change them.

    Events come through `dispatch` and `publish`, and from `dispatcher`: an event that is dispatched there reaches the
    reducers that are registered for its type, in every session of that dispatcher, and is not kept otherwise.

    Inside a tool call everything that is written waits in the call's part, is seen by the call, and stands when the
    call commits. Outside a call each write stands at once. Threads may share a session.

    `recorder` is set by a workspace. `direct_recorder`, when set, is given the change of each write that is made outside
    a call, before it is visible; if it raises, the write did not happen. `name` is what a workspace calls the session.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Note:
    ...     text: str
    >>> session = Session()
    >>> session.dispatch(Note("first"))
    >>> session[Note].append(Note("second"))
    >>> session[Note].latest()
    Note(text='second')
    >>> before = session.snapshot()
    >>> session[Note].clear()
    >>> session.restore(before)
    >>> len(session[Note])
    2
    """

    def __init__(
        self,
        dispatcher: Dispatcher | None = None,
        parent: Session | None = None,
        session_id: UUID | None = None,
        created_at: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        slice_config: Mapping[type, SlicePolicy] | None = None,
        *,
        name: str = "",
    ) -> None:
        """A new, empty session.

        A child tells its parent's subscribers unless it gets a `dispatcher` of its own. `slice_config` gives slices a
        policy before anything registers them.
        """
        if created_at is not None and created_at.tzinfo is None:
            raise ValueError(f"created_at has no timezone: {created_at!r}; pass one such as datetime.now(UTC)")
        if session_id is None:
            from uuid import uuid4

            session_id = uuid4()
        if dispatcher is None:
            dispatcher = InProcessDispatcher() if parent is None else parent.dispatcher
        self.dispatcher: Dispatcher = dispatcher
        self.parent = parent
        self.session_id = session_id
        self.created_at = datetime.now(UTC) if created_at is None else created_at.astimezone(UTC)
        self.tags: Mapping[str, str] = MappingProxyType(dict(tags or {}))
        self.name = name
        self.recorder: Recorder[Any] | None = None
        self.direct_recorder: Callable[[tuple[SliceDelta, ...]], None] | None = None
        self._children: list[Session] = []
        self._state = State(self)
        self._accessors: dict[type, SliceAccessor[Any]] = {}
        for cls, policy in (slice_config or {}).items():
            self._state.slice_of(cls, policy)
        if parent is not None:
            parent._children.append(self)

    # -- slices and events

    def __getitem__(self, cls: type[T]) -> SliceAccessor[T]:
        """The slice of a dataclass type."""
        accessor = self._accessors.get(cls)
        if accessor is None:
            accessor = self._accessors.setdefault(cls, SliceAccessor(self._state, self._state.slice_of(cls)))
        return accessor

    def dispatch(self, event: object) -> None:
        """Let the reducers that are registered for the event's type work; append it to its own slice if there are none.

        All slices change, or none does: a reducer that raises, or returns nonsense, raises `ReducerError`.
        """
        state = self._state
        found = state.reducers.get(type(event))
        if found is not None:
            state.run([(slice_, reducer, event) for slice_, reducer in found])
        elif isinstance(event, InitializeSlice):
            initialize = cast("InitializeSlice[Any]", event)
            self.stage(initialize.slice_type, [Replace(tuple(initialize.values))])
        elif isinstance(event, ClearSlice):
            clear = cast("ClearSlice[Any]", event)
            self.stage(clear.slice_type, [Clear(clear.predicate)])
        else:
            state.run([(state.slice_of(type(event)), None, Append(event))])

    def stage(self, cls: type[T], ops: Iterable[SliceOp[T]]) -> None:
        """Do these operations on a slice, all or none, without asking a reducer."""
        slice_ = self._state.slice_of(cls)
        self._state.run([(slice_, None, op) for op in ops])

    def publish(self, event: T, *, kept: T | None = None) -> DispatchResult:
        """Say that something happened: keep it in the log of its type, and tell the subscribers.

        `kept`, of the same type, is what the log and the reducers get in its place, where an event carries more than
        the session should keep; subscribers get the event.

        What is published stays, also when the call around it is rolled back. Reducers for its type work too; since the
        thing has happened already, one that fails is logged, and so is a subscriber that fails.
        """
        state = self._state
        slice_ = state.slice_of(type(event))
        if not slice_.decided:
            slice_.policy = SlicePolicy.LOG
        if slice_.cls not in state.views:
            state.give_up_unreadable(slice_)
        payload = event if kept is None else kept
        steps = state.steps_for(payload)
        if not steps and state.log_at_once(slice_, payload):
            return tell_subscribers(self.dispatcher, event)
        if all(step[0] is not slice_ for step in steps):
            state.run([(slice_, None, Append(payload))], noted=False)
        for step in steps:
            try:
                state.run([step])
            except HandleRevoked:
                raise
            except Exception:  # foreign code
                logger().exception("a reducer failed on %s, which was published", type(event).__qualname__)
        return tell_subscribers(self.dispatcher, event)

    def install(self, cls: type[T], initial: T | Callable[[], T] | None = None) -> None:
        """Register the methods of a frozen dataclass that are marked with `@reducer(on=Event)`.

        They work on the latest item and replace the slice by what they return. `initial`, a state or what makes one, is
        what they work on while the slice is empty; without it the events pass an empty slice by.
        """
        for event_type, method in method_reducers(cls, initial):
            self._state.register(self._state.slice_of(cls), event_type, method, None)

    @property
    def children(self) -> tuple[Session, ...]:
        """The sessions made with this one as `parent`, oldest first."""
        return tuple(self._children)

    # -- calls

    def begin(self) -> SessionPart:
        """Begin a call's part: inside the part that is current in this context if there is one, as a savepoint."""
        return SessionPart(self._state, self._state.part(), current.get())

    @contextmanager
    def locked(self) -> Generator[None]:
        """Let no other thread publish to the session in the meantime; for reading and then writing.

        Inside a call, whose writes are its own until it commits, this keeps out the other threads of that call.
        """
        part = self._state.own_part()
        with self._state.turn if part is None or part.is_over else part.calls_lock:
            yield

    # -- state as a whole

    def snapshot(self) -> Snapshot:
        """The state as the caller sees it, in time that does not depend on how much there is."""
        parent_id = None if self.parent is None else self.parent.session_id
        with self._state.lock:
            return Snapshot(self.session_id, parent_id, datetime.now(UTC), self.tags, self._state.contents())

    def restore(
        self, snapshot: Snapshot, preserve_logs: bool = True, *, unknown: Literal["keep", "refuse"] = "keep"
    ) -> None:
        """Let the slices hold what they held when the snapshot was taken; registrations stay as they are.

        `preserve_logs` leaves LOG slices alone. Slices whose types this session has not met stay as they were stored,
        until somebody asks for them; with `unknown="refuse"` they are an error, which names them: a class that was
        renamed would be such a type. Everything is read before anything changes; raises `SnapshotRestoreError`.
        """
        if unknown not in ("keep", "refuse"):
            raise SessionError(f"unknown must be 'keep' or 'refuse', not {unknown!r}")
        state, contents = self._state, snapshot.contents
        with state.turn, state.lock:
            part = state.part()
            known = {slice_.name: slice_ for slice_ in state.slices.values()}
            for cls, (policy, _) in contents.views.items():
                slice_ = known[type_name(cls)] = state.slice_of(cls)
                if not slice_.decided and policy is SlicePolicy.LOG:
                    # The other way round it may have become a log since, by what was published.
                    slice_.policy = policy
            targets = [
                (slice_, state.as_it_was(slice_, contents))
                for slice_ in known.values()
                if not (preserve_logs and slice_.policy is SlicePolicy.LOG)
            ]
            stored = {name: raw for name, raw in contents.raw.items() if name not in known}
            if stored and unknown == "refuse":
                raise SnapshotRestoreError(
                    f"this session knows no {', '.join(stored)}; ask for their slices first, as in session[Plan], or, if "
                    "classes were renamed, read it with Snapshot.from_json(text, renamed={old name: class})"
                )
            if preserve_logs:
                is_log = SlicePolicy.LOG
                stored = {name: raw for name, raw in stored.items() if raw.policy is not is_log} | {
                    name: raw for name, raw in state.raw.items() if raw.policy is is_log
                }
            for slice_, _ in targets:
                state.give_up_unreadable(slice_)
            steps = [
                (slice_, None, Assign(target))
                for slice_, target in targets
                if target is not (now := state.view(slice_))
                if len(target) or len(now)
            ]
            # Only now: looking at a slice takes what is stored of it from there.
            if part is not None and stored != state.raw:
                raise SessionError("the snapshot has slices of unknown types; restore it outside of a call")
            state.run(steps)
            state.raw = stored

    def reset(self) -> None:
        """Empty every slice; registrations stay.

        Inside a call, logs stay too, since they cannot be rolled back. What a loader has of types that this process has
        neither registered nor asked for stays stored.
        """
        state = self._state
        with state.turn, state.lock:
            inside = state.part() is not None
            for slice_ in () if inside else tuple(state.slices.values()):
                state.give_up_unreadable(slice_)
            slices = [slice_ for slice_ in state.slices.values() if not (inside and slice_.policy is SlicePolicy.LOG)]
            state.run([(slice_, None, Clear[Any]()) for slice_ in slices if len(state.view(slice_))])
            if not inside:
                state.raw = {}

    def clone(
        self,
        *,
        dispatcher: Dispatcher | None = None,
        parent: Session | None = None,
        session_id: UUID | None = None,
        created_at: datetime | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Session:
        """An independent session with the same items and reducers, which nothing records."""
        copy = Session(dispatcher, parent, session_id, created_at, self.tags if tags is None else tags)
        with self._state.lock:
            snapshot = self.snapshot()
            copy._state.take_definitions(self._state)
        copy.restore(snapshot, preserve_logs=False)
        return copy

    # -- what is stored elsewhere

    def load(self, loader: Loader) -> None:
        """Take slices from `loader`, each when it is first asked for; what the session holds now is dropped."""
        self._state.load_from(loader)

    def reload(self) -> None:
        """Ask the loader again, because what is stored has changed; a log that is not stored stays as it is."""
        self._state.reload()

    def __repr__(self) -> str:
        return f"<Session {self.name or self.session_id}>"
