"""What a session stores, and the two locks that guard it.

* `lock` guards every field, and is held for one operation at a time.
* `turn` is held by whoever publishes, from `prepare` to `publish`, and by `Session.locked`. It is taken before `lock`,
  never while holding it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from wink.errors import SessionError, SnapshotRestoreError
from wink.session._dispatcher import logger
from wink.session._listening import ReducerSubscriber
from wink.session._ops import SlicePolicy
from wink.session._part import SessionPart, Step, current
from wink.session._slice import Reducer, Slice
from wink.session._snapshot import Contents, Raw, decode
from wink.session._stage import Stage
from wink.session._view import ListView, View

if TYPE_CHECKING:
    from wink.session._session import Session

T = TypeVar("T")
# Looking a member up in its enum costs more, on Python 3.11, than appending an item.
_LOG: Final = SlicePolicy.LOG
Loader = Callable[[str], "Sequence[tuple[str | None, str]] | None"]
"""Gives the stored rows of a type's slice, `(key, JSON text)` in order; None when nothing is stored of that type."""


class State:
    """Slices, their views and their reducers; the inside of one session."""

    __slots__ = (
        "__weakref__",
        "identity",
        "loaded",
        "loader",
        "lock",
        "logs_before_reload",
        "raw",
        "reducers",
        "reducing",
        "session",
        "slices",
        "turn",
        "views",
    )

    def __init__(self, session: Session) -> None:
        self.session = session
        # Which buffers are guarded by this lock; a snapshot remembers it, without keeping the session alive.
        self.identity = object()
        self.lock = threading.RLock()
        self.turn = threading.RLock()
        self.slices: dict[type, Slice[Any]] = {}
        self.views: dict[type, View[Any]] = {}
        self.reducers: dict[type, tuple[tuple[Slice[Any], Reducer], ...]] = {}
        self.reducing = False
        self.loader: Loader | None = None
        # Stored items of types that nobody has asked for yet, by name.
        self.raw: dict[str, Raw] = {}
        # What was loaded since the last reload: a snapshot taken before that knows from it how things were.
        self.loaded: dict[type, View[Any]] = {}
        self.logs_before_reload: dict[type, View[Any]] = {}

    # -- slices and reducers

    def slice_of(self, cls: type[T], decided: SlicePolicy | None = None) -> Slice[T]:
        """The slice of a type, made when it is first asked for."""
        found = self.slices.get(cls)
        if found is None:
            with self.lock:
                found = self.slices.setdefault(cls, Slice[Any](cls, decided))
        return found

    def register(self, slice_: Slice[Any], event_type: type, reducer: Reducer, policy: SlicePolicy | None) -> None:
        """Let a reducer work for a slice on events of a type."""
        with self.lock:
            if policy is not None:
                if slice_.decided and slice_.policy is not policy:
                    raise SessionError(
                        f"slice {slice_.cls.__qualname__} is {slice_.policy.name} already and cannot become "
                        f"{policy.name}; give every registration of it the same policy"
                    )
                slice_.policy, slice_.decided = policy, True
            found = self.reducers.get(event_type, ())
            if not found:
                self.listen(event_type)
            if (slice_, reducer) not in found:
                self.reducers[event_type] = (*found, (slice_, reducer))
            key = getattr(reducer, "key", None)
            if key is not None and event_type is slice_.cls and slice_.key is None:
                slice_.key = key
                part = self.own_part()
                while part is not None:
                    part.index(slice_)
                    part = part.parent

    def steps_for(self, event: object) -> list[Step]:
        """What the registered reducers shall do with an event."""
        return [(slice_, reducer, event) for slice_, reducer in self.reducers.get(type(event), ())]

    def listen(self, event_type: type) -> None:
        """Hear events of a type from the session's dispatcher, too."""
        self.session.dispatcher.subscribe(event_type, ReducerSubscriber(self, event_type))

    def take_definitions(self, other: State) -> None:
        """Have the slices, reducers and loader that `other` has, without its items."""
        self.loader = other.loader
        for cls, theirs in other.slices.items():
            mine: Slice[Any] = self.slice_of(cls)
            mine.policy, mine.decided, mine.key = theirs.policy, theirs.decided, theirs.key
        self.reducers = {
            event: tuple((self.slices[slice_.cls], reducer) for slice_, reducer in found)
            for event, found in other.reducers.items()
        }
        for event in self.reducers:
            self.listen(event)

    # -- reading; the caller holds `lock`

    def own_part(self) -> SessionPart | None:
        """The innermost part of this session in this context, over or not."""
        part = current.get()
        while part is not None and part.state is not self:
            part = part.outer
        return part

    def part(self) -> SessionPart | None:
        """The part that a caller in this context writes to; raises `HandleRevoked` when its call is over."""
        part = self.own_part()
        if part is not None:
            part.check()
        return part

    def view(self, slice_: Slice[T]) -> View[T] | Stage[T]:
        """A slice as a caller in this context sees it."""
        part = self.part()
        return self.root(slice_) if part is None else part.view(slice_)

    def root(self, slice_: Slice[T]) -> View[T]:
        """A slice as it was last published."""
        view = self.views.get(slice_.cls)
        if view is None:
            view = self.views[slice_.cls] = self._load(slice_)
        elif slice_.key is not None and type(view) is ListView:
            stage = Stage(slice_, view)
            stage.index()
            view = self.views[slice_.cls] = stage.onto(view)
        return view

    # -- writing; the caller holds no lock

    def run(self, steps: Sequence[Step], *, noted: bool = True) -> None:
        """Do all the steps or none: in the part of this context, or at once when there is none.

        What is not `noted` is no record's business.
        """
        part = self.own_part()
        if part is None:
            with self.turn:
                self._run_directly(steps, noted=noted)
            return
        with self.lock:
            # Only now, since another thread may have revoked it while we waited.
            part.check()
            part.run(steps, noted=noted)

    def _run_directly(self, steps: Sequence[Step], *, noted: bool) -> None:
        part = SessionPart(self, None, None)
        try:
            with self.lock:
                part.run(steps, noted=noted)
            deltas = part.prepare()
            if deltas and self.session.direct_recorder is not None:
                self.session.direct_recorder(deltas)
        except BaseException:
            part.undo()
            raise
        part.publish()

    def log_at_once(self, slice_: Slice[T], item: T) -> bool:
        """Put an item at the end of a log outside of any call, which needs no stage; False where it is not that simple."""
        if slice_.policy is not _LOG or slice_.key is not None or type(item) is not slice_.cls:
            return False
        if self.own_part() is not None:
            return False
        with self.lock:
            root = self.root(slice_)
            if type(root) is not ListView:
                return False
            self.views[slice_.cls] = root.extended((item,))
        return True

    def publish(self, stage: Stage[Any]) -> None:
        """Let a slice be what a stage made of it; the caller holds `lock`."""
        self.views[stage.slice.cls] = stage.onto(self.root(stage.slice))

    # -- what is stored elsewhere

    def load_from(self, loader: Loader) -> None:
        """Forget everything, and ask `loader` from now on."""
        with self.turn, self.lock:
            self.loader = loader
            self.views, self.loaded, self.raw, self.logs_before_reload = {}, {}, {}, {}

    def reload(self) -> None:
        """Forget what was loaded; a log is kept in case that the loader knows nothing of it."""
        with self.turn, self.lock:
            if self.loader is None:
                return
            logs = {cls: view for cls, view in self.views.items() if self.slices[cls].policy is SlicePolicy.LOG}
            self.logs_before_reload.update(logs)
            self.views, self.loaded = {}, {}

    def _load(self, slice_: Slice[T]) -> View[T]:
        raw = self.raw.get(slice_.name)
        if raw is None and self.loader is not None:
            rows = self.loader(slice_.name)
            raw = None if rows is None else Raw(slice_.policy, rows)
        before = self.logs_before_reload.pop(slice_.cls, None)
        if raw is None:
            return before if before is not None else ListView[T]([])
        view = decode(slice_, raw)
        view.pin()
        self.loaded[slice_.cls] = view
        if self.raw.pop(slice_.name, None) is not None and not slice_.decided and raw.policy is _LOG:
            slice_.policy = _LOG
        return view

    def give_up_unreadable(self, slice_: Slice[Any]) -> None:
        """Take a slice whose stored items do not fit its type any more for empty, because it is about to be emptied.

        A log too, because what has happened must be said whatever became of what was said before. Inside a call only a
        log: this cannot be rolled back.
        """
        with self.lock:
            if slice_.cls in self.views or (slice_.policy is not _LOG and self.own_part() is not None):
                return
            try:
                self.root(slice_)
            except SnapshotRestoreError as error:
                logger().warning("the slice is empty from now on: %s", error)
                self.raw.pop(slice_.name, None)
                self.views[slice_.cls] = ListView([])

    # -- state as a whole; the caller holds `lock`

    def contents(self) -> Contents:
        """Every slice as a caller in this context sees it."""
        part = self.part()
        views: dict[type, tuple[SlicePolicy, View[Any]]] = {}
        for cls in {**self.views, **(part.touched() if part is not None else {})}:
            slice_ = self.slices[cls]
            view = self.view(slice_)
            frozen = view.standalone() if isinstance(view, Stage) else view
            frozen.pin()
            views[cls] = slice_.policy, frozen
        return Contents(views, dict(self.raw), self.loaded, self.identity)

    def as_it_was(self, slice_: Slice[T], contents: Contents) -> View[T]:
        """A slice as it was when `contents` was taken; the very view of now when that is known to be the same."""
        found = contents.views.get(slice_.cls)
        view = contents.loaded.get(slice_.cls) if found is None else found[1]
        if view is not None:
            return view if contents.owner is self.identity else view.borrowed()
        raw = contents.raw.get(slice_.name)
        return ListView[T]([]) if raw is None else decode(slice_, raw)
