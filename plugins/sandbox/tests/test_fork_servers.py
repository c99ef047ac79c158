"""Calls of isolated functions in forks of what has imported their module: as good as a process of their own, and no less kept apart."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wink import tool
from wink.filesystem import Filesystem
from wink.limits import Heartbeat
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink.workspace import Workspace
from wink_sandbox.programs import fork_servers

SOURCE = '''
import os, random, resource, signal, subprocess, sys, threading, time
{head}
from wink import tool

FRESH = os.urandom(8).hex()
COUNT = [0]


def count():
    COUNT[0] += 1
    return COUNT[0]


def shared_memory():
    import ctypes

    libc = ctypes.CDLL(None)
    return libc.shmget(7, 4096, 0o1600)


@tool(isolated=True)
def do(code: str) -> str:
    """Say what some code comes to."""
    return str(eval(code))


@tool(isolated=True)
def write(name: str, end: str) -> str:
    """Write, and come to an end."""
    with open(name, "w") as file:
        file.write("half")
    subprocess.Popen(["sh", "-c", "while :; do echo more >> late.txt; done"], start_new_session=True)
    if end == "raise":
        raise ValueError("half way")
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if end == "wait":
        threading.Event().wait()
    return "written"
'''
Do = Callable[..., ToolReply]


@pytest.fixture(autouse=True)
def _none_before() -> Iterator[None]:
    fork_servers.close()
    yield
    fork_servers.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace."""
    root = tmp_path / "place"
    root.mkdir()
    return root


def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str) -> Any:
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    name = f"forked_functions_{abs(hash(str(tmp_path)))}"
    (site / f"{name}.py").write_text(SOURCE.replace("{head}", head))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def _calls(workspace: Workspace, module: Any) -> Do:
    section = ToolsSection("Some", [module.do, module.write])
    template = PromptTemplate(ns="test", key="forked", sections=[section])
    prompt, session = Prompt(template).bind(resources={Filesystem: workspace.filesystem}), Session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)

    def call(code: str = "", **asked: str) -> ToolReply:
        return executor.execute(ToolCall("write" if asked else "do", json.dumps(asked or {"code": code})))

    return call


@pytest.fixture
def do(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Do]:
    """Calls that are forks."""
    with Workspace.open(place) as workspace:
        call = _calls(workspace, _module(tmp_path, monkeypatch, ""))
        _until(lambda: _text(call("os.getppid()")) == "1" and _is_fork(), "no call became a fork")
        yield call


def _until(is_so: Callable[[], bool], what: str) -> None:
    for _ in range(200):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError(what)


def _is_fork() -> bool:
    return [server.unfit for server in fork_servers.opened().values()] == [""]


def _text(reply: ToolReply) -> str:
    assert reply.success, reply.text
    return reply.text


def test_module_is_imported_once_and_globals_do_not_live_on(do: Do) -> None:
    """What the import made is there, as it left it, in each call."""
    first = _text(do("FRESH, count(), count()"))
    assert _text(do("FRESH, count(), count()")) == first
    assert first.endswith(", 1, 2)")
    assert _text(do("random.random()")) != _text(do("random.random()"))


def test_calls_leave_nothing_to_each_other(do: Do) -> None:
    """Neither files outside of the workspace, nor processes, nor modes."""
    fresh = "FRESH, sorted(os.listdir('/tmp')), sorted(os.listdir(os.path.expanduser('~'))), os.listdir('/dev/shm')"
    before = _text(do(fresh))
    _text(
        do(
            "[os.makedirs(p + '/a/b') for p in ('/tmp', '/var/tmp', '/dev/shm', os.path.expanduser('~'))], "
            "open('/tmp/a/f', 'w').write('x'), os.symlink('/etc', '/tmp/a/b/link'), os.mkfifo('/tmp/a/pipe')"
        )
    )
    assert _text(do(fresh)) == before
    _text(do("subprocess.Popen(['sleep', '1000'], start_new_session=True).pid"))
    assert (
        _text(do("[one for one in os.listdir('/proc') if one.isdigit() and one not in ('1', str(os.getpid()))]"))
        == "[]"
    )


