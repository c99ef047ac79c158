"""What a program pays for a network by name beside the whole network: `python -m benchmarks.proxied`.

The servers are on this machine's loopback, so that the network itself costs next to nothing, and what is left is the proxy.
"""

from __future__ import annotations

import http.server
import os
import ssl
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from wink.filesystem import HostFilesystem, program_state
from wink_sandbox import PROGRAMS, Command, Limits, Overlay, Profile, Sandbox, fresh_name, opened, words_of

ROUNDS = 7
LARGE = 512 << 20
REQUESTS = 200


class _Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        size = LARGE if self.path == "/large" else 100
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        piece = bytes(min(size, 1 << 20))
        for _ in range(0, size, len(piece)):
            self.wfile.write(piece)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def serve(tls: ssl.SSLContext | None = None) -> int:
    """A server in a process of its own, which ends with this one; gives its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    if os.fork():
        server.socket.close()
        return server.server_port
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    server.serve_forever()
    raise SystemExit


def _end_with(parent: int) -> None:
    fd = os.pidfd_open(parent)
    import select

    select.select([fd], [], [])
    os._exit(0)


def seconds(root: Path, script: str, network: bool | tuple[str, ...]) -> float:
    """The median of a few runs, each from before the sandbox is asked until all is over."""
    files = HostFilesystem(root)
    sandbox = Sandbox(Profile(network=network, home=os.path.expanduser("~"), limits=Limits(memory_bytes=None)))
    environment = {"PATH": "/usr/bin:/bin", "NO_PROXY": ""}
    times: list[float] = []
    try:
        for _ in range(ROUNDS + 1):
            with opened(Overlay(str(root), f"{program_state(files)}/{PROGRAMS}/{fresh_name()}")) as overlay:
                begun = time.perf_counter()
                ended = sandbox.run(Command(words_of(script), env=environment), overlay)
                times.append(time.perf_counter() - begun)
            assert ended.status == 0, ended.stderr.text()
    finally:
        files.close()
    return statistics.median(times[1:])


def main() -> None:
    """Print a line for each kind of work."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
        files = ["-keyout", place / "key.pem", "-out", place / "cert.pem"]
        subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(place / "cert.pem", place / "key.pem")
        plain, secure = serve(), serve(context)
        root = place / "root"
        root.mkdir()
        (root / "cert.pem").write_bytes((place / "cert.pem").read_bytes())
        several = f"curl -sSf -o /dev/null 'http://localhost:{plain}/[1-{REQUESTS}]'"
        works = (
            ("nothing", "true"),
            ("one request", f"curl -sSf -o /dev/null http://localhost:{plain}/"),
            ("one request over TLS", f"curl -sSf --cacert cert.pem -o /dev/null https://localhost:{secure}/"),
            (f"{REQUESTS} requests, one connection", several),
            (f"{LARGE >> 20} MiB", f"curl -sSf -o /dev/null http://localhost:{plain}/large"),
            (
                f"{LARGE >> 20} MiB over TLS",
                f"curl -sSf --cacert cert.pem -o /dev/null https://localhost:{secure}/large",
            ),
        )
        print("| work | the whole network, ms | by name, ms | times |")
        print("|---|---:|---:|---:|")
        for what, script in works:
            whole = seconds(root, script, True)
            named = seconds(root, script, (f"localhost:{plain}", f"localhost:{secure}"))
            print(f"| {what} | {whole * 1000:.1f} | {named * 1000:.1f} | {named / whole:.2f} |", flush=True)


if __name__ == "__main__":
    main()
