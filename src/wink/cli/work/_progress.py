"""Show a run while it happens: live in a terminal, plain lines in a pipe, JSON lines for machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import click

from wink.adapters import ModelDelta, ModelReplied, ModelTold, RequestFailed, RequestSent
from wink.cli._shorten import visible
from wink.cli._wrong import ReaderGone
from wink.cli.work._rows import json_of
from wink.cli.work._view import LABEL, USUAL, Limits, Tone, lines_of
from wink.limits import ProgressReport
from wink.runtime import ApprovalAnswered, ApprovalRequested, PromptRendered, RenderedTools, ToolInvoked

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from wink.session import Session

STYLES: Final[dict[Tone, str]] = {
    "plain": "",
    "quiet": "dim",
    "title": "bold",
    "good": "bold green",
    "bad": "bold red",
    "warning": "yellow",
    "added": "green",
    "removed": "red",
    "place": "cyan",
}

_STEP: Final = 500
_TAIL, _SHOWN = 200, 50
_ARRIVING: Final = {"text": "answering", "thinking": "thinking", "arguments": "calling"}

EVENTS: Final = (
    ApprovalRequested,
    ApprovalAnswered,
    PromptRendered,
    RenderedTools,
    RequestSent,
    RequestFailed,
    ModelDelta,
    ModelReplied,
    ModelTold,
    ToolInvoked,
)


def said_of(report: ProgressReport) -> str:
    """How far a call is, on one line.

    >>> said_of(ProgressReport("reading", 3, 9))
    'reading (3 of 9)'
    """
    count = (
        "" if report.done is None else f"{report.done:g}" + ("" if report.total is None else f" of {report.total:g}")
    )
    words = " ".join(visible(report.message).split())[:_SHOWN]
    return f"{words} ({count})" if words and count else words or count


class Progress(Protocol):
    """Where a run is shown."""

    def event(self, event: object) -> None:
        """Show an event."""
        ...

    def close(self) -> None:
        """Stop whatever moves."""
        ...


class Lines:
    """Complete lines on standard output; once nobody reads them, the run ends before the next call."""

    def __init__(self) -> None:
        self._is_read = True

    def event(self, event: object) -> None:
        """Write what there is to say of the event."""
        try:
            if self._is_read:
                for line in self.texts(event):
                    click.echo(line)
                sys.stdout.flush()
        except BrokenPipeError:
            self._is_read = False
        if not self._is_read and not isinstance(event, ToolInvoked):
            raise ReaderGone

    def texts(self, event: object) -> Iterator[str]:
        """The lines to write."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing moves here."""


class PlainLines(Lines):
    """Lines of text."""

    def texts(self, event: object) -> Iterator[str]:
        """What a person is shown."""
        yield from map(str, lines_of(event))
        if isinstance(event, ProgressReport):
            yield f"  {said_of(event)}"


class JsonLines(Lines):
    """One JSON object a line."""

    def texts(self, event: object) -> Iterator[str]:
        """What a machine is told."""
        row = json_of(event)
        if row is not None:
            yield row


class LiveProgress:
    """Coloured lines, and below them a moving line that says what is being waited for."""

    def __init__(self, console: Console | None = None, *, moving: bool = True, limits: Limits = USUAL) -> None:
        from rich.console import Console

        self._console: Console = console or Console(highlight=False)
        self._is_moving = moving
        self._limits = limits
        self._status: Status | None = None
        self._arriving = ("", 0, "")

    def event(self, event: object) -> None:
        """Print what a person is shown of the event, and say what comes next."""
        from rich.text import Text

        for line in lines_of(event, width=self._console.width, limits=self._limits):
            text = Text(f"{line.label:<{LABEL}}" if line.label else "", STYLES[line.label_tone])
            shown = Text.assemble(text, (line.text, STYLES[line.tone]))
            if line.aside:
                shown.append(f"  {line.aside}", STYLES["quiet"])
            shown.rstrip()
            self._console.print(shown, soft_wrap=True)
        if isinstance(event, ModelDelta):
            self._answering(event)
        elif isinstance(event, ModelReplied) and event.turn.calls:
            names = ", ".join(dict.fromkeys(call.name for call in event.turn.calls))
            self._wait(f"running {names}")
        elif isinstance(event, ProgressReport):
            self._wait(said_of(event))
        elif isinstance(event, EVENTS):
            self._wait("waiting for the model")

    def _answering(self, piece: ModelDelta) -> None:
        """Show the end of what is arriving; a whole answer is printed when it is there."""
        if (piece.kind, piece.attempt) != self._arriving[:2]:
            self._arriving = (piece.kind, piece.attempt, "")
        text = (self._arriving[2] + piece.text)[-_TAIL:]
        self._arriving = (piece.kind, piece.attempt, text)
        self._wait(f"{_ARRIVING[piece.kind]}  {' '.join(visible(text).split())[-_SHOWN:]}")

    def close(self) -> None:
        """Take the moving line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _wait(self, text: str) -> None:
        from rich.markup import escape

        if not self._is_moving:
            return
        if self._status is None:
            self._status = self._console.status(escape(text))
            self._status.start()
        else:
            self._status.update(escape(text))


@contextmanager
def counting(text: str) -> Generator[Callable[[int], None]]:
    """Show how far something long has come, where somebody is looking; `text` has a place for the number."""
    shown = 0

    def count(number: int) -> None:
        nonlocal shown
        if number - shown >= _STEP or number < shown:
            shown = number
            click.echo(f"\r{text.format(number)}", nl=False, err=True)

    if not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield count
    finally:
        if shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def progress(*, as_json: bool) -> Progress:
    """What suits the place that standard output goes to."""
    if as_json:
        return JsonLines()
    return LiveProgress() if sys.stdout.isatty() else PlainLines()


@contextmanager
def showing(session: Session, shown: Progress) -> Generator[Progress]:
    """Show the events of a session while the block runs."""
    for kind in EVENTS:
        session.dispatcher.subscribe(kind, shown.event)
    try:
        yield shown
    finally:
        shown.close()
        for kind in EVENTS:
            session.dispatcher.unsubscribe(kind, shown.event)
