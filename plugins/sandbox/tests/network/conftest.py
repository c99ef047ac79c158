"""Servers on loopback that stand for hosts, names that lead to them, and a trap that stands for everything else."""

from __future__ import annotations

import http.server
import socket
import socketserver
import ssl
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest


class Good(http.server.SimpleHTTPRequestHandler):
    """What a listed host serves: files, what it was asked for, and a redirect to wherever one wants."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        if path.path == "/host":
            return self._answer(200, f"host {self.headers['Host']}".encode())
        if path.path == "/redirect":
            return self._answer(302, b"", ("Location", parse_qs(path.query)["to"][0]))
        if path.path == "/switch":
            return self._answer(101 if "Upgrade" in self.headers else 200, b"")
        if path.path == "/":
            return self._answer(200, b"welcome")
        return super().do_GET()

    def do_POST(self) -> None:
        length = self.headers["Content-Length"]
        if length is None:
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size + 2)[:-2]
            self.rfile.readline()
        else:
            body = self.rfile.read(int(length))
        self._answer(200, b"posted %d" % len(body))

    def _answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Trap:
    """Listens wherever something could come that must not, and keeps what came."""

    def __init__(self, directory: Path) -> None:
        self.seen: list[str] = []
        self._sockets: list[socket.socket] = []
        self.port = self._listen(socket.AF_INET, ("0.0.0.0", 0))[1]
        self.port6 = self._listen(socket.AF_INET6, ("::1", 0))[1]
        self.abstract = f"wink-trap-{uuid.uuid4().hex}"
        self._listen(socket.AF_UNIX, "\0" + self.abstract)
        self.path = str(directory / "trap")
        self._listen(socket.AF_UNIX, self.path)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("0.0.0.0", self.port))
        self._sockets.append(datagrams)
        threading.Thread(target=self._answer_datagrams, args=(datagrams,), daemon=True).start()

    def close(self) -> None:
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _listen(self, family: int, address: Any) -> Any:
        one = socket.socket(family)
        one.bind(address)
        one.listen()
        self._sockets.append(one)
        threading.Thread(target=self._answer, args=(one, str(address)), daemon=True).start()
        return one.getsockname()

    def _answer(self, listener: socket.socket, called: str) -> None:
        with suppress(OSError):
            while True:
                came, _ = listener.accept()
                self.seen.append(called)
                with came, suppress(OSError):
                    came.settimeout(5)
                    came.recv(65536)
                    came.sendall(b"HTTP/1.0 200 OK\r\n\r\nTRAPPED")

    def _answer_datagrams(self, one: socket.socket) -> None:
        with suppress(OSError):
            while True:
                _, who = one.recvfrom(512)
                if who is None:  # it was closed
                    return
                self.seen.append("datagram")
                one.sendto(b"TRAPPED", who)


class Names:
    """Names and where they lead, in the place of the host's resolver; `asked` is what was looked up."""

    def __init__(self) -> None:
        self.known: dict[str, list[str]] = {}
        self.asked: list[str] = []

    def getaddrinfo(self, host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        self.asked.append(host)
        if host not in self.known:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.known[host]]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes is none of the test's business."""


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    made = Names()
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    return made


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    made = Trap(tmp_path)
    yield made
    made.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Serve a directory on loopback; gives the port."""
    servers: list[socketserver.BaseServer] = []

    def begin(directory: Path | None = None, handler: type[Good] = Good, *, tls: ssl.SSLContext | None = None) -> int:
        place = tmp_path / "served" if directory is None else directory
        place.mkdir(exist_ok=True)
        server = _Server(("127.0.0.1", 0), lambda *args: handler(*args, directory=str(place)))  # type: ignore[arg-type]
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server.server_port

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for good.test, and its key."""
    place = tmp_path_factory.mktemp("certificate")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=good.test -addext subjectAltName=DNS:good.test"
    subprocess.run(
        ["openssl", *words.split(), "-keyout", place / "key.pem", "-out", place / "cert.pem"],
        check=True,
        capture_output=True,
    )
    return place / "cert.pem", place / "key.pem"


@pytest.fixture
def tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def outward() -> str:
    """An address of this host that is not loopback's; loopback's where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(asked.getsockname()[0])
