"""A plugin in which everything fails, in ways of its own: handlers, policies and mounted servers, for `wink serve`.

Each handler has written a file with its own name before it fails.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

from wink.policies import PolicyDecision
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolContext, ToolResult
from wink_mcp import McpSection


@dataclass(frozen=True)
class Text:
    text: str = ""


class Own(BaseException):
    """Not to be expected."""


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(7)

    __repr__ = __str__


def raising(error: BaseException) -> Any:
    def handler(context: ToolContext) -> Any:
        raise error

    return handler


def deep_group() -> BaseException:
    error: BaseException = SystemExit(1)
    for _ in range(3000):
        error = BaseExceptionGroup("in", [error])
    return error


def recurse(context: ToolContext) -> Any:
    return recurse(context)


def eat(context: ToolContext) -> Any:
    return bytes(1 << 62)


def give(value: Any) -> Any:
    def handler(context: ToolContext) -> Any:
        return value

    return handler


def generator(context: ToolContext) -> Any:
    yield ToolResult.ok(None)


def coroutine(context: ToolContext) -> Any:
    async def never() -> None:
        pass

    return [never()]


def cyclic() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@dataclass(frozen=True)
class Showing:
    """It fails at being shown."""

    what: str = "x"

    def render(self) -> str:
        raise SystemExit(4)


def sleep(context: ToolContext) -> Any:
    time.sleep(3600)


def leave_thread(context: ToolContext) -> Any:
    """A thread goes on, and writes when the call has ended."""

    def late() -> None:
        time.sleep(0.2)
        context.filesystem.write("late.txt", "late")

    threading.Thread(target=late).start()
    return "a string"


def exit_in_thread(context: ToolContext) -> Any:
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()
    return ToolResult.ok(None, "survived")


def stay_in_thread(context: ToolContext) -> Any:
    threading.Thread(target=threading.Event().wait).start()
    return ToolResult.ok(None, "survived")


def close_descriptor(number: int) -> Any:
    def handler(context: ToolContext) -> Any:
        os.close(number)
        return ToolResult.ok(None, "survived")

    return handler


def close_streams(context: ToolContext) -> Any:
    sys.stderr.close()
    sys.stdout.close()
    raise ValueError("and now log that")


def forget_streams(context: ToolContext) -> Any:
    sys.stdin = sys.stdout = sys.stderr = None
    raise ValueError("and now log that")


def print_much(context: ToolContext) -> Any:
    print('{"jsonrpc": "2.0", "id": 1, "result": "printed"}', flush=True)
    os.write(1, b"\xff" * 10_000)
    return ToolResult.ok(None, "survived")


def change_directory(context: ToolContext) -> Any:
    gone = os.path.join(os.environ["FAILURES_PLACE"], "gone")
    os.mkdir(gone)
    os.chdir(gone)
    os.rmdir(gone)
    return ToolResult.ok(None, "survived")


def change_umask(context: ToolContext) -> Any:
    os.umask(0o077)
    return ToolResult.ok(None, "survived")


def clear_environment(context: ToolContext) -> Any:
    os.environ.clear()
    return ToolResult.ok(None, "survived")


def set_signals(context: ToolContext) -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def change_much(context: ToolContext) -> Any:
    for number in range(200):
        context.filesystem.write(f"much/{number}.txt", "much")
    context.filesystem.delete("a.txt")
    raise ValueError("no")


async def cancel_itself(context: ToolContext) -> Any:
    asyncio.current_task().cancel()
    await asyncio.sleep(3600)


async def leave_task(context: ToolContext) -> Any:
    async def leave() -> None:
        raise SystemExit(5)

    task = asyncio.create_task(leave())
    await asyncio.sleep(3600)
    return task


async def stop_loop(context: ToolContext) -> Any:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(3600)


async def refuse_to_end(context: ToolContext) -> Any:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            time.sleep(3600)


async def block_loop(context: ToolContext) -> Any:
    time.sleep(3600)


async def wait_in_executor(context: ToolContext) -> Any:
    await asyncio.to_thread(time.sleep, 3600)


SYNC = {
    "raises_system_exit": raising(SystemExit(3)),
    "raises_exit_with_text": raising(SystemExit("/etc/secret")),
    "raises_interrupt": raising(KeyboardInterrupt()),
    "raises_generator_exit": raising(GeneratorExit()),
    "raises_cancelled": raising(asyncio.CancelledError()),
    "raises_own": raising(Own("x")),
    "raises_group": raising(BaseExceptionGroup("all", [KeyboardInterrupt(), ValueError()])),
    "raises_deep_group": raising(deep_group()),
    "raises_mute": raising(Mute()),
    "raises_huge": raising(ValueError("x" * 20_000_000)),
    "raises_stop_iteration": raising(StopIteration()),
    "raises_os_error": raising(OSError(2, "gone", "/etc/secret")),
    "recurses": recurse,
    "eats_memory": eat,
    "returns_none": give(None),
    "returns_text": give("done"),
    "returns_bytes": give(ToolResult.ok(b"\xff\xfe")),
    "returns_nan": give(ToolResult.ok(float("nan"))),
    "returns_object": give(ToolResult.ok(object())),
    "returns_lock": give(ToolResult.ok([threading.Lock()])),
    "returns_cycle": give(ToolResult.ok(cyclic())),
    "returns_surrogate": give(ToolResult.ok(None, "half \ud800 of it")),
    "returns_huge": give(ToolResult.ok(None, "x" * 20_000_000)),
    "returns_number_as_message": give(ToolResult(3, None)),
    "returns_unshowable": give(ToolResult.ok(Showing())),
    "returns_generator": generator,
    "returns_coroutine": coroutine,
    "leaves_thread": leave_thread,
    "exits_in_thread": exit_in_thread,
    "stays_in_thread": stay_in_thread,
    "closes_stdin": close_descriptor(0),
    "closes_stdout": close_descriptor(1),
    "closes_streams": close_streams,
    "forgets_streams": forget_streams,
    "prints": print_much,
    "changes_directory": change_directory,
    "changes_umask": change_umask,
    "clears_environment": clear_environment,
    "sets_signals": set_signals,
    "changes_much": change_much,
}
ASYNC = {
    "raises_system_exit_async": raising(SystemExit(3)),
    "raises_interrupt_async": raising(KeyboardInterrupt()),
    "raises_cancelled_async": raising(asyncio.CancelledError()),
    "raises_unshowable_async": raising(Mute()),
    "cancels_itself": cancel_itself,
    "leaves_task": leave_task,
    "stops_loop": stop_loop,
}
SLOW = {"sleeps": sleep}
SLOW_ASYNC = {
    "blocks_loop": block_loop,
    "refuses_to_end": refuse_to_end,
    "waits_in_executor": wait_in_executor,
}
POLICED = (
    "policy_exits", "policy_interrupts", "policy_raises_own", "policy_sleeps", "policy_says_nothing", "policy_is_async",
    "policy_says_yes", "policy_changes_arguments", "policy_writes", "learns_exit", "learns_never", "learns_async",
)  # fmt: skip


def made(name: str, act: Any, **options: Any) -> Tool[Any, Any]:
    def handler(params: Text, *, context: ToolContext) -> Any:
        context.filesystem.write(f"{name}.txt", "half")
        return act(context)

    async def handler_async(params: Text, *, context: ToolContext) -> Any:
        context.filesystem.write(f"{name}.txt", "half")
        returned = act(context)
        return await returned if hasattr(returned, "__await__") else returned

    is_async = name in ASYNC or name in SLOW_ASYNC
    return Tool[Text, None](name, f"Do: {name}.", handler_async if is_async else handler, **options)


def succeed(context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None, "done")


def peek(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Say what is in a file."""
    files = context.filesystem
    return ToolResult.ok(None, files.read(params.text).content if files.exists(params.text) else "there is none")


