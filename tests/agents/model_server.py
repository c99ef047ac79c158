"""A model on loopback that plays a script, in the API that an agent speaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.agents.apis import APIS
from tests.agents.script import ScriptedModel

MODELS = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
COUNTED = {"input_tokens": 1, "totalTokens": 1}


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
            self._send(json.dumps(MODELS).encode(), "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            path = self.path.partition("?")[0]
            api = next((api for api in APIS if path.lower().endswith(api.path.lower())), None)
            if api is None:
                self._send(json.dumps(COUNTED).encode(), "application/json")
                return
            request = json.loads(body)
            message = api.whole(model.answer(api, request), request)
            if api.streams(path, request):
                self._send("".join(api.events(message)).encode(), "text/event-stream")
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
