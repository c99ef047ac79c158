"""What one call has written to one slice, laid over the slice as the call found it.

A stage reads through to what lies below: the session's own view, or the stage of an outer call. It keeps, beside the
outcome, the actions that led to it, so that they can be reduced again when what lies below has moved meanwhile.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar, cast

from wink.errors import ReducerError, SliceTypeError
from wink.session._ops import OPS, Append, Clear, Extend, Replace, SliceOp, SlicePolicy, Upsert
from wink.session._reducers import replace_latest
from wink.session._slice import Reducer, Slice, key_text
from wink.session._view import Key, ListView, View, new_number, view_of

T = TypeVar("T")
# Looking a member up in its enum costs more, on Python 3.11, than appending an item.
_LOG: Final = SlicePolicy.LOG


@dataclass(slots=True)
class SliceDelta:
    """How a call changed one slice, for a record.

    `extend` adds items at the end, `replace` lets the slice hold exactly these items, `upsert` puts each item under its
    key. `keys` goes with `items`, and is None where no item has a key; a None among the keys of a `replace` is an item
    without one. Several deltas of one slice apply in their order.
    """

    type_name: str
    op: Literal["extend", "replace", "upsert"]
    items: tuple[object, ...]
    keys: tuple[str | None, ...] | None
    policy: Literal["state", "log"]
    is_latest: bool = field(default=False, compare=False)
    """Whether a `replace` kept the last event and nothing of what was there before, as `replace_latest` does."""


@dataclass(slots=True)
class Assign(Generic[T]):
    """The operation behind `session.restore`: let the slice be this view."""

    view: View[T]


Action = tuple[Reducer | None, Any]
"""A reducer and its event, or None and the operation itself."""


class Stage(Generic[T]):
    """The writes of one call to one slice; to a reducer a `SliceView`."""

    __slots__ = (
        "_actions",
        "_base",
        "_entries",
        "_keyed",
        "_origin",
        "_origin_version",
        "_swapped",
        "slice",
        "version",
    )

    def __init__(self, slice_: Slice[T], below: View[T] | Stage[T]) -> None:
        self.slice = slice_
        self._origin = self._base = below
        self._origin_version = below.version
        self._entries: dict[Key, T] = {}
        self._keyed = False
        self._swapped = False
        self._actions: list[Action] = []
        self.version = 0
        below.pin()

    # -- reading

    def all(self) -> tuple[T, ...]:
        """Every item."""
        if not self._entries:
            return self._base.all()
        if not self._keyed:
            return self._base.all() + tuple(self._entries.values())
        return tuple({**dict(self._base.items()), **self._entries}.values())

    def latest(self) -> T | None:
        """The last item."""
        for key in reversed(self._entries):
            if key not in self._base:
                return self._entries[key]
        last = self._base.last_key()
        return self._entries[last] if last in self._entries else self._base.latest()

    def where(self, predicate: Callable[[T], bool], /) -> tuple[T, ...]:
        """The items for which `predicate` is true."""
        return tuple(item for item in self.all() if predicate(item))

    def get(self, key: Key, /) -> T | None:
        """The item with this key."""
        return self._entries[key] if key in self._entries else self._base.get(key)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries or key in self._base

    def __len__(self) -> int:
        if not self._keyed:
            return len(self._base) + len(self._entries)
        return len(self._base) + sum(key not in self._base for key in self._entries)

    def __iter__(self) -> Iterator[T]:
        return iter(self.all())

    def items(self) -> Iterator[tuple[Key, T]]:
        """Keys and items."""
        if not self._keyed:
            yield from self._base.items()
            yield from self._entries.items()
        else:
            yield from {**dict(self._base.items()), **self._entries}.items()

    def last_key(self) -> Key | None:
        """The key of the last item; None when it has none."""
        for key in reversed(self._entries):
            if key not in self._base:
                return key
        return self._base.last_key()

    # -- writing

    def act(self, reducer: Reducer | None, payload: Any) -> None:
        """Do one action; when it cannot be done, nothing has changed."""
        if reducer is None:
            self._apply(payload)
        else:
            op = _reduce(self, reducer, payload)
            try:
                self._apply(op)
            except SliceTypeError as error:
                problem = f"it returned {type(op).__name__} of a wrong item: {error.problem}"
                raise _reducer_error(self.slice, reducer, payload, problem) from error
        self._actions.append((reducer, payload))
        self.version += 1

    def index(self) -> None:
        """Give the items keys, because the slice has got a key function since they were staged."""
        self._base = view_of(self._keys_of(tuple(self._base)))
        self._entries = self._keys_of(tuple(self._entries.values()))
        self._keyed = True

    def _apply(self, op: SliceOp[T] | Assign[T]) -> None:
        # Whatever can fail (keys, predicates, item types) comes before the first change.
        match op:
            case Append():
                item = op.item
                self._check(item)
                if self.slice.key is None:
                    self._entries[new_number()] = item
                else:
                    self._entries[key_text(self.slice.key(item))] = item
                    self._keyed = True
            case Upsert():
                self._check(op.item)
                key = op.key
                self._entries[key if type(key) is str else key_text(key)] = op.item
                self._keyed = True
            case Extend():
                entries = self._keys_of(op.items)
                self._entries |= entries
                self._keyed |= any(type(key) is str for key in entries)
            case Replace():
                self._swap(ListView([]), self._keys_of(op.items))
            case Clear(predicate=None):
                self._swap(ListView([]), {})
            case Clear():
                remove = cast("Callable[[T], bool]", op.predicate)
                self._swap(ListView([]), {key: item for key, item in self.items() if not remove(item)})
            case Assign():
                self._swap(op.view, {})

    def _swap(self, base: View[T], entries: dict[Key, T]) -> None:
        self._base, self._entries, self._swapped = base, entries, True
        self._keyed = any(type(key) is str for key in entries)

    def _check(self, item: object) -> None:
        if type(item) is not self.slice.cls:
            # Not an instance of a subclass either: it would not come back from a snapshot as what it was.
            name = self.slice.cls.__qualname__
            raise SliceTypeError(name, f"it holds {name} items, not {type(item).__qualname__}")

    def _key_of(self, item: T) -> Key:
        self._check(item)
        key = self.slice.key
        return new_number() if key is None else key_text(key(item))

    def _keys_of(self, items: tuple[T, ...]) -> dict[Key, T]:
        return {self._key_of(item): item for item in items}

    # -- the end

    def has_moved(self, below: View[T] | Stage[T]) -> bool:
        """Whether `below`, what lies below now, is not what this stage was laid over."""
        return below is not self._origin or below.version != self._origin_version

    def again(self, below: View[T] | Stage[T]) -> Stage[T]:
        """The same actions, reduced over `below`; raises what a reducer raises there."""
        fresh = Stage(self.slice, below)
        try:
            for reducer, payload in self._actions:
                fresh.act(reducer, payload)
        except BaseException:
            fresh.release()
            raise
        return fresh

    def absorb(self, inner: Stage[T]) -> None:
        """Take over what the stage of an inner call holds."""
        if inner._swapped:
            self._swap(cast("View[T]", inner._base), inner._entries)
        else:
            self._entries |= inner._entries
            self._keyed |= inner._keyed
        self._actions += inner._actions
        self.version += 1

    def onto(self, root: View[T]) -> View[T]:
        """What the slice is when this stage is published over `root`."""
        if self._swapped or (root is self._origin and self._base is not self._origin):
            root = cast("View[T]", self._base)
        return root.with_changes(self._entries, keyed=self._keyed) if self._entries else root

    def standalone(self) -> View[T]:
        """The items as they are now, sharing nothing."""
        return view_of(dict(self.items()))

    def deltas(self) -> tuple[SliceDelta, ...]:
        """The change, as a record keeps it."""
        name = self.slice.name
        policy: Literal["state", "log"] = "log" if self.slice.policy is _LOG else "state"
        if self._swapped:
            entries = dict(self.items())
            keys = tuple(key if type(key) is str else None for key in entries)
            items = tuple(entries.values())
            given = keys if any(key is not None for key in keys) else None
            is_latest = bool(self._actions) and self._actions[-1][0] is replace_latest
            return (SliceDelta(name, "replace", items, given, policy, is_latest),)
        if not self._entries:
            return ()
        if not self._keyed:
            return (SliceDelta(name, "extend", tuple(self._entries.values()), None, policy),)
        runs: list[SliceDelta] = []
        for has_key, run in itertools.groupby(self._entries.items(), key=lambda entry: type(entry[0]) is str):
            keys, items = zip(*run, strict=True)
            runs.append(SliceDelta(name, "upsert" if has_key else "extend", items, keys if has_key else None, policy))
        return tuple(runs)

    def release(self) -> None:
        """Let what lies below be changed in place again."""
        self._origin.unpin()

    def pin(self) -> None:
        """Nothing to do: an inner call notices a change below by its version."""

    def unpin(self) -> None:
        """Nothing to do."""


def reducer_name(reducer: object) -> str:
    """What errors call a reducer."""
    return str(getattr(reducer, "__qualname__", None) or getattr(reducer, "name", None) or repr(reducer))


def _reduce(view: Stage[Any], reducer: Reducer, event: object) -> SliceOp[Any]:
    try:
        op = reducer(view, event)
    except Exception as error:  # foreign code
        raise _reducer_error(view.slice, reducer, event, f"it raised {type(error).__name__}: {error}") from error
    if isinstance(cast("object", op), OPS):
        return op
    problem = f"it returned {op!r:.200}; return Append, Extend, Replace, Clear or Upsert"
    raise _reducer_error(view.slice, reducer, event, problem)


def _reducer_error(slice_: Slice[Any], reducer: Reducer, event: object, problem: str) -> ReducerError:
    return ReducerError(slice_.cls.__qualname__, type(event).__qualname__, reducer_name(reducer), problem)
