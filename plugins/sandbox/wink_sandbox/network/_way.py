"""The way out of a program's network namespace: a proxy in a thread of this process, as long as the program runs.

The launcher makes the namespace, and in it a socket that listens on loopback; it hands that over a pair of sockets of which
the program never has an end. Whoever connects to it is in the namespace, and so is the program.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from wink_sandbox.network._traffic import Meter, Traffic

if TYPE_CHECKING:
    import asyncio

    from wink_sandbox.network._asking import People
    from wink_sandbox.network._listed import Listed
    from wink_sandbox.network._opening import Resolve
    from wink_sandbox.network._proxy import Proxy

PORT: Final = 3128
"""Where the proxy listens, at 127.0.0.1 of the program's own network."""

_URL: Final = f"http://127.0.0.1:{PORT}"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_UNROUTED: Final = {"Ip": "OutNoRoutes", "Udp": "NoPorts"}
_UNROUTED_6: Final = frozenset(("Ip6OutNoRoutes", "Udp6NoPorts"))
_COUNTERS: Final = 1 << 16


def hosts_of(network: bool | Sequence[str], people: People | None) -> Sequence[str] | None:
    """The hosts that a program may reach through a proxy; None where it has none, since its network is all or nothing.

    Where `people` are asked, it has one even if nothing is listed.
    """
    if network is True:
        return None
    hosts = network or ()
    return hosts if hosts or people is not None else None


def variables(network: Sequence[str] | None) -> dict[str, str]:
    """The variables that lead programs to the proxy, but for what is their own loopback; none where there is no proxy.

    `ALL_PROXY` names HTTP too: with a `socks5h://` there, httpx and what is made of it end at once where their SOCKS is not installed.
    """
    if network is None:
        return {}
    from wink_sandbox.network._listed import Listed

    asked = Listed(network).loopback
    own = ",".join(name for name in _LOOPBACK if name not in asked)
    usual = {**dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _URL), "NO_PROXY": own}
    return {**usual, **{name.lower(): value for name, value in usual.items()}, "NODE_USE_ENV_PROXY": "1"}


class Way:
    """What the launcher gets, `gate`, and what there is to tell when the program has ended, `traffic()`."""

    def __init__(self, listed: Listed, resolve: Resolve | None = None, people: People | None = None) -> None:
        self._meter: Final = Meter()
        self._listed, self._resolve, self._people = listed, resolve, people
        self._ours, self._gate = socket.socketpair()
        self._ours.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="wink-proxy", daemon=True)
        self._is_ready, self._failure = threading.Event(), list[BaseException]()
        self._stop: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @property
    def gate(self) -> int:
        """The descriptor over which the launcher hands over what listens in the namespace."""
        return self._gate.fileno()

    def traffic(self) -> Traffic:
        """What went through, once this has ended."""
        return self._meter.traffic()

    def start(self) -> None:
        """Begin to wait for it."""
        self._thread.start()

    def end(self) -> None:
        """End every connection, and count what found no route; raises what the proxy itself failed with."""
        self._is_ready.wait()
        if self._stop is not None:
            loop, event = self._stop
            with suppress(RuntimeError):  # it has failed
                loop.call_soon_threadsafe(event.set)
        self._thread.join()
        self._ours.close()
        self._gate.close()
        if self._failure:
            raise self._failure[0]

    def _run(self) -> None:
        try:
            import asyncio

            asyncio.run(self._main())
        except BaseException as error:
            self._failure.append(error)
        finally:
            self._is_ready.set()

    async def _main(self) -> None:
        import asyncio

        loop, over, readable = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._stop = loop, over
        self._is_ready.set()
        loop.add_reader(self._ours, readable.set)
        ending, coming = asyncio.create_task(over.wait()), asyncio.create_task(readable.wait())
        await asyncio.wait((ending, coming), return_when=asyncio.FIRST_COMPLETED)
        coming.cancel()
        loop.remove_reader(self._ours)
        # Also where all is over by now: what was counted is to be told.
        fds = self._received()
        if not fds:
            return
        with socket.socket(fileno=fds[0]) as listener:
            try:
                serving = asyncio.create_task(self._proxy().serve(listener))
                await asyncio.wait((ending, serving), return_when=asyncio.FIRST_COMPLETED)
                serving.cancel()
                with suppress(asyncio.CancelledError):
                    await serving
            finally:
                self._meter.unrouted = sum(_unrouted(fd) for fd in fds[1:])

    def _proxy(self) -> Proxy:
        from wink_sandbox.network._opening import resolved
        from wink_sandbox.network._proxy import Proxy

        asking = None
        if self._people is not None:
            from wink_sandbox.network._asking import Asking

            asking = Asking(self._people, self._meter)
        return Proxy(self._listed, self._meter, self._resolve or resolved, asking)

    def _received(self) -> list[int]:
        """The listening socket, and the namespace's counters; nothing where the launcher did not come to that."""
        try:
            _, fds, _, _ = socket.recv_fds(self._ours, 1, 3)
        except BlockingIOError:
            return []
        for fd in fds:
            os.set_inheritable(fd, False)
        return fds


@contextmanager
def proxied(
    network: bool | Sequence[str], people: People | None = None, resolve: Resolve | None = None
) -> Generator[Way | None]:
    """A way out to what is listed, and to what `people` allow, which goes when the block ends; None for a network that is all or nothing."""
    hosts = hosts_of(network, people)
    if hosts is None:
        yield None
        return
    from wink_sandbox.network._listed import Listed

    way = Way(Listed(hosts), resolve, people)
    way.start()
    try:
        yield way
    finally:
        way.end()


def _unrouted(fd: int) -> int:
    """How often a connection or a datagram found no way out, by a file of counters of the namespace, which is closed."""
    try:
        text = os.pread(fd, _COUNTERS, 0).decode("ascii", "replace")
    finally:
        os.close(fd)
    found, names = 0, dict[str, list[str]]()
    for line in text.splitlines():
        kind, colon, rest = line.partition(":")
        words = rest.split()
        if not colon:
            name, _, value = line.partition(" ")
            found += int(value) if name in _UNROUTED_6 else 0
        elif kind in names:
            given = dict(zip(names[kind], words, strict=False))
            found += int(given.get(_UNROUTED.get(kind, ""), 0))
        else:
            names[kind] = words
    return found
