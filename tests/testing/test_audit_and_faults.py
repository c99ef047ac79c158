"""The audit of effects, the failing at every step, light imports and drawn calls."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings

from wink.errors import ParseError
from wink.prompt import MarkdownSection, Section
from wink.testing import (
    Harness,
    ToolCall,
    UndeclaredEffects,
    assert_import_light,
    audit_effects,
    fail_at_every_step,
    fake_distribution,
    strategies,
)
from wink.tools import Tool, ToolContext, ToolExample, ToolResult

pytest_plugins = ["pytester"]


# -- the audit


def look() -> None:
    """Reads what it must not."""
    open("/etc/passwd").close()


def test_what_and_where_is_told_with_what_to_do() -> None:
    """And what was done did not happen."""
    place = Path("/nowhere/at/all")
    with pytest.raises(UndeclaredEffects) as raised, audit_effects("workspace", tool="notes_add"):
        place.write_text("x")
    error = raised.value
    assert error.tool == "notes_add"
    assert error.actions[0].startswith("opens '/nowhere/at/all' to write it, at testing/test_audit_and_faults.py:")
    assert "in test_what_and_where_is_told_with_what_to_do" in error.actions[0]
    assert "context.filesystem" in str(error)


def test_code_that_catches_everything_does_not_hide_it() -> None:
    """The handler may go on; the test fails."""
    with pytest.raises(UndeclaredEffects), audit_effects("read"):
        try:
            look()
        except Exception:
            pass


def test_what_tasks_and_threads_do_counts() -> None:
    """Of the loop, of a pool that began in the block, and of a thread of a thread."""

    async def tasks() -> None:
        await asyncio.gather(*(asyncio.to_thread(quietly, look) for _ in range(2)), asyncio.create_task(soon()))

    async def soon() -> None:
        quietly(look)

    def pool() -> None:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(quietly, look).result()

    def nested() -> None:
        run_in_thread(lambda: run_in_thread(lambda: quietly(look)))

    for act in (lambda: asyncio.run(tasks()), pool, nested):
        with pytest.raises(UndeclaredEffects, match="/etc/passwd"), audit_effects("workspace"):
            act()


def test_others_are_left_alone() -> None:
    """Threads that were there before, what comes after, and what is declared."""
    go_on, done = threading.Event(), threading.Event()

    def other() -> None:
        go_on.wait(30)
        look()
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with audit_effects("workspace"):
        go_on.set()
        assert done.wait(30)
    thread.join()
    look()
    with audit_effects("external"):
        look()


def test_some_places_may_be_allowed(tmp_path: Path) -> None:
    """Such as a cache that everybody shares."""
    with audit_effects("workspace", allow=[tmp_path]):
        (tmp_path / "a").write_text("x")
        (tmp_path / "a").unlink()
    with pytest.raises(UndeclaredEffects), audit_effects("workspace", allow=[tmp_path / "b"]):
        (tmp_path / "a").write_text("x")


def test_imports_and_data_of_packages_may_be_read() -> None:
    """They are code, and not the workspace."""
    inner = """
    import os
    here = os.path.dirname(__file__)
    def look(path):
        open(os.path.join(here, path)).close()
    """
    modules = {"wink_birds.inner.look": inner, "wink_birds.inner": "", "wink_birds.data": ""}
    modules["wink_birds"] = "with open(__file__) as file: names = file.read()"
    with fake_distribution("wink-birds", modules=modules):
        with audit_effects("workspace"):
            found: Any = __import__("wink_birds.inner.look").inner.look
            found.look("../data.py")
        with pytest.raises(UndeclaredEffects, match="elsewhere"), audit_effects("workspace"):
            found.look("../../elsewhere")


def test_a_package_may_act_for_the_tools_of_others(tmp_path: Path, harness: Harness) -> None:
    """As the sandbox does around programs; what it does not name counts as ever, and so does what its own tools do."""
    source = """
    import subprocess
    from wink.tools import ToolContext, ToolResult

    __acts_for_tools__ = ("changes",)

    def act(path):
        open(path, "w").close()

    def start():
        subprocess.run(["true"])

    def own(params: None, *, context: ToolContext) -> ToolResult[None]:
        act("elsewhere")
        return ToolResult.ok(None)
    """
    with fake_distribution("fake-guard", modules={"fake_guard": source}, directory=tmp_path / "site"):
        guard: Any = __import__("fake_guard")
        with audit_effects("workspace"):
            guard.act(tmp_path / "made")
        with pytest.raises(UndeclaredEffects, match="true"), audit_effects("workspace"):
            guard.start()
        harness.use(Tool[None, None]("own", "Act.", guard.own, effects="read"))
        with pytest.raises(UndeclaredEffects, match="elsewhere"):
            harness.call("own")
    assert (tmp_path / "made").exists()


def test_a_pool_of_the_plugin_counts_wherever_it_began() -> None:
    """Its threads were there before the call, and what they do for it is the call's."""
    module = """
    from concurrent.futures import ThreadPoolExecutor
    from wink.tools import Tool, ToolContext, ToolResult
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    def look():
        try:
            open("/etc/passwd").close()
        except Exception:
            pass
    def peek(params: None, *, context: ToolContext) -> ToolResult[None]:
        pool.submit(look).result()
        return ToolResult("looked", None)
    PEEK = Tool[None, None]("peek", "Look.", peek)
    """
    with fake_distribution("wink-birds", modules={"wink_birds_of_a_test": module}), Harness() as harness:
        found: Any = __import__("wink_birds_of_a_test")
        harness.use(found.PEEK)
        with pytest.raises(UndeclaredEffects, match="/etc/passwd"):
            harness.call("peek")
        found.pool.shutdown()


