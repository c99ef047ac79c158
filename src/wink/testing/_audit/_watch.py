"""One audit hook for the process, which watches the handlers that are being watched and nobody else.

Python's audit hooks cannot be removed, so there is one, which is added when it is first needed and does next to nothing as
long as no handler is watched. A handler is found through a context variable, which coroutines and `asyncio.to_thread`
inherit; threads that it starts are noted when they are started; and on threads that were there before, such as those of a
pool, code of the handler's own package counts as the handler's.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final
from weakref import WeakKeyDictionary

from wink.filesystem import Filesystem
from wink.testing._audit._acts import ACTS, THREADS, Act, Sort
from wink.testing._audit._blame import blame, is_of, trusted_places
from wink.testing._errors import UndeclaredEffects
from wink.tools import Effects

_ALWAYS: Final[dict[str, frozenset[Sort]]] = {
    # effects    what may be done beside the handle; files only outside of the workspace
    "read": frozenset(),
    "workspace": frozenset(),
    "process": frozenset[Sort](("programs", "signals", "local", "reads", "changes")),
    "external": frozenset[Sort](("programs", "signals", "local", "reads", "changes", "network", "process")),
}  # fmt: skip

_REMEDIES: Final[dict[Sort, str]] = {
    "reads": "read the workspace through context.filesystem, which stays inside it and knows what was read",
    "changes": "change files through context.filesystem, which takes it back when the call fails",
    "programs": "declare effects='process' for a tool that runs programs, and run them with wink_sandbox",
    "signals": "declare effects='process' for a tool that ends programs",
    "network": "declare effects='external' for a tool that speaks with other machines",
    "local": "declare effects='process' for a tool that speaks with programs, or 'external'",
    "process": "leave alone what every thread of the process shares; pass cwd= and env= to programs instead",
}

_watching: ContextVar[Watch | None] = ContextVar("wink.testing.watching", default=None)
_threads: WeakKeyDictionary[threading.Thread, Watch] = WeakKeyDictionary()
_lock = threading.Lock()
_active: list[Watch] = []
_is_installed = False
_judging = threading.local()
_frame = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Watch:
    """Watches one run of one handler. `actions` are what it did that it may not do; each was kept from happening."""

    def __init__(
        self,
        effects: Effects,
        tool: str = "the handler",
        *,
        files: Filesystem | None = None,
        package: str = "",
        allow: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        self.effects, self.tool, self.files, self.package = effects, tool, files, package
        self._allowed = tuple(os.path.realpath(place) for place in allow)
        self._noted: list[tuple[Sort, str]] = []
        self.block: FrameType | None = None
        """The frame whose block is watched, where it is not a handler that is."""

    @property
    def actions(self) -> tuple[str, ...]:
        """What was done that is not declared, and where."""
        return tuple(dict.fromkeys(text for _, text in tuple(self._noted)))

    def error(self) -> UndeclaredEffects:
        """What there is to say about it."""
        remedies = dict.fromkeys(_REMEDIES[sort] for sort, _ in tuple(self._noted))
        return UndeclaredEffects(self.tool, self.effects, self.actions, tuple(remedies))

    def check(self) -> None:
        """Raise `UndeclaredEffects` if anything was done that is not declared."""
        if self._noted:
            raise self.error()

    @contextmanager
    def running(self) -> Generator[Watch]:
        """Watch what is done in the block, and what threads and tasks that begin in it do."""
        _install()
        token = _watching.set(self)
        with _lock:
            _active.append(self)
        try:
            yield self
        finally:
            with _lock:
                _active.remove(self)
            _watching.reset(token)

    def judge(self, act: Act, frame: Any) -> None:
        """Note and refuse an act that is not declared."""
        if self._may(act):
            return
        if act.sort == "signals" and frame.f_globals.get("__name__") == "subprocess":
            return  # to a program of its own, which was judged when it was started
        found = blame(frame, act.sort, self.files, self.package, self.block)
        if found is None or (act.sort == "reads" and _is_beneath(act.path, (*trusted_places(), found.directory))):
            return
        through = f" through {found.through}" if found.through else ""
        self._noted.append((act.sort, f"{act.what}{through}, at {found.where}"))
        raise self.error()

    def _may(self, act: Act) -> bool:
        if act.path == os.devnull or _is_beneath(act.path, self._allowed):
            return True
        if act.sort not in _ALWAYS[self.effects]:
            return False
        root = None if self.files is None else self.files.root
        return act.sort != "changes" or root is None or not root.startswith("/") or not _is_beneath(act.path, (root,))


@contextmanager
def audit_effects(
    effects: Effects,
    *,
    tool: str = "the handler",
    files: Filesystem | None = None,
    allow: Iterable[str | os.PathLike[str]] = (),
) -> Generator[Watch]:
    """Run the block as the handler of a tool with these effects, and fail if it does more than they declare.

    `read` and `workspace` allow no real file, program or connection: only what goes through the handle, and `files` is the
    filesystem that it belongs to. `process` allows programs, and files outside of the workspace; `external` connections
    too. What lies beneath the paths in `allow` may be read, changed and started. What is not allowed is kept from happening, and
    `UndeclaredEffects` says what it was and where, also when the code in the block catches it.

    Threads and tasks that begin in the block are watched as well. Imports may read what they import.

    >>> try:
    ...     with audit_effects("workspace"):
    ...         open("/etc/passwd")
    ... except UndeclaredEffects as error:
    ...     error.actions[0].partition(",")[0]
    "opens '/etc/passwd' to read it"
    """
    watch = Watch(effects, tool, files=files, allow=allow)
    watch.block = _frame(2)  # around this generator and the context manager that it makes
    try:
        with watch.running():
            yield watch
    except UndeclaredEffects:
        raise watch.error() from None
    finally:
        watch.block = None
    watch.check()


def _install() -> None:
    global _is_installed
    with _lock:
        if not _is_installed:
            sys.addaudithook(_hook)
            if sys.version_info < (3, 12):
                _tell_of_threads()
            _is_installed = True


def _tell_of_threads() -> None:
    """Raise the event that CPython does not raise before 3.12."""
    library: Any = threading
    begin: Any = library._start_new_thread

    def start(function: Any, *args: Any) -> Any:
        sys.audit("_thread.start_new_thread", function, *args)
        return begin(function, *args)

    library._start_new_thread = start


def _hook(event: str, args: tuple[Any, ...]) -> None:
    read = ACTS.get(event)
    if read is None and event not in THREADS:
        return
    watch = _watching.get()
    if watch is None and not _active and not _threads:
        return
    if getattr(_judging, "now", False):
        return
    _judging.now = True
    try:
        watch = watch or _found()
        if watch is None:
            return
        if read is None:
            thread = getattr(args[0], "__self__", None)
            if isinstance(thread, threading.Thread):
                _threads[thread] = watch
            return
        act = read(args)
        if act is not None:
            watch.judge(act, _frame(1))
    finally:
        _judging.now = False


def _found() -> Watch | None:
    """The watch of this thread, or of the one whose package's code is running on it."""
    library: Any = threading  # `current_thread` would make a thread of one that is only beginning
    thread: threading.Thread | None = library._active.get(threading.get_ident())
    watch = None if thread is None else _threads.get(thread)
    if watch is not None:
        return watch
    frame = _frame(2)
    return next((one for one in tuple(_active) if one.package and is_of(frame, one.package)), None)


def _is_beneath(path: str | None, places: Iterable[str]) -> bool:
    if path is None:
        return False
    real = os.path.realpath(path)
    return any(real == place or real.startswith(place.rstrip(os.sep) + os.sep) for place in places)
