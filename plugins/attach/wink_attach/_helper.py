"""The helper of a workspace: one for each workspace and user, started by the first event, ended when nothing comes any more.

It hears of events over a socket that only this user can reach, one after the other, and reads the files for the baseline in
between. It may be killed at any step: what it had not recorded, the next one finds by comparing with the baseline.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import sqlite3
import struct
import sys
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, Final, Self, cast

from wink.cli import installed_catalog, one_line, open_workspace, wrong
from wink.errors import WinkError
from wink.filesystem import program_state
from wink.state import opened_directory, read_file
from wink.workspace import Workspace
from wink_attach._agent import Agent
from wink_attach._baseline import Baseline, is_damage
from wink_attach._calls import Calls
from wink_attach._client import BEFORE
from wink_attach._judge import Judge
from wink_attach._keeper import Keeper
from wink_attach._place import (
    baseline_of,
    is_private,
    made_private,
    mark_closed,
    mark_seen,
    oddity,
    socket_place,
)
from wink_attach._recorder import Recorder, Told
from wink_attach._settings import AttachSettings
from wink_attach._tree import Tree

IDLE: Final = 900.0
"""Seconds without an event after which the helper ends."""
SCRATCH: Final = ("node_modules", ".venv", "/target", ".tox", ".nox")
"""Directories of dependencies and builds, which are not kept: that something has changed in one is told."""
CACHES: Final = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".gradle")
"""Directories of what a tool makes again by itself, and so nearly each call changes; they are not looked at."""
STOP: Final = b"stop"
"""What takes the place of an event when the helper is to end."""
_PIECE: Final = 0.02
_MOST: Final = 64 << 20
_LOG: Final = 1 << 20
_OF_AN_EVENT: Final = "event: "
_PARTS: Final = 5
_SHELLS: Final = frozenset({"sh", "dash", "bash", "zsh", "fish", "ksh", "busybox"})
_LONGEST_STAT: Final = 4096
_PATIENCE: Final = 5.0


def serve(root: str, *, idle: float = IDLE, is_chosen: bool = True) -> int:
    """Answer events of one workspace until none has come for `idle` seconds; gives the exit status.

    Where it cannot, the last line of standard error says why, for whoever waits for it, and the status is 1. Where that is
    about a `.wink` that may be anybody's, calls there are denied until it is settled.
    """
    directory, name = socket_place(root)
    made_private(directory)
    lock = os.open(f"{directory}/{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0  # another one is at work
    denies = _denies(root)
    if reason := oddity(root, is_chosen=is_chosen):
        mark_closed(root, closed=denies, reason=reason)
        return _ended(reason)
    if denies:  # a mark that is there stays until a helper works: another hook may be looking for it
        mark_closed(root, closed=True)
    place = f"{directory}/{name}.sock"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    fresh = f"{place}.{os.getpid()}"
    listening.bind(fresh)
    os.chmod(fresh, 0o600)
    listening.listen(128)
    os.rename(fresh, place)  # in the place of what a killed one has left: nobody finds none
    try:
        while True:
            with Helper(root, _opened(root)) as helper:
                mark_closed(root, closed=_denies(root))
                if helper.run(listening, idle):
                    break
    except Exception as error:  # whatever somebody has put there, whoever waits is told
        traceback.print_exc()
        return _ended(f"{type(error).__name__}: {error}")
    finally:
        with suppress(OSError):
            os.unlink(place)
        listening.close()
        os.close(lock)
    return 0


def _denies(root: str) -> bool:
    try:
        return Judge.denies(root)
    except Exception:  # settings that nobody can make anything of: what is in doubt is denied
        return True


def _opened(root: str) -> Workspace:
    """The workspace, with a state; one whose `.wink` cannot be opened is marked before anybody hears of it."""
    try:
        workspace = open_workspace(root)
        program_state(workspace.filesystem)
    except Exception as error:
        if os.path.lexists(f"{root}/.wink"):
            mark_closed(root, closed=True, reason=f"wink cannot work here, so no call is judged: {error}")
        raise
    return workspace


def _ended(reason: str) -> int:
    print(one_line(reason), file=sys.stderr, flush=True)
    return 1


class Helper:
    """What is open while the events of one workspace are answered."""

    def __init__(self, root: str, workspace: Workspace) -> None:
        self.root = root
        self._agents: dict[str, Agent] = {}
        self._is_over = False
        self._workspace = workspace
        self._tree = Tree(root, SCRATCH, CACHES)
        place, known_as = baseline_of(root, workspace.state)
        kept: AttachSettings = installed_catalog(root).own_settings("attach")
        self._baseline = Baseline(place, budget=kept.budget_bytes, workspace=known_as)
        with self._trusting(sqlite3.Error, ValueError, TypeError, KeyError):
            self._judge = Judge(self._workspace, self._baseline)
            self._keeper = Keeper(self._tree, self._baseline, self._judge.is_secret)
            self._keeper.begin()
            self._recorder = Recorder(self._workspace, self._keeper)
            self._calls = Calls(self._workspace, self._keeper, self._judge, self._recorder)
        if self._baseline.damage:
            told = f"the copies of files were damaged, and begun anew: what changed since has no entry ({self._baseline.damage})"
            self._recorder.unchanged(Told("hook", "{}", "default", failure=told, effects="read"))

    @contextmanager
    def _trusting(self, *errors: type[Exception]) -> Generator[None]:
        """Have the next helper begin the baseline anew where what is in it turns out to be damaged, as such errors tell."""
        try:
            yield
        except errors as error:
            if is_damage(error) and not isinstance(error, WinkError):
                self._baseline.distrust()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._keeper.close()
        self._tree.close()
        self._workspace.close()

    def run(self, listening: socket.socket, idle: float) -> bool:
        """Answer until nothing has come for `idle` seconds; False where another directory stands at the workspace's path by now."""
        with self._trusting(sqlite3.Error):
            last = time.monotonic()
            while time.monotonic() - last < idle and not self._is_over:
                wait = 0.0 if self._keeper.has_work else min(idle, 30.0)
                ready, _, _ = select.select([listening], [], [], wait)
                if ready and not self._tree.is_at(self.root):
                    return False
                if ready:
                    connection, _ = listening.accept()
                    with connection:
                        self.answer(connection)
                    last = time.monotonic()
                elif self._keeper.has_work:
                    self._keeper.work(_PIECE)
                else:
                    self._calls.settle_dead()
                    self._baseline.sweep()
            self._calls.between()
        return True

    def answer(self, connection: socket.socket) -> None:
        """Take one event and answer it; another user's gets nothing."""
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        client, user, _ = struct.unpack("3i", credentials)
        if user != os.geteuid():
            return
        started_by = _agent_above(client)
        connection.settimeout(_PATIENCE)
        try:
            name, kind, root, pid, payload = (_part(connection) for _ in range(_PARTS))
        except (OSError, ValueError):
            return
        status, said = 0, b""
        try:
            if kind == STOP:
                self._is_over = True
            elif os.fsdecode(root) == self.root:
                said = self._heard(os.fsdecode(name), payload, int(pid) if pid.isdigit() else started_by)
        except Exception as error:  # the agent has to go on, whatever its hook was given
            status, said = self._failed(os.fsdecode(name), kind, error)
            if isinstance(error, sqlite3.Error) and is_damage(error):
                self._baseline.distrust()
                self._is_over = True
        with suppress(OSError):
            connection.sendall(bytes((status,)) + len(said).to_bytes(4, "big") + said)

    def _heard(self, name: str, payload: bytes, pid: int) -> bytes:
        agent = self._agent(name)
        found: Any = json.loads(payload)
        if not isinstance(found, dict):
            raise ValueError("an event that is no object")
        mark_closed(self.root, closed=self._judge.is_closed())
        return self._calls.heard(agent, cast("dict[str, Any]", found), pid)

    def _agent(self, name: str) -> Agent:
        known = self._agents.get(name)
        if known is None:
            from wink_attach._offers import agent_named

            known = self._agents[name] = agent_named(self.root, name)
            mark_seen(self.root, name)
        return known

    def _failed(self, name: str, kind: bytes, error: Exception) -> tuple[int, bytes]:
        """What the hook is answered when its event cannot be dealt with, of which the log gets a line."""
        print(one_line(f"{_OF_AN_EVENT}{type(error).__name__}: {error}"), file=sys.stderr, flush=True)
        reason = f"an event of {name} could not be dealt with: {type(error).__name__}: {error}"[:500]
        with suppress(Exception):
            self._recorder.unchanged(Told("hook", "{}", "default", failure=reason, effects="read"))
        if not self._judge.is_closed() or kind not in BEFORE:
            return 0, b""
        return 2, f"wink has rules for this workspace, and {reason}".encode("utf-8", "backslashreplace")


