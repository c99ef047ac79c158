"""Record what a model said in a run, and play it again without the model.

A recording is a file of JSON lines: a head with what the run was about, then a line for each turn of the model, with what it
was sent. A replay holds what it is sent against the recording and raises `ReplayMismatch` at the first difference, so that a
changed prompt, schema or result is noticed and not played over.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from os import PathLike
from typing import Any, Final, cast

from wink.adapters import Conversation, ModelTurn, ProviderAdapter, RunState
from wink.dataclass import dataclass, field
from wink.runtime import ToolReply
from wink.testing._errors import RecordingUnreadable, ReplayMismatch
from wink.tools import Attachment, EmbeddedResource

FORMAT: Final = 1
_MOST: Final = 1 << 28

# What differs from run to run and means nothing: ids of errors and of kept results.
_PASSING: Final = re.compile(r"(?<=\(error )[0-9a-f]{8}(?=\))|(?<=result_id=')[0-9a-f]{8}(?=')")
_DIFF_LINES: Final = 12


class RecordingAdapter(ProviderAdapter):
    """Passes on what another adapter says, and writes it to `path`, line by line as it comes.

    `about` is kept in the recording's head: what another process must know to make the same prompt. Keys and headers of the
    model's adapter are no part of a recording. A file that is there is replaced.
    """

    def __init__(
        self, adapter: ProviderAdapter, path: str | PathLike[str], *, about: Mapping[str, Any] | None = None
    ) -> None:
        self._adapter, self._path = adapter, path
        self._shown = _Shown()
        _write(path, "w", {"wink recording": FORMAT, "about": dict(about or {})})

    def respond(self, conversation: Conversation) -> ModelTurn:
        """What the other adapter says."""
        return self._note(conversation, self._adapter.respond(conversation))

    async def arespond(self, conversation: Conversation) -> ModelTurn:
        """What the other adapter says."""
        return self._note(conversation, await self._adapter.arespond(conversation))

    def close(self) -> None:
        """Close the other adapter."""
        self._adapter.close()

    def _note(self, conversation: Conversation, turn: ModelTurn) -> ModelTurn:
        said = RunState(conversation.prompt.prompt_name, turn=turn).to_json()
        _write(self._path, "a", {"sent": self._shown.news(conversation), "said": json.loads(said)["turn"]})
        return turn


class ReplayAdapter(ProviderAdapter):
    """Says what a recording says, as long as it is sent what the recorded model was sent.

    Raises `ReplayMismatch` at the first difference. An adapter plays one run; `unplayed` counts the turns that are left.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._shown = _Shown()
        self._played = 0

    @property
    def unplayed(self) -> int:
        """How many turns have not been asked for."""
        return len(self._recording.turns) - self._played

    def respond(self, conversation: Conversation) -> ModelTurn:
        """The next turn of the recording."""
        number = self._played + 1
        if number > len(self._recording.turns):
            raise ReplayMismatch(number, "the recording is at its end, and the run goes on")
        sent, turn = self._recording.turns[self._played]
        problem = _difference(sent, self._shown.news(conversation))
        if problem:
            raise ReplayMismatch(number, problem)
        self._played = number
        return turn

    async def arespond(self, conversation: Conversation) -> ModelTurn:
        """The next turn of the recording."""
        return self.respond(conversation)


@dataclass(frozen=True)
class Recording:
    """A recording that was read: what it is about, and for each turn what was sent and said."""

    about: Mapping[str, Any]
    turns: tuple[tuple[Mapping[str, Any], ModelTurn], ...]

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Recording:
        """Read a file; raises `RecordingUnreadable` for one that is none, and `OSError`."""
        with open(path, "rb") as file:
            data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise RecordingUnreadable(str(path), 1, f"it is longer than {_MOST >> 20} MiB")
        lines = data.decode("utf-8", "surrogateescape").splitlines()
        head = _row(str(path), 1, lines[0] if lines else "")
        if head.get("wink recording") != FORMAT or not isinstance(head.get("about"), dict):
            raise RecordingUnreadable(str(path), 1, f"this is no head of a recording of format {FORMAT}")
        turns: list[tuple[Mapping[str, Any], ModelTurn]] = []
        for number, line in enumerate(lines[1:], 2):
            row = _row(str(path), number, line)
            state: dict[str, Any] = {"format": 1, "prompt_name": "", "turn": row.get("said")}
            state |= {"exchanges": [], "replies": [], "usage": {}}
            try:
                turn = RunState.from_json(json.dumps(state)).turn
            except ValueError as error:
                raise RecordingUnreadable(str(path), number, str(error)) from error
            if turn is None or not isinstance(row.get("sent"), dict):
                raise RecordingUnreadable(str(path), number, "it lacks what was sent or said")
            turns.append((row["sent"], turn))
        return cls(head["about"], tuple(turns))


