"""One at a time, in the order of asking, whoever waits and however the waiting ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from wink.errors import WorkspaceBusy
from wink.filesystem import WriteLock


class Outside:
    """A lock that other processes see, which is busy the first `times` times."""

    def __init__(self, times: int = 0) -> None:
        self.times, self.held, self.asked = times, 0, 0

    def take(self, timeout: float) -> None:
        self.asked += 1
        if self.asked <= self.times:
            raise WorkspaceBusy("tree", timeout, "process 1")
        self.held += 1

    def give(self) -> None:
        self.held -= 1


def turns_over(outside: Outside) -> WriteLock:
    return WriteLock("tree", locked=outside.take, unlocked=outside.give)


def waiting(turns: WriteLock) -> int:
    """How many have a ticket."""
    return len(turns._waiting)  # pyright: ignore[reportPrivateUsage]


@contextmanager
def a_thread_in_line(turns: WriteLock, done: list[str], name: str) -> Iterator[threading.Thread]:
    """A thread that waits for its turn, and has a ticket when the block begins."""

    def run() -> None:
        turns.acquire(60)
        done.append(name)
        turns.release()

    before = waiting(turns)
    thread = threading.Thread(target=run)
    thread.start()
    while waiting(turns) == before:
        pass
    yield thread


async def until_in_line(turns: WriteLock, count: int) -> None:
    """Let other tasks run until so many wait."""
    while waiting(turns) < count:
        await asyncio.sleep(0)


def test_a_free_turn_is_taken_at_once_and_can_be_taken_again() -> None:
    """The common case asks nobody and waits for nothing."""
    turns = WriteLock()

    for _ in range(3):
        turns.acquire(0)
        assert turns.is_held
        turns.release()

    assert not turns.is_held


def test_threads_and_coroutines_come_in_the_order_in_which_they_asked() -> None:
    """A fair queue for both kinds: nobody starves."""
    turns, done = WriteLock(), list[str]()

    async def task(name: str) -> None:
        await turns.aacquire(60)
        done.append(name)
        turns.release()

    async def main() -> None:
        turns.acquire(0)
        with a_thread_in_line(turns, done, "thread 1") as first:
            one = asyncio.ensure_future(task("task 1"))
            await until_in_line(turns, 2)
            with a_thread_in_line(turns, done, "thread 2") as second:
                two = asyncio.ensure_future(task("task 2"))
                await until_in_line(turns, 4)
                turns.release()
                await asyncio.gather(one, two)
                first.join(60)
                second.join(60)

    asyncio.run(main())

    assert done == ["thread 1", "task 1", "thread 2", "task 2"]
    assert not turns.is_held


def test_a_turn_can_be_given_back_by_another_thread() -> None:
    """It belongs to the call, and a call may end elsewhere than it began."""
    turns = WriteLock()
    turns.acquire(0)

    thread = threading.Thread(target=turns.release)
    thread.start()
    thread.join(60)

    turns.acquire(0)
    turns.release()


def test_who_waits_too_long_is_told_and_is_not_called_later() -> None:
    """A ticket that nobody waits for any more must not swallow the turn."""
    turns = WriteLock("tree")
    turns.acquire(0)

    with pytest.raises(WorkspaceBusy) as raised:
        turns.acquire(0)
    turns.release()

    assert raised.value.workspace == "tree"
    turns.acquire(0)
    turns.release()


def test_a_coroutine_that_waits_too_long_is_told_too() -> None:
    """The same without blocking its loop."""
    turns = WriteLock("tree")
    turns.acquire(0)

    async def main() -> None:
        with pytest.raises(WorkspaceBusy):
            await turns.aacquire(0)

    asyncio.run(main())
    turns.release()

    assert not turns.is_held


def test_a_cancelled_coroutine_leaves_the_line() -> None:
    """Or else the turn would be given to nobody, for ever."""
    turns = WriteLock()

    async def main() -> None:
        await turns.aacquire(0)
        given_up = asyncio.ensure_future(turns.aacquire(60))
        patient = asyncio.ensure_future(turns.aacquire(60))
        await until_in_line(turns, 2)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        turns.release()
        await patient
        turns.release()

    asyncio.run(main())

    assert not turns.is_held


def test_a_coroutine_that_is_cancelled_when_its_turn_has_come_passes_it_on() -> None:
    """The result and the cancellation may arrive in the same round of the loop; neither may be lost."""
    turns = WriteLock()

    async def main() -> None:
        await turns.aacquire(0)
        waiter = asyncio.ensure_future(turns.aacquire(60))
        await until_in_line(turns, 1)
        turns.release()
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter

    asyncio.run(main())

    assert not turns.is_held


def test_a_coroutine_that_is_thrown_away_leaves_the_line() -> None:
    """A loop that is stopped and closed destroys its tasks; they are not cancelled, they are closed."""
    turns = WriteLock()
    turns.acquire(0)

    async def main() -> None:
        waiter = turns.aacquire(60)
        waiter.send(None)
        waiter.close()

    asyncio.run(main())
    turns.release()

    assert not turns.is_held


def test_an_interrupted_thread_leaves_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while waiting: whoever releases next must not hand the turn to somebody who has gone."""
    turns = WriteLock()
    turns.acquire(0)

    def interrupted(future: Future[None], timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Future, "result", interrupted)
        turns.acquire(60)
    turns.release()

    assert not turns.is_held


