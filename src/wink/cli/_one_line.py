"""Write what is logged to standard error, a line for each record."""

from __future__ import annotations

import logging
from typing import Final

import click

MOST: Final = 4000
"""So many characters of a record are told in a line."""


class OneLine(logging.Handler):
    """Tells the message and, in brief, the exception; all of it after `wink --debug`."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__(logging.WARNING)
        self._tracebacks = tracebacks

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; what cannot be written changes nothing for whoever tells of it."""
        from wink.limits import is_interruption

        try:
            self._write(record)
        except (
            BaseException
        ) as error:  # foreign code: what an exception says of itself, a stream that a tool has closed
            if is_interruption(error):
                raise

    def _write(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            from wink.limits import said_by

            error = record.exc_info[1]
            text += f": {type(error).__name__}: {said_by(error)}; `wink --debug …` shows where"
            if self._tracebacks:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
        click.echo(f"wink: {text if self._tracebacks else _shortened(' '.join(text.split()))}", err=True)


def _shortened(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST // 2]} … {text[-MOST // 2 :]}"
