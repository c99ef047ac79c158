"""What a person or the program's own rules end goes on; what looks like it, and was raised by somebody's code, does not."""

from __future__ import annotations

import asyncio
import functools
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import anyio
import pytest

from wink.limits import is_interruption


def raised_by(act: Callable[[], object]) -> BaseException:
    """What `act` raises."""
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def make_up(error: BaseException) -> Callable[[], NoReturn]:
    def act() -> NoReturn:
        raise error

    return act


def throw_up() -> None:
    """Pass on what another function raised."""
    try:
        make_up(KeyboardInterrupt())()
    except KeyboardInterrupt as error:
        raise error from None


def in_a_loop() -> None:
    """An event loop takes Ctrl-C itself: it cancels what is running, and raises in its end."""

    async def work() -> None:
        press_ctrl_c()
        await asyncio.sleep(3600)

    asyncio.run(work())


def exit_after_ctrl_c() -> None:
    try:
        press_ctrl_c()
    except KeyboardInterrupt:
        sys.exit(130)


def pressed_in_a_group() -> None:
    raise BaseExceptionGroup("all", [ValueError(), raised_by(press_ctrl_c)])


def cycle() -> NoReturn:
    """Two exceptions, each of which is the cause of the other."""
    one, other = SystemExit(1), KeyboardInterrupt()
    one.__cause__, other.__cause__ = other, one
    raise one


class Unfriendly(BaseException):
    """Its attributes raise."""

    @property
    def __cause__(self) -> BaseException | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise ValueError


INTERRUPTIONS = [press_ctrl_c, in_a_loop, exit_after_ctrl_c, pressed_in_a_group]
MADE_UP = {
    "KeyboardInterrupt": make_up(KeyboardInterrupt()),
    "KeyboardInterrupt passed on": throw_up,
    "sys.exit": sys.exit,
    "GeneratorExit": make_up(GeneratorExit()),
    "CancelledError": make_up(asyncio.CancelledError()),
    "group": make_up(BaseExceptionGroup("all", [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])),
    "cycle": cycle,
    "unfriendly": Unfriendly,
    "error": make_up(ValueError()),
}


@pytest.mark.parametrize("act", INTERRUPTIONS, ids=lambda act: act.__name__)
def test_ctrl_c_is_an_interruption(act: Callable[[], object]) -> None:
    """However it comes up."""
    assert is_interruption(raised_by(act))


@pytest.mark.parametrize("act", MADE_UP.values(), ids=MADE_UP)
def test_what_code_raises_by_itself_is_none(act: Callable[[], object]) -> None:
    """A plugin that calls `sys.exit`, or raises what a person would, has failed; nobody wanted the program to end."""
    error = act() if act is Unfriendly else raised_by(act)

    assert isinstance(error, BaseException)
    assert not is_interruption(error)


@pytest.mark.parametrize("act", [make_up(KeyboardInterrupt()), make_up(SystemExit(1))], ids=["interrupt", "exit"])
def test_signals_are_not_heard_on_other_threads(act: Callable[[], object]) -> None:
    """So what is raised there was raised by what runs there."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(is_interruption(raised_by(act))))
    thread.start()
    thread.join()

    assert found == [False]


@contextmanager
def handled(number: int, handler: Any) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


class Ending:
    """A handler of signals that is an object."""

    def __call__(self, number: int, frame: object) -> None:
        self.end(0, number, frame)

    def end(self, status: int, number: int, frame: object) -> None:
        sys.exit(status)


@pytest.mark.parametrize(
    "handler",
    [lambda number, frame: sys.exit(0), Ending(), functools.partial(Ending().end, 0)],
    ids=["function", "object", "partial"],
)
def test_what_a_programs_own_handler_raises_is_an_interruption(handler: Any) -> None:
    """Many programs end with `sys.exit` when they are sent SIGTERM; wink must not keep them from it."""
    with handled(signal.SIGTERM, handler):
        error = raised_by(lambda: signal.raise_signal(signal.SIGTERM))

        assert isinstance(error, SystemExit)
        assert is_interruption(error)
        assert not is_interruption(raised_by(sys.exit))


def test_a_task_that_is_cancelled_is_interrupted() -> None:
    """The same exception, raised while nobody cancels, is not."""
    found: list[bool] = []

    async def cancelled(wait: Callable[[], Awaitable[object]]) -> None:
        try:
            await wait()
        except asyncio.CancelledError as error:
            found.append(is_interruption(error))

    async def nothing() -> None:
        raise asyncio.CancelledError

    async def by_anyio() -> None:
        with anyio.move_on_after(0):
            await cancelled(anyio.sleep_forever)
            await anyio.sleep(0)

    async def main() -> None:
        await cancelled(nothing)
        task = asyncio.create_task(cancelled(anyio.sleep_forever))
        await asyncio.sleep(0)
        task.cancel()
        await task
        await by_anyio()
        await cancelled(nothing)

    asyncio.run(main())

    assert found == [False, True, True, False]
