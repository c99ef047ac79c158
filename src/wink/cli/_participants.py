"""Let the plugins that a command uses take part in it, with their resources and their subscribers, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakSet

from wink.plugins import Catalog

if TYPE_CHECKING:
    from wink.resources import ResourceRegistry
    from wink.session import Session


class Participants:
    """The plugins behind offers that are used by name, as far as they have hooks.

    Being installed changes nothing: a plugin whose offers nobody uses watches no session.
    """

    def __init__(self, catalog: Catalog, names: Iterable[str]) -> None:
        names = set(names)
        found = [
            plugin
            for plugin in catalog.plugins
            if plugin.usable and plugin.hooks
            if any(offer.name in names or offer.short in names for offer in catalog.offers_of(plugin.name))
        ]
        self._catalog = Catalog(found, catalog.settings, quarantine=catalog.quarantine) if found else None
        self._watched: WeakSet[Session] = WeakSet()
        self._lock = Lock()

    def resources(self) -> ResourceRegistry | None:
        """What they bind, if there are any; raises `BindingConflict` when two bind the same type."""
        return None if self._catalog is None else self._catalog.resources()

    def watch(self, session: Session) -> Session:
        """The session, which they have subscribed to, once."""
        if self._catalog is not None:
            with self._lock:  # a server asks from many threads
                if session not in self._watched:
                    self._watched.add(session)
                    self._catalog.session(session)
        return session
