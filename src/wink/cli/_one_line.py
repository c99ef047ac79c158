"""Write what is logged to standard error, a line for each record."""

from __future__ import annotations

import logging

import click


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
