"""See what a plugin's import leaves behind in the process, beside its modules."""

import logging
import signal
import sys
import threading
import warnings
from typing import Any, Final, Self

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGPIPE)


class Traces(logging.Handler):
    """`found` says, after the `with` block, what was done in it that others in the process would notice."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []
        self._logger = logging.getLogger("wink.plugins")

    def emit(self, record: logging.LogRecord) -> None:
        """What was put back already is told in the log."""
        self.found.append(record.getMessage())

    def __enter__(self) -> Self:
        self._threads = set(threading.enumerate())
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._filters = list(warnings.filters)
        self._streams = sys.stdout, sys.stderr
        self._limit = sys.getrecursionlimit()
        self._logger.addHandler(self)
        return self

    def __exit__(self, *raised: object) -> None:
        self._logger.removeHandler(self)
        threads = sorted(one.name for one in threading.enumerate() if one not in self._threads)
        if threads:
            self.found.append(f"starts threads while it is imported: {', '.join(threads)}")
        self.found += [
            f"installs a handler for {number.name} while it is imported"
            for number, handler in self._handlers.items()
            if signal.getsignal(number) is not handler
        ]
        if any(_is_for_all(one) for one in warnings.filters if one not in self._filters):
            self.found.append("changes what is done with every warning while it is imported")
        if (sys.stdout, sys.stderr) != self._streams:
            self.found.append("replaces sys.stdout or sys.stderr while it is imported")
        if sys.getrecursionlimit() != self._limit:
            self.found.append("changes the recursion limit while it is imported")


def _is_for_all(entry: Any) -> bool:
    """Whether a filter speaks of every warning, whatever its text and module."""
    _, message, category, module, _ = entry
    return message is None and module is None and category is Warning
