"""Keep what is too long to be sent to a model, and send it the beginning, the end and a way to the rest.

A result above the limit goes to the workspace's state, or stays with a session that has no workspace; the tool
`read_result` gives it back in pages. So nothing huge reaches a model by accident, and nothing is lost.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from wink.dataclass import dataclass, field, replace
from wink.runtime._call import READ_RESULT
from wink.runtime._outcomes import logger
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult

if TYPE_CHECKING:
    from wink.prompt import RenderedPrompt

PAGE: Final = 20_000
"""How many characters of a kept result one call gives at the most."""

_HEAD, _TAIL = 6_000, 2_000
_IN_MEMORY: Final = 64
"""How many results a session without a workspace keeps."""
_CHARACTERS_IN_MEMORY: Final = 64 * 2**20
"""How long they may be together; the newest is kept whatever its length."""

_lock = threading.Lock()
_kept: WeakKeyDictionary[Session, dict[str, str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class ResultKept:
    """A result was too long to be sent; `result_id` is what `read_result` takes. Lengths are in characters."""

    result_id: str
    tool: str
    call_id: str
    characters: int


def shortened(session: Session, tool: str, call_id: str, text: str, limit: int) -> str:
    """What a model is sent in place of `text`, which is kept whole when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    result_id = os.urandom(4).hex()
    head = _cut(text, min(_HEAD, limit // 2))
    tail = text[len(text) - min(_TAIL, limit // 6) :]
    left_out = len(text) - len(head) - len(tail)
    try:
        _keep(session, result_id, text)
        session.publish(ResultKept(result_id, tool, call_id, len(text)))
    except Exception as error:  # foreign code: a recorder, the disk under it
        logger().warning("a result of %r could not be kept: %s", tool, error)
        rest = f"… {left_out} characters are left out, and could not be kept ({type(error).__name__}) …"
    else:
        rest = (
            f"… {left_out} of {len(text)} characters are left out; {READ_RESULT}(result_id={result_id!r}, "
            f"offset={len(head)}) gives them …"
        )
    return f"{head}\n{rest}\n{tail}"


@cache
def read_result_tool() -> Tool[Any, Any]:
    """The tool that reads kept results."""
    return Tool[ReadResult, ResultPage](
        name=READ_RESULT,
        description="Read a part of an earlier result that was too long to be shown whole.",
        handler=read_result,
        effects="read",
    )


def with_read_result(rendered: RenderedPrompt, session: Session, *, always: bool = False) -> RenderedPrompt:
    """The rendering with the tool `read_result`, where the session has something to read with it, or `always`."""
    if rendered.tool(READ_RESULT) is not None or not (always or _known(session)):
        return rendered
    return replace(rendered, tools=(*rendered.tools, read_result_tool()))


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Which part of a kept result to read."""

    result_id: str = field(metadata={"description": "The id that the shortened result names."})
    offset: int = field(default=0, metadata={"description": "Where to begin, in characters.", "ge": 0})
    limit: int = field(default=PAGE, metadata={"description": "How many characters at the most.", "ge": 1, "le": PAGE})


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A part of a kept result; `offset` and `characters`, the length of the whole, are in characters."""

    content: str
    offset: int
    characters: int

    def render(self) -> str:
        """The part, and where the next one begins."""
        end = self.offset + len(self.content)
        if end >= self.characters:
            return self.content
        return f"{self.content}\n… {self.characters - end} characters follow; go on with offset={end} …"


def read_result(params: ReadResult, *, context: ToolContext) -> ToolResult[ResultPage]:
    """Give a page of a result that was too long to be sent."""
    text = _find(context.session, params.result_id)
    if text is None:
        ids = ", ".join(_known(context.session)[:5]) or "there are none"
        return ToolResult.error(
            f"result {params.result_id!r} is not kept, or not any more; the last ones are: {ids}; "
            "what is gone has to be called for again"
        )
    content = text[params.offset : params.offset + params.limit]
    if not content:
        return ToolResult.error(f"offset {params.offset} is at or after the end: {len(text)} characters in all")
    return ToolResult(
        f"Characters {params.offset} to {params.offset + len(content)} of {len(text)}.",
        ResultPage(content, params.offset, len(text)),
    )


def _keep(session: Session, result_id: str, text: str) -> None:
    recorder = session.recorder
    if recorder is not None:
        recorder.keep_result(result_id, text)
        return
    with _lock:
        mine = _kept.setdefault(session, {})
        mine[result_id] = text
        while len(mine) > 1 and (len(mine) > _IN_MEMORY or sum(map(len, mine.values())) > _CHARACTERS_IN_MEMORY):
            del mine[next(iter(mine))]


def _find(session: Session, result_id: str) -> str | None:
    recorder = session.recorder
    if recorder is not None:
        return recorder.kept_result(result_id)
    with _lock:
        kept: Mapping[str, str] = _kept.get(session, {})
        return kept.get(result_id)


def _known(session: Session) -> Sequence[str]:
    """The ids of what is kept, newest first."""
    recorder = session.recorder
    if recorder is not None:
        return recorder.kept_results()
    with _lock:
        return list(_kept.get(session, ()))[::-1]


def _cut(text: str, length: int) -> str:
    """The beginning of a text, whole lines where a line ends near."""
    end = text.rfind("\n", length - length // 8, length)
    return text[:length] if end < 0 else text[: end + 1]
