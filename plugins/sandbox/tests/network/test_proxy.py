"""The proxy by itself, on a socket of the test's: names that change their mind, bytes that mean nothing, and servers that misbehave."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wink_sandbox.network import Listed
from wink_sandbox.network._proxy import Proxy
from wink_sandbox.network._traffic import Meter, Traffic

Resolve = Callable[[str, int], Sequence[str]]


@contextmanager
def serving(listed: Sequence[str], resolve: Resolve) -> Iterator[tuple[tuple[str, int], Meter]]:
    """A proxy that runs; gives its address, and what it counts."""
    meter, listener = Meter(), socket.create_server(("127.0.0.1", 0))
    loop = asyncio.new_event_loop()
    task = loop.create_task(Proxy(Listed(listed), meter, resolve).serve(listener))

    def run(work: Coroutine[Any, Any, Any]) -> None:
        with pytest.raises(asyncio.CancelledError):
            loop.run_until_complete(work)

    async def wait() -> None:
        await task

    thread = threading.Thread(target=run, args=(wait(),))
    thread.start()
    try:
        yield listener.getsockname(), meter
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.close()
        listener.close()


def asked(address: tuple[str, int], *pieces: bytes) -> bytes:
    with socket.create_connection(address, 10) as sock:
        data = b""
        try:
            for piece in pieces:
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
            while more := sock.recv(65536):
                data += more
        except OSError:
            pass
        return data


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server that says one thing whatever it is asked; gives its port, and what it was asked."""
    listener, heard = socket.create_server(("127.0.0.1", 0)), list[bytes]()

    def run() -> None:
        while True:
            try:
                came, _ = listener.accept()
            except OSError:
                return
            with came:
                came.settimeout(10)
                heard.append(came.recv(65536))
                came.sendall(answer)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield listener.getsockname()[1], heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def request(port: int, *, host: str = "a.test") -> bytes:
    return f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def outcomes(traffic: Traffic) -> list[str]:
    return [one.outcome for one in traffic.contacts]


def test_a_name_is_looked_up_once_and_what_was_looked_at_is_connected_to() -> None:
    """A name that leads elsewhere when it is asked for again is not asked for again."""
    answers = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.3"]]
    questions: list[str] = []

    def resolve(name: str, port: int) -> Sequence[str]:
        questions.append(name)
        return answers[len(questions) - 1]

    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as (port, heard):
        with serving((f"a.test:{port}", f"127.0.0.1:{port}"), resolve) as (address, meter):
            assert asked(address, request(port)).endswith(b"ok")
            assert questions == ["a.test"]
            assert b"403" in asked(address, request(port))
            assert questions == ["a.test", "a.test"]
        assert len(heard) == 1
    assert outcomes(meter.traffic()) == ["allowed", "refused: it is at 127.0.0.2, which is not public, and not listed"]


def test_of_several_addresses_only_good_ones_are_tried() -> None:
    def resolve(name: str, port: int) -> Sequence[str]:
        return ["169.254.169.254", "10.0.0.1", "fe80::1%lo", "not an address", "127.0.0.1"]

    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as (port, _):
        with serving((f"a.test:{port}", f"127.0.0.1:{port}"), resolve) as (address, _):
            assert asked(address, request(port)).endswith(b"ok")


def test_a_name_that_nobody_knows_has_failed() -> None:
    def resolve(name: str, port: int) -> Sequence[str]:
        raise socket.gaierror("no such name")

    with serving(("a.test",), resolve) as (address, meter):
        assert b" 502 " in asked(address, request(80))
    assert outcomes(meter.traffic()) == ["failed: no such host"]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000 + b"\r\n\r\n",
    ],
    ids=["nothing", "ssh", "switch", "lengths", "head"],
)
def test_a_server_that_speaks_no_http_is_no_answer(answer: bytes) -> None:
    with answering(answer) as (port, _), serving((f"127.0.0.1:{port}",), lambda *_: ()) as (address, meter):
        assert asked(address, request(port, host="127.0.0.1")).startswith(b"HTTP/1.1 502 ")
    assert outcomes(meter.traffic()) == ["failed: it ended early"]


