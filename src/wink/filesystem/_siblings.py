"""Find a name in a directory that other systems would take for a new one: Windows and macOS know no case, nor forms.

A file `README.md` beside a `readme.md` cannot be checked out there. Listing a directory for each file that is made in it
would take minutes for ten thousand; so what was listed is kept, with the identity that the directory had, and what is
made here is added. What is kept is bounded by names, not by directories: whoever fills a hundred of them in turn would list each
anew for every file. What somebody else makes in the same tick of the clock is missed: then it was a race. In a directory of
very many names only the usual spellings are looked for.
"""

from __future__ import annotations

import unicodedata
from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from wink.filesystem._store import Store

_MOST_NAMES: Final = 20_000
_MOST_DIRECTORIES: Final = 16_384
_MOST_HELD: Final = 250_000
"""Names of all directories together: some 40 MB."""


def folded(name: str) -> str:
    """The same text for all names that some system takes for one: canonical caseless matching, Unicode's D145.

    >>> folded("README.md") == folded("Readme.MD"), folded("caf\\u00e9") == folded("CAFE\\u0301"), folded("a") == folded("b")
    (True, True, False)
    """
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def difference(one: str, other: str) -> str:
    """How two names differ that are folded to the same text."""
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    return "in how its letters are composed" if same else "in upper and lower case"


_Names = dict[str, str | tuple[str, ...]]
"""A name, or several, by what they are folded to."""


class _Known(NamedTuple):
    """The names of a directory as of an identity; None for so many that they are not kept."""

    identity: tuple[int, ...]
    names: _Names | None


class Siblings:
    """What a tree's directories hold, as far as it was asked for lately."""

    __slots__ = ("_held", "_known")

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._held = 0

    def twin(self, store: Store, directory: str, name: str, *, but: str | None = None) -> str | None:
        """Another name in `directory` that differs from `name` only in case or form; `but` is one that will be gone.

        None where `name` itself is there already, too. Raises `FileNotFoundError` where the directory is not there.
        """
        node = store.node(directory)
        if node.kind != "directory":
            return None
        known = self._known.get(directory)
        if known is None or (known.names is not None and known.identity != node.identity):
            known = self._list(store, directory, node.identity)
        if directory in self._known:
            self._known.move_to_end(directory)
        if known.names is None:
            alike = _spellings(name)
        else:
            alike = _several(known.names.get(folded(name), ()))
            # What was kept may be gone: nothing is refused for that, and nothing let through.
            if name in alike and _has(store, directory, name):
                return None
        return next((one for one in alike if one not in (name, but) and _has(store, directory, one)), None)

    def made(self, store: Store, path: str) -> None:
        """Add a name that was made just now, so that its directory need not be listed for the next one."""
        directory, _, name = path.rpartition("/")
        known = self._known.get(directory)
        if known is not None and known.names is not None:
            key = folded(name)
            before = _several(known.names.get(key, ()))
            if name not in before:
                known.names[key] = (*before, name) if before else name
                self._held += not before
            self._known[directory] = known._replace(identity=store.node(directory).identity)
            self._bound()

    def _list(self, store: Store, directory: str, identity: tuple[int, ...]) -> _Known:
        listed = list(islice(_listed(store, directory), _MOST_NAMES + 1))
        self._forget(self._known.pop(directory, None))
        known = _Known(identity, _by_folded(listed) if len(listed) <= _MOST_NAMES else None)
        self._held += len(known.names or ())
        self._known[directory] = known
        self._bound()
        return known

    def _bound(self) -> None:
        while len(self._known) > _MOST_DIRECTORIES or (self._held > _MOST_HELD and self._known):
            self._forget(self._known.popitem(last=False)[1])

    def _forget(self, known: _Known | None) -> None:
        self._held -= len((known and known.names) or ())


def _by_folded(listed: list[str]) -> _Names:
    together = "\0".join(listed)
    # At once, which takes a tenth of the time.
    keys = together.lower().split("\0") if listed and together.isascii() else [folded(name) for name in listed]
    names: _Names = dict(zip(keys, listed, strict=True))
    if len(names) < len(listed):
        names = {}
        for key, name in zip(keys, listed, strict=True):
            names[key] = (*_several(names[key]), name) if key in names else name
    return names


def _several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _listed(store: Store, directory: str) -> Iterable[str]:
    """Names in no order; a store that can give some without looking at all has `names`."""
    names = getattr(store, "names", None)
    return names(directory, _MOST_NAMES + 1) if names is not None else (name for name, _ in store.scan(directory))


def _has(store: Store, directory: str, name: str) -> bool:
    try:
        store.node(f"{directory}/{name}" if directory else name, follow=False)
    except OSError:
        return False
    return True


def _spellings(name: str) -> list[str]:
    """The other ways in which people write a name."""
    ways = (name.lower(), name.upper(), name.capitalize(), name.title(), name.swapcase(), name)
    forms = {unicodedata.normalize(form, way) for way in ways for form in ("NFC", "NFD")}
    stem, dot, suffix = name.rpartition(".")
    forms |= {f"{way}{dot}{suffix.lower()}" for way in (stem.lower(), stem.upper(), stem.capitalize())}
    return sorted(forms - {name})
