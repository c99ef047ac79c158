"""Keep what `extra="allow"` found beside the object that it was sent with."""

import weakref
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any, Final

_KEPT: Final = 1024
_lock = Lock()
# By identity: dataclasses are equal by value, and two equal ones may have come with different extras.
_weak: dict[int, tuple["weakref.ref[object]", Mapping[str, Any]]] = {}
_strong: OrderedDict[int, tuple[object, Mapping[str, Any]]] = OrderedDict()
ANY: Final = (_weak, _strong)
"""Empty both where no object has extras at all, which spares `dump` the look-up."""
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


def extras(obj: object) -> Mapping[str, Any]:
    """The unknown fields that came with `obj` when it was parsed with `extra="allow"`; empty otherwise.

    They live as long as the object. A slotted dataclass without `weakref_slot=True` cannot tell us when it dies, so for
    those the extras of the 1,024 objects parsed last are kept.
    """
    key = id(obj)
    weak = _weak.get(key)
    if weak is not None and weak[0]() is obj:
        return weak[1]
    strong = _strong.get(key)
    if strong is not None and strong[0] is obj:
        return strong[1]
    return _NONE


def keep_extras(obj: object, found: dict[str, Any]) -> None:
    """Remember `found` as the extras of `obj`."""
    key, kept = id(obj), MappingProxyType(found)
    try:
        reference = weakref.ref(obj, lambda dead, key=key: _forget(key, dead))
    except TypeError:
        with _lock:
            _strong[key] = obj, kept
            _strong.move_to_end(key)
            while len(_strong) > _KEPT:
                _strong.popitem(last=False)
    else:
        _weak[key] = reference, kept


def _forget(key: int, dead: "weakref.ref[object]") -> None:
    # The id may already belong to a newer object, whose extras must stay.
    entry = _weak.get(key)
    if entry is not None and entry[0] is dead:
        del _weak[key]
