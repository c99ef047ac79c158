"""A session's state at one moment, and its form as JSON.

The JSON form, version 1::

    {"schema_version": 1, "session_id": ..., "parent_id": ..., "created_at": ..., "tags": {...},
     "slices": [{"type": "module:Qualname", "policy": "state", "items": [...], "keys": [...]}]}

`keys` goes with `items` (null for an item without one) and is left out where there are none. Reading a snapshot imports
nothing and makes no object of a named type: types are those that the session which restores it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from wink.dataclass import dataclass, field
from wink.errors import SnapshotRestoreError, SnapshotSerializationError, WinkError
from wink.session._ops import SlicePolicy
from wink.session._slice import Slice, key_text, type_name
from wink.session._view import Key, View, new_number, view_of

if TYPE_CHECKING:
    from uuid import UUID

SCHEMA_VERSION: Final = 1


class Raw:
    """Stored items whose type nobody has asked for yet: JSON text, or what JSON text says. Nothing changes it."""

    __slots__ = ("policy", "rows")

    def __init__(self, policy: SlicePolicy, rows: Sequence[tuple[str | None, Any]]) -> None:
        self.policy, self.rows = policy, rows


class Contents:
    """What a snapshot holds; nothing changes it.

    `loaded` is what was loaded later, and therefore had not changed when the snapshot was taken. The views belong to the
    session whose identity is `owner`; to nobody when it is None.
    """

    __slots__ = ("loaded", "owner", "raw", "views")

    def __init__(
        self,
        views: Mapping[type, tuple[SlicePolicy, View[Any]]],
        raw: Mapping[str, Raw],
        loaded: Mapping[type, View[Any]],
        owner: object = None,
    ) -> None:
        self.views, self.raw, self.loaded, self.owner = views, raw, loaded, owner


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """What `session.snapshot()` gives and `session.restore()` takes; it never changes."""

    session_id: UUID
    parent_id: UUID | None
    created_at: datetime
    tags: Mapping[str, str]
    contents: Contents = field(repr=False)
    """Only for the session that restores it."""

    @property
    def slices(self) -> Mapping[type, tuple[Any, ...]]:
        """The items of each slice whose type is known, as they were."""
        return MappingProxyType({cls: view.all() for cls, (_, view) in self.contents.views.items()})

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names (`module:Qualname`) of slices that were read from JSON and not asked for yet."""
        return tuple(self.contents.raw)

    def to_json(self) -> str:
        """The snapshot as JSON text; raises `SnapshotSerializationError` naming the item that has no JSON form."""
        import json

        slices: dict[str, dict[str, object]] = {}
        for cls, (policy, view) in self.contents.views.items():
            name = type_name(cls)
            if name in slices:
                raise SnapshotSerializationError("two types have this name; rename one of them", name)
            slices[name] = _slice_json(
                name, policy, [(key, _dump(name, at, item)) for at, (key, item) in _numbered(view)]
            )
        for name, raw in self.contents.raw.items():
            if name not in slices:
                slices[name] = _slice_json(name, raw.policy, [(key, _value(row)) for key, row in raw.rows])
        return json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "session_id": str(self.session_id),
                "parent_id": None if self.parent_id is None else str(self.parent_id),
                "created_at": self.created_at.isoformat(),
                "tags": dict(self.tags),
                "slices": list(slices.values()),
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str | bytes, *, renamed: Mapping[str, type] | None = None) -> Snapshot:
        """Read what `to_json` wrote; raises `SnapshotRestoreError` for anything else.

        `renamed` says what has become of classes that were renamed or moved since: the class by its old name, as
        `module:Qualname`.
        """
        from uuid import UUID

        data = _envelope(text)
        try:
            slices = _read_slices(data["slices"])
            return cls(
                session_id=UUID(data["session_id"]),
                parent_id=None if data["parent_id"] is None else UUID(data["parent_id"]),
                created_at=_aware(datetime.fromisoformat(data["created_at"])),
                tags=MappingProxyType({str(key): str(value) for key, value in data["tags"].items()}),
                contents=Contents({}, slices if renamed is None else _under_new_names(slices, renamed), {}),
            )
        except SnapshotRestoreError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SnapshotRestoreError(
                f"its envelope is damaged: {type(error).__name__}: {error}; it was cut off or edited, so take another copy"
            ) from error


