"""Say what is logged, such as a tool that raised, in one line on standard error."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import click

TRACEBACKS: Final = "wink.tracebacks"
"""The key in click's context under which `wink --debug` leaves its wish."""


class OneLine(logging.Handler):
    """Tells the message and, in brief, the exception; all of it after `wink --debug`."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__(logging.WARNING)
        self._tracebacks = tracebacks

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            text += f": {type(error).__name__}: {error}; `wink --debug …` shows where"
            if self._tracebacks:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
        click.echo(f"wink: {text if self._tracebacks else ' '.join(text.split())}", err=True)


@contextmanager
def plugin_warnings_in_a_line() -> Generator[None]:
    """Say what of a plugin or a prompt was left out or not heeded as everything else is said: in a line, and each once."""
    from wink.errors import PluginWarning, PromptOverrideWarning

    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
        if not issubclass(category, (PluginWarning, PromptOverrideWarning)):
            otherwise(message, category, *details, **more)
        elif str(message) not in said:
            said.add(str(message))
            click.echo(f"wink: {' '.join(str(message).split())}", err=True)

    with warnings.catch_warnings():
        otherwise = warnings.showwarning
        warnings.filterwarnings("always", category=PluginWarning)
        warnings.filterwarnings("always", category=PromptOverrideWarning)
        warnings.showwarning = show
        yield


def show_warnings() -> None:
    """Take over from the logging module's last resort, which prints tracebacks; a handler of one's own has priority."""
    context = click.get_current_context(silent=True)
    logging.lastResort = OneLine(tracebacks=bool(context and context.meta.get(TRACEBACKS)))
