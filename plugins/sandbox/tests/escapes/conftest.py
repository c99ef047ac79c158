"""A machine's worth of things that must not change, and the ways in which a program gets to run near them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.workspace import Workspace
from wink_sandbox import remove_tree
from wink_shell import ShellConfig, ShellSection

ATTACKS = Path(__file__).with_name("attacks.py")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOBODY = 65534
SECONDS = 100
"""Far more than anything takes on a busy machine, and less than the programs that stay behind would."""


@dataclass(frozen=True)
class Ended:
    """What somebody who ran a program gets to see."""

    status: int
    text: str


class World:
    """A workspace, and all around it."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.home, self.outside = base, base / "project", base / "home", base / "outside"
        self.marker = f"wink-escape-{uuid.uuid4().hex}"
        self.secret = uuid.uuid4().hex
        for place in (self.root / "src", self.home / ".ssh", self.outside, base / "other/.wink"):
            place.mkdir(parents=True)
        # The user's key, which every workspace of theirs is known by.
        self.noted = self.home / ".local/state/wink/known"
        self.noted.mkdir(parents=True)
        self.copies = self.home / ".local/state/wink-copies"
        self.noted_copies = self.home / ".local/state/wink/copies"
        (self.home / ".local/state/wink/key").write_bytes(os.urandom(32))
        for path, text in (
            (self.root / "src/app.py", "print('hello')\n"),
            (self.home / ".ssh/id", self.secret),
            (self.home / ".bashrc", "true\n"),
            (self.outside / "secret.txt", self.secret),
            (base / "other/notes.txt", self.secret),
            (base / "other/.wink/record.db", self.secret),
            (base / "prompt", "what the program is to read\n"),
        ):
            path.write_text(text)
        os.symlink(self.outside / "secret.txt", self.root / "leads-out")
        os.symlink(self.outside, self.root / "directory-out")
        who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
            subprocess.run(
                ["git", *words], cwd=self.root, check=True, env={"PATH": PATH, "HOME": "/nonexistent", **who}
            )
        shutil.copy(ATTACKS, self.root / "attacks.py")
        os.mkfifo(self.home / "fifo")
        (self.home / "fifo").chmod(0o666)
        self._reading = os.open(self.home / "fifo", os.O_RDWR | os.O_NONBLOCK)
        self._sockets: list[socket.socket] = []
        self._answering: list[threading.Thread] = []
        words = [sys.executable, "-c", "import time; time.sleep(600)", self.marker]
        self.victim = subprocess.Popen(words, start_new_session=True, env={"SECRET_KEY": self.secret})
        (self.root / "facts.json").write_text(json.dumps(self._facts()))

    def _facts(self) -> Mapping[str, Any]:
        new = [
            f"{place}/{self.marker}"
            for place in ("/", "/etc", "/usr", "/usr/local/bin", "/var", "/var/lib", "/opt", "/bin")
        ]
        return {
            "marker": self.marker, "secret": self.secret, "variable": self.secret, "victim": self.victim.pid,
            "parent": os.getpid(), "tcp": self._answer(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)),
            "udp": self._answer(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0)), "ip": _address(),
            "abstract": self._answer(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.marker}"),
            "sockets": [
                self._answer(socket.AF_UNIX, socket.SOCK_STREAM, str(place / "s"))
                for place in (self.outside, self.home, self.root)
            ],
            "fifo": str(self.home / "fifo"),
            "write": [*new, "/etc/passwd", "/etc/hosts", "/usr/bin/env", str(self.outside / "secret.txt"),
                      str(self.outside / "new"), str(self.base / "other/.wink/record.db")],
            "secrets": [str(self.outside / "secret.txt"), str(self.home / ".ssh/id"), str(self.base / "other/notes.txt"),
                        str(self.home / ".local/state/wink/key")],
            "roots_own": [*_roots_own()][:50],
        }  # fmt: skip

    def _answer(self, family: int, kind: int, address: Any) -> Any:
        """Listen there and answer whoever speaks; gives what it is called."""
        made = socket.socket(family, kind)
        made.bind(address)
        if kind == socket.SOCK_STREAM:
            made.listen(20)
        self._sockets.append(made)
        self._answering.append(threading.Thread(target=_answer, args=(made, kind), daemon=True))
        self._answering[-1].start()
        name = made.getsockname()
        return name[1] if family == socket.AF_INET else address.lstrip("\0")

    def close(self) -> None:
        """End what was started, and clean up."""
        self.victim.kill()
        self.victim.wait()
        os.close(self._reading)
        for made in self._sockets:
            with suppress(OSError):
                made.shutdown(socket.SHUT_RDWR)
            made.close()
        for thread in self._answering:
            thread.join(10)
        remove_tree(str(self.base))  # the kernel leaves directories that not even their owner can look into

    def snapshot(self) -> Mapping[str, object]:
        """All that no program may change, however it ended."""
        facts: dict[str, object] = {"mounts": sorted(_mounts()), "victim": self.victim.poll()}
        for place in (self.outside, self.home, self.base / "other", self.base / "prompt", self.root / ".git"):
            for path in (place, *sorted(place.rglob("*"))):
                # wink itself notes there which workspaces have a state and which copies there are, and has copies for programs that nothing confines.
                if {self.noted, self.copies, self.noted_copies}.isdisjoint((path, *path.parents)):
                    facts[str(path)] = _looks(path)
        for path in (
            "/etc/passwd",
            "/etc/hosts",
            "/usr/bin/env",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/hostname",
        ):
            facts[path] = _looks(Path(path))
        for place in ("/", "/etc", "/usr", "/usr/local/bin", "/var", "/var/lib", "/opt", "/bin", "/dev/shm", "/tmp"):
            facts[f"new in {place}"] = [name for name in os.listdir(place) if self.marker in name or name == "planted"]
        return facts

    def leftovers(self) -> list[str]:
        """Processes of programs that are over, and what they wrote; empty overlays wait for the next program."""
        uppers = (self.root / ".wink").glob("*/programs/*/upper/*")
        found = [f"overlay {path}" for path in uppers]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                if f"{self.marker}-".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(f"process {pid}")
        return found

    def workspace(self) -> Mapping[str, object]:
        """Everything in the workspace but wink's own."""
        found: dict[str, object] = {}
        for place, directories, files in os.walk(self.root):
            # Not into it: what was dropped there may be so deep that it has no path.
            directories[:] = [name for name in directories if name != ".wink"]
            for path in (Path(place, name) for name in (*directories, *files)):
                found[str(path.relative_to(self.root))] = _looks(path)
        return found


