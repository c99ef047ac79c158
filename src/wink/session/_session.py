"""The state of an agent's run: typed slices of immutable items, changed by events through reducers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from wink.errors import HandleRevoked, SessionError
from wink.session._accessor import SliceAccessor
from wink.session._dispatcher import Dispatcher, DispatchResult, InProcessDispatcher
from wink.session._ops import Append, Clear, ClearSlice, InitializeSlice, Replace, SliceOp, SlicePolicy
from wink.session._part import SessionPart, Step, innermost
from wink.session._reducers import method_reducers
from wink.session._slice import Reducer, Slice, type_name
from wink.session._snapshot import Raw, Snapshot, decode
from wink.session._stage import Assign, SliceDelta, Stage
from wink.session._view import ListView, View

if TYPE_CHECKING:
    from uuid import UUID

T = TypeVar("T")
Loader = Callable[[str], "Sequence[tuple[str | None, str]] | None"]
"""Gives the stored rows of a type's slice, `(key, JSON text)` in order; None when nothing is stored of that type."""

_log: Final = logging.getLogger("wink.session")


class Session:
    """Slices of state, one a dataclass type, and the events that change them.

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
        self.recorder: object | None = None
        self.direct_recorder: Callable[[tuple[SliceDelta, ...]], None] | None = None
        self._children: list[Session] = []
        self._identity = object()
        # Guards every field below, and is held for one operation at a time.
        self._lock = threading.RLock()
        # Held by whoever publishes, from `prepare` to `publish`, and by `locked`; always taken before `_lock`.
        self._turn = threading.RLock()
        self._views: dict[type, View[Any]] = {}
        self._slices: dict[type, Slice[Any]] = {}
        self._accessors: dict[type, SliceAccessor[Any]] = {}
        self._reducers: dict[type, tuple[tuple[Slice[Any], Reducer], ...]] = {}
        self._reducing = False
        self._raw: dict[str, Raw] = {}
        self._loader: Loader | None = None
        self._loaded: dict[type, View[Any]] = {}
        self._logs_before_reload: dict[type, View[Any]] = {}
        for cls, policy in (slice_config or {}).items():
            self._slice(cls, policy)
        if parent is not None:
            with parent._lock:
                parent._children.append(self)

    # -- slices and events

    def __getitem__(self, cls: type[T]) -> SliceAccessor[T]:
        """The slice of a dataclass type."""
        accessor = self._accessors.get(cls)
        if accessor is None:
            with self._lock:
                accessor = self._accessors.setdefault(cls, SliceAccessor(self, self._slice(cls)))
        return accessor

    def dispatch(self, event: object) -> None:
        """Let the reducers that are registered for the event's type work; append it to its own slice if there are none.

        All slices change, or none does: a reducer that raises, or returns nonsense, raises `ReducerError`.
        """
        if isinstance(event, InitializeSlice):
            initialize = cast("InitializeSlice[Any]", event)
            self.stage(initialize.slice_type, [Replace(tuple(initialize.values))])
        elif isinstance(event, ClearSlice):
            clear = cast("ClearSlice[Any]", event)
            self.stage(clear.slice_type, [Clear(clear.predicate)])
        else:
            reducers = self._reducers.get(type(event))
            if reducers is None:
                self._run([Step(self._slice(type(event)), None, Append(event))])
            else:
                self._run([Step(slice_, reducer, event) for slice_, reducer in reducers])

    def stage(self, cls: type[T], ops: Iterable[SliceOp[T]]) -> None:
        """Do these operations on a slice, all or none, without asking a reducer."""
        slice_ = self._slice(cls)
        self._run([Step(slice_, None, op) for op in ops])

    def publish(self, event: object) -> DispatchResult:
        """Say that something happened: keep it in the log of its type, and tell the subscribers.

        What is published stays, also when the call around it is rolled back. Reducers for its type work too; since the
        thing has happened already, one that fails is logged, and so is a subscriber that fails.
        """
        slice_ = self._slice(type(event))
        with self._lock:
            self._part()
            if not slice_.decided:
                slice_.policy = SlicePolicy.LOG
        steps = [Step(*found, event) for found in self._reducers.get(type(event), ())]
        if all(step.slice is not slice_ for step in steps):
            self._run([Step(slice_, None, Append(event))], noted=False)
        for step in steps:
            try:
                self._run([step])
            except HandleRevoked:
                raise
            except Exception:  # foreign code
                _log.exception("a reducer failed on %s, which was published", type(event).__qualname__)
        return self.dispatcher.dispatch(event)

    def install(self, cls: type[T], initial: T | Callable[[], T] | None = None) -> None:
        """Register the methods of a frozen dataclass that are marked with `@reducer(on=Event)`.

        They work on the latest item and replace the slice by what they return. `initial`, a state or what makes one, is
        what they work on while the slice is empty; without it the events pass an empty slice by.
        """
        for event_type, method in method_reducers(cls, initial):
            self._register(self._slice(cls), event_type, method, None)

    @property
    def children(self) -> tuple[Session, ...]:
        """The sessions made with this one as `parent`, oldest first."""
        return tuple(self._children)

    # -- calls

    def begin(self) -> SessionPart:
        """Begin a call's part: inside the part that is current in this context if there is one, as a savepoint."""
        return SessionPart(self, self._part(), innermost())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other thread publish to the session in the meantime; for reading and then writing.

        Inside a call, whose writes are its own until it commits, this keeps out the other threads of that call.
        """
        part = self._innermost_own()
        if part is None or part.is_over:
            lock = self._turn
        else:
            while part.parent is not None:
                part = part.parent
            with self._lock:
                lock = part.calls_lock = part.calls_lock or threading.RLock()
        with lock:
            yield

    # -- state as a whole

    def snapshot(self) -> Snapshot:
        """The state as the caller sees it, in time that does not depend on how much there is."""
        with self._lock:
            part = self._part()
            views: dict[type, tuple[SlicePolicy, View[Any]]] = {}
            for cls in {**self._views, **(part.touched() if part is not None else {})}:
                slice_ = self._slices[cls]
                view = self._view(slice_)
                frozen = view.standalone() if isinstance(view, Stage) else view
                frozen.pin()
                views[cls] = slice_.policy, frozen
            parent_id = None if self.parent is None else self.parent.session_id
            now, raw = datetime.now(UTC), dict(self._raw)
            return Snapshot(self.session_id, parent_id, now, self.tags, views, raw, self._loaded, self._identity)

    def restore(self, snapshot: Snapshot, preserve_logs: bool = True) -> None:
        """Let the slices hold what they held when the snapshot was taken; registrations stay as they are.

        `preserve_logs` leaves LOG slices alone. Slices whose types this session has not met stay as they were stored,
        until somebody asks for them. Everything is read before anything changes; raises `SnapshotRestoreError`.
        """
        with self._turn, self._lock:
            part = self._part()
            known = {slice_.name: slice_ for slice_ in self._slices.values()}
            for cls, (policy, _) in snapshot._views.items():
                known[type_name(cls)] = self._slice(cls, None, policy)
            steps = [
                Step(slice_, None, Assign(target))
                for slice_ in known.values()
                if not (preserve_logs and slice_.policy is SlicePolicy.LOG)
                if (target := self._target(slice_, snapshot)) is not self._view(slice_)
            ]
            raw = {name: kept for name, kept in snapshot._raw.items() if name not in known}
            if preserve_logs:
                logs = {name: kept for name, kept in self._raw.items() if kept.policy is SlicePolicy.LOG}
                raw = {name: kept for name, kept in raw.items() if kept.policy is not SlicePolicy.LOG} | logs
            if part is not None and raw != self._raw:
                raise SessionError("the snapshot has slices of unknown types; restore it outside of a call")
            self._run(steps)
            self._raw = raw

    def reset(self) -> None:
        """Empty every slice; registrations stay.

        Inside a call, logs stay too, since they cannot be rolled back. What a loader has of types that this process has
        neither registered nor asked for stays stored.
        """
        with self._turn, self._lock:
            inside = self._part() is not None
            slices = [slice_ for slice_ in self._slices.values() if not (inside and slice_.policy is SlicePolicy.LOG)]
            self._run([Step(slice_, None, Clear()) for slice_ in slices if len(self._view(slice_))])
            if not inside:
                self._raw = {}

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
        snapshot = self.snapshot()
        copy = Session(dispatcher, parent, session_id, created_at, self.tags if tags is None else tags)
        with self._lock:
            copy._loader = self._loader
            for cls, mine in self._slices.items():
                theirs = copy._slice(cls)
                theirs.policy, theirs.decided, theirs.key = mine.policy, mine.decided, mine.key
            copy._reducers = {
                event: tuple((copy._slices[slice_.cls], reducer) for slice_, reducer in found)
                for event, found in self._reducers.items()
            }
        copy.restore(snapshot, preserve_logs=False)
        return copy

    # -- what is stored elsewhere

    def load(self, loader: Loader) -> None:
        """Take slices from `loader`, each when it is first asked for; what the session holds now is dropped."""
        with self._turn, self._lock:
            self._loader = loader
            self._views, self._loaded, self._raw, self._logs_before_reload = {}, {}, {}, {}

    def reload(self) -> None:
        """Ask the loader again, because what is stored has changed; a log that is not stored stays as it is."""
        with self._turn, self._lock:
            if self._loader is None:
                return
            self._logs_before_reload.update(
                {cls: view for cls, view in self._views.items() if self._slices[cls].policy is SlicePolicy.LOG}
            )
            self._views, self._loaded = {}, {}

    # -- below, `_lock` is held, or taken

    def _slice(self, cls: type[T], decided: SlicePolicy | None = None, guess: SlicePolicy | None = None) -> Slice[T]:
        slice_ = self._slices.get(cls)
        if slice_ is None:
            with self._lock:
                slice_ = self._slices.setdefault(cls, Slice(cls, decided))
                if guess is not None:
                    slice_.policy = guess
        return slice_

    def _register(self, slice_: Slice[Any], event_type: type, reducer: Reducer, policy: SlicePolicy | None) -> None:
        with self._lock:
            if policy is not None:
                if slice_.decided and slice_.policy is not policy:
                    raise SessionError(
                        f"slice {slice_.cls.__qualname__} is {slice_.policy.name} already and cannot become "
                        f"{policy.name}; give every registration of it the same policy"
                    )
                slice_.policy, slice_.decided = policy, True
            found = self._reducers.get(event_type, ())
            if (slice_, reducer) not in found:
                self._reducers[event_type] = (*found, (slice_, reducer))
            key = getattr(reducer, "key", None)
            if key is not None and event_type is slice_.cls and slice_.key is None:
                slice_.key = key
                part = self._innermost_own()
                while part is not None:
                    stage = part.stage_of(slice_.cls)
                    if stage is not None:
                        stage.index()
                    part = part.parent

    def _own_steps(self, slice_: Slice[Any], item: object) -> list[Step]:
        return [Step(*found, item) for found in self._reducers.get(type(item), ()) if found[0] is slice_]

    def _run(self, steps: Sequence[Step], *, noted: bool = True) -> None:
        if self._part() is None:
            # Taken before `_lock`, as everywhere; a part needs it only when it is prepared.
            with self._turn:
                self._run_directly(steps, noted=noted)
            return
        with self._lock:
            part = self._part()
            assert part is not None
            part.run(steps, noted=noted)

    def _run_directly(self, steps: Sequence[Step], *, noted: bool) -> None:
        part = SessionPart(self, None, None)
        try:
            with self._lock:
                part.run(steps, noted=noted)
            deltas = part.prepare()
            if self.direct_recorder is not None and deltas:
                self.direct_recorder(deltas)
        except BaseException:
            part.undo()
            raise
        part.publish()

    def _innermost_own(self) -> SessionPart | None:
        part = innermost()
        while part is not None and part.session is not self:
            part = part.outer
        return part

    def _part(self) -> SessionPart | None:
        part = self._innermost_own()
        if part is not None:
            part.check()
        return part

    def _view(self, slice_: Slice[T]) -> View[T] | Stage[T]:
        part = self._part()
        return self._root(slice_) if part is None else part.view(slice_)

    def _root(self, slice_: Slice[T]) -> View[T]:
        view = self._views.get(slice_.cls)
        if view is None:
            view = self._views[slice_.cls] = self._load(slice_)
        elif slice_.key is not None and type(view) is ListView:
            stage = Stage(slice_, view)
            stage.index()
            view = self._views[slice_.cls] = stage.onto(view)
        return view

    def _load(self, slice_: Slice[T]) -> View[T]:
        raw = self._raw.get(slice_.name)
        if raw is None and self._loader is not None:
            rows = self._loader(slice_.name)
            if rows is not None:
                raw = Raw(slice_.policy, rows)
        before = self._logs_before_reload.pop(slice_.cls, None)
        if raw is None:
            return before if before is not None else ListView([])
        view = decode(slice_, raw)
        view.pin()
        self._loaded[slice_.cls] = view
        if self._raw.pop(slice_.name, None) is not None and not slice_.decided:
            slice_.policy = raw.policy
        return view

    def _target(self, slice_: Slice[T], snapshot: Snapshot) -> View[T]:
        found = snapshot._views.get(slice_.cls)
        view = snapshot._loaded.get(slice_.cls) if found is None else found[1]
        if view is not None:
            return view if snapshot._owner is self._identity else view.borrowed()
        raw = snapshot._raw.get(slice_.name)
        if raw is not None:
            return decode(slice_, raw)
        current = self._view(slice_)
        return current if not len(current) and not isinstance(current, Stage) else ListView([])

    def _publish(self, stage: Stage[Any]) -> None:
        self._views[stage.slice.cls] = stage.onto(self._root(stage.slice))

    def __repr__(self) -> str:
        return f"<Session {self.name or self.session_id}>"
