"""Start the processes that evaluate."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

# The worker's package is found without its parent's __init__, which would import all of wink, and without `site`, which
# would run what .pth files say. asteval's directory comes last, and numpy is hidden: asteval would offer all of it,
# functions that open files included.
BOOTSTRAP: Final = """
import sys, types
package = types.ModuleType("wink_asteval")
package.__path__ = [sys.argv[2]]
sys.modules["wink_asteval"] = package
sys.modules["numpy"] = sys.modules["numpy_financial"] = None
sys.path.append(sys.argv[3])
from wink_asteval._worker._main import main
sys.path.pop()
main()
"""

_lock = threading.Lock()
_starter: ThreadPoolExecutor | None = None


def start(library: str) -> Future[subprocess.Popen[bytes]]:
    """A new process, which will say that it is ready; it dies when this one does."""
    return _thread().submit(_start, library)


def _start(library: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOTSTRAP]
    arguments = [str(os.getpid()), os.path.dirname(os.path.abspath(__file__)), library]
    return subprocess.Popen(
        [*command, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env=_environment(),
        bufsize=0,
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """Nothing of ours but where the interpreter's own libraries lie, for interpreters that are not installed in place."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}


def _thread() -> ThreadPoolExecutor:
    """The one thread that starts processes.

    Linux tells a process that its parent died when the *thread* that started it ends; a thread of the caller's may end
    long before a process that was started ahead is used. This one lasts.
    """
    global _starter
    with _lock:
        if _starter is None:
            _starter = ThreadPoolExecutor(1, "wink-asteval")
        return _starter


def _forget() -> None:
    global _starter, _lock
    _starter, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)  # threads are not copied
