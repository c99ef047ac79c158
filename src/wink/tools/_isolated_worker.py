"""What runs in the process of an isolated function: find it, call it, and tell what came of it."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn, cast

from wink.errors import ToolValidationError
from wink.serde import dump
from wink.tools._function_tool import FunctionTool, tool
from wink.tools._result import ToolResult


class _Told:
    """As much of a context as a generator needs there."""

    def __init__(self, out: int) -> None:
        self._out = out

    def progress(self, message: str = "", *, done: float | None = None, total: float | None = None) -> None:
        _write(self._out, {"progress": [message, done, total]})


def run_isolated(request: dict[str, Any]) -> NoReturn:
    """Do what another process of wink asks for, and end; started by `Isolation` only.

    What the function prints goes to standard error, since standard output is for the answer.
    """
    out = os.dup(1)
    os.dup2(2, 1)
    status = 1
    try:
        returned = _called(request, _Told(out))
        if returned.attachments:
            raise TypeError("an isolated function cannot return attachments")
        answer: dict[str, Any] = {
            "message": returned.message,
            "value": dump(returned.value),
            "success": returned.success,
            "exclude": returned.exclude_value_from_context,
        }
        status = 0 if returned.success else 3
    except BaseException as error:  # foreign code
        answer = {"raised": _told_of(error)}
    sys.stdout.flush()
    sys.stderr.flush()
    _write(out, answer)
    os._exit(status)  # threads that go on are nobody's any more


def _called(request: dict[str, Any], context: Any) -> ToolResult[Any]:
    if request["source"] is None:
        module = import_module(request["module"])
    else:
        path, text = request["source"]
        module = ModuleType(request["module"] if request["module"] != "__main__" else "__wink_main__")
        sys.modules[module.__name__], module.__file__ = module, path
        exec(compile(text, path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the author's own program
    found: Any = getattr(module, request["name"])
    function = found.function if isinstance(found, FunctionTool) else found
    make: Any = tool(name="isolated", description="What is called here.")
    made = make(function)
    returned = made.handler(made.parse(request["arguments"]), context=context)
    if hasattr(returned, "__await__"):
        import asyncio

        async def wait() -> Any:
            return await returned

        returned = asyncio.run(wait())
    return cast("ToolResult[Any]", returned)


def _told_of(error: BaseException) -> dict[str, Any]:
    number, path, path2 = (getattr(error, name, None) for name in ("errno", "filename", "filename2"))
    return {
        "type": type(error).__name__,
        "text": str(error),
        "for_model": isinstance(error, ToolValidationError),
        "errno": number if isinstance(number, int) else None,
        "path": _text(path),
        "path2": _text(path2),
    }


def _text(path: object) -> str | None:
    return os.fsdecode(cast("str | bytes", path)) if isinstance(path, (str, bytes, os.PathLike)) else None


def _write(out: int, said: dict[str, Any]) -> None:
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[os.write(out, data) :]