def test_waiting_on_a_thread_for_its_own_loop_fails_at_once() -> None:
    """The holder could only go on if the loop did, and the loop is what would be blocked."""
    turns = WriteLock()

    async def main() -> None:
        await turns.aacquire(0)
        with pytest.raises(WorkspaceBusy):
            turns.acquire(3600)
        turns.release()

    asyncio.run(main())

    assert not turns.is_held


def test_waiting_on_a_thread_behind_a_task_of_its_loop_fails_at_once() -> None:
    """The same when the task has not even got its turn."""
    turns = WriteLock()

    async def main() -> None:
        turns.acquire(0)
        waiter = asyncio.ensure_future(turns.aacquire(60))
        await until_in_line(turns, 1)
        with pytest.raises(WorkspaceBusy):
            turns.acquire(3600)
        turns.release()
        await waiter
        turns.release()

    asyncio.run(main())


def test_the_lock_outside_is_held_with_the_turn() -> None:
    """Other processes see one holder, for as long as there is one."""
    outside = Outside()
    turns = turns_over(outside)

    turns.acquire(0)
    held = outside.held
    turns.release()

    assert (held, outside.held) == (1, 0)


def test_a_busy_lock_outside_gives_the_turn_back() -> None:
    """Another process at work is no reason to keep out the other calls of this one."""
    outside = Outside(times=1)
    turns = turns_over(outside)

    with pytest.raises(WorkspaceBusy, match="process 1"):
        turns.acquire(0)

    turns.acquire(0)
    assert outside.held == 1
    turns.release()


def test_a_lock_outside_that_cannot_be_had_at_all_gives_the_turn_back() -> None:
    """Recovery may fail with anything."""

    def broken(timeout: float) -> None:
        raise OSError("no locks here")

    turns = WriteLock("tree", locked=broken)

    with pytest.raises(OSError, match="no locks here"):
        turns.acquire(0)
    with pytest.raises(OSError, match="no locks here"):
        asyncio.run(turns.aacquire(0))

    assert not turns.is_held


def test_a_lock_outside_that_cannot_be_given_back_still_passes_the_turn_on() -> None:
    """The next call finds out for itself what is wrong."""

    def broken() -> None:
        raise OSError("gone")

    turns = WriteLock("tree", unlocked=broken)
    turns.acquire(0)

    with pytest.raises(OSError, match="gone"):
        turns.release()

    assert not turns.is_held


def test_a_coroutine_asks_again_until_the_lock_outside_is_free() -> None:
    """Without a thread, which could not be stopped when the coroutine is."""
    outside = Outside(times=3)
    turns = turns_over(outside)
    threads = threading.active_count()

    async def main() -> None:
        await turns.aacquire(60)
        assert threading.active_count() == threads
        turns.release()

    asyncio.run(main())

    assert (outside.asked, outside.held) == (4, 0)


def test_a_coroutine_gives_up_when_the_lock_outside_stays_busy() -> None:
    """With the holder that other processes' calls would name."""
    outside = Outside(times=1_000_000)
    turns = turns_over(outside)

    with pytest.raises(WorkspaceBusy, match="process 1"):
        asyncio.run(turns.aacquire(0))

    assert not turns.is_held


def test_a_coroutine_that_is_cancelled_before_the_lock_outside_is_free_leaves_nothing() -> None:
    """Neither the turn nor the lock: not now, and not when the other process has ended."""
    outside = Outside(times=1_000_000)
    turns = turns_over(outside)

    async def main() -> None:
        waiter = asyncio.ensure_future(turns.aacquire(3600))
        while outside.asked < 2:
            await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter

    asyncio.run(main())

    outside.times = 0
    assert (turns.is_held, outside.held) == (False, 0)
    turns.acquire(0)
    turns.release()


def test_many_threads_and_tasks_never_overlap_and_all_come_through() -> None:
    """The law of it, with everything at once."""
    turns, inside, most, passed = WriteLock(), list[int](), list[int](), list[int]()

    def enter(number: int) -> None:
        inside.append(number)
        most.append(len(inside))
        inside.remove(number)
        passed.append(number)

    def thread(number: int) -> None:
        for _ in range(20):
            turns.acquire(60)
            enter(number)
            turns.release()

    async def task(number: int) -> None:
        for _ in range(20):
            await turns.aacquire(60)
            enter(number)
            await asyncio.sleep(0)
            turns.release()

    async def main() -> None:
        threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
        for one in threads:
            one.start()
        await asyncio.gather(*(task(10 + number) for number in range(4)))
        for one in threads:
            one.join(60)

    asyncio.run(main())

    assert max(most) == 1
    assert len(passed) == 160
    assert not turns.is_held
