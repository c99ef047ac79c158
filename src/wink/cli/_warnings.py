"""Say what is logged, such as a tool that raised, in one line on standard error."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import click

TRACEBACKS: Final = "wink.tracebacks"
"""The key in click's context under which `wink --debug` leaves its wish."""


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
    import logging  # 6 ms, and what only lists does without

    from wink.cli._one_line import OneLine

    context = click.get_current_context(silent=True)
    logging.lastResort = OneLine(tracebacks=bool(context and context.meta.get(TRACEBACKS)))
