"""Tell what ends a program or a task from outside from what foreign code raises by itself.

Python raises both as the same exceptions. What a signal's handler raises comes up in the main thread only; Python's own,
which raises `KeyboardInterrupt`, is no Python code, so that the innermost frame stands at any instruction but a `raise`. A
cancellation is asked for at a task, which counts the requests. Where it is in doubt, somebody wants to end the program.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any, Final, cast

PASS_ON: Final = ("asyncio", "trio")
"""Event loops: they take Ctrl-C themselves, end what is running, and then raise `KeyboardInterrupt`."""


def is_interruption(error: BaseException) -> bool:
    """Whether somebody ends the program or the task, so that `error` has to go on, whatever was running.

    That is what a handler of a signal raised (`KeyboardInterrupt` for Ctrl-C, and what those raise that the program has
    set, such as `SystemExit` for SIGTERM), and a cancellation of the task that is running. Anything else was raised by the
    code that was running: `SystemExit` from `sys.exit()`, a `KeyboardInterrupt` or a `CancelledError` that it made up.

    >>> is_interruption(SystemExit(1)), is_interruption(ValueError())
    (False, False)
    """
    if isinstance(error, Exception):
        return False
    try:
        return any(_is_cancellation(one) or _is_from_a_signal(one) for one in _all(error))
    except Exception:  # foreign code: an exception whose attributes raise was made by somebody
        return False


def said_by(error: BaseException) -> str:
    """What an exception says; foreign ones may fail even at that.

    >>> said_by(ValueError("no"))
    'no'
    """
    try:
        return str(error)
    except BaseException as worse:  # foreign code
        if is_interruption(worse):
            raise
        return "its message cannot be read"


def _all(error: BaseException) -> Iterator[BaseException]:
    """The exception, those that it was raised upon, and, of groups, all in them."""
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, BaseExceptionGroup):
            left += cast("BaseExceptionGroup[BaseException]", one).exceptions
        elif not isinstance(one, Exception):
            yield one
        left += (one.__cause__, one.__context__)


def _is_cancellation(error: BaseException) -> bool:
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop is running
        return False
    return task is not None and task.cancelling() > 0


def _is_from_a_signal(error: BaseException) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    handlers = _handlers()
    last: TracebackType | None = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        last, trace = trace, trace.tb_next
    return isinstance(error, KeyboardInterrupt) and last is not None and not _is_raised_at(last)


def _is_raised_at(trace: TracebackType) -> bool:
    """Whether the innermost frame stands at a `raise`, of anything but an event loop."""
    from opcode import opmap

    frame = trace.tb_frame
    at = frame.f_code.co_code[trace.tb_lasti : trace.tb_lasti + 1]
    return at == bytes([opmap["RAISE_VARARGS"]]) and _package(frame.f_globals) not in PASS_ON


def _package(names: dict[str, Any]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]


def _handlers() -> set[CodeType]:
    """The code of the signals' handlers that are Python."""
    import signal
    from functools import partial

    found: set[CodeType] = set()
    for number in signal.valid_signals():
        handler = cast("Any", signal.getsignal(number))
        while isinstance(handler, partial):
            handler = cast("Any", handler).func
        kind = cast("type[Any]", type(handler))
        for one in (handler, getattr(handler, "__func__", None), getattr(kind, "__call__", None)):  # noqa: B004
            code = getattr(one, "__code__", None)
            if isinstance(code, CodeType):
                found.add(code)
    return found