def test_what_a_thread_does_later_is_told_at_the_end() -> None:
    """The call was over; the test is not."""
    go_on = threading.Event()
    threads: list[threading.Thread] = []

    def later() -> None:
        go_on.wait(30)
        quietly(look)

    def start(params: None, *, context: ToolContext) -> ToolResult[None]:
        threads.append(threading.Thread(target=later))
        threads[-1].start()
        return ToolResult("started", None)

    harness = Harness()
    harness.use(Tool[None, None]("start", "Start.", start))
    assert harness.call("start").success
    go_on.set()
    threads[0].join()
    with pytest.raises(UndeclaredEffects, match="/etc/passwd"):
        harness.close()


def quietly(act: Callable[[], object]) -> None:
    """As a careless author would."""
    try:
        act()
    except Exception:
        return


def run_in_thread(act: Callable[[], object]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


# -- failing at every step


@dataclass(frozen=True)
class Add:
    """A note."""

    text: str


def add(params: Add, *, context: ToolContext) -> ToolResult[Add]:
    """Add a note, in many steps."""
    files = context.filesystem
    if files.exists("notes.md"):
        files.move("notes.md", "old/notes.md")
    with files.open_text("notes.md", "w") as stream:
        stream.write(params.text)
    with files.fs.open("copy.md", "wb") as copy:
        copy.write(b"x")
    context.session[Add].append(params)
    context.session.dispatch(params)
    return ToolResult("added", params)


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_call_is_failed_at_each_step_that_it_takes(tmp_path: Path, place: str) -> None:
    """On files, through streams and views, on the session; before the first line and after the last."""
    with Harness(root=None if place == "memory" else tmp_path) as harness:
        harness.use(Tool[Add, Add]("notes_add", "Add.", add))
        harness.write("notes.md", "one")
        report = fail_at_every_step(harness, "notes_add", text="hi")
        names = report.names
        assert names[:4] == (
            "its first line",
            "resources.get(Filesystem)",
            "filesystem.exists('notes.md')",
            "filesystem.move('notes.md', 'old/notes.md')",
        )
        assert names[-3:] == (*["a write to the session's Add"] * 2, "its end, when everything had been done")
        assert "a stream's write" in names
        assert all(step.is_fine for step in report.steps)
        assert "notes_add was failed at" in str(report)
        assert harness.tree() == {"notes.md": "one"}
        assert len(harness.events) == len(names)
        assert harness.call("notes_add", text="hi").success


def test_the_step_that_left_something_is_named(harness: Harness) -> None:
    """With what was left; what came before it was fine."""
    kept = harness.session

    def leave(params: Add, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.write("a.txt", "x")
        run_in_thread(lambda: kept[Add].append(params))
        context.filesystem.write("b.txt", "x")
        return ToolResult("left", None)

    harness.use(Tool[Add, None]("leave", "Leave.", leave))
    with pytest.raises(AssertionError) as raised:
        fail_at_every_step(harness, ToolCall("leave", '{"text": "x"}'))
    told = str(raised.value)
    assert "before filesystem.write('b.txt')\n     the slice Add is there: (Add(text='x'),)" in told
    assert "before its end" in told
    assert "a.txt" not in told
    assert harness.state() == {}


def test_a_handler_that_goes_on_is_told_apart(harness: Harness) -> None:
    """What it did then stands, which is no leftover."""

    def careless(params: None, *, context: ToolContext) -> ToolResult[None]:
        files = context.filesystem
        try:
            files.delete("cache")
        except Exception:
            pass
        files.write("a.txt", "x")
        return ToolResult("done", None)

    harness.use(Tool[None, None]("careless", "Careless.", careless))
    report = fail_at_every_step(harness, "careless")
    assert [step.name for step in report.swallowed] == ["filesystem.delete('cache')"]
    assert report.left == ()
    assert harness.tree() == {}


def test_a_call_that_fails_by_itself_proves_nothing(harness: Harness) -> None:
    """And is refused with its reply."""
    harness.use(Tool[Add, Add]("notes_add", "Add.", add))
    with pytest.raises(ValueError, match="give arguments with which it succeeds"):
        fail_at_every_step(harness, "notes_add", words="hi")


# -- light imports


def test_who_loads_what_is_forbidden_is_named() -> None:
    """So that nobody has to look for it."""
    modules = {"wink_birds": "from wink_birds import deeper", "wink_birds.deeper": "\nimport json.tool"}
    with fake_distribution("wink-birds", modules=modules):
        assert "wink_birds.deeper" in assert_import_light("wink_birds", forbid={"pydantic"}).modules
        with pytest.raises(AssertionError, match=r"json \(asked for by wink_birds\.deeper, line 2\)"):
            assert_import_light("wink_birds", forbid={"json", "pydantic"})


def test_a_time_is_only_asked_for_when_it_is_given() -> None:
    """And who took it is told."""
    with fake_distribution("wink-birds", modules={"wink_birds": "import json, decimal"}):
        assert_import_light("wink_birds", under_ms=60_000)
        with pytest.raises(AssertionError, match=r"and may take 0; the slowest of what it loads:\n +\d+\.\d ms  \w+"):
            assert_import_light("wink_birds", under_ms=0)
    with fake_distribution("wink-birds", modules={"wink_birds": "raise SystemExit('no')"}):
        with pytest.raises(AssertionError, match="cannot be imported by itself:\nno"):
            assert_import_light("wink_birds")


# -- drawn calls


class Colour(Enum):
    """Some colours."""

    RED = "red"
    BLUE = 2


@dataclass(frozen=True)
class Node:
    """A tree."""

    name: str
    children: list[Node] = field(default_factory=list["Node"])


@dataclass(frozen=True)
class Everything:
    """Every kind of field."""

    count: int = field(metadata={"ge": 3, "lt": 9})
    share: float = field(metadata={"gt": 0, "le": 1})
    word: str = field(metadata={"min_length": 2, "max_length": 5})
    kind: Literal["a", "b", 3]
    colour: Colour
    tree: Node
    sizes: dict[str, int]
    pair: tuple[int, str]
    many: tuple[bool, ...]
    names: frozenset[str]
    when: datetime
    day: date
    hour: time
    span: timedelta
    ident: UUID
    data: bytes
    maybe: int | str | None = None
    anything: Any = None


@dataclass(frozen=True)
class Strange:
    """Lets next to nothing through."""

    word: str

    def __post_init__(self) -> None:
        if self.word != "sesame":
            raise ValueError("say the word")


def do(params: Any, *, context: ToolContext) -> ToolResult[None]:
    """Do nothing."""
    return ToolResult("done", None)


EVERYTHING = Tool[Everything, None]("everything", "Takes everything.", do)
STRANGE = Tool[Strange, None]("strange", "Takes one word.", do, [ToolExample("The word.", Strange("sesame"), None)])
NOTHING = Tool[None, None]("nothing", "Takes nothing.", do)


def section() -> Section[Any]:
    """One with all of them."""
    return MarkdownSection(
        "Tools", "Use them.", tools=[EVERYTHING, NOTHING], children=[Section("More", tools=[STRANGE])]
    )


@given(strategies.params_for(EVERYTHING))
@settings(max_examples=30, deadline=None)
def test_parameters_are_drawn_as_handlers_get_them(params: Any) -> None:
    """Within the bounds that their fields have."""
    assert isinstance(params, Everything)
    assert 3 <= params.count < 9
    assert 0 < params.share <= 1
    assert 2 <= len(params.word) <= 5


@given(strategies.calls(section()), strategies.bad_calls(section()))
@settings(max_examples=30, deadline=None)
def test_calls_are_taken_and_bad_ones_refused(call: ToolCall, bad: ToolCall) -> None:
    """By the tool that they are for."""
    tools = {tool.name: tool for tool in (EVERYTHING, NOTHING, STRANGE)}
    tools[call.name].parse(call.arguments)
    with pytest.raises(ParseError):
        tools[bad.name].parse(bad.arguments)


@given(strategies.bad_calls(section()))
@settings(max_examples=20, deadline=None)
def test_bad_calls_never_reach_a_handler(call: ToolCall) -> None:
    """The property that a plugin's own test would have."""
    with Harness() as harness:
        harness.use(section())
        assert not harness.send(call).success


def test_a_section_without_tools_has_no_calls() -> None:
    """Which is said at once."""
    with pytest.raises(ValueError, match="brings no tools"):
        strategies.calls(Section("Empty"))


def test_the_process_is_as_before() -> None:
    """What was refused has not happened."""
    directory = os.getcwd()
    with pytest.raises(UndeclaredEffects), audit_effects("process"):
        os.chdir("/")
    assert os.getcwd() == directory
