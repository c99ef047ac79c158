"""Run a function of a tool in a process of its own, whose changes to the workspace are the call's or never were.

The kernel knows what is asked and answered; `Isolation` knows how a process is kept apart, and is a plugin's.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn, Protocol, cast, runtime_checkable

from wink.errors import MergeConflict, MergeRefused, ProgramNotStarted, SandboxUnavailable, ToolValidationError
from wink.serde import dumps, parse
from wink.tools._context import ResourcesLike, ToolContext
from wink.tools._result import ToolResult

SOURCE: Final = "__wink_source__"
"""The name under which a module that was not imported from a file has its text."""

_BOOT: Final = (
    "import json, sys; request = json.loads(sys.stdin.buffer.read()); "
    "sys.path += [one for one in request['path'] if one not in sys.path]; "
    "from wink.tools import run_isolated; run_isolated(request)"
)
_MOST_BYTES: Final = 64 * 1024 * 1024


class IsolatedEnd(NamedTuple):
    """How an isolated process ended: whether its changes became the call's, its exit status, or why there is none, its errors, and lines that the reply ends with."""

    kept: bool
    status: int | None
    reason: str
    errors: str
    told: Sequence[str] = ()


@runtime_checkable
class Isolation(Protocol):
    """Runs processes so that what they change is kept as a whole or not at all. Bound to a prompt it takes the usual one's place."""

    def run(
        self,
        argv: Sequence[str],
        request: bytes,
        *,
        readable: Sequence[str],
        on_output: Callable[[bytes], object],
        beat: Callable[[], object],
    ) -> IsolatedEnd:
        """Run a program at the workspace's own path, within the call that is active, with `request` as its standard input.

        It may read `readable` besides the system. What it writes to standard output goes to `on_output` as it comes. With exit
        status 0 its changes are a part of the call; with any other, and when the call ends first, they never were. Raises
        `SandboxUnavailable`, `ProgramNotStarted`, `MergeConflict` and `MergeRefused`.
        """
        ...


def refusals(function: Any, *, has_context: bool) -> tuple[str, ...]:
    """Why a function cannot be isolated, a line each: only what a module has under its name can be found in another process."""
    name = getattr(function, "__qualname__", "")
    if has_context:
        return ("it takes a context, which an isolated function has not; leave out one of them",)
    if not name or "." in name or name == "<lambda>" or getattr(function, "__closure__", None):
        return ("an isolated function stands in a module by itself: no method, closure, lambda or partial",)
    return ()


def isolated_handler(function: Any, result: Any) -> Callable[..., ToolResult[Any]]:
    """What a tool calls in place of `function`; `result` is the dataclass that comes back, or `None` for plain JSON."""

    def handle(params: Any, *, context: ToolContext) -> ToolResult[Any]:
        lines = _Lines(context)
        path = _search_path(context)
        request = {
            "path": path,
            "module": function.__module__,
            "source": _source_of(function.__module__),
            "name": function.__name__,
            "arguments": "{}" if params is None else dumps(params),
        }
        argv = (sys.executable, "-I", "-B", "-c", _BOOT)
        try:
            end = isolation_of(context.resources).run(
                argv, json.dumps(request).encode(), readable=path, on_output=lines.take, beat=context.beat
            )
        except (SandboxUnavailable, ProgramNotStarted, MergeConflict, MergeRefused) as error:
            raise ToolValidationError(str(error)) from error
        return _result(lines.last, end, result)

    handle.__name__ = handle.__qualname__ = function.__name__
    return handle


def isolation_of(resources: ResourcesLike) -> Isolation:
    """What runs isolated functions: what is bound to a prompt, or else the usual; raises `ToolValidationError`."""
    bound = resources.get_optional(Isolation)
    if bound is not None:
        return bound
    try:
        return import_module("wink_sandbox").OverlayIsolation()
    except ImportError:
        raise ToolValidationError("isolated tools need a sandbox, and none is installed") from None


def _search_path(context: ToolContext) -> list[str]:
    """Where modules are found, without what lies in the workspace, where an agent could have put one."""
    root = os.path.realpath(context.filesystem.root)
    outside = (one for one in map(os.path.abspath, filter(None, sys.path)) if os.path.exists(one))
    real = ((one, os.path.realpath(one)) for one in outside)
    return [one for one, at in real if not (f"{at}/".startswith(f"{root}/") or f"{root}/".startswith(f"{at}/"))]


def _source_of(module: str) -> tuple[str, str] | None:
    """The name of the file and the text of a module that another process could not import."""
    found = sys.modules.get(module)
    text = getattr(found, SOURCE, None)
    path = str(getattr(found, "__file__", "") or "")
    if text is not None:
        return path, text
    if module == "__main__" and path:
        with open(path, encoding="utf-8") as file:
            return path, file.read()
    return None


class _Lines:
    """What comes from the process: progress, a JSON object a line, and in the last one what it came to."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._rest = b""
        self.last: dict[str, Any] = {}

    def take(self, data: bytes) -> None:
        self._rest += data
        if len(self._rest) > _MOST_BYTES:
            raise ToolValidationError(f"the result is longer than {_MOST_BYTES} bytes")
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            try:
                said: Any = json.loads(line)
            except ValueError:
                continue
            if not isinstance(said, dict):
                continue
            told = cast("dict[str, Any]", said)
            if "progress" in told:
                message, done, total = told["progress"]
                self._context.progress(message, done=done, total=total)
            else:
                self.last = told


def _result(last: dict[str, Any], end: IsolatedEnd, result: Any) -> ToolResult[Any]:
    if "raised" in last:
        _raise(last["raised"])
    if "message" not in last or (last["success"] and not end.kept):
        said = end.errors.strip().rsplit("\n", 1)[-1]
        what = f"exit status {end.status}" if end.status is not None else end.reason
        raise ToolValidationError(f"its process ended early ({what}); nothing was changed{f': {said}' if said else ''}")
    value = last["value"] if result is None or last["value"] is None else parse(result, dumps(last["value"]))
    told = "\n".join((last["message"], *(f"({one})" for one in end.told)))
    return ToolResult(told, value, last["success"], last["exclude"])


def _raise(raised: dict[str, Any]) -> NoReturn:
    """Raise what the function raised: Python's own exceptions as they are, others under their names."""
    kind: Any = getattr(builtins, raised["type"], None)
    if raised["for_model"]:
        raise ToolValidationError(raised["text"])
    if isinstance(kind, type) and issubclass(kind, OSError) and raised["errno"] is not None:
        raise kind(raised["errno"], os.strerror(raised["errno"]), raised["path"], None, raised["path2"])
    if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, UnicodeError):
        kind = type(raised["type"], (Exception,), {})
    raise kind(raised["text"])
