"""Let each section prepare each session exactly once."""

from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from wink.prompt._section import Section
    from wink.session import Session

__all__ = ["install_once"]

# Kept beside sections and sessions: a section may stand in several templates, and a clone of it must start afresh.
_prepared: "WeakKeyDictionary[Session, WeakSet[Section[Any]]]" = WeakKeyDictionary()
_claiming = Lock()


def install_once(section: "Section[Any]", session: "Session") -> None:
    """Call `section.install(session)` unless it has returned before; one that raised is called again."""
    # The session's own lock, which `install` needs anyway: one of ours around it could be taken in the other order. It
    # does not reach across two calls of one session, so the section is also claimed before it begins.
    with session.locked():
        with _claiming:
            prepared = _prepared.setdefault(session, WeakSet())
            if section in prepared:
                return
            prepared.add(section)
        try:
            section.install(session)
        except BaseException:
            prepared.discard(section)
            raise