def note(params: Text, *, context: ToolContext) -> ToolResult[None]:
    """Write a file."""
    context.filesystem.write(f"notes/{params.text}.txt", params.text)
    return ToolResult.ok(None, f"noted {params.text}")


def handlers() -> ToolsSection:
    tools = [made(name, act) for name, act in {**SYNC, **ASYNC}.items()]
    tools += [made(name, act, timeout=1.0) for name, act in {**SLOW, **SLOW_ASYNC}.items()]
    tools += [made(name, succeed) for name in POLICED]
    tools += [Tool.wrap(peek, effects="read"), Tool.wrap(note)]
    return ToolsSection("Failing tools", tools=tools)


class Policy:
    """Fails on the tools that are named after how it does."""

    name = "failing"

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> Any:
        match tool.name:
            case "policy_exits":
                sys.exit(3)
            case "policy_interrupts":
                raise KeyboardInterrupt
            case "policy_raises_own":
                raise Own
            case "policy_sleeps":
                time.sleep(3600)
            case "policy_says_nothing":
                return None
            case "policy_is_async":
                return asyncio.sleep(1)
            case "policy_says_yes":
                return "yes"
            case "policy_changes_arguments":
                object.__setattr__(params, "text", object())
            case "policy_writes":
                context.filesystem.write("policy_writes.txt", "by a policy")
                return PolicyDecision.deny("policy_writes is written, and denied")
        return PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> Any:
        match tool.name:
            case "learns_exit":
                sys.exit(3)
            case "learns_never":
                time.sleep(3600)
            case "learns_async":
                return asyncio.sleep(1)
        return None


def policy() -> Policy:
    return Policy()


ERROR = '{{"code": {}, "message": "{}"}}'
SERVERS: dict[str, tuple[str, ...]] = {
    "dead": ("dead",),
    "malformed": ("malformed",),
    "crashing": ("crash",),
    "halving": ("half",),
    "hanging": ("hang",),
    "late": ("late",),
    "huge": ("huge",),
    "ids": ("ids",),
    "nonsense": ("nonsense",),
    "void": ("void",),
    "asking": ("input",),
    "broken": ("bytes",),
    "surrogate": ("surrogate",),
    "garbage": ("garbage",),
    "changing": ("changing",),
    "closed": ("error", ERROR.format(-32000, "Connection closed")),
    "licence": ("error", ERROR.format(-32000, "the licence has run out")),
    "upstream": ("error", ERROR.format(-32001, "timed out at the upstream")),
    "internal": ("error", ERROR.format(-32603, "Session terminated by the operator")),
    "ending": ("error", ERROR.format(-32000, "out of memory"), "end"),
    "twice": ("result", '{"content": [{"type": "text", "text": "said"}], "structuredContent": {"result": "said"}}'),
}
"""The section of each mounted server, and what the server written by hand is told to do."""


def __getattr__(name: str) -> Any:
    """The factory of a mounted server's section."""
    if name not in SERVERS:
        raise AttributeError(name)
    command = [sys.executable, "-I", os.path.join(os.environ["FAILURES_SERVERS"], "odd.py"), *SERVERS[name]]
    return lambda: McpSection(name, command=command, timeout=2.0, connect_timeout=10.0, message_bytes=1 << 20)
