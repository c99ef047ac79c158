"""Whatever a script does, it ends in time, within its memory, and says little."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.limits import Deadline
from wink.runtime import ToolCall
from wink_asteval import AstevalConfig

from .conftest import Agent

MIB = 1024 * 1024


def children() -> set[int]:
    """The processes that this one has started and that are not gone."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended since
            found.update(map(int, (task / "children").read_text().split()))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No evaluation leaves a process, a descriptor or a temporary file behind."""
    before, temporary = children(), set(os.listdir(tempfile.gettempdir()))
    descriptors = len(os.listdir("/proc/self/fd"))
    yield
    for _ in range(1000):  # a call that was given up may be ending still
        if children() == before and len(os.listdir("/proc/self/fd")) <= descriptors:
            break
        select.select([], [], [], 0.01)
    assert children() == before
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert not {name for name in set(os.listdir(tempfile.gettempdir())) - temporary if "asteval" in name}


ENDLESS = [
    "while True: pass",
    "pow(7, 10 ** 8)",
    "x = 7 ** 9999\nwhile True: x = x * x",
    "import itertools\nlist(filter(lambda x: False, itertools.count()))",
    "sum(itertools.count())",
    "max(itertools.repeat(1))",
    "10 ** 7 in itertools.repeat(1)",
    "import re\nre.match('(a+)+$', 'a' * 100 + 'b')",
    "math.factorial(10 ** 8)",
    "sorted(range(10 ** 6), key=lambda x: sorted(range(10 ** 6)))",
    "try:\n    while True: pass\nexcept BaseException:\n    pass\nwhile True: pass",
    "while True:\n    try:\n        x = [0] * 10 ** 12\n    except MemoryError:\n        pass",
    "def f():\n    try: f()\n    finally: f()\nf()",
    "x = [[]]\nfor i in range(60): x = [x, x]\nstr(x)",
]


@pytest.mark.parametrize("code", ENDLESS)
def test_what_does_not_end_is_stopped(agent_with: Callable[..., Agent], files: Filesystem, code: str) -> None:
    """Inside C code too, where no signal handler of Python's would ever run."""
    agent = agent_with(timeout_seconds=0.5)

    told = agent.error(f"write_text('a.txt', 'x')\n{code}")

    assert "stopped after 0.5 s" in told or "MemoryError" in told or "RecursionError" in told
    assert "Nothing was written." in told
    assert not files.exists("a.txt")


HUGE = [
    "'a' * 10 ** 10",
    "10 ** 10 ** 8",
    "1 << 10 ** 9",
    "[0] * 10 ** 10",
    "list(range(10 ** 9))",
    "sorted(range(10 ** 9))",
    "bytearray(10 ** 10)",
    "'%1000000000d' % 1",
    "format(1, '>1000000000')",
    "f'{1:>1000000000}'",
    "'{:>1000000000}'.format(1)",
    "x = 'a'\nfor i in range(60): x = x + x",
    "x = [1]\nfor i in range(60): x += x",
    "x = {}\nfor i in range(10 ** 9): x[i] = [i]",
    "'a'.ljust(10 ** 10)",
    "','.join(['a' * 10 ** 6] * 10 ** 4)",
    "b'a' * 10 ** 10",
    "(1,) * 10 ** 10",
    "'aaaa'.replace('a', 'b' * 10 ** 7 ).replace('b', 'c' * 1000)",
    "import itertools\nlist(itertools.product(range(1000), repeat=3))",
    "print('a' * 6 * 10 ** 7 + 'b')\n'a' * 6 * 10 ** 7 + 'b' and list(range(10 ** 9))",
]


@pytest.mark.parametrize("code", HUGE)
def test_what_needs_too_much_memory_fails(agent_with: Callable[..., Agent], code: str) -> None:
    """With a word on what went wrong; the machine does not notice."""
    told = agent_with(memory_bytes=128 * MIB, timeout_seconds=20).error(code)

    words = ("needs more than the 128 MiB that it may use", "max exponent", "max string length", "left shift")
    assert any(word in told for word in (*words, "OverflowError", "ValueError"))
    assert len(told) < 10_000


def test_output_keeps_its_head_and_its_tail(agent: Agent) -> None:
    """A flood tells most at its beginning and at its end."""
    result = agent.result("for i in range(100000): print(i)\n'x' * 100000")

    assert result.stdout.startswith("0\n1\n2\n")
    assert result.stdout.endswith("99998\n99999\n")
    assert "characters left out ...]" in result.stdout
    assert result.value_repr is not None
    assert "\n[... 95,906 characters left out ...]\n" in result.value_repr
    assert len(result.stdout) + len(result.value_repr) < 2 * 4096 + 200


