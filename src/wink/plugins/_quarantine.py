"""Remember in whose code a process died or hung, so that the next process does without that plugin.

* While code of another distribution than wink's runs (an import, a factory, a hook), a note in a directory of the user's
  names the plugin, and this process holds a lock on the note. Whoever comes back from that code, with an exception too,
  deletes it; so does who is asked to end (SIGTERM) soon after it began, as clients do with servers that they try.
* So a note that nobody has locked is of a process that never came back: it was ended by `os._exit`, a crash, a signal, or by
  the watch below. The lock is `lockf`'s: the kernel lets it go with the process, and children do not inherit it.
* What does not come back in time is ended with the process, since nothing can stop an import. A thread says so in a line;
  where code of C holds the interpreter, and no thread can run, `faulthandler` ends it, a little later.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final, NoReturn

from wink.bounded import content
from wink.plugins._info import PluginInfo

PATIENCE: Final = 10.0
"""Seconds that a plugin's code may take for one import, one factory or one hook."""

_BLAMELESS: Final = 5.0
"""Seconds within which whoever is asked to end does not blame the plugin."""

_GRACE: Final = 5.0
"""Seconds after which C ends what the thread could not."""
_MOST: Final = 4096
"""Bytes that are read of a note."""
_SUFFIX: Final = ".running"
_STATUS: Final = 1

_held: Final = set[str]()
"""The notes of this process."""


class Quarantine:
    """Keeps a directory of notes; for processes that are wink's own, since it ends them.

    `place` finds the directory when it is first needed, and gives None where there can be none: then nothing is
    remembered, and what hangs is ended all the same. `say` is told why a process ends.
    """

    def __init__(
        self, place: Callable[[], str | None], say: Callable[[str], object], *, patience: float = PATIENCE
    ) -> None:
        self._find, self._say, self._patience = place, say, patience
        self._found: list[str | None] = []
        self._own = threading.local()

    def judged(self, plugins: Iterable[PluginInfo]) -> tuple[PluginInfo, ...]:
        """The same plugins, `quarantined` those that might be used if no process had died in them."""
        plugins = tuple(plugins)
        if not any(plugin.usable and plugin.is_foreign for plugin in plugins):
            return plugins
        left = {named for _, named in self._left()}
        return tuple(
            replace(plugin, state="quarantined", reason=_reason(plugin))
            if plugin.usable and plugin.is_foreign and _naming(plugin) in left
            else plugin
            for plugin in plugins
        )

    def release(self, plugins: Iterable[PluginInfo]) -> bool:
        """Let these plugins in again; whether one of them was kept out."""
        names = {_naming(plugin) for plugin in plugins}
        gone = [path for path, named in self._left() if named in names]
        for path in gone:
            os.unlink(path)
        return bool(gone)

    @contextmanager
    def watching(self, plugin: PluginInfo) -> Generator[None]:
        """Note that this thread runs code of the plugin's, and end the process if that takes too long."""
        if not plugin.is_foreign:
            yield
            return
        watch: _Watch | None = getattr(self._own, "watch", None)
        if watch is None or watch.process != os.getpid():
            watch = self._own.watch = _Watch(self._directory(), self._patience, self._say)
        watch.enter(plugin)
        try:
            yield
        finally:
            if watch.leave():
                self._own.watch = None

    def _directory(self) -> str | None:
        if not self._found:
            self._found.append(self._find())
        return self._found[0]

    def _left(self) -> list[tuple[str, str]]:
        """The notes whose processes are gone, each with what it names."""
        import fcntl

        directory = self._directory()
        found: list[tuple[str, str]] = []
        names: list[str] = []
        if directory is not None:
            with suppress(OSError):
                names = sorted(name for name in os.listdir(directory) if name.endswith(_SUFFIX))
        for name in names:
            path = f"{directory}/{name}"
            if path in _held:
                continue  # closing a file lets go of every lock that this process has on it
            with suppress(OSError):
                fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the process is there
                    named = os.fsdecode(content(path, most=_MOST))
                finally:
                    os.close(fd)
                found.append((path, named))
        return found