@pytest.mark.parametrize(
    "code",
    [
        "shared_memory()",
        "os.chmod('/tmp', 0o700)",
        "resource.prlimit(1, resource.RLIMIT_NOFILE, (9, 9))",
        "os.setpriority(os.PRIO_PROCESS, 1, 5)",
    ],
)
def test_server_is_replaced_by_calls_that_leave_something(do: Do, code: str) -> None:
    """What cannot be removed goes with the server."""
    before = _text(do("FRESH"))
    _text(do(code))
    after: list[str] = []
    _until(lambda: bool(after.append(_text(do("FRESH"))) or _is_fork()), "no call became a fork again")
    assert before not in after
    assert _text(do("oct(os.stat('/tmp').st_mode)[-3:], os.getpriority(os.PRIO_PROCESS, 1)")) == "('777', 0)"


def test_call_reaches_nothing_of_its_server(do: Do) -> None:
    """Its server is the first process it sees, and can neither be ended nor stopped, looked into or traced."""
    before = _text(do("FRESH"))
    _text(do("[os.kill(1, number) for number in signal.valid_signals()]"))
    for code in (
        "open('/proc/1/mem', 'r+b')",
        "open('/proc/1/environ').read()",
        "os.readlink('/proc/1/fd/0')",
        "os.readlink('/proc/1/cwd')",
        "os.pidfd_open(1)",
    ):
        assert not do(code).success, code
    trace = "__import__('ctypes').CDLL(None).ptrace(16, 1, 0, 0)"  # PTRACE_ATTACH
    assert _text(do(trace)) == "-1"
    assert _text(do("FRESH")) == before
    assert _is_fork()


