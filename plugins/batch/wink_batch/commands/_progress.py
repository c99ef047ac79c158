"""Show how a batch comes along: a line that moves on a terminal, plain lines otherwise, JSON lines for machines."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli import fit, one_line

if TYPE_CHECKING:
    from wink_batch import Engine, Journal, Key, Outcome

_WINDOW: Final = 60
_EVERY: Final = 30.0
_LONGEST: Final = 160


class BatchProgress:
    """Counts; subclasses show. `clock` counts seconds."""

    def __init__(self, journal: Journal, engine: Engine) -> None:
        self.total, self.engine, self.attempts = len(journal.tasks), engine, journal.plan.attempts
        self.done = sum(row["status"] == "done" for row in journal.results.values())
        self.failed = len(journal.results) - self.done
        self.running = self.again = 0
        self._ended: deque[float] = deque([time.monotonic()], maxlen=_WINDOW)

    @property
    def per_minute(self) -> float | None:
        """How many tasks ended in a minute, of late; None while nobody can know."""
        if len(self._ended) < 2:
            return None
        took = time.monotonic() - self._ended[0]
        return 60.0 * (len(self._ended) - 1) / took if took > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds until the end, if it goes on like this."""
        rate = self.per_minute
        return None if not rate else 60.0 * (self.total - self.done - self.failed) / rate

    def state(self) -> str:
        """All of it in a line."""
        said = f"{self.done + self.failed} of {self.total} over, {self.running} running, {self.failed} failed"
        if self.again:
            said += f", {self.again} begun again"
        if (rate := self.per_minute) is not None:
            said += f", {rate:.1f} a minute, {duration(self.left or 0)} left"
        return said

    def began(self, key: Key) -> None:
        """Count it."""
        del key
        self.running += 1

    def came_back(self, key: Key, outcome: Outcome, meaning: str) -> None:
        """Count it, and say so where it is begun again."""
        self.running -= 1
        if meaning == "again":
            self.again += 1
            self.say(f"{key.task}: try {key.trial} failed ({outcome.cause}): {outcome.message}")

    def finished(self, row: dict[str, Any]) -> None:
        """Count it, and say how it ended."""
        self._ended.append(time.monotonic())
        if row["status"] == "done":
            self.done += 1
        else:
            self.failed += 1
        self.say(ending(row))

    def turn(self, running: int, waiting: int) -> None:
        """Take over what runs."""
        del waiting
        self.running = running

    def say(self, text: str) -> None:
        """Show one line."""
        raise NotImplementedError


class _Plain(BatchProgress):
    _last = 0.0

    def say(self, text: str) -> None:
        click.echo(one_line(fit(text, _LONGEST)))

    def turn(self, running: int, waiting: int) -> None:
        super().turn(running, waiting)
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            self.say(self.state())


class _Live(BatchProgress):
    """A bar beneath the lines."""

    def __init__(self, journal: Journal, engine: Engine) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        super().__init__(journal, engine)
        console = Console(highlight=False)
        self.bar = Progress(BarColumn(30), TextColumn("{task.description}"), console=console, transient=True)
        self._task = self.bar.add_task(self.state(), total=self.total, completed=self.done + self.failed)

    def say(self, text: str) -> None:
        from rich.text import Text

        self.bar.console.print(Text(one_line(fit(text, _LONGEST))), soft_wrap=True)

    def turn(self, running: int, waiting: int) -> None:
        super().turn(running, waiting)
        self.bar.update(self._task, description=self.state(), completed=self.done + self.failed)


class _Json(BatchProgress):
    def say(self, text: str) -> None:
        pass

    def tell(self, **about: Any) -> None:
        click.echo(json.dumps(about, default=str))
        sys.stdout.flush()

    def began(self, key: Key) -> None:
        super().began(key)
        self.tell(event="began", task=key.task, attempt=key.number, **{"try": key.trial})

    def came_back(self, key: Key, outcome: Outcome, meaning: str) -> None:
        super().came_back(key, outcome, meaning)
        about = {"status": outcome.status, "cause": outcome.cause, "message": outcome.message, "meaning": meaning}
        self.tell(event="attempt", task=key.task, attempt=key.number, **{"try": key.trial}, **about)

    def finished(self, row: dict[str, Any]) -> None:
        super().finished(row)
        self.tell(event="result", **row)


def ending(row: dict[str, Any]) -> str:
    """How a task ended, in a line."""
    said = row["status"] if row.get("passed") is None else ("passed" if row["passed"] else "not passed")
    parts = [f"{row['id']}: {said}", f"{row['seconds']:.1f} s"]
    if row["tokens"]:
        parts.append(f"{row['tokens']} tokens")
    if row["changed"]:
        parts.append(f"{len(row['changed'])} file{'' if len(row['changed']) == 1 else 's'} changed")
    if row["status"] != "done":
        parts.append(f"{row['cause']}: {row['message']}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """A length of time for a person.

    >>> duration(42), duration(190), duration(7300)
    ('42 s', '3 min', '2 h 2 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def watcher(journal: Journal, engine: Engine, *, as_json: bool) -> Generator[BatchProgress]:
    """What suits the place that standard output goes to."""
    if as_json:
        shown = _Json(journal, engine)
        about = {"directory": journal.directory, "tasks": shown.total, "over": len(journal.results)}
        shown.tell(event="begin", name=journal.plan.name, engine=engine.name, **about)
        yield shown
        return
    click.echo(one_line(f"{journal.plan.name}: {len(journal.tasks)} tasks on {engine.name}, in {journal.directory}"))
    if sys.stdout.isatty():
        live = _Live(journal, engine)
        with live.bar:
            yield live
    else:
        yield _Plain(journal, engine)
