"""A server that four clients use survives every kind of handler, policy and mounted server, and answers meanwhile.

One client calls what fails; the three others are answered while that is so, and afterwards may change files. What failed has
left nothing in the files, and the record says that it failed.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from mcp import Client
from plugins.mcp.tests.failures.plugin import SERVERS
from plugins.mcp.tests.mount.helpers import SERVERS as SERVERS_PATH

from wink.testing import fake_distribution
from wink.workspace import open_record

BOUND: Final = 60.0
"""How many seconds any answer may take at the most."""

PLUGIN: Final = Path(__file__).with_name("plugin.py")
MODES: Final = ("auto", "legacy", "2026-07-28", "legacy")


class Row(NamedTuple):
    """One thing that fails; `says` is in the answer. `works` where there is nothing to fail."""

    tool: str
    says: str
    works: bool = False
    slow: bool = False
    """Whether it lasts so long that others are certain to be answered meanwhile."""


ROWS: Final = (
    Row("raises_system_exit", "failed with SystemExit"),
    Row("raises_exit_with_text", "failed with SystemExit"),
    Row("raises_interrupt", "failed with KeyboardInterrupt"),
    Row("raises_generator_exit", "failed with GeneratorExit"),
    Row("raises_cancelled", "failed with CancelledError"),
    Row("raises_own", "failed with Own"),
    Row("raises_group", "failed with BaseExceptionGroup"),
    Row("raises_deep_group", "failed with BaseExceptionGroup"),
    Row("raises_mute", "failed with Mute"),
    Row("raises_huge", "failed with ValueError"),
    Row("raises_stop_iteration", "failed with RuntimeError"),
    Row("raises_os_error", "failed with FileNotFoundError"),
    Row("raises_system_exit_async", "failed with SystemExit"),
    Row("raises_interrupt_async", "failed with KeyboardInterrupt"),
    Row("raises_cancelled_async", "failed with CancelledError"),
    Row("raises_unshowable_async", "failed with Mute"),
    Row("recurses", "failed with RecursionError"),
    Row("eats_memory", "failed with MemoryError"),
    Row("returns_none", "returned None where a ToolResult was expected"),
    Row("returns_text", "returned a str where a ToolResult was expected"),
    Row("returns_bytes", "__4=", works=True),
    Row("returns_nan", "its result could not be rendered: $: nan is not a JSON number"),
    Row("returns_object", "its result could not be rendered: $: JSON cannot hold a value of type 'object'"),
    Row("returns_lock", "its result could not be rendered: $[0]: JSON cannot hold a value of type 'lock'"),
    Row("returns_cycle", "its result could not be rendered: $: is nested too deeply, or contains itself"),
    Row("returns_surrogate", "half \\ud800 of it", works=True),
    Row("returns_huge", "xxx", works=True),
    Row("returns_number_as_message", "whose message is not text"),
    Row("returns_unshowable", "its result could not be rendered (SystemExit"),
    Row("returns_generator", "returned a generator where a ToolResult was expected"),
    Row("returns_coroutine", "returned a list where a ToolResult was expected"),
    Row("changes_much", "failed with ValueError"),
    Row("cancels_itself", "failed with CancelledError"),
    Row("leaves_task", "failed with SystemExit"),
    Row("stops_loop", "failed with RuntimeError"),
    Row("sleeps", "timed out after 1 s", slow=True),
    Row("blocks_loop", "timed out after 1 s", slow=True),
    Row("refuses_to_end", "timed out after 1 s", slow=True),
    Row("waits_in_executor", "timed out after 1 s", slow=True),
    Row("leaves_thread", "returned a str where a ToolResult was expected"),
    Row("exits_in_thread", "survived", works=True),
    Row("stays_in_thread", "survived", works=True),
    Row("sets_signals", "failed with ValueError"),
    Row("prints", "survived", works=True),
    Row("policy_exits", "policy 'failing' denied policy_exits: its check raised SystemExit"),
    Row("policy_interrupts", "policy 'failing' denied policy_interrupts: its check raised KeyboardInterrupt"),
    Row("policy_raises_own", "policy 'failing' denied policy_raises_own: its check raised Own"),
    Row("policy_sleeps", "policy 'failing' denied policy_sleeps: it did not answer within 5 s", slow=True),
    Row("policy_says_nothing", "policy 'failing' denied policy_says_nothing: its check returned None"),
    Row("policy_is_async", "policy 'failing' denied policy_is_async: its check returned coroutine"),
    Row("policy_says_yes", "policy 'failing' denied policy_says_yes: its check returned str"),
    Row("policy_changes_arguments", "done", works=True),
    Row("policy_writes", "policy_writes is written, and denied"),
    Row("learns_exit", "policy 'failing' could not learn of it (SystemExit"),
    Row("learns_never", "policy 'failing' did not learn of it within 5 s", slow=True),
    Row("learns_async", "its on_result is asynchronous"),
    Row("dead_call", "there is no tool 'dead_call'"),
    Row("malformed_call", "there is no tool 'malformed_call'"),
    Row("crashing_call", "was lost during the call: it ended with status 3"),
    Row("halving_call", "was lost during the call: it ended with status 0"),
    Row("hanging_call", "the server did not answer within 2 s", slow=True),
    Row("late_call", "the server did not answer within 2 s", slow=True),
    Row("huge_call", "it sent a message of more than 1048576 bytes"),
    Row("ids_call", "right", works=True),
    Row("nonsense_call", "the server's answer makes no sense"),
    Row("void_call", "the server's answer makes no sense"),
    Row("asking_call", "the server's answer makes no sense"),
    Row("broken_call", "the server did not answer within 2 s", slow=True),
    Row("surrogate_call", "a?b", works=True),
    Row("garbage_call", "{}", works=True),
    Row("changing_tool_1", ""),
    Row("closed_call", "the server refused the call: Connection closed"),
    Row("licence_call", "the server refused the call: the licence has run out"),
    Row("upstream_call", "the server refused the call: timed out at the upstream"),
    Row("internal_call", "the server refused the call: Session terminated by the operator"),
    Row("ending_call", "out of memory"),
    Row("twice_call", "said", works=True),
)
"""What fails in its own call. A mounted server's tool is called `<server>_call`."""

