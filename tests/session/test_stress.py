"""Many threads on one session: nothing is lost, each thread's order is kept, and whoever looks sees a state that was.

What must hold is simple: each thread numbers what it writes, so that its items are 0, 1, 2, … without those whose call
failed; a deposit changes two slices in one step, so that no snapshot may fall between them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.session import Append, Session, SlicePolicy, SliceView, Snapshot, append_all, reducer, upsert_by
from wink.workspace import Workspace

SECONDS = 90


@dataclass(frozen=True, slots=True)
class Item:
    """Appended by its thread."""

    worker: str
    number: int


@dataclass(frozen=True, slots=True)
class Row:
    """Put under its thread's name, again and again."""

    worker: str
    number: int


@dataclass(frozen=True, slots=True)
class Deposit:
    """An event that changes the ledger and the account."""

    worker: str
    number: int


@dataclass(frozen=True, slots=True)
class Entry:
    worker: str
    number: int


@dataclass(frozen=True, slots=True)
class Account:
    balance: int = 0

    @reducer(on=Deposit)
    def add(self, event: Deposit) -> Account:
        return replace(self, balance=self.balance + 1)


@dataclass(frozen=True, slots=True)
class Counter:
    """Read and written under the session's lock."""

    value: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """Published."""

    worker: str
    number: int


