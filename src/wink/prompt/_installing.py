"""Let each section prepare each session exactly once."""

from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from wink.prompt._section import Section
    from wink.session import Session

__all__ = ["install_once"]

# Kept beside sections and sessions: a section may stand in several templates, and a clone of it must start afresh.
_prepared: "WeakKeyDictionary[Session, WeakSet[Section[Any]]]" = WeakKeyDictionary()
_preparing = RLock()


def install_once(section: "Section[Any]", session: "Session") -> None:
    """Call `section.install(session)` unless it has returned before; one that raised is called again."""
    with _preparing:
        prepared = _prepared.setdefault(session, WeakSet())
        if section not in prepared:
            section.install(session)
            prepared.add(section)
