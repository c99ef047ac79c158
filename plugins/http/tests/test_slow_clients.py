"""The limits of each phase of a request, lowered: what stands still is ended, and what moves is not."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from wink_http import Access, Address, HttpServer, Limits, admit

PATIENCE = 60
"""Seconds after which what should happen is taken not to; the machine may be busy."""
SHORT = Limits(head=0.3, body=0.3, answer=0.3, closing=0.3)
LONG = Limits(head=PATIENCE, body=PATIENCE, answer=PATIENCE, closing=PATIENCE, strangers=4, admitted=3)
HEAD = b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n"
PIECE = b"x" * 65536


class App:
    """Answers what the path asks for, and notes how its requests ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.sent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        asked = scope["path"]
        status = 200 if asked != "/admitted" or admit(scope) else 503
        if asked == "/body":
            while (await receive()).get("more_body"):
                pass
        if asked in ("/endless", "/waiting"):
            await self._stream(asked, receive, send)
            return
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def _stream(self, asked: str, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        gone = asyncio.ensure_future(receive())
        while not gone.done():
            if asked == "/endless":
                await send({"type": "http.response.body", "body": PIECE, "more_body": True})
                self.sent += len(PIECE)
            else:
                await asyncio.wait([gone], timeout=0.05)
            await asyncio.sleep(0)
        self.ended.set()


@contextmanager
def serving(app: App, limits: Limits, access: Access | None = None) -> Iterator[int]:
    """The port of a server on a thread of its own."""
    with Address("127.0.0.1", 0).bind() as listening:
        server = HttpServer(app, access or Access(None), limits)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def app() -> App:
    """What is served."""
    return App()


def connect(port: int, *sent: bytes) -> socket.socket:
    """A client that has sent this."""
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    for part in sent:
        client.sendall(part)
    return client


def answer(client: socket.socket) -> int:
    """The status of a whole answer of the application."""
    heard = b""
    while not heard.endswith(b"ok"):
        piece = client.recv(1024)
        assert piece, "the server has ended the connection"
        heard += piece
    return int(heard.split()[1])


def rest(client: socket.socket) -> bytes:
    """All that the server still sends until it ends the connection."""
    heard = b""
    try:
        while piece := client.recv(65536):
            heard += piece
    except ConnectionError:
        pass
    return heard


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab"],
)  # fmt: skip
def test_a_request_that_stands_still_is_ended(app: App, sent: bytes) -> None:
    """In its headers, or in its body."""
    with serving(app, SHORT) as port, connect(port, sent) as client:
        assert rest(client) == b""


def test_the_next_request_on_a_connection_has_no_more_time_than_the_first(app: App) -> None:
    """After an answer, too, a client may begin one and not go on."""
    with serving(app, SHORT) as port, connect(port, HEAD % b"", b"GET / HT") as client:
        assert rest(client).endswith(b"ok")


def test_a_body_that_nobody_wants_is_not_waited_for(app: App) -> None:
    """The answer was there before the body was; a drop now and then does not keep the connection."""
    with serving(app, SHORT) as port:
        with connect(port, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n") as client:

            def drip() -> None:
                with pytest.raises(OSError):
                    while True:
                        client.sendall(b"x")
                        threading.Event().wait(0.05)

            dripping = threading.Thread(target=drip)
            dripping.start()
            heard = rest(client)
            dripping.join(PATIENCE)
            assert heard.endswith(b"ok")


def test_an_answer_that_nobody_reads_is_ended(app: App) -> None:
    """And takes no more memory than the buffers of the system and of one connection."""
    with serving(app, SHORT) as port, connect(port, HEAD % b"endless"):
        assert app.ended.wait(PATIENCE)
        assert app.sent < 64 * 1024 * 1024


def test_an_answer_that_is_read_slowly_goes_on(app: App) -> None:
    """Each piece of it has the time that is given; the whole takes far longer."""
    with serving(app, SHORT._replace(answer=2.0)) as port, connect(port, HEAD % b"endless") as client:
        before = app.sent
        for _ in range(100):
            assert client.recv(1024 * 1024)
        assert not app.ended.is_set()
        assert app.sent > before


def test_a_stream_without_news_is_no_slow_client(app: App) -> None:
    """Who waits for the server is not waited for: event streams and long calls."""
    with serving(app, SHORT) as port, connect(port, HEAD % b"waiting") as client:
        assert client.recv(1024)
        assert not app.ended.wait(2)


def test_many_quick_requests_on_one_connection_are_not_one_slow_one(app: App) -> None:
    """The connection is older than the limit, each request is new."""
    with serving(app, SHORT._replace(head=1.0)) as port, connect(port) as client:
        for _ in range(100):
            client.sendall(HEAD % b"")
            assert answer(client) == 200
            threading.Event().wait(0.02)


def test_the_oldest_stranger_makes_room(app: App) -> None:
    """Of those who have only connected; the newest is served."""
    with serving(app, LONG) as port, ExitStack() as clients:
        held = [clients.enter_context(connect(port, b"G")) for _ in range(20)]
        for client in held[:16]:
            assert rest(client) == b""
        with connect(port, HEAD % b"") as client:
            assert answer(client) == 200


def test_who_was_admitted_stays_and_is_not_joined_by_too_many(app: App) -> None:
    """Strangers push out strangers only; of those who are meant, the last is told that there are too many."""
    asked = HEAD % b"admitted"
    with serving(app, LONG) as port, ExitStack() as clients:
        meant = [clients.enter_context(connect(port, asked)) for _ in range(3)]
        for client in meant:
            assert answer(client) == 200
        with connect(port, asked) as late:
            assert answer(late) == 503
        for _ in range(20):
            clients.enter_context(connect(port, b"G"))
        for client in meant:
            client.sendall(asked)
            assert answer(client) == 200
        meant[0].close()
        assert eventually(lambda: answer_to(port, asked) == 200)


def answer_to(port: int, asked: bytes) -> int:
    """The status that a client is answered which comes anew."""
    with connect(port, asked) as client:
        return answer(client)


def eventually(is_so: Callable[[], bool]) -> bool:
    """Whether something comes to be so."""
    return any(is_so() or threading.Event().wait(0.05) for _ in range(PATIENCE * 20))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate with its key, for localhost."""
    place = tmp_path_factory.mktemp("tls")
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "both.pem", "-out", "cert.pem"]
    subprocess.run(make, cwd=place, check=True, capture_output=True, timeout=PATIENCE)
    with (place / "both.pem").open("a") as both:
        both.write((place / "cert.pem").read_text())
    return place / "both.pem"


def test_a_handshake_that_stands_still_is_ended_and_counts(app: App, certificate: Path) -> None:
    """Who speaks no TLS is a stranger like others: let go in time, and when there are too many."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    access = Access("0123456789abcdef", tls=context)
    with serving(app, SHORT, access) as port, connect(port, b"\x16\x03") as client:
        assert rest(client) == b""
    with serving(app, LONG, access) as port, ExitStack() as clients:
        held = [clients.enter_context(connect(port)) for _ in range(20)]
        assert [rest(client) for client in held[:16]] == [b""] * 16
        trusting = ssl.create_default_context(cafile=str(certificate))
        with trusting.wrap_socket(connect(port), server_hostname="localhost") as client:
            client.sendall(HEAD % b"")
            assert answer(client) == 200