@pytest.fixture(autouse=True)
def impatient_threads() -> Iterator[None]:
    """Switch between threads a hundred times as often as usual, so that they meet in unlikely places."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100)
    yield
    sys.setswitchinterval(usual)


TYPES = (Item, Row, Entry, Account, Counter, Said)


def prepared(session: Session) -> Session:
    session[Row].register(Row, upsert_by(worker_of))
    session[Entry].register(Deposit, entry)
    session[Said].register(Said, append_all, policy=SlicePolicy.LOG)
    session.install(Account, initial=Account())
    return session


def worker_of(row: Row) -> str:
    return row.worker


def entry(_view: SliceView[Entry], event: Deposit) -> Append[Entry]:
    return Append(Entry(event.worker, event.number))


def looks_right(slices: Any) -> None:
    """What holds at every moment, however far the threads are."""
    entries, accounts = slices.get(Entry, ()), slices.get(Account, ())
    assert len(entries) == (accounts[0].balance if accounts else 0)
    for cls in Item, Entry, Said:
        last: dict[str, int] = {}
        for item in slices.get(cls, ()):
            assert item.number > last.get(item.worker, -1)
            last[item.worker] = item.number
    workers = [row.worker for row in slices.get(Row, ())]
    assert len(workers) == len(set(workers))


@dataclass
class Crowd:
    """Threads that begin together, and what they raised."""

    jobs: list[Callable[[], None]] = field(default_factory=list)

    def run(self) -> None:
        failures: list[BaseException] = []
        ready = threading.Barrier(len(self.jobs))

        def work(job: Callable[[], None]) -> None:
            try:
                ready.wait(SECONDS)
                job()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(job,), daemon=True) for job in self.jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert not any(thread.is_alive() for thread in threads), "a thread hangs"
        if failures:
            raise failures[0]


@dataclass(frozen=True)
class Job:
    """What a call shall do: as which thread, with which number, and how it ends."""

    worker: str
    number: int
    fails: bool = False
    inner: bool = False


class Callers:
    """Tool calls on a session, nested ones too, through executors."""

    def __init__(self, session: Session, files: Filesystem) -> None:
        self.session = session
        tool = Tool[Job, Item](name="work", description="Work.", handler=self._work)
        inner = Tool[Job, Item](name="inner", description="Work.", handler=self._inner)
        section = MarkdownSection("T", "x", tools=[tool, inner])
        template = PromptTemplate(ns="t", key="t", sections=[section], resources={Filesystem: files})
        self.prompt = Prompt(template)
        self.rendered = self.prompt.render(session=session)
        self.shared = self.executor()

    def executor(self) -> ToolExecutor:
        return ToolExecutor(prompt=self.prompt, rendered=self.rendered, session=self.session)

    def _work(self, params: Job, *, context: ToolContext) -> ToolResult[Item]:
        session, worker, number = context.session, params.worker, params.number
        session.dispatch(Deposit(worker, number))
        session.dispatch(Row(worker, number))
        session.publish(Said(worker, number))
        context.filesystem.write(f"{worker}.txt", str(number))
        assert session[Row].get(worker) == Row(worker, number)
        looks_right(session.snapshot().slices)
        if params.inner:
            for fails in (True, False):
                arguments = {"worker": f"{worker}/inner", "number": number * 2 + (not fails), "fails": fails}
                reply = self.executor().execute(ToolCall("inner", arguments))
                assert reply.success is not fails
        return ToolResult.error("planned") if params.fails else ToolResult.ok(Item(worker, number))

    def _inner(self, params: Job, *, context: ToolContext) -> ToolResult[Item]:
        context.session.dispatch(Deposit(params.worker, params.number))
        return ToolResult.error("planned") if params.fails else ToolResult.ok(Item(params.worker, params.number))


def numbers(items: Iterable[Any], worker: str) -> list[int]:
    return [item.number for item in items if item.worker == worker]


def stress(session: Session, files: Filesystem, rounds: int) -> None:
    """Twelve threads of six kinds, and what is there when they are done."""
    prepared(session)
    callers, crowd = Callers(session, files), Crowd()

    def append(worker: str) -> None:
        for number in range(rounds):
            (session.dispatch if number % 2 else session[Item].append)(Item(worker, number))
            session.dispatch(Row(worker, number))
            session.publish(Said(worker, number))

    def deposit(worker: str) -> None:
        for number in range(rounds):
            session.dispatch(Deposit(worker, number))

    def count() -> None:
        for _ in range(rounds):
            with session.locked():
                now = session[Counter].latest() or Counter()
                session[Counter].seed(Counter(now.value + 1))

    def call(worker: str, executor: ToolExecutor) -> None:
        for number in range(rounds):
            fails, inner = number % 3 == 2, number % 4 == 1
            arguments = {"worker": worker, "number": number, "fails": fails, "inner": inner}
            reply = executor.execute(ToolCall("work", arguments))
            assert reply.success is not fails, reply.text

    def look() -> None:
        for number in range(rounds):
            snapshot = session.snapshot()
            slices = {cls: snapshot.slices.get(cls, ()) for cls in TYPES}
            looks_right(slices)
            if number % 5 == 0:
                other = prepared(Session())
                other.restore(Snapshot.from_json(snapshot.to_json()), preserve_logs=False)
                assert {cls: other[cls].all() for cls in TYPES} == slices
                twin = session.clone()
                twin.dispatch(Deposit("twin", 0))
                looks_right(twin.snapshot().slices)
            assert {cls: snapshot.slices.get(cls, ()) for cls in TYPES} == slices

    crowd.jobs += [lambda worker=worker: append(worker) for worker in ("a", "b")]
    crowd.jobs += [lambda worker=worker: deposit(worker) for worker in ("c", "d")]
    crowd.jobs += [count, count]
    crowd.jobs += [lambda worker=worker: call(worker, callers.shared) for worker in ("e", "f")]
    crowd.jobs += [lambda worker=worker: call(worker, callers.executor()) for worker in ("g", "h")]
    crowd.jobs += [look, look]
    crowd.run()

    every, stand = list(range(rounds)), [number for number in range(rounds) if number % 3 != 2]
    inner = [number for number in stand if number % 4 == 1]
    looks_right({cls: session[cls].all() for cls in TYPES})
    for worker in "ab":
        assert numbers(session[Item], worker) == numbers(session[Said], worker) == every
        assert session[Row].get(worker) == Row(worker, every[-1])
    for worker in "cd":
        assert numbers(session[Entry], worker) == every
    for worker in "efgh":
        assert numbers(session[Item], worker) == numbers(session[Entry], worker) == stand
        assert numbers(session[Said], worker) == every  # a log, which no failure takes back
        assert session[Row].get(worker) == Row(worker, stand[-1])
        assert files.read(f"{worker}.txt").content == str(stand[-1])
        assert numbers(session[Item], f"{worker}/inner") == [number * 2 + 1 for number in inner]
        assert numbers(session[Entry], f"{worker}/inner") == [number * 2 + 1 for number in inner]
    assert session[Counter].all() == (Counter(2 * rounds),)
    assert len(session[Entry]) == 2 * rounds + 4 * (len(stand) + len(inner))
    assert len(session[ToolInvoked]) == 4 * (rounds + 2 * sum(number % 4 == 1 for number in every))


@pytest.mark.timeout(2 * SECONDS)
def test_threads_on_one_session_lose_nothing() -> None:
    """Direct writes, calls that stand and calls that fail, calls inside calls, snapshots and clones, all at once."""
    stress(Session(), InMemoryFilesystem(), rounds=48)


@pytest.mark.timeout(2 * SECONDS)
def test_threads_on_a_stored_session_lose_nothing(tmp_path: Any) -> None:
    """And what is stored is what they saw: another process finds the same."""
    with Workspace.open(tmp_path) as workspace:
        session = workspace.session("s")
        stress(session, workspace.filesystem, rounds=12)
        state = {cls: session[cls].all() for cls in (Item, Row, Entry, Account, Counter)}
    with Workspace.open(tmp_path) as workspace:
        session = prepared(workspace.session("s"))
        assert {cls: session[cls].all() for cls in state} == state


@pytest.mark.timeout(2 * SECONDS)
def test_threads_that_restore_leave_a_state_that_was() -> None:
    """Going back while others write: what is there in the end is one of the snapshots and what came after it."""
    session, crowd = prepared(Session()), Crowd()
    start = session.snapshot()

    def write(worker: str) -> None:
        for number in range(100):
            session.dispatch(Deposit(worker, number))

    def go_back() -> None:
        for number in range(50):
            session.restore(start if number % 2 else session.snapshot())
            looks_right({cls: items for cls, items in session.snapshot().slices.items() if cls in TYPES})

    crowd.jobs += [lambda worker=worker: write(worker) for worker in "abc"] + [go_back, go_back]
    crowd.run()

    looks_right({cls: session[cls].all() for cls in TYPES})
    session.dispatch(Deposit("last", 0))
    session.restore(start)
    assert session[Entry].all() == session[Account].all() == ()


@pytest.mark.timeout(2 * SECONDS)
def test_threads_that_register_and_subscribe_disturb_nobody() -> None:
    """Sections are installed while another prompt of the session is at work."""
    session, crowd, heard = prepared(Session()), Crowd(), list[Said]()
    session.dispatcher.subscribe(Said, heard.append)

    def publish(worker: str) -> None:
        for number in range(200):
            session.publish(Said(worker, number))

    def prepare() -> None:
        for _ in range(50):
            prepared(session)
            session.dispatcher.subscribe(Item, print)
            session.dispatcher.unsubscribe(Item, print)
            Session(parent=session)

    crowd.jobs += [lambda worker=worker: publish(worker) for worker in "abc"] + [prepare, prepare]
    crowd.run()

    for worker in "abc":
        assert numbers(session[Said], worker) == numbers(heard, worker) == list(range(200))
    session.dispatch(Deposit("x", 0))
    assert len(session[Entry]) == 1
    assert len(session.children) == 100