Run = Callable[..., Ended]
"""Runs a program in the world's workspace."""


def by_run_command(world: World, *words: str, **config: Any) -> Ended:
    """As a tool call of a model does."""
    shell = ShellSection(config=ShellConfig(**config))
    with Workspace.open(world.root) as workspace:
        session = workspace.session()
        prompt = Prompt(PromptTemplate(ns="tests", key="escapes", sections=[shell]))
        prompt = prompt.bind(resources={Filesystem: workspace.filesystem})
        try:
            executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
            line = words[0] if len(words) == 1 else " ".join(words)
            reply = executor.execute(ToolCall("run_command", {"command": line}))
        finally:
            prompt.cleanup()
    return Ended(0 if reply.success else 1, reply.text)


def by_try(world: World, *words: str, profile: str, user: int | None = None) -> Ended:
    """As a person does; its input is a file of that person's, its environment has a secret."""
    line = ["sh", "-c", words[0]] if len(words) == 1 else list(words)
    return wink(world, "try", "--profile", profile, "--", *line, user=user)


def by_try_on_copy(world: World, *words: str, user: int | None = None) -> Ended:
    """The same where a try works on a copy, as one that began so goes on doing."""
    wink(world, "try", "--unconfined", "--", "mkdir", "begun", user=user)
    assert list(world.root.glob(".wink/*/tries/default/copy"))
    return by_try(world, *words, profile="agent", user=user)


