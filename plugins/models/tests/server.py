"""A provider on loopback: it says what it was told to say, and holds every request against the protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from plugins.models.tests.speaking import (
    Broken,
    Cut,
    ErrorInStream,
    Fail,
    Raw,
    Say,
    Silent,
    error_body,
    error_event,
    events,
    whole,
)
from plugins.models.tests.strict import problems

Answer = Say | Raw | Fail | Cut | Broken | ErrorInStream | Silent | Callable[[dict[str, Any]], Any]

PATHS = {"/v1/responses": "openai", "/v1/chat/completions": "openai-chat", "/v1/messages": "anthropic"}


class Server(ThreadingHTTPServer):
    """Answers its requests in the order of `answers`; `problems` holds what was wrong with any of them."""

    daemon_threads = True

    def __init__(self, answers: Sequence[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.problems: list[str] = []
        self.over = threading.Event()
        self.asked = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is none of the server's business."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        provider = PATHS[self.path.partition("?")[0]]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
            found = problems(provider, body)
            self.server.problems += found
            answer: Any = self.server.answers.pop(0) if self.server.answers else Fail(418, "the script is at its end")
        self.server.asked.set()
        if callable(answer):
            answer = answer(body)
        if found:
            answer = Fail(400, "; ".join(found))
        with suppress(BrokenPipeError, ConnectionResetError):
            self._answer(provider, answer, streams=bool(body.get("stream")))

    def _answer(self, provider: str, answer: Any, *, streams: bool) -> None:
        if isinstance(answer, Fail):
            self._send(answer.status, error_body(provider, answer), answer.headers)
        elif isinstance(answer, Silent):
            self.server.over.wait(60)
            self.close_connection = True
        elif isinstance(answer, Broken):
            self._text(answer.text, streams=streams)
        elif isinstance(answer, Cut):
            self._cut(provider, answer.said, streams=streams)
        elif isinstance(answer, ErrorInStream):
            if streams:
                told = list(events(provider, answer.said))
                self._stream([*told[: len(told) // 2], error_event(provider, answer.message)], provider, ends=False)
            else:
                self._send(529 if provider == "anthropic" else 500, error_body(provider, Fail(500, answer.message)))
        elif isinstance(answer, Raw):
            if streams:
                self._stream([(str(event.get("type", "")), event) for event in answer.events], provider)
            else:
                self._send(200, answer.body)
        elif streams:
            self._stream(list(events(provider, answer)), provider)
        else:
            self._send(200, whole(provider, answer))

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _text(self, text: str, *, streams: bool) -> None:
        data = f"event: message_start\ndata: {text}\n\n".encode() if streams else text.encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, told: list[tuple[str, Any]], provider: str, *, ends: bool = True) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in told:
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode())
        if ends and provider == "openai-chat":
            self.wfile.write(b"data: [DONE]\n\n")
        self.wfile.flush()

    def _cut(self, provider: str, said: Say, *, streams: bool) -> None:
        if streams:
            told = list(events(provider, said))
            self._stream(told[: len(told) - 2], provider, ends=False)
            return
        data = json.dumps(whole(provider, said)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True


@contextmanager
def serving(answers: Sequence[Answer]) -> Iterator[Server]:
    server = Server(answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
