"""`ToolContract` finds what is wrong: each of these tools breaks one promise."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.testing.trying import assert_each_is_caught

from wink.filesystem import HostFilesystem
from wink.prompt import Section
from wink.testing import ToolContract
from wink.tools import Tool, ToolContext, ToolResult

pytest_plugins = ["pytester"]

numbers = itertools.count()


@dataclass(frozen=True)
class Add:
    """A sound thing to take."""

    text: str = "hi"


@dataclass(frozen=True)
class Added:
    """A sound result."""

    count: int


@dataclass(eq=False)
class Unequal:
    """Equal to nothing that was read."""

    count: int


@dataclass(frozen=True)
class Unheard:
    """Not to be stored."""

    count: Any


@dataclass(frozen=True)
class Restless:
    """Says something else each time."""

    count: int

    def render(self) -> str:
        return f"{next(numbers)}"


@dataclass(frozen=True)
class Bitter:
    """Raises what nobody expects."""

    text: str = "x"

    def __post_init__(self) -> None:
        {"x": 1}[self.text]


class Counter:
    """A resource that cannot go back."""

    def __init__(self) -> None:
        self.count = 0


class Forgetful(Counter):
    """A resource that says that it can go back, and does not."""

    def snapshot(self) -> int:
        return self.count

    def restore(self, snapshot: int) -> None:
        """Not done."""


def add(params: Add, *, context: ToolContext) -> ToolResult[Added]:
    """Add a note."""
    context.filesystem.append("notes.md", params.text)
    context.filesystem.append("notes.md", "\n")
    return ToolResult("added", Added(len(context.filesystem.read("notes.md").content.splitlines())))


def doing(act: Callable[[ToolContext], object], **options: Any) -> Callable[[], Tool[Any, Any]]:
    """A sound tool that does something more."""

    def handler(params: Add, *, context: ToolContext) -> ToolResult[Added]:
        act(context)
        return add(params, context=context)

    return lambda: Tool[Add, Added]("notes_add", "Add a note.", handler, **options)


def doing_first(make: Callable[[], Callable[[ToolContext], object]]) -> Callable[[], Tool[Any, Any]]:
    """The same, with something that belongs to the tool."""
    return lambda: doing(make())()


def returning(cls: Any, make: Callable[[ToolContext], Any]) -> Callable[[], Tool[Any, Any]]:
    """A tool with another result."""

    def handler(params: Add, *, context: ToolContext) -> ToolResult[Any]:
        context.filesystem.append("notes.md", params.text)
        return make(context)

    return lambda: Tool[Add, cls]("notes_add", "Add a note.", handler)


def read_only(context: ToolContext) -> None:
    """Nothing: its handler writes."""


def asking_twice() -> Callable[[ToolContext], object]:
    """Fails every second time."""
    turns = itertools.count()

    def act(context: ToolContext) -> None:
        context.filesystem.append("turns.md", f"{next(turns)}")

    return act


def remembering() -> Callable[[ToolContext], object]:
    """Remembers each session beside it."""
    seen: dict[int, int] = {}

    def act(context: ToolContext) -> None:
        key = id(context.session)
        seen[key] = seen.get(key, 0) + 1
        context.filesystem.append("turns.md", f"{seen[key]}")

    return act


def in_thread(act: Callable[[], object]) -> Callable[[ToolContext], object]:
    def work(context: ToolContext) -> None:
        thread = threading.Thread(target=quietly, args=(act,))
        thread.start()
        thread.join()

    return work


def quietly(act: Callable[[], object]) -> None:
    """As a careless author would."""
    try:
        act()
    except Exception:
        return


def connect() -> None:
    with socket.socket() as one:
        one.connect(("127.0.0.1", 9))


def own_files(context: ToolContext) -> None:
    with HostFilesystem("/") as files:
        files.exists("etc")
        quietly(lambda: files.read("etc/hostname"))


def around_the_handle(context: ToolContext) -> None:
    """Writes where the workspace is, past its record."""
    Path(context.filesystem.root, f"around-{next(numbers)}.md").write_text("x")


def on_the_main_thread(context: ToolContext) -> None:
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))


def swallow(context: ToolContext) -> None:
    try:
        context.filesystem.exists("a")
    except BaseException:
        return


def beside(context: ToolContext) -> None:
    """Writes to the session as nobody's call."""
    session = context.session
    thread = threading.Thread(target=lambda: session[Added].append(Added(0)))
    thread.start()
    thread.join()


def count_up(context: ToolContext) -> None:
    context.resources.get(Counter).count += 1


def tell_count(context: ToolContext) -> None:
    counter = context.resources.get(Counter)
    counter.count += 1
    context.filesystem.append("turns.md", f"{counter.count}")


def broken(
    name: str, make: Callable[[], Tool[Any, Any]], place: Any = "memory", resource: type[Counter] | None = None
) -> type[ToolContract]:
    """The contract for a tool."""

    class Broken(ToolContract):
        fs = place
        arguments = {"text": "hi"}

        @pytest.fixture
        def tool(self) -> Tool[Any, Any]:
            return make()

        @pytest.fixture
        def section(self, tool: Tool[Any, Any]) -> Section[Any] | None:
            return None if resource is None else WithResource(tool, resource)

    Broken.__name__ = name
    return Broken


class WithResource(Section[Any]):
    """Brings a fresh resource to each prompt."""

    def __init__(self, tool: Tool[Any, Any], resource: type[Counter]) -> None:
        super().__init__("Notes", tools=[tool])
        self._resource = resource

    def resources(self) -> Mapping[type, object]:
        from wink.resources import Binding

        return {Counter: Binding(Counter, lambda _: self._resource())}


EFFECTS = "test_it_keeps_to_its_effects"

