"""What wink asks of this plugin when a catalog or a session is made; never while a tool runs."""

from collections.abc import Iterable
from typing import Any

from wink import Binding, Session, ToolInvoked
from wink.plugins import hookimpl

from wink_notes._clock import Clock
from wink_notes._notebook import Mishap
from wink_notes._settings import NotesSettings

LONGEST = 200


@hookimpl
def wink_settings() -> type[NotesSettings]:
    """Where the notes are written, and how long they may be."""
    return NotesSettings


@hookimpl
def wink_resources(settings: NotesSettings) -> Iterable[Binding[Any]]:
    """The clock that dates the notes; a template may bind another one."""
    return [Binding(Clock, lambda resources: Clock(settings.timezone))]


@hookimpl
def wink_subscribe(session: Session) -> None:
    """Remember calls that fail, so that the notebook can tell of them."""

    def remember(event: ToolInvoked) -> None:
        if not event.success:
            lines = event.rendered_output.strip().splitlines() or ["it said nothing"]
            session.publish(Mishap(event.name, lines[0][:LONGEST]))

    session.dispatcher.subscribe(ToolInvoked, remember)