@dataclass
class _Shown:
    """What a model has been sent so far, to say only what is new."""

    prompt: str | None = None
    tools: dict[str, Any] = field(default_factory=dict[str, Any])
    has_begun: bool = False

    def news(self, conversation: Conversation) -> dict[str, Any]:
        """What the model is sent that it was not sent before."""
        tools = {
            tool.name: {"description": tool.description, "schema": json.loads(json.dumps(tool.schema()))}
            for tool in conversation.prompt.tools
        }
        sent: dict[str, Any] = {}
        if conversation.prompt.text != self.prompt:
            sent["prompt"] = self.prompt = conversation.prompt.text
        if tools != self.tools:
            sent["tools"] = self.tools = tools
        shown = (*conversation.prompt.attachments, *conversation.images)
        if shown and not self.has_begun:
            sent["images"] = _digests(shown)
        self.has_begun = True
        if conversation.exchanges:
            last = conversation.exchanges[-1]
            sent["replies"] = [
                {"tool": reply.name, "success": reply.success, "text": _masked(reply.text), **_images_of(reply)}
                for reply in last.replies
            ]
            sent["note"] = _masked(last.note)
        return sent


def _difference(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The first thing that is not as it was, in words; empty when all is."""
    if recorded.get("prompt") != now.get("prompt"):
        return "the prompt has changed:\n" + _diff(str(recorded.get("prompt") or ""), str(now.get("prompt") or ""))
    before, after = (cast("dict[str, Any]", sent.get("tools") or {}) for sent in (recorded, now))
    for name in sorted({*before, *after}):
        if name not in after:
            return f"the tool {name!r} is gone"
        if name not in before:
            return f"the tool {name!r} is new"
        if before[name] != after[name]:
            texts = (json.dumps(tools[name], indent=2) for tools in (before, after))
            return f"the tool {name!r} has changed:\n" + _diff(*texts)
    if recorded.get("images") != now.get("images"):
        return "the images that are shown at the beginning are others"
    was, has = (cast("list[dict[str, Any]]", sent.get("replies") or []) for sent in (recorded, now))
    for number, (old, new) in enumerate(zip(was, has, strict=False), 1):
        if {**old, "images": None} == {**new, "images": None} and old != new:
            return f"the reply to call {number} ({new['tool']}) shows other images or attachments"
        if old != new:
            texts = (f"{'' if reply['success'] else 'failed: '}{reply['text']}" for reply in (old, new))
            return f"the reply to call {number} ({new['tool']}) is another:\n" + _diff(*texts)
    if len(was) != len(has):
        return f"there were {len(was)} replies, and now there are {len(has)}"
    if recorded.get("note", "") != now.get("note", ""):
        return "the note to the model is another:\n" + _diff(str(recorded.get("note", "")), str(now.get("note", "")))
    return ""


def _images_of(reply: ToolReply) -> dict[str, Any]:
    digests = _digests(reply.result.attachments) if reply.success else []
    return {"images": digests} if digests else {}


def _digests(attachments: Iterable[Attachment]) -> list[str]:
    """What attachments are told apart by; they are large, and not kept. Those that are text are in the text."""
    contents = [one.content if isinstance(one, EmbeddedResource) else one.data for one in attachments]
    return [sha256(content).hexdigest() for content in contents if isinstance(content, bytes)]


def _diff(old: str, new: str) -> str:
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "recorded", "now", lineterm="", n=1))
    more = [f"… {len(lines) - _DIFF_LINES} more lines"] if len(lines) > _DIFF_LINES else []
    return "\n".join([*lines[:_DIFF_LINES], *more])


def _masked(text: str) -> str:
    return _PASSING.sub("********", text)


def _row(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordingUnreadable(path, number, f"it is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RecordingUnreadable(path, number, "it is no JSON object")
    return cast("dict[str, Any]", row)


def _write(path: str | PathLike[str], mode: str, row: Mapping[str, Any]) -> None:
    with open(path, mode, encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