BROKEN: list[tuple[type[ToolContract], str]] = [
    (broken("Fails", doing(lambda context: context.filesystem.read("nowhere"))), "test_it_succeeds"),
    (broken("WritesAsReader", doing(read_only, effects="read")), "test_it_succeeds"),
    *(
        (broken(f"Effects{number}", doing(act)), EFFECTS)
        for number, act in enumerate(
            [
                lambda context: open("/etc/passwd").close(),
                lambda context: Path("/etc/passwd").read_bytes(),
                lambda context: quietly(lambda: Path("/nowhere/a").write_text("x")),
                lambda context: quietly(lambda: os.unlink("/nowhere/a")),
                lambda context: quietly(lambda: os.open("/nowhere/a", os.O_RDONLY)),
                lambda context: list(os.scandir("/")),
                lambda context: quietly(lambda: os.mkdir("/nowhere/a")),
                lambda context: quietly(lambda: os.rename("/nowhere/a", "/nowhere/b")),
                lambda context: subprocess.run(["true"], check=True),
                lambda context: os.system("true"),
                lambda context: quietly(lambda: os.kill(os.getpid(), 0)),
                lambda context: quietly(connect),
                lambda context: quietly(lambda: socket.getaddrinfo("localhost", 80)),
                lambda context: sqlite3.connect("/nowhere/a"),
                lambda context: quietly(lambda: os.chdir("/")),
                lambda context: quietly(lambda: os.environ.update(WINK_TRY="1")),
                in_thread(lambda: open("/etc/passwd").close()),
                in_thread(lambda: subprocess.run(["true"], check=True)),
                own_files,
            ]
        )
    ),
    (broken("Popens", doing(lambda context: connect(), effects="process")), EFFECTS),
    (broken("Past", doing(around_the_handle, effects="process"), "disk"), EFFECTS),
    (broken("PastOutside", doing(around_the_handle, effects="external"), "disk"), EFFECTS),
    (broken("OnTheMainThread", doing(on_the_main_thread)), "test_it_works_on_an_event_loop"),
    (broken("Counts", doing_first(asking_twice)), "test_it_says_the_same_again"),
    (broken("Remembers", doing_first(remembering)), "test_a_failed_call_is_forgotten"),
    (broken("KeepsInResource", doing(tell_count), resource=Counter), "test_a_failed_call_is_forgotten"),
    (broken("Unequal", returning(Unequal, lambda _: ToolResult("x", Unequal(1)))), "test_its_result_survives_json"),
    (broken("Unheard", returning(Unheard, lambda _: ToolResult("x", Unheard(object())))), "test_its_result_survives_json"),
    (
        broken("Restless", returning(Restless, lambda _: ToolResult("x", Restless(1)))),
        "test_its_reply_is_text_for_the_model",
    ),
    (
        broken("SaysRoot", returning(None, lambda context: ToolResult(f"in {context.filesystem.root}", None))),
        "test_its_reply_is_text_for_the_model",
    ),
    (broken("NotUndone", doing(around_the_handle)), "test_it_can_be_undone"),
    (broken("LeavesFiles", doing(around_the_handle), "disk"), "test_a_failure_leaves_nothing"),
    (broken("LeavesState", doing(beside)), "test_a_failure_leaves_nothing"),
    (broken("LeavesResource", doing(count_up), resource=Forgetful), "test_a_failure_leaves_nothing"),
    (broken("Swallows", doing(swallow)), "test_an_interruption_leaves_nothing"),
    (broken("LeavesStateInterrupted", doing(beside)), "test_an_interruption_leaves_nothing"),
    (
        broken("Bitter", lambda: Tool[Bitter, None]("notes_add", "Add.", lambda params, *, context: ToolResult("x", None))),
        "test_wrong_arguments_are_refused_with_words",
    ),
]  # fmt: skip


class TestSound(ToolContract):
    """What the broken ones are made of keeps every promise."""

    @pytest.fixture
    def tool(self) -> Tool[Any, Any]:
        return doing(lambda context: None)()

    arguments = {"text": "hi"}


class TestCareful(TestSound):
    """So does one that looks as if it did not: what it does is done by wink, by an import, or is not the machine's."""

    @pytest.fixture
    def tool(self) -> Tool[Any, Any]:
        return doing(careful)()


def careful(context: ToolContext) -> None:
    import colorsys  # which has to be opened
    import importlib
    import io
    import zoneinfo

    importlib.reload(colorsys)
    for key in sorted(zoneinfo.available_timezones())[:1]:
        zoneinfo.ZoneInfo.no_cache(key)
    io.StringIO("x").read()
    sqlite3.connect(":memory:").close()
    with open(os.devnull, "w") as nothing:
        nothing.write("x")
    with context.filesystem.open_text("careful.md", "w") as stream:
        stream.write("x")
    context.filesystem.grep("(?=a)a")  # in a process that can be killed
    with context.filesystem.fs.open("view.bin", "wb") as binary:
        binary.write(b"x")


class TestCarefulOnDisk(TestCareful):
    """And where wink opens real files for it."""

    fs = "disk"


class TestProgram(TestSound):
    """A tool that says so may start programs, and write elsewhere."""

    @pytest.fixture
    def tool(self, tmp_path: Path) -> Tool[Any, Any]:
        def act(context: ToolContext) -> None:
            (tmp_path / "scratch").write_text("x")
            subprocess.run(["true"], check=True)

        return doing(act, effects="process")()


@pytest.mark.timeout(600)
def test_every_broken_promise_is_found(pytester: pytest.Pytester) -> None:
    """By the test that is there for it, whose report says what was promised and what to do."""
    assert_each_is_caught(pytester, __name__, "BROKEN", [contract.__name__ for contract, _ in BROKEN])
