"""Run commands in containers over an overlay of the workspace, as the guard of a tool call."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from wink.errors import ProgramNotStarted
from wink.filesystem import FileChange, FileTransaction, program_state
from wink_podman._calls import without_far_sockets
from wink_podman._config import PodmanConfig
from wink_podman._engine import View, arguments, podman
from wink_podman._leftovers import owner, remove_leftovers
from wink_sandbox import (
    PROGRAMS,
    Command,
    Differences,
    Ended,
    Notes,
    OnOutput,
    Overlay,
    Sandbox,
    Scratch,
    Stop,
    Streams,
    differences,
    fresh_name,
    merge,
    opened,
    sweep,
    watch,
)

_PODMAN_FAILED: Final = 125
_NOT_RUN: Final = frozenset((126, 127))


class Container:
    """A container that runs one command: what `watch` listens to, and can end."""

    def __init__(self, words: list[str], name: str, place: str, streams: Streams) -> None:
        self._name = name
        # If this process dies, the pipe ends, and the container is removed by somebody who has nothing else to do.
        ours, theirs = os.pipe2(os.O_CLOEXEC)[::-1]
        guard = f"read -r done || exec '{words[0]}' rm --force --time 0 --ignore {name} >/dev/null 2>&1"
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", guard],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        self._alive = ours
        self._killer: subprocess.Popen[bytes] | None = None
        try:
            stdin, stdout, stderr = streams.theirs
            # In `place`, which is removed afterwards: Podman's monitor leaves a file where it is when memory runs out.
            self._process = subprocess.Popen(
                words, cwd=place, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, env=_environment()
            )
            self._fd = os.pidfd_open(self._process.pid)
        except BaseException:
            self._end_watchdog()
            raise

    def fileno(self) -> int:
        """Readable when the command is over."""
        return self._fd

    def read(self) -> tuple[dict[str, Any], ...] | None:
        """How it ended; nothing more afterwards."""
        if self._process.returncode is not None:
            return None
        status = self._process.wait()
        return ({"ended": status, "code": status if status >= 0 else None},)

    def kill(self) -> None:
        """End every process in it."""
        if self._killer is None:
            self._killer = subprocess.Popen(
                [podman(), "kill", "--signal", "KILL", self._name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )

    def close(self) -> None:
        """See that nothing of it is left."""
        is_over = self._process.poll() is not None
        if not is_over:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._killer is not None:
            self._killer.wait()
        if not is_over or self._killer is not None or self._process.returncode < 0:
            subprocess.run(
                [podman(), "rm", "--force", "--time", "0", "--ignore", self._name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=_environment(),
            )
        os.close(self._fd)
        self._end_watchdog()

    def _end_watchdog(self) -> None:
        with suppress(BrokenPipeError):
            os.write(self._alive, b"done\n")
        os.close(self._alive)
        self._watchdog.wait()


@dataclass(slots=True)
class _Contained:
    config: PodmanConfig
    part: FileTransaction
    sandbox: Sandbox
    overlay: Overlay
    masked: tuple[str, ...]
    _lent: frozenset[str] = frozenset()
    _found: Differences | None = field(default=None, repr=False)

    def run(
        self,
        command: Command,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        beat: Callable[[], object] | None = None,
    ) -> Ended:
        """Run the program to its end."""
        self._found = None
        limits = self.sandbox.profile.limits
        seconds = limits.wall_seconds if limits.wall_seconds is not None else self.config.max_timeout_seconds
        name = f"wink-{fresh_name()}"
        place = self.overlay.directory
        os.makedirs(f"{place}/empty", exist_ok=True)
        mount = self.overlay.mount()
        hidden = self._hidden(mount.upper)
        if hidden:
            os.close(os.open(f"{place}/nothing", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444))
        view = View(
            mount.target,
            mount.upper,
            mount.work,
            f"{place}/empty",
            self.masked,
            f"{place}/nothing",
            hidden,
            self._calls(),
        )
        words = [
            *arguments(
                self.config,
                view,
                name=name,
                owner=owner(),
                cwd=command.cwd,
                env=tuple(command.env.items()),
                seconds=seconds,
                interactive=bool(command.stdin),
            ),
            "--entrypoint",
            command.argv[0],
            self.config.image,
            *command.argv[1:],
        ]
        streams = Streams()
        try:
            try:
                container = Container(words, name, place, streams)
            except BaseException:
                os.close(streams.feed)
                raise
            finally:
                streams.close_theirs()
            ended = watch(
                command.argv[0],
                container,
                streams,
                command.stdin,
                seconds=seconds,
                output_bytes=limits.output_bytes,
                stop=stop,
                on_output=on_output,
                beat=lambda: _nothing(beat),
            )
        finally:
            streams.close(streams.out, streams.err)
        return _started(command, ended)

    def _calls(self) -> str:
        """Where the filter of system calls lies that a container without network has."""
        found = None if self.config.network else without_far_sockets()
        if found is None:
            return ""
        path = f"{self.overlay.directory}/calls.json"
        with open(path, "x", encoding="utf-8") as file:
            file.write(found)
        return path

    def _hidden(self, upper: str) -> tuple[tuple[str, bool], ...]:
        """What rules hide, each with whether it is a directory: of a link that is hidden, what it leads to in the workspace."""
        root, hiding = self.overlay.root, self.sandbox.hiding
        found = dict[str, bool]()
        for path in () if hiding is None else hiding.find(root, upper):
            real = os.path.realpath(f"{root}/{path}")
            if real.startswith(f"{root}/") and os.path.exists(real):
                found[real[len(root) + 1 :]] = os.path.isdir(real)
        return tuple(found.items())

    def changes(self) -> tuple[FileChange, ...]:
        """What it changed, one entry a path."""
        return self._differences().changes()

    def notes(self) -> Notes:
        """What of it stays out."""
        found = self._differences()
        fresh = [path for path in found.scratch if path not in self._lent]
        notes = tuple(note for note in found.notes if note[0] not in self.masked)
        return (*notes, *((path, "is scratch, kept for the next command only") for path in fresh))

    def keep(self) -> None:
        """Make it part of the call, which must have its turn; raises `MergeConflict` and `MergeRefused`."""
        self._found = None
        found = self._differences()
        self._own(found)
        merge(replace(found, notes=self.notes()), self.part)

    def _differences(self) -> Differences:
        if self._found is None:
            self._found = differences(self.overlay)
        return self._found

    def _own(self, found: Differences) -> None:
        """Give what the container's user made to the owner of the workspace: nobody else was here."""
        if os.geteuid():
            return
        theirs = int(self.config.user.split(":")[0])
        to = os.stat(self.overlay.root)
        for step in found.steps:
            if step.made is not None and step.made.st_uid == theirs:
                os.chown(f"{self.overlay.upper}/{step.path}", to.st_uid, to.st_gid, follow_symlinks=False)


