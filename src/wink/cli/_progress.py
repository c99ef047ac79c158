"""Show a run while it happens: live in a terminal, plain lines in a pipe, JSON lines for machines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import click

from wink.adapters import ModelReplied
from wink.cli._view import Line, Tone, json_of, lines_of
from wink.runtime import PromptRendered, RenderedTools, ToolInvoked
from wink.session import Session

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

STYLES: Final[dict[Tone, str]] = {
    "plain": "",
    "quiet": "dim",
    "title": "bold",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
    "added": "green",
    "removed": "red",
    "place": "cyan",
}

EVENTS: Final = (PromptRendered, RenderedTools, ModelReplied, ToolInvoked)


class Progress(Protocol):
    """Where a run is shown."""

    def say(self, lines: Iterable[Line]) -> None:
        """Show lines that are about no event."""
        ...

    def event(self, event: object) -> None:
        """Show an event."""
        ...

    def close(self) -> None:
        """Stop whatever moves."""
        ...


class PlainProgress:
    """Lines of text, each complete when it is written."""

    def say(self, lines: Iterable[Line]) -> None:
        """Write the lines."""
        for line in lines:
            click.echo(line.text)

    def event(self, event: object) -> None:
        """Write what a person is shown of the event."""
        self.say(lines_of(event))
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing moves here."""


class JsonProgress:
    """One JSON object a line."""

    def say(self, lines: Iterable[Line]) -> None:
        """Machines are told of events only."""

    def event(self, event: object) -> None:
        """Write the event."""
        row = json_of(event)
        if row is not None:
            click.echo(row)
            sys.stdout.flush()

    def close(self) -> None:
        """Nothing moves here."""


class LiveProgress:
    """Coloured lines, and below them a moving line that says what is being waited for."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console

        self._console: Console = console or Console(highlight=False, soft_wrap=True)
        self._status: Status | None = None

    def say(self, lines: Iterable[Line]) -> None:
        """Print the lines in colour."""
        from rich.text import Text

        for line in lines:
            self._console.print(Text(line.text, style=STYLES[line.tone]))

    def event(self, event: object) -> None:
        """Print what a person is shown of the event, and say what comes next."""
        self.say(lines_of(event))
        if isinstance(event, ModelReplied) and event.turn.calls:
            names = ", ".join(dict.fromkeys(call.name for call in event.turn.calls))
            self._wait(f"running {names}")
        else:
            self._wait("waiting for the model")

    def close(self) -> None:
        """Take the moving line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _wait(self, text: str) -> None:
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        else:
            self._status.update(text)


def progress(*, as_json: bool) -> Progress:
    """What suits the place that standard output goes to."""
    if as_json:
        return JsonProgress()
    return LiveProgress() if sys.stdout.isatty() else PlainProgress()


@contextmanager
def showing(session: Session, shown: Progress) -> Iterator[Progress]:
    """Show the events of a session while the block runs."""
    for kind in EVENTS:
        session.dispatcher.subscribe(kind, shown.event)
    try:
        yield shown
    finally:
        shown.close()
        for kind in EVENTS:
            session.dispatcher.unsubscribe(kind, shown.event)