PROCESS_ROWS: Final = (
    Row("changes_directory", "survived", works=True),
    Row("changes_umask", "survived", works=True),
    Row("clears_environment", "survived", works=True),
    Row("closes_stdin", "survived", works=True),
    Row("closes_stdout", "survived", works=True),
    Row("closes_streams", "failed with ValueError"),
    Row("forgets_streams", "failed with ValueError"),
)
"""What changes the process for all that come after it."""


class Four:
    """Four clients of one server, on an event loop of their own."""

    def __init__(self, url: str, place: Path) -> None:
        self.place = place
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._clients: list[Client] = []
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._failed: list[BaseException] = []
        self._hosting = asyncio.run_coroutine_threadsafe(self._host(url), self._loop)
        assert self._ready.wait(BOUND)
        assert not self._failed, self._failed

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, BOUND), self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        try:
            self._hosting.result(BOUND)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(BOUND)
            self._loop.close()

    async def called(self, row: Row) -> tuple[bool, str, int]:
        """Call what fails, as the first client; and how often each of the others was answered meanwhile."""
        first, *others = self._clients
        call = asyncio.create_task(first.call_tool(row.tool, {}))

        async def look(client: Client) -> int:
            times = 0
            while True:
                was_over = call.done()
                seen = text_of(await client.call_tool("peek", {"text": "a.txt"}))
                # What a call has done so far is on the disk, where everybody sees it, until it is taken back.
                assert seen == "before" or not was_over
                if was_over:
                    return times
                times += 1
                await asyncio.sleep(0.05)

        times = await asyncio.gather(*map(look, others))
        result = await call
        return bool(result.is_error), text_of(result), min(times)

    async def noted(self, row: Row) -> None:
        """All four change files."""
        calls = [one.call_tool("note", {"text": f"{row.tool}-{number}"}) for number, one in enumerate(self._clients)]
        answers = await asyncio.gather(*calls)
        assert [text_of(answer) for answer in answers] == [f"noted {row.tool}-{number}" for number in range(4)]

    async def _host(self, url: str) -> None:
        try:
            async with AsyncExitStack() as stack:
                for number, mode in enumerate(MODES):
                    client = Client(f"{url}/client{number}", mode=mode)
                    self._clients.append(await stack.enter_async_context(client))
                    await client.list_tools()
                self._ready.set()
                await self._over.wait()
        except BaseException as error:
            self._failed.append(error)
            raise
        finally:
            self._ready.set()