def test_server_and_calls_have_no_rights(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing has no right either that a call has not: both see the same, and can mount, or enter, nothing."""
    head = """
def may():
    import ctypes
    libc = ctypes.CDLL(None)
    here = os.open("/", os.O_RDONLY)
    done = libc.unshare(0x10000000), libc.unshare(0x20000), libc.mount(b"a", b"/tmp", b"tmpfs", 0, b""), libc.setns(here, 0)
    os.close(here)
    with open("/proc/self/status") as lines:
        words = [line.split()[1] for line in lines if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:"))]
    return done, words, sorted(os.listdir("/proc/self/ns")), [os.readlink(f"/proc/self/ns/{one}") for one in ("user", "net", "pid", "mnt")]

AT_IMPORT = None if "pytest" in sys.modules else may()
PID = os.getpid()
"""
    with Workspace.open(place) as workspace:
        call = _calls(workspace, _module(tmp_path, monkeypatch, head))
        # A server is the first process of its sandbox, and no other is that imports the module.
        said = [""]
        asked = "PID, AT_IMPORT == may(), AT_IMPORT"
        _until(lambda: (said.append(_text(call(asked))) or said[-1]).startswith("(1, "), "no call became a fork")
    assert said[-1].startswith("(1, True, ((-1, -1, -1, -1), ")


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("threading.Thread(target=threading.Event().wait, daemon=True).start()", "a thread running"),
        ("HELD = open('/etc/passwd')", "files open"),
        ("subprocess.Popen(['sleep', '1000'])", "starts programs"),
        ("os.chdir('/tmp')", "leaves its directory"),
        ("HAS = os.path.exists('setup.cfg')", "looks into the workspace"),
        ("if os.fork() == 0:\n    time.sleep(1000)", "starts programs"),
        ("if not os.path.exists('/proc/self/cwd') or os.getpid() == 1: raise SystemExit(3)", "SystemExit"),
    ],
)
def test_what_a_fork_would_not_be_the_same_in(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, head: str, why: str
) -> None:
    """Then each call imports the module, and the log says why, once."""
    guarded = (
        f"if __name__ in sys.modules and 'pytest' not in sys.modules:\n    {head.replace(chr(10), chr(10) + '    ')}"
    )
    with Workspace.open(place) as workspace, caplog.at_level(logging.WARNING, "wink.sandbox"):
        call = _calls(workspace, _module(tmp_path, monkeypatch, guarded))
        found = [_text(call("FRESH"))]
        _until(lambda: bool(found.append(_text(call("FRESH"))) or caplog.messages), "nothing was said")
        found.append(_text(call("FRESH")))
    assert len(set(found)) == len(found)
    (message,) = caplog.messages
    assert why in message


def test_server_is_replaced_when_what_it_read_changes(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where that is no module: a file that was read while it was imported."""
    data = tmp_path / "site" / "data.txt"
    data.parent.mkdir()
    data.write_text("old")
    head = f"with open({str(data)!r}) as file:\n    DATA = file.read()"
    with Workspace.open(place) as workspace:
        call = _calls(workspace, _module(tmp_path, monkeypatch, head))
        _until(lambda: _text(call("DATA")) == "old" and _is_fork(), "no call became a fork")
        data.write_text("new")
        assert _text(call("DATA")) == "new"
        _until(lambda: _text(call("DATA")) == "new" and _is_fork(), "no call became a fork again")


def test_nothing_of_the_workspace_is_imported(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when the server starts, nor in a call."""
    (place / "random.py").write_text("raise SystemExit('planted')")
    (place / "colorsys.py").write_text("raise SystemExit('planted')")
    with Workspace.open(place) as workspace:
        call = _calls(workspace, _module(tmp_path, monkeypatch, ""))
        _until(lambda: bool(call("1").success) and _is_fork(), "no call became a fork")
        assert _text(call("__import__('colorsys').__file__")).startswith(sys.base_prefix)


@pytest.mark.parametrize("end", ["raise", "kill", "killed from outside", "none"])
def test_half_written_files_in_forks(do: Do, place: Path, end: str) -> None:
    """They never were; and whatever a call leaves running is over with it, also where it succeeds."""
    before = _text(do("FRESH"))
    if end == "killed from outside":
        waiting = threading.Thread(target=_ended, args=(do,))
        waiting.start()
        _until(lambda: any(server.is_busy for server in fork_servers.opened().values()), "the call did not begin")
        time.sleep(0.2)
        for name in os.listdir("/proc"):  # the call's own process, from outside
            if name.isdigit() and _is_waiting(name):
                os.kill(int(name), 9)
        waiting.join()
    else:
        reply = do(name="a.txt", end=end)
        assert reply.success == (end == "none")
    assert sorted(os.listdir(place)) == ([".wink", "a.txt", "late.txt"] if end == "none" else [".wink"])
    sizes = [path.stat().st_size for path in place.iterdir()]
    assert _text(do("FRESH")) == before
    assert [path.stat().st_size for path in place.iterdir()] == sizes


def _ended(do: Do) -> None:
    assert not do(name="a.txt", end="wait").success


def _is_waiting(process: str) -> bool:
    try:
        parent = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[1]
    except OSError:
        return False
    return int(parent) in [server.process for server in fork_servers.opened().values()]


def test_server_that_was_killed_is_replaced(do: Do) -> None:
    """The next call does without."""
    (server,) = fork_servers.opened().values()
    before = _text(do("FRESH"))
    os.kill(server.process, 9)
    assert _text(do("FRESH")) != before
    _until(lambda: bool(do("1").success) and _is_fork(), "no call became a fork again")


def test_time_of_a_call_holds_while_the_module_is_imported(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for a server: a call imports the module within its own time, or is over."""
    head = "if 'pytest' not in sys.modules:\n    time.sleep(1000)"
    module = _module(tmp_path, monkeypatch, head)
    short = tool(isolated=True, timeout=1)(module.do.function)
    with Workspace.open(place) as workspace:
        template = PromptTemplate(ns="test", key="forked", sections=[ToolsSection("Some", [short])])
        prompt, session = Prompt(template).bind(resources={Filesystem: workspace.filesystem}), Session()
        executor = ToolExecutor(
            prompt=prompt, rendered=prompt.render(session=session), session=session, heartbeat=Heartbeat()
        )
        for _ in range(2):
            assert not executor.execute(ToolCall("do", '{"code": "1"}')).success


def test_calls_at_once_do_not_wait_for_the_server(do: Do) -> None:
    """It runs one, and the others have a process of their own."""
    replies: list[ToolReply] = []
    threads = [threading.Thread(target=lambda: replies.append(do("time.sleep(0.5) or FRESH"))) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert [reply.success for reply in replies] == [True] * 3
    assert _text(do("1")) == "1"


def test_idle_server_ends(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """And another one begins when there is a call again."""
    monkeypatch.setattr(fork_servers, "idle_seconds", 2.0)
    do: Do = request.getfixturevalue("do")
    (server,) = fork_servers.opened().values()
    _until(lambda: not os.path.exists(f"/proc/{server.process}"), "it went on")
    _until(lambda: bool(do("1").success) and _is_fork(), "no call became a fork again")