def test_large_globals_are_named_only(agent: Agent) -> None:
    """Their values would fill the request."""
    found = agent.result(
        "a = list(range(10 ** 6))\nb = 'x' * 10 ** 6\nc = 1\nd = {i: i for i in range(10 ** 5)}"
    ).globals

    assert found["a"] == "!repr:<list of 1000000 items>"
    assert found["c"] == 1
    assert found["d"] == "!repr:<dict of 100000 items>"
    assert len(str(found)) < 5000


def test_many_globals_are_cut(agent_with: Callable[..., Agent]) -> None:
    """There is a bound on all of them together."""
    agent = agent_with(max_output_chars=200)

    found = agent.result("\n".join(f"name_{i} = {i}" for i in range(500))).globals

    assert 10 < len(found) < 30


def test_a_traceback_of_a_deep_recursion_is_short(agent: Agent) -> None:
    """The calls at both ends say enough."""
    told = agent.error("def f(n): return f(n + 1)\nf(0)")

    assert "more calls ...]" in told
    assert len(told) < 1500


def test_a_large_file_goes_in_and_out(agent: Agent, files: Filesystem) -> None:
    """Megabytes are no problem: they do not go through the model."""
    files.write("in.txt", "é😀\n" * 400_000)

    agent.result("write_text('out.txt', read_text('in.txt').upper())", reads=[{"path": "in.txt"}])

    assert files.read_bytes("out.txt") == ("É😀\n" * 400_000).encode()


def test_a_deadline_that_comes_first_counts(files: Filesystem) -> None:
    """The run's time is the shorter one; the run ends then, as with every tool."""
    from wink.errors import PromptEvaluationError

    agent = Agent(files, AstevalConfig(timeout_seconds=60), deadline=Deadline.after(1))

    with pytest.raises(PromptEvaluationError):
        agent.call("write_text('a.txt', 'x')\nwhile True: pass")
    assert not files.exists("a.txt")


@pytest.mark.parametrize("prestart", [False, True])
def test_fifty_evaluations_at_once(prestart: bool) -> None:
    """Each in its own process, none knowing of another."""
    found: dict[int, Any] = {}
    agents = [Agent(InMemoryFilesystem(), AstevalConfig(timeout_seconds=60, prestart=prestart)) for _ in range(50)]

    def run(number: int) -> None:
        found[number] = agents[number].value(f"x = {number}\nsum(range(x))")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for agent in agents:
        agent.section.cleanup()

    assert found == {number: str(sum(range(number))) for number in range(50)}


def prestarted(agent: Agent) -> int:
    """The process that waits for the next evaluation."""
    (spare,) = agent.section._handler.workers._spares
    return spare.result().pid


def test_a_process_started_ahead_is_used_once(files: Filesystem) -> None:
    """And goes with its section."""
    before = children()
    agent = Agent(files, AstevalConfig(prestart=True))
    agent.result("x = 1")
    spare = prestarted(agent)
    assert "NameError" in agent.error("x")
    assert spare not in children()
    spare = prestarted(agent)
    with os.fdopen(os.pidfd_open(spare), "rb", buffering=0) as gone:
        os.kill(spare, signal.SIGKILL)
        assert select.select([gone], [], [], 30)[0]
    assert agent.value("2") == "2"

    agent.section.cleanup()
    assert children() == before


def test_a_forgotten_section_takes_its_process_along(files: Filesystem) -> None:
    """Nobody has to call `cleanup`."""
    import gc

    before = children()
    agent = Agent(files, AstevalConfig(prestart=True))
    agent.result("1")
    assert prestarted(agent) in children()

    del agent
    gc.collect()
    assert children() == before


ORPHAN = """
import sys
from wink_asteval._library import library_directory
from wink_asteval._starting import start
process = start(library_directory()).result()
assert process.stdout.read(6) == b"ready\\n"
job = b'{"code": "while True: pass", "globals": {}, "reads": {}, "writes": [], "seconds": 600, "memory_bytes": 268435456, "output_chars": 100, "write_chars": 100, "filter": true}'
if sys.argv[1] == "busy":
    process.stdin.write(b"%d\\n" % len(job) + job)
print(process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("state", ["busy", "idle"])
def test_an_evaluation_dies_with_its_parent(state: str) -> None:
    """However suddenly that ends: nothing of ours goes on computing for nobody."""
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent, os.fdopen(os.pidfd_open(int(parent.stdout.readline())), "rb", closefd=True, buffering=0) as worker:
        parent.kill()
        assert select.select([worker], [], [], 30)[0]


def test_the_async_executor_waits_beside_the_loop(agent: Agent) -> None:
    """An evaluation does not hold up whatever else the loop has to do."""
    import asyncio

    async def both() -> tuple[Any, bool]:
        going = asyncio.create_task(
            agent.executor.aexecute(ToolCall("evaluate_python", {"code": "sum(range(10 ** 6))"}))
        )
        turns = 0
        while not going.done():
            turns += 1
            await asyncio.sleep(0)
        return await going, turns > 10

    reply, loop_ran = asyncio.run(both())
    assert reply.success
    assert loop_ran