def wink(world: World, *words: str, user: int | None = None) -> Ended:
    """One wink command in the workspace."""
    environment = {"PATH": PATH, "HOME": str(world.home), "SECRET_KEY": world.secret, "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "wink", *words]
    if user is not None:
        interpreter = usable_by(user)
        assert interpreter is not None, "only asked for where there is one"
        environment |= {"PYTHONPATH": os.pathsep.join(modules())}
        command = [*_as(user), interpreter, "-m", "wink", *words]
    with open(world.base / "prompt") as stdin:
        done = subprocess.run(
            command, cwd=world.root, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=SECONDS, check=False, errors="replace", text=True,
        )  # fmt: skip
    return Ended(done.returncode, done.stdout)


def usable_by(user: int) -> str | None:
    """A Python that another user can import wink in: the virtual environment may lie where only we can look."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return None
    for place in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        # As a child: the first program that setpriv executes is found with rights which it does not have itself.
        words = [*_as(user), "sh", "-c", f"{place} -c 'import wink.cli, pydantic_core' && true"]
        environment = {"PATH": PATH, "PYTHONPATH": os.pathsep.join(modules())}
        with suppress(OSError):
            if subprocess.run(words, env=environment, cwd="/", capture_output=True, check=False).returncode == 0:
                return place
    return None


def modules() -> list[str]:
    import click

    import wink as here
    import wink_rules
    import wink_sandbox
    import wink_shell

    found = (here, wink_rules, wink_sandbox, wink_shell, click)
    return [str(Path(module.__file__ or "").parents[1]) for module in found]


def _as(user: int) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


RUNNERS: dict[str, Run] = {
    "run_command": by_run_command,
    "try, closed": lambda world, *words: by_try(world, *words, profile="closed"),
    "try, agent": lambda world, *words: by_try(world, *words, profile="agent"),
    "try, agent, on a copy": by_try_on_copy,
}
if usable_by(NOBODY):
    RUNNERS["try, closed, as nobody"] = lambda world, *words: by_try(world, *words, profile="closed", user=NOBODY)
    RUNNERS["try, agent, as nobody"] = lambda world, *words: by_try(world, *words, profile="agent", user=NOBODY)
    RUNNERS["try, agent, on a copy, as nobody"] = lambda world, *words: by_try_on_copy(world, *words, user=NOBODY)


@pytest.fixture
def world() -> Iterator[World]:
    """A world of its own for each test, where other users can look too."""
    # Not in /tmp: what programs in a try write there succeeds, and stays in the try.
    base = Path(
        tempfile.mkdtemp(prefix="wink-escapes-", dir="/var/lib" if os.getuid() == 0 else os.path.expanduser("~"))
    )
    base.chmod(0o755)
    made = World(base)
    yield made
    made.close()


def owned_by(world: World, user: int) -> None:
    """Give what is the person's to that person."""
    for place in (world.root, world.home, world.outside, world.base / "other"):
        for path in (place, *place.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)


def _looks(path: Path) -> object:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    content: object = None
    if stat.S_ISLNK(found.st_mode):
        content = os.readlink(path)
    elif stat.S_ISREG(found.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    names = [] if stat.S_ISLNK(found.st_mode) else os.listxattr(path)
    return found.st_mode, found.st_uid, found.st_nlink if stat.S_ISREG(found.st_mode) else 0, content, tuple(names)


def _mounts() -> Iterator[str]:
    """What is mounted around here: others of this machine may come and go with theirs."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if "wink-escapes-" in line or " /proc" in line or " /etc" in line or " / / " in line:
            yield line.split(" - ")[0].split(" ", 2)[2]


def _roots_own() -> Iterator[str]:
    for above, _, names in os.walk("/etc"):
        for name in names:
            with suppress(OSError):
                found = os.lstat(f"{above}/{name}")
                if stat.S_ISREG(found.st_mode) and found.st_size and not found.st_mode & 0o004:
                    yield f"{above}/{name}"


def _address() -> str:
    """An address of this machine besides loopback, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        try:
            made.connect(("192.0.2.1", 9))
            return str(made.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _answer(made: socket.socket, kind: int) -> None:
    with suppress(OSError):
        while True:
            if kind == socket.SOCK_DGRAM:
                data, sender = made.recvfrom(100)
                if not sender:
                    return
                made.sendto(b"here I am", sender)
            else:
                with made.accept()[0] as one:
                    one.sendall(b"here I am")