def text_of(result: Any) -> str:
    return "\n".join(getattr(block, "text", "") for block in result.content)


@pytest.fixture(scope="module", params=[True, False], ids=["mounted", "alone"])
def four(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Four]:
    """A server, with everything that fails, and its clients; the rows share it."""
    directory = tmp_path_factory.mktemp("failures")
    place = directory / "place"
    place.mkdir()
    (place / "a.txt").write_text("before")
    servers = SERVERS if request.param else {}
    sections = {f"fail.{name}": f"failures_plugin:{name}" for name in servers}
    points = {
        "wink.sections": {"fail.handlers": "failures_plugin:handlers", **sections},
        "wink.policies": {"fail.policy": "failures_plugin:policy"},
    }
    modules = {"failures_plugin": PLUGIN.read_text()}
    options = [word for name in ("fail.handlers", *sections) for word in ("--section", name)]
    with fake_distribution("fail", entry_points=points, modules=modules, directory=directory / "plugin") as plugin:
        environment = {
            "PYTHONPATH": plugin.path,
            "FAILURES_SERVERS": SERVERS_PATH,
            "FAILURES_PLACE": str(directory),
            "XDG_CONFIG_HOME": str(directory / "config"),
        }
        with served(place, directory / "said", *options, "--policy", "fail.policy", environment=environment) as url:
            clients = Four(url, place)
            try:
                yield clients
            finally:
                clients.close()


@contextmanager
def served(place: Path, said: Path, *options: str, environment: dict[str, str]) -> Iterator[str]:
    """The URL of a server that says what it has to say in a file: there is more of it than a pipe holds."""
    command = [sys.executable, "-m", "wink", "serve", *options, "--no-token", "--http", "127.0.0.1:0"]
    with said.open("wb") as errors:
        process = subprocess.Popen(command, cwd=place, env={**os.environ, **environment}, stderr=errors)
    try:
        until = time.monotonic() + BOUND
        while "serving at" not in said.read_text():
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
        yield said.read_text().partition("serving at ")[2].split()[0]
        assert process.poll() is None, said.read_text(errors="replace")[-4000:]
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


def check(four: Four, row: Row) -> None:
    is_error, said, times = four.run(four.called(row))
    four.run(four.noted(row))

    assert row.says in said
    assert is_error != row.works, said
    assert not is_error or row.tool in said
    assert "/etc/" not in said
    assert times > 0 or not row.slow
    own = four.place / f"{row.tool}.txt"
    assert own.exists() == (row.works and not row.tool.endswith("_call"))
    assert (four.place / "a.txt").read_text() == "before"
    assert not (four.place / "much").exists()
    assert not (four.place / "late.txt").exists()
    assert len(list((four.place / "notes").glob(f"{row.tool}-*"))) == 4
    with closing(open_record(four.place)) as record:
        kept = [call for call in record.calls(None, 20) if call.tool == row.tool]
    assert [call.committed for call in kept] == [row.works]


@pytest.mark.parametrize("four", [True], indirect=True, ids=["mounted"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.tool)
def test_what_fails_breaks_nothing_else(four: Four, row: Row) -> None:
    """Each fails with words of its own, and the three others do not notice."""
    check(four, row)


@pytest.mark.parametrize("four", [False], indirect=True, ids=["alone"])
@pytest.mark.parametrize("row", PROCESS_ROWS, ids=lambda row: row.tool)
def test_what_changes_the_process_does_not_end_it(four: Four, row: Row) -> None:
    """What a handler does to the process stays; the server goes on with it."""
    check(four, row)