def _agent_above(pid: int) -> int:
    """The process that has started a hook, past the shells between them; 0 where that cannot be told."""
    try:
        while pid > 1:
            pid = int(_stat_of(pid)[1].split()[1])
            if _stat_of(pid)[0] not in _SHELLS:
                return pid if pid > 1 else 0
    except (OSError, ValueError):
        pass
    return 0


def _stat_of(pid: int) -> tuple[str, str]:
    """A process's name, and what the kernel tells of it after that."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        name, _, rest = file.read(_LONGEST_STAT).partition("(")[2].rpartition(")")
    return name, rest


def stop(root: str) -> bool:
    """Ask the helper of a workspace to end, and wait until it has; whether there was one. Raises `WrongInput` where it does not."""
    directory, name = socket_place(root)
    if not is_private(directory):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as connection:
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(f"{directory}/{name}.sock")
            if struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1] != os.geteuid():
                return False
            for part in (b"", STOP, b"", b"", b""):
                connection.sendall(len(part).to_bytes(4, "big") + part)
            while connection.recv(64):
                pass
        except OSError:
            return False
    lock = os.open(f"{directory}/{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            else:
                return True
    finally:
        os.close(lock)
    raise wrong("the helper of this workspace does not end; end it by hand, and try again")


def last_failure(root: str) -> str:
    """What the last helper of a workspace has said when it could not start; "" while one is at work, and where it could."""
    directory, name = socket_place(root)
    try:
        lock = os.open(f"{directory}/{name}.lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        lock = -1
    try:
        if lock >= 0:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with opened_directory(os.path.realpath(directory)) as fd:
            lines = read_file(fd, f"{name}.log", _LOG).decode("utf-8", "replace").splitlines()
    except (OSError, WinkError):
        return ""
    finally:
        if lock >= 0:
            os.close(lock)
    return one_line(lines[-1]) if lines and not lines[-1].startswith(_OF_AN_EVENT) else ""


def _part(connection: socket.socket) -> bytes:
    size = int.from_bytes(_exactly(connection, 4), "big")
    if size > _MOST:
        raise ValueError(size)
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(min(size - len(data), 1 << 20))
        if not more:
            raise ValueError("cut off")
        data += more
    return bytes(data)