def decode(slice_: Slice[Any], raw: Raw) -> View[Any]:
    """The items that `raw` stores, as instances of the slice's type.

    Fields that the type no longer has are ignored; anything else that does not fit raises `SnapshotRestoreError`.
    """
    from wink.serde import parse

    entries: dict[Key, Any] = {}
    for at, (key, row) in enumerate(raw.rows):
        try:
            item = parse(slice_.cls, row, extra="ignore")
            if slice_.key is not None:
                key = key_text(slice_.key(item))
        except Exception as error:  # foreign code: `__post_init__` of the item, and key functions
            said = str(error) if isinstance(error, WinkError) else f"{type(error).__name__}: {error}"
            name = slice_.cls.__name__
            raise SnapshotRestoreError(
                f"{said}; {name} has changed since, or this was edited: give new fields a default, or empty the slice with "
                f"session[{name}].clear()",
                slice_.name,
                at,
            ) from error
        entries[new_number() if key is None else key] = item
    return view_of(entries)


def _numbered(view: View[Any]) -> enumerate[tuple[Key, Any]]:
    return enumerate(view.items())


def _dump(name: str, at: int, item: object) -> object:
    from wink.serde import dump

    try:
        return dump(item)
    except WinkError as error:
        raise SnapshotSerializationError(str(error), name, at) from error


def _value(row: object) -> object:
    import json

    return json.loads(row) if isinstance(row, (str, bytes)) else row


def _slice_json(name: str, policy: SlicePolicy, rows: list[tuple[Key | None, object]]) -> dict[str, object]:
    entry: dict[str, object] = {"type": name, "policy": policy.value, "items": [item for _, item in rows]}
    keys = [key if type(key) is str else None for key, _ in rows]
    if any(key is not None for key in keys):
        entry["keys"] = keys
    return entry


def _envelope(text: str | bytes) -> dict[str, Any]:
    """What the text says, when it is a snapshot of the version that we read."""
    import json

    try:
        parsed: object = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise SnapshotRestoreError(f"it is no JSON ({error}); pass what Snapshot.to_json() gave") from error
    data = cast("dict[str, Any]", parsed if isinstance(parsed, dict) else {})
    version = data.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        raise SnapshotRestoreError(
            f"its schema_version is {version}, and this wink reads {SCHEMA_VERSION}; a newer wink has written it, so read "
            "it with that one"
        )
    if type(version) is not int or version != SCHEMA_VERSION:
        raise SnapshotRestoreError(
            f"it is no snapshot of a session: its schema_version is {version!r}; pass what Snapshot.to_json() gave"
        )
    return data


def _read_slices(entries: Sequence[Mapping[str, Any]]) -> dict[str, Raw]:
    slices: dict[str, Raw] = {}
    for entry in entries:
        name, items = str(entry["type"]), cast("list[object]", entry["items"])
        keys: list[str | None] = entry.get("keys") or [None] * len(items)
        if name in slices:
            raise SnapshotRestoreError("there are two slices of this type; it was edited, so take another copy", name)
        for at, (key, item) in enumerate(zip(keys, items, strict=True)):
            if not isinstance(item, dict):
                raise SnapshotRestoreError("an item is no JSON object; it was edited, so take another copy", name, at)
            if not isinstance(cast("object", key), str | None):
                raise SnapshotRestoreError("a key is no text; it was edited, so take another copy", name, at)
        slices[name] = Raw(SlicePolicy(entry["policy"]), tuple(zip(keys, items, strict=True)))
    return slices


def _under_new_names(slices: dict[str, Raw], renamed: Mapping[str, type]) -> dict[str, Raw]:
    unknown = [name for name in renamed if name not in slices]
    if unknown:
        has = ", ".join(slices) or "none"
        raise SnapshotRestoreError(f"renamed has {', '.join(unknown)}, which it does not hold; its slices are {has}")
    found: dict[str, Raw] = {}
    for name, raw in slices.items():
        new = type_name(renamed[name]) if name in renamed else name
        if new in found:
            raise SnapshotRestoreError(f"it has a slice of {new} already; rename {name} to another class", name)
        found[new] = raw
    return found


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"created_at {moment.isoformat()} has no timezone")
    return moment
