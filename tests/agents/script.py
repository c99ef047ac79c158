"""What a scripted model says, and what the agents that it drives have told it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says in one turn: a text, and tool calls as (name, arguments).

    A name is the tool's own; agents put something of their server's before it, and the model uses what it is offered. One that
    `waits` is said when subagents have said all of theirs.
    """

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as an agent offers it, some of them in a namespace."""

    name: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call under the name that the agent gave the tool."""

    id: str
    tool: Offered
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn, with its calls as this agent wants them."""

    text: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What an agent told the model of a call; `failed` where the API has a mark for it."""

    id: str
    text: str
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class Api:
    """How one provider's API writes all this."""

    path: str
    offered: Callable[[Mapping[str, Any]], list[Offered]]
    whole: Callable[[Answer, Mapping[str, Any]], dict[str, Any]]
    events: Callable[[dict[str, Any]], Iterator[str]]
    results: Callable[[Mapping[str, Any]], Iterator[Result]]
    streams: Callable[[str, Mapping[str, Any]], bool] = lambda path, request: bool(request.get("stream"))


@dataclass
class ScriptedModel:
    """The turns that are left, and every request that was made.

    Real agents ask for more than turns of the conversation (titles, token counts, whether the server is there). Only a
    request that offers tools counts as a turn; everything else gets a short, valid answer. One without the `prompt` in it is a
    subagent's, whose turns are those `aside`. With `own`, tools are the agent's, called by exactly their names.
    """

    turns: list[Turn]
    aside: list[Turn] = field(default_factory=list[Turn])
    prompt: str = ""
    own: bool = False
    requests: list[tuple[Api, dict[str, Any]]] = field(default_factory=list[tuple[Api, dict[str, Any]]])
    calls: list[Call] = field(default_factory=list[Call])
    said: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: threading.Condition = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = threading.Condition(self.lock)

    def answer(self, api: Api, request: dict[str, Any]) -> Answer:
        """The next turn for a request that offers tools; after the last one the model has nothing to add."""
        turns = self.turns if self.prompt in repr(request) else self.aside
        with self.lock:
            self.requests.append((api, request))
            offered = api.offered(request)
            if not offered:
                return Answer("ok", ())
            if not turns:
                return Answer("Done.", ())
            turn = turns.pop(0)
            while turn.waits and self.aside and self.waiting.wait(60):
                pass
            self.waiting.notify_all()
            self.said += 1
            calls = tuple(
                Call(f"call_{self.said:03}_{at:03}", Offered(name) if self.own else wanted(name, offered), arguments)
                for at, (name, arguments) in enumerate(turn.calls)
            )
            self.calls.extend(calls)
            return Answer(turn.text, calls)

    def results(self) -> list[Result]:
        """What was told of every call, in the order in which the calls were made."""
        told: dict[str, Result] = {}
        for api, request in self.requests:
            for result in api.results(request):
                told.setdefault(result.id, result)
        return [told[call.id] for call in self.calls if call.id in told]

    def heard(self) -> str:
        """Everything that the model was sent, as one text."""
        return "\n".join(repr(request) for _, request in self.requests)


def wanted(name: str, offered: Sequence[Offered]) -> Offered:
    """The tool that is called `name`; rather a server's than one of the agent's own with the same name."""
    for tool in offered:
        if tool.name.endswith(f"_{name}") or (tool.namespace is not None and tool.name == name):
            return tool
    return Offered(name)


def texts(content: object) -> str:
    """The text of a message's content, whatever it is made of."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return texts(content.get("text", ""))
    return "\n".join(texts(part) for part in content) if isinstance(content, list | tuple) else ""