def test_an_answer_that_is_cut_off_does_not_look_whole() -> None:
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") as (port, _):
        with serving((f"127.0.0.1:{port}",), lambda *_: ()) as (address, _):
            answer = asked(address, request(port, host="127.0.0.1"))
    assert b"9\r\n" in answer.lower()
    assert answer.endswith(b"abc")


def test_a_server_need_not_read_all_of_a_body() -> None:
    """It has answered, and holds the connection: the client gets the answer, and the connection is over."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with listener, serving((f"127.0.0.1:{port}",), lambda *_: ()) as (address, _):
        with socket.create_connection(address, 10) as client:
            head = request(port, host="127.0.0.1").replace(b"GET", b"POST", 1)
            client.sendall(head.replace(b"\r\n\r\n", b"\r\nContent-Length: 50000000\r\n\r\n") + b"x" * 100)
            server, _ = listener.accept()
            with server:
                server.recv(65536)
                server.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
                answer = b""
                while more := client.recv(65536):
                    answer += more
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_what_is_for_the_proxy_alone_is_not_passed_on() -> None:
    """The server learns nothing of it, and is told to close, so that no second request can hide behind the first."""
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as (port, heard):
        with serving((f"127.0.0.1:{port}",), lambda *_: ()) as (address, _):
            sent = request(port, host="127.0.0.1")[:-2]
            sent += b"Proxy-Authorization: Basic eA==\r\nConnection: x-own, host\r\nX-Own: 1\r\nUpgrade: h2c\r\nX-Kept: 1\r\n\r\n"
            assert asked(address, sent).endswith(b"ok")
    lines = heard[0].decode().splitlines()
    assert lines == ["GET / HTTP/1.1", f"Host: 127.0.0.1:{port}", "x-kept: 1", "Connection: close", ""]


def test_the_first_bytes_of_a_server_need_not_wait_for_the_client() -> None:
    """As those of ssh: the server speaks first."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with listener, serving((f"127.0.0.1:{port}",), lambda *_: ()) as (address, meter):
        with socket.create_connection(address, 10) as client:
            client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            server, _ = listener.accept()
            with server:
                server.sendall(b"SSH-2.0-server\r\n")
                got = b""
                while not got.endswith(b"SSH-2.0-server\r\n"):
                    got += client.recv(4096)
                client.sendall(b"SSH-2.0-client\r\n")
                assert server.recv(4096) == b"SSH-2.0-client\r\n"
                client.shutdown(socket.SHUT_WR)
                assert server.recv(4096) == b""
                server.sendall(b"late")
            assert client.recv(4096) == b"late"
            assert client.recv(4096) == b""
    (contact,) = meter.traffic().contacts
    assert (contact.outcome, contact.sent, contact.received) == ("allowed", 16, 20)


BYTES = st.one_of(
    st.binary(max_size=300),
    st.binary(max_size=300).map(lambda data: b"\x05\x01\x00" + data),
    st.binary(max_size=300).map(lambda data: b"\x05\x01\x00\x05\x01\x00" + data),
    st.binary(max_size=300).map(lambda data: b"CONNECT " + data),
    st.text(max_size=60).map(lambda text: f"CONNECT {text}:443 HTTP/1.1\r\nHost: x\r\n\r\n".encode("utf-8", "replace")),
    st.text(max_size=60).map(
        lambda text: f"GET http://{text}/ HTTP/1.1\r\nHost: {text}\r\n\r\n".encode("utf-8", "replace")
    ),
)


def test_no_bytes_bring_it_down_or_lead_anywhere() -> None:
    """Whatever comes, nothing is looked up or connected to, and the next client is served."""
    questions: list[str] = []

    def resolve(name: str, port: int) -> Sequence[str]:
        questions.append(name)
        return ()

    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as (port, heard):
        with serving((f"127.0.0.1:{port}",), resolve) as (address, meter):

            @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
            @given(BYTES, st.integers(0, 300))
            def throw(data: bytes, at: int) -> None:
                assert b" 200 " not in asked(address, data[:at], data[at:])

            throw()
            assert asked(address, request(port, host="127.0.0.1")).endswith(b"ok")
    assert (questions, len(heard)) == ([], 1)
    assert [one for one in outcomes(meter.traffic()) if not one.startswith("refused")] == ["allowed"]
