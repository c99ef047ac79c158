"""A process that has all of wink imported, and runs each command in a child of its own: fast, and whatever the command does.

`python -m tests.state.forker [UID]` reads one request a line from its input, as JSON, and answers each with a line. As
another user it imports first, since the interpreter may lie where only root can look.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
import warnings
from codecs import lookup
from typing import Any, NoReturn

MOST_BYTES = 2 << 30
_LARGE = 2 << 20
_WARMING = (
    "tools", "call write_file file_path=a.txt content=password=hunter22", "call read_file file_path=a.txt", "log", "show c1",
    "diff c1", "events", "approvals", "runs", "tries", "checkpoint one", "explain rm path=a.txt", "prompts", "lint", "undo",
)  # fmt: skip
_COLLAPSE = 25
"""`MADV_COLLAPSE`, which Python does not name; see madvise(2)."""
_LATER = ("re2", "h11", "uvicorn.lifespan.off", "uvicorn.protocols.http.h11_impl", "anyio._backends._asyncio")
"""What libraries import when they are first used."""
_PLUGINS = ("wink_files", "wink_planning", "wink_shell", "wink_read_before_write")


def main() -> None:
    """Serve until the input ends."""
    import wink

    for package in (wink, *map(importlib.import_module, _PLUGINS)):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith(("__main__", "_launcher")):
                with contextlib.suppress(ImportError):  # an extra that is not installed
                    importlib.import_module(found.name)
    for name in _LATER:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    encodings = importlib.import_module("encodings").__path__
    codecs = [found.name for found in pkgutil.iter_modules(encodings, "encodings.")]
    odd = {"antigravity", "this", "idlelib", "lib2to3", "turtledemo"}
    for name in (*sorted(sys.stdlib_module_names - odd), *codecs):
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            importlib.import_module(name)
    for name in codecs:
        with contextlib.suppress(LookupError):
            lookup(name.rpartition(".")[2].replace("_", "-"))
            lookup(name.rpartition(".")[2])
    _warm_up()
    gc.freeze()
    _in_large_pages()
    if len(sys.argv) > 1:
        _become(int(sys.argv[1]))
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        print(json.dumps(_run(json.loads(line))), flush=True)


def _warm_up() -> None:
    """Have done once what Python and libraries do when they are first used; nothing of it depends on a workspace."""
    from wink.cli import run

    before, here = dict(os.environ), os.getcwd()
    with tempfile.TemporaryDirectory(prefix="wink-warm-") as place, open(os.devnull, "w") as null:
        os.environ.update(HOME=place, XDG_STATE_HOME=f"{place}/keys")
        os.chdir(place)
        try:
            with contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
                for words in _WARMING:
                    run(words.split())
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)
    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in each child"


def _in_large_pages() -> None:
    """What a fork costs is a page table of thousands of small pages, where the kernel does not put them together."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            place, rights, _, _, _, *name = line.split()
            if rights == "rw-p" and name in ([], ["[heap]"]):
                start, end = (int(number, 16) for number in place.split("-"))
                start = -(-start // _LARGE) * _LARGE
                if end - start >= _LARGE:
                    ctypes.CDLL(None).madvise(
                        ctypes.c_void_p(start), ctypes.c_size_t((end - start) // _LARGE * _LARGE), _COLLAPSE
                    )


def _become(user: int) -> None:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    if not os.access(sys.executable, os.X_OK):
        # What wink starts of its own is only a script, for which any Python does.
        sys.executable = f"/usr/bin/python3.{sys.version_info.minor}"
        sys.prefix = sys.base_prefix = sys.exec_prefix = sys.base_exec_prefix = "/usr"


def _run(request: Any) -> dict[str, Any]:
    started = time.monotonic()
    pid = os.fork()
    if not pid:
        _child(request)
    fd = os.pidfd_open(pid)
    try:
        fetched = _disturb(request, fd, pid) if request["how"] in ("interrupt", "ui") else ""
        is_hanging = not select.select([fd], [], [], request["seconds"])[0]
        if is_hanging:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    finally:
        os.close(fd)
    _, status, used = os.wait4(pid, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return {
        "status": None if is_hanging else os.waitstatus_to_exitcode(status), "bytes": used.ru_maxrss * 1024,
        "seconds": time.monotonic() - started, "fetched": fetched,
    }  # fmt: skip


def _disturb(request: Any, fd: int, pid: int) -> str:
    """Wait until it has begun, look at its page if it has one, and interrupt it as a person does."""
    text, fetched, end = "", "", time.monotonic() + request["seconds"]
    while time.monotonic() < end and not select.select([fd], [], [], 0.02)[0]:
        with open(request["out"], errors="replace") as file:
            text = file.read()
        if (request["how"] == "ui" and "\n" in text) or (request["how"] == "interrupt" and text):
            break
        if request["how"] == "interrupt" and time.monotonic() > end - request["seconds"] + 1:
            break
    if request["how"] == "ui" and "http://" in text:
        fetched = _fetched(text.split()[0])
    elif not select.select([fd], [], [], 0.05)[0]:
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    return fetched


def _fetched(url: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
    top = url.split("?")[0].rstrip("/")
    texts: list[str] = []
    for place in (url, f"{top}/", f"{top}/calls/1", f"{top}/tries", f"{top}/tries/default"):
        try:
            with opener.open(place, timeout=8) as answer:
                texts.append(f"{answer.status} {answer.read(1 << 20).decode(errors='replace')}")
        except urllib.error.HTTPError as error:
            texts.append(f"{error.code} {error.read(1 << 16).decode(errors='replace')}")
        except OSError as error:
            texts.append(f"{type(error).__name__}: {error}")
    return "\n".join(texts)


def _child(request: Any) -> NoReturn:
    status = 70
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, path, flags in (
            (0, request["stdin"], os.O_RDONLY),
            (1, request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            (2, request["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            fd = os.open(path, flags, 0o644)
            os.dup2(fd, number)
            os.close(fd)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        if request["guard"] == "scan":
            _without_overlays()
        status = _status(request["argv"])
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _without_overlays() -> None:
    """Be a machine on which no overlay can be mounted, as in a container."""
    guard, probing = (importlib.import_module(f"wink_sandbox.{name}") for name in ("_guard", "_probe"))

    found = probing.probe
    lack = probing.Feature("overlayfs", has=False, detail="there is none", remedy="")

    def probe() -> Any:
        return probing.Report(tuple(lack if one.name == lack.name else one for one in found().features))

    probing.probe = probe

    def can_mount(state: str) -> bool:
        return not state

    guard.__dict__["_can_mount"] = can_mount


def _status(argv: list[str]) -> int:
    from wink.cli import main as wink

    try:
        if argv[0] == "python":
            exec(compile(argv[1], "<request>", "exec"), {"__name__": "request"})
            return 0
        wink(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0


if __name__ == "__main__":
    main()
