"""A model on loopback that plays a script: what an agent's client asks for, answered as the Messages API answers.

Real agents ask for more than turns of the conversation (titles, token counts, whether the server is there). Only a request
that offers tools counts as a turn; everything else gets a short, valid answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says in one turn: a text, and tool calls as (name, arguments)."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()


@dataclass
class ScriptedModel:
    """The turns that are left, and every request that was made."""

    turns: list[Turn]
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: dict[str, Any]) -> Turn:
        """The next turn for a request that offers tools; after the last one the model has nothing to add."""
        with self.lock:
            self.requests.append(request)
            if not request.get("tools"):
                return Turn("ok")
            return self.turns.pop(0) if self.turns else Turn("Done.")

    def results(self) -> list[dict[str, Any]]:
        """Every tool result that the agent has sent back, once each, in order."""
        found: dict[str, dict[str, Any]] = {}
        for request in self.requests:
            for message in request.get("messages", []):
                content = message.get("content")
                for block in content if isinstance(content, list) else []:
                    if block.get("type") == "tool_result":
                        found.setdefault(block["tool_use_id"], block)
        return list(found.values())


@contextmanager
def serving(model: ScriptedModel) -> Iterator[str]:
    """Serve a model on a free port of loopback; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Say nothing: the test says what went wrong."""

        def do_HEAD(self) -> None:
            self._send(b"", "text/plain")

        def do_GET(self) -> None:
            self._send(b'{"data": []}', "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            request = json.loads(body or b"{}")
            if not self.path.split("?")[0].endswith("/v1/messages"):
                self._send(b'{"input_tokens": 1}', "application/json")
                return
            message = as_message(model.answer(request), request)
            if request.get("stream"):
                self._send("".join(events(message)).encode(), "text/event-stream")
            else:
                self._send(json.dumps(message).encode(), "application/json")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def as_message(turn: Turn, request: Mapping[str, Any]) -> dict[str, Any]:
    """The turn as the Messages API gives it."""
    number = len(request.get("messages", ()))
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number:04}{at:04}", "name": name, "input": dict(arguments)}
        for at, (name, arguments) in enumerate(turn.calls)
    ]
    return {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "scripted"),
        "content": blocks,
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def events(message: dict[str, Any]) -> Iterator[str]:
    """The same message as server-sent events."""
    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": 1})
    yield event("message_stop")


def event(kind: str, **values: object) -> str:
    """One server-sent event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n"
