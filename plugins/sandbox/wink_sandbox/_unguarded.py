"""Run programs as they are, unconfined, where the user's own settings say so."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from wink.dataclass import dataclass
from wink.errors import ProgramNotStarted
from wink.filesystem import FileChange, FileTransaction
from wink_sandbox._guard import Guarded
from wink_sandbox._merge import Notes
from wink_sandbox._sandbox import Sandbox, rlimits
from wink_sandbox.programs import Command, Ended, OnOutput, Stop, Streams, watch

UNSEEN: Final = "what programs change: it is real at once, and cannot be taken back"


class Unguarded:
    """No guard at all: programs see and change everything that the user can, and what they do stays, whatever comes."""

    @property
    def name(self) -> str:
        """What events call it."""
        return "none"

    @property
    def unseen(self) -> tuple[str, ...]:
        """Everything escapes it."""
        return (UNSEEN,)

    @contextmanager
    def open(self, part: FileTransaction, sandbox: Sandbox) -> Generator[Guarded]:
        """Run the next program of a call."""
        yield _Bare(part.tree.store.root, sandbox)


@dataclass(frozen=True, slots=True)
class _Bare:
    root: str
    sandbox: Sandbox

    def run(
        self,
        command: Command,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        beat: Callable[[], object] | None = None,
    ) -> Ended:
        limits, streams = self.sandbox.profile.limits, Streams()

        def told() -> str | None:
            if beat is not None:
                beat()
            return None

        try:
            try:
                channel = _Process(
                    command, f"{self.root}/{command.cwd}", streams.theirs, rlimits(self.sandbox.profile, ())
                )
            except BaseException:
                streams.close(streams.feed)
                raise
            finally:
                streams.close_theirs()
            return watch(
                command.argv[0],
                channel,
                streams,
                command.stdin,
                seconds=limits.wall_seconds,
                output_bytes=limits.output_bytes,
                stop=stop,
                on_output=on_output,
                beat=told,
            )
        finally:
            streams.close(streams.out, streams.err)

    def changes(self) -> tuple[FileChange, ...]:
        return ()

    def notes(self) -> Notes:
        return (("", UNSEEN),)

    def keep(self) -> None:
        pass


class _Process:
    """A process group that speaks as the launcher does of its programs."""

    def __init__(self, command: Command, cwd: str, streams: tuple[int, int, int], limits: Mapping[str, int]) -> None:
        self._ready, self._tell = os.pipe2(os.O_CLOEXEC)
        words = [*_limiting(limits), *command.argv]
        try:
            stdin, stdout, stderr = streams
            self._process = subprocess.Popen(
                words, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=dict(command.env), start_new_session=True
            )
        except OSError as error:
            os.close(self._ready)
            os.close(self._tell)
            raise ProgramNotStarted(command.argv[0], error.strerror or str(error)) from error
        self._news: list[dict[str, Any]] = []
        threading.Thread(target=self._wait, name="wink-program", daemon=True).start()

    def fileno(self) -> int:
        return self._ready

    def read(self) -> tuple[dict[str, Any], ...] | None:
        if not os.read(self._ready, 1):
            return None
        news, self._news = tuple(self._news), []
        return news

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        self._process.wait()
        os.close(self._ready)

    def _wait(self) -> None:
        status = self._process.wait()
        self.kill()  # what it left running in its group goes too
        self._news.append({"ended": status, "code": status if status >= 0 else 128 - status})
        os.write(self._tell, b"x")
        os.close(self._tell)


def _limiting(limits: Mapping[str, int]) -> list[str]:
    """Words in front of a command that hold it to its limits, without running Python between fork and exec."""
    names = {
        "RLIMIT_AS": "as",
        "RLIMIT_NPROC": "nproc",
        "RLIMIT_FSIZE": "fsize",
        "RLIMIT_CPU": "cpu",
        "RLIMIT_CORE": "core",
    }
    if not os.access("/usr/bin/prlimit", os.X_OK):
        return []
    return ["/usr/bin/prlimit", *(f"--{names[name]}={value}" for name, value in limits.items()), "--"]