class PodmanGuard:
    """Commands run in containers, over an overlay that Podman mounts: what they changed is exactly its upper layer."""

    __slots__ = ("_config",)

    def __init__(self, config: PodmanConfig) -> None:
        self._config = config

    @property
    def name(self) -> str:
        """What events call it."""
        return "podman"

    @property
    def unseen(self) -> tuple[str, ...]:
        """Nothing: all that a command changed is in the upper layer."""
        return ()

    @contextmanager
    def open(self, part: FileTransaction, sandbox: Sandbox) -> Generator[_Contained]:
        """Guard the next command of a call."""
        podman()
        remove_leftovers()
        state = program_state(part)
        programs, root = f"{state}/{PROGRAMS}", part.tree.store.root
        scratch = Scratch(f"{state}/scratch", sandbox.scratch) if sandbox.scratch else None
        sweep(programs, root, scratch)
        masked = tuple(name for name in sandbox.masked if os.path.isdir(f"{root}/{name}"))
        with opened(Overlay(root, f"{programs}/{fresh_name()}", scratch)) as overlay:
            yield _Contained(self._config, part, sandbox, overlay, masked, frozenset(differences(overlay).scratch))


def _started(command: Command, ended: Ended) -> Ended:
    """The same, unless it was Podman that failed."""
    said = ended.stderr.text().strip()
    if ended.status == _PODMAN_FAILED or (ended.status in _NOT_RUN and said.startswith("Error: ")):
        raise ProgramNotStarted(
            command.argv[0], said.removeprefix("Error: ") or "Podman failed, and says nothing of it"
        )
    return ended


def _nothing(beat: Callable[[], object] | None) -> None:
    if beat is not None:
        beat()


def _environment() -> dict[str, str]:
    """What Podman itself has to know: where its storage is, and nothing that a workspace could have set."""
    names = ("HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
    return {name: os.environ[name] for name in names if name in os.environ}