class _Watch:
    """What one thread runs of plugins' code, innermost last: the one whose code calls another's is not to blame for it."""

    def __init__(self, directory: str | None, patience: float, say: Callable[[str], object]) -> None:
        self.process = os.getpid()
        self._directory, self._patience, self._say = directory, patience, say
        self._running: list[PluginInfo] = []
        self._changed = threading.Condition()
        self._end = 0.0
        self._path, self._fd = "", -1
        self._is_listening = False

    def enter(self, plugin: PluginInfo) -> None:
        """From here on the plugin is to blame."""
        with self._changed:
            self._running.append(plugin)
            self._note()
        if len(self._running) == 1:
            self._listen()
            threading.Thread(target=self._wait, name="wink-plugins", daemon=True).start()

    def leave(self) -> bool:
        """From here on the plugin around it is, if there is one; whether that was the last."""
        with self._changed:
            self._running.pop()
            self._note()
            self._changed.notify()
        if not self._running:
            self._forget()
            if self._is_listening and signal.getsignal(signal.SIGTERM) == self._end_at_once:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._is_listening = False
        return not self._running

    def _forget(self) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._fd)
            self._fd = -1
            _held.discard(self._path)

    def _listen(self) -> None:
        """Delete the note before SIGTERM ends this process, where nobody else has a say in that."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._end_at_once)
            self._is_listening = True

    def _end_at_once(self, number: int, frame: object) -> None:
        del frame
        if time.monotonic() < self._end - self._patience + _BLAMELESS:
            self._forget()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    def _open(self, directory: str) -> None:
        """Make the note under its name once it is locked and filled: others would take it for one of a dead process."""
        import fcntl

        path = f"{directory}/{os.urandom(8).hex()}"
        with suppress(OSError):  # then nothing is remembered
            _make(directory)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
            self._path = path + _SUFFIX
            _held.add(self._path)
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write()
            os.rename(path, self._path)

    def _write(self) -> None:
        named = os.fsencode(_naming(self._running[-1]))  # a directory may have any name
        os.ftruncate(self._fd, os.pwrite(self._fd, named, 0))

    def _note(self) -> None:
        import faulthandler
        import sys

        self._end = time.monotonic() + self._patience
        if self._fd < 0 and self._directory is not None:
            self._open(self._directory)
        elif self._running:  # the last one's stays until the file goes
            with suppress(OSError):
                self._write()
        if threading.current_thread() is threading.main_thread():
            with suppress(OSError, ValueError, AttributeError, RuntimeError):  # standard error may be no file
                if self._running:
                    faulthandler.dump_traceback_later(self._patience + _GRACE, exit=True, file=sys.stderr)
                else:
                    faulthandler.cancel_dump_traceback_later()

    def _wait(self) -> None:
        with self._changed:
            while self._running:
                left = self._end - time.monotonic()
                if left <= 0:
                    self._give_up(self._running[-1])
                self._changed.wait(left)

    def _give_up(self, plugin: PluginInfo) -> NoReturn:
        try:
            self._say(
                f"plugin {plugin.name!r} of {plugin.installed_as} has not come back for {self._patience:g} s from being "
                f"imported or made, which nothing can stop but the end of this process; {_way_back(plugin)}"
            )
        finally:
            os._exit(_STATUS)  # the note stays behind


def _naming(plugin: PluginInfo) -> str:
    """What a note says; another version is another thing, and begins anew."""
    return f"{plugin.name} {plugin.distribution} {plugin.version}"


def _reason(plugin: PluginInfo) -> str:
    return f"a process died or hung while it was imported or made; {_way_back(plugin)}"


def _way_back(plugin: PluginInfo) -> str:
    return f"it is left out until `wink plugins retry {plugin.name}` lets it in again"


def _make(directory: str) -> None:
    above = directory
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if above != directory and os.stat(above).st_uid != os.geteuid():
        raise PermissionError  # made by root in somebody's home, it would keep them from it
    os.makedirs(directory, mode=0o700, exist_ok=True)
