"""Begin each attempt in a process of its own, that begins in milliseconds and can be ended at any time.

A worker has one nursery: a process with one thread that has imported what attempts need and forks for each of them. When
the worker goes, so does the nursery, with all that runs in it; and what an attempt leaves running ends with it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from wink.trust import guarded_places
from wink_batch._attempt import Channel, Gone


class Nursery:
    """The worker's side. `paths` are where the attempts' modules may be found, `modules` what is imported beforehand."""

    def __init__(self, paths: Sequence[str] = (), modules: Sequence[str] = ()) -> None:
        self.about = tuple(paths), tuple(modules)
        ours, theirs = socket.socketpair()
        with theirs:
            facts = {"paths": list(paths), "modules": list(modules), "parent": os.getpid(), "guarded": guarded_places()}
            # `-P`: it may begin in a workspace, and must not import from there.
            command = [sys.executable, "-P", "-m", "wink_batch._nursery_main", str(theirs.fileno()), json.dumps(facts)]
            # A session of its own: the keys that interrupt a driver are for the driver.
            self._process = subprocess.Popen(
                command, pass_fds=(theirs.fileno(),), start_new_session=True, stdin=subprocess.DEVNULL
            )
        self._control = Channel(ours)

    @property
    def is_alive(self) -> bool:
        """Whether it can begin another attempt."""
        return self._process.poll() is None

    def begin(self, request: dict[str, Any]) -> Running:
        """Begin an attempt; raises `Gone`."""
        ours, theirs = socket.socketpair()
        data = json.dumps(request).encode()
        with theirs:
            try:
                self._control.tell(begin=len(data))
                socket.send_fds(self._control.end, [b"."], [theirs.fileno()])
                self._control.end.sendall(data)
            except OSError as error:
                raise Gone from error
        return Running(self._control, Channel(ours))

    def learn(self, modules: Sequence[str]) -> None:
        """Have the next attempts find modules imported; none of them may start threads. Raises `Gone` where one did."""
        self._control.tell(learn=list(modules))
        while not any("learned" in said for said in self._control.hear()):
            pass

    def close(self) -> None:
        """End it, and what runs in it."""
        self._control.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Running:
    """An attempt under way: hear what it says until `status` is there."""

    def __init__(self, control: Channel, channel: Channel) -> None:
        self._control, self.channel = control, channel
        self.status: int | None = None
        self._is_open = True

    def hear(self, seconds: float) -> list[dict[str, Any]]:
        """What it said within some seconds; sets `status` when its process is over and all that it said has been heard."""
        watched = [self._control.end, *([self.channel.end] if self._is_open else [])]
        poll = select.poll()  # a worker may have more descriptors than `select` can name
        for end in watched:
            poll.register(end, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(seconds * 1000)}
        if self.channel.end.fileno() in ready:
            try:
                return self.channel.hear()
            except Gone:
                self._is_open = False
                return []
        if self._control.end.fileno() in ready:
            try:
                said = self._control.hear()
            except Gone:
                said = [{"ended": -int(signal.SIGKILL)}]
            for one in said:
                if "ended" in one:
                    self.status = one["ended"]
        return []

    def signal(self, number: int) -> None:
        """Send it a signal."""
        try:
            self._control.tell(signal=int(number))
        except Gone:
            pass

    def close(self) -> None:
        """Let go of the channel."""
        self.channel.close()
