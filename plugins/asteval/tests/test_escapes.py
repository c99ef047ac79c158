"""No way out: not through asteval, and not from Python code that somehow runs in the process all the same."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import wink_asteval
from wink.errors import PromptValidationError
from wink.filesystem import Filesystem
from wink_asteval import _library, _starting
from wink_asteval._process import Worker
from wink_asteval._worker import _confine

from .conftest import Agent

PUBLISHED = [
    # GHSA-vp47-9734-prjw, asteval up to 1.0.5: a function's own code and attributes could be changed.
    "def f(): pass\nf.body",
    "def f(): pass\nf.lineno = 1",
    "def f(): pass\nf._node",
    "def f(): pass\nf.__class__",
    "def f(): pass\nf._evaluator.run",
    # GHSA-3wwr-3g9f-9gc7 (CVE-2025-24359): attributes through format fields.
    "f'{print.__self__}'",
    "f'{1:{().__class__}}'",
    "try:\n    (1).nope\nexcept AttributeError as e:\n    f'{e.__traceback__}'",
    "'{0.__class__}'.format(1)",
    "'{0.__class__.__mro__}'.format('')",
    "'{x.__class__}'.format_map({'x': 1})",
    "str.format('{0.__class__}', 1)",
    "getattr('{0.__init__}', 'format')(1)",
    "list(map(str.format, ['{0.__class__}'], [1]))",
    "'%(x)s'.format.__self__",
    # Issue 86: reduce gives getattr.
    "print.__reduce__()",
    "print.__reduce_ex__(2)",
    "sum.__self__",
]
OWN = [
    "().__class__.__base__.__subclasses__()",
    "[].__class__",
    "getattr((), '__class__')",
    "getattr((), '__cla' + 'ss__')",
    "(x for x in [1]).gi_frame",
    "(x for x in [1])._running",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "read_text.__globals__",
    "read_text.__self__",
    "read_text.__func__",
    "write_text._texts",
    "json.dumps.__globals__",
    "re.compile('a').__class__",
    "re.enum",
    "json.decoder",
    "collections.abc",
    "statistics.sys",
    "math.__loader__",
    "json.__dict__",
    "json._name",
    "itertools.__spec__",
    "random.Random",
    "random._inst",
    "datetime.sys",
    "functools.partial(print).func.__self__",
    "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame",
    "try:\n    1 / 0\nexcept Exception as e:\n    e.with_traceback(None).__context__",
    "try:\n    nope\nexcept NameError as e:\n    e.__traceback__",
    "open('/etc/passwd')",
    "__import__('os')",
    "__builtins__",
    "eval('1')",
    "exec('1')",
    "compile('1', '', 'eval')",
    "globals()",
    "vars()",
    "dir()",
    "breakpoint()",
    "input()",
    "type('A', (), {})",
    "type(type(1))('A', (), {})",
    "type(lambda: 0)()",
    "object.__subclasses__()",
    "int.mro()",
    "int.from_bytes.__self__",
    "str.__class__",
    "x = 1\nx.__class__ = 2",
    "__name__ = 1",
    "def __getattr__(name): pass",
    "for __x__ in [1]: pass",
    "import sys",
    "import builtins",
    "from json import decoder",
    "from re import enum",
    "import json as __builtins__",
    "from json import loads as __import__",
    "json.loads('[1]', object_hook=print)",
    "json.dumps(1, cls=dict)",
    "[].append.__self__.__class__",
    "''.join.__class__",
    "Exception.__subclasses__()",
    "Exception.__init__.__globals__",
    "b''.__class__.fromhex('')",
    "del print.__name__",
]


@pytest.mark.parametrize("code", [*PUBLISHED, *OWN])
def test_the_interpreter_gives_no_way_in(agent: Agent, code: str) -> None:
    """Published ways out of asteval, and our own ideas; each ends as a failed script."""
    told = agent.error(code)

    assert "The code failed with " in told
    assert "SystemError" not in told


def test_formatting_within_bounds_works(agent: Agent) -> None:
    """The refusals do not cost what scripts need."""
    assert agent.value("'{0:>4}|{x[k]}|{1.real}|{{}}'.format(1, 2, x={'k': 'v'})") == "'   1|v|2|{}'"


# What is tried by code that runs in the process outside of asteval, after it has been confined.
ATTEMPTS = {
    "open": "open('/etc/passwd')",
    "write": "open('/tmp/wink-escape', 'w')",
    "os.open": "os.open('/etc/passwd', os.O_RDONLY)",
    "listdir": "os.listdir('/')",
    "stat": "os.stat('/etc/passwd')",
    "chdir": "os.chdir('/tmp')",
    "mkdir": "os.mkdir('/tmp/wink-escape')",
    "unlink": "os.unlink('/tmp/no')",
    "rename": "os.rename('/tmp/a', '/tmp/b')",
    "symlink": "os.symlink('/', '/tmp/wink-escape')",
    "fork": "os.fork()",
    "posix_spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "exec": "os.execv('/bin/true', ['true'])",
    "subprocess": "subprocess.run(['/bin/true'])",
    "thread": "_thread.start_new_thread(print, ())",
    "socket": "socket.socket()",
    "unix socket": "socket.socket(socket.AF_UNIX)",
    "socketpair": "socket.socketpair()",
    "pipe": "os.pipe()",
    "dup": "os.dup(1)",
    "memfd": "os.memfd_create('x')",
    "kill self": "os.kill(os.getpid(), 9)",
    "kill parent": "os.kill(os.getppid(), 9)",
    "kill all": "os.kill(-1, 9)",
    "signal": "signal.signal(signal.SIGALRM, print)",
    "alarm": "signal.setitimer(signal.ITIMER_REAL, 1)",
    "setrlimit": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "priority": "os.setpriority(os.PRIO_PROCESS, 0, -5)",
    "setuid": "os.setuid(0)",
    "chroot": "os.chroot('/')",
    "import": "__import__('sqlite3')",
    "ctypes": "ctypes.CDLL('libsqlite3.so.0')",
    "prctl": "check(libc.prctl(38, 0, 0, 0, 0))",
    "ptrace": "check(libc.ptrace(0, 0, 0, 0))",
    "process_vm_readv": "check(libc.process_vm_readv(1, 0, 0, 0, 0, 0))",
    "mount": "check(libc.mount(0, 0, 0, 0, 0))",
    "unshare": "check(libc.unshare(0x10000000))",
    "executable memory": "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
    "make executable": "check(libc.mprotect(page, 4096, 7))",
    "io_uring": "check(libc.syscall(425, 1, 0))",
    "openat2": "check(libc.syscall(437, -100, b'/etc/passwd', 0, 0))",
    "x32": "check(libc.syscall(0x40000000 + 2, b'/etc/passwd', 0, 0))",
    "another filter": "check(libc.prctl(22, 2, 0, 0, 0))",
    "ioctl": "fcntl.ioctl(0, 0x5412, b'x')",
    "pidfd": "os.pidfd_open(os.getppid())",
    "sched": "os.sched_setaffinity(0, {0})",
}
PROBE = """
import sys, types
package = types.ModuleType("wink_asteval")
package.__path__ = [sys.argv[1]]
sys.modules["wink_asteval"] = package
from wink_asteval._worker import _confine
import _thread, ctypes, fcntl, json, mmap, os, resource, signal, socket, subprocess
attempts = json.loads(sys.stdin.read())
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = None
anonymous = mmap.mmap(-1, 8192)
page = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(anonymous)) & ~4095)

def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), "refused")

if sys.argv[2] == "filter":
    _confine.filter_calls()
else:
    _confine.limit(memory=256 << 20, seconds=5)
found = {}
for name, code in attempts.items():
    try:
        found[name] = "did " + repr(eval(code))
    except OSError as error:
        found[name] = error.errno
    except BaseException as error:
        found[name] = type(error).__name__
os.write(1, json.dumps(found).encode())
os._exit(0)
"""


def probe(kind: str, attempts: dict[str, str]) -> dict[str, object]:
    """What becomes of each attempt in a confined process."""
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROBE, os.path.dirname(wink_asteval.__file__), kind],
        input=json.dumps(attempts),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout, run.stderr
    return json.loads(run.stdout)


def test_the_kernel_refuses_what_asteval_might_let_through() -> None:
    """The filter is the boundary: whatever code gets to run, it can compute, answer and end."""
    found = probe("filter", ATTEMPTS)

    assert found.keys() == ATTEMPTS.keys()
    assert {name: said for name, said in found.items() if str(said).startswith("did ")} == {}


@pytest.mark.parametrize("machine", list(_confine.ARCHITECTURES))
def test_the_filter_names_each_call_for_each_machine(machine: str) -> None:
    """A program of whole instructions, every jump within it."""
    program = _confine.filter_program(machine)

    count = len(program) // 8
    assert len(program) % 8 == 0
    assert count < 256
    for index in range(count):
        code, true, false = program[index * 8], program[index * 8 + 2], program[index * 8 + 3]
        if code & 7 == 5:
            assert index + 1 + max(true, false) < count


def test_the_limits_hold_without_the_filter() -> None:
    """Where the kernel has no filter for us there is still no file, child or descriptor to be had by accident."""
    found = probe("limits", {"pipe": "os.pipe()", "socket": "socket.socket()", "memory": "bytearray(10 ** 9)"})

    assert found == {"pipe": 24, "socket": 24, "memory": "MemoryError"}


def test_this_machine_has_a_filter() -> None:
    """The tests above say nothing where it has none."""
    assert _confine.has_filter(), f"no filter is known for {sys.platform} on {platform.machine()}"


def test_a_process_sees_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """No environment, no workspace, no descriptor but its pipes, no terminal."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with open("/etc/hostname", "rb") as held:
        os.set_inheritable(held.fileno(), False)
        process = _starting.start(_library.library_directory()).result()
        assert process.stdout is not None
        assert process.stdout.read(6) == b"ready\n"
        there = Path(f"/proc/{process.pid}")
        try:
            assert (there / "environ").read_bytes() in (b"", b"LC_CTYPE=C.UTF-8\0")
            assert {name.name for name in (there / "fd").iterdir()} == {"0", "1", "2"}
            assert (there / "cwd").readlink() == Path("/")
            assert os.getsid(process.pid) == process.pid
        finally:
            Worker(process).close()


def test_a_planted_library_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file called asteval.py in the workspace would otherwise run unconfined."""
    (tmp_path / "asteval.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "lib"), *sys.path])

    assert not _library.library_directory().startswith(str(tmp_path))
    assert all(not path.startswith(str(tmp_path)) for path in _library.trusted_directories())


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, when the section is made and not in the middle of a run."""
    monkeypatch.setattr(sys, "path", [])

    with pytest.raises(PromptValidationError, match=r"not installed; install wink\[asteval\]"):
        wink_asteval.python_section()


@pytest.mark.parametrize(
    ("version", "known"), [("1.0.5", True), ("0.9.33", True), ("1.0.6", False), ("2.0.dev1", False)]
)
def test_versions_with_known_holes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, known: bool
) -> None:
    """Both published holes were closed in 1.0.6."""
    (tmp_path / "asteval.py").write_text("")
    (tmp_path / f"asteval-{version}.dist-info").mkdir()
    (tmp_path / f"asteval-{version}.dist-info" / "METADATA").write_text(f"Name: asteval\nVersion: {version}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    if known:
        with pytest.raises(PromptValidationError, match=r"has known ways out of it; install asteval 1\.0\.6 or newer"):
            _library.library_directory()
    else:
        assert _library.library_directory() == str(tmp_path)


class Impostor:
    """A process that says whatever it likes in place of a worker."""

    def __init__(self, code: str) -> None:
        self._code = f"import os, sys, time\nos.write(1, b'ready\\n')\nsys.stdin.buffer.readline()\n{code}"

    def take(self) -> Worker:
        return Worker(
            subprocess.Popen(
                [sys.executable, "-c", self._code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        )

    def prepare(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is kept."""


def answer(**parts: object) -> bytes:
    """A well-formed answer with some parts replaced."""
    usual = {"value": None, "stdout": "", "globals": {}, "writes": [], "error": None, "kind": None}
    return json.dumps(usual | parts).encode()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("os.write(1, b'{}')", "without a usable answer"),
        ("os.write(1, b'not json')", "without a usable answer"),
        ("os.write(1, b'[' * 100000)", "without a usable answer"),
        ("os.write(1, b'9' * 10000)", "without a usable answer"),
        ("while True: os.write(1, b'x' * 65536)", "without a usable answer"),
        ("os.kill(os.getpid(), 11)", "ended its own process: it was ended by SIGSEGV"),
        ("os.kill(os.getpid(), 19); time.sleep(1)", "stopped after 2 s"),
        ("os.close(1); time.sleep(60)", "ended its own process"),
        ("sys.exit(3)", "ended its own process: it ended with status 3"),
        ("while True: os.write(2, b'x' * 65536)", "stopped after 2 s"),
        (f"os.write(1, {answer(writes=[['../x', 'y', 'create']])})", "outside"),
        (f"os.write(1, {answer(writes=[['a', 'y', 'chmod']])})", "without a usable answer"),
        (f"os.write(1, {answer(stdout=3)})", "without a usable answer"),
        (f"os.write(1, {answer(stdout='x' * 100_000)})", "without a usable answer"),
        (f"os.write(1, {answer(value=chr(0xDC80))})", "without a usable answer"),
        (f"os.write(1, {answer(globals={'a': chr(0xDC80)})})", "without a usable answer"),
        (f"os.write(1, {answer(globals={'a': float('nan')})})", "without a usable answer"),
    ],
)
def test_a_process_that_was_taken_over_cannot_hurt(
    agent_with: Callable[..., Agent], files: Filesystem, code: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is checked like anything else that comes from outside."""
    agent = agent_with(timeout_seconds=2)
    monkeypatch.setattr(agent.section._handler, "workers", Impostor(code))

    assert told in agent.error("1")
    assert not files.list(".")


def test_a_kernel_that_refuses_the_filter_is_not_passed_over(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is evaluated then, and the reason is told."""
    refused = answer(error="prctl(22): Operation not permitted", kind="")
    monkeypatch.setattr(agent.section._handler, "workers", Impostor(f"os.write(1, {refused})"))

    told = agent.error("1")

    assert "could not be confined (prctl(22): Operation not permitted)" in told
    assert "kernel_filter" in told


def test_the_filter_can_be_done_without(agent_with: Callable[..., Agent]) -> None:
    """Where whoever runs the agent says so; time and memory hold all the same."""
    agent = agent_with(kernel_filter=False)

    assert agent.value("1 + 2") == "3"
    assert "MemoryError" in agent.error("sorted(range(10 ** 9))")


@pytest.mark.parametrize("bounds", [{"timeout_seconds": 0}, {"memory_bytes": 1}, {"max_output_chars": -1}])
def test_bounds_that_make_no_sense_are_refused(bounds: dict[str, float]) -> None:
    """When they are set, not in the middle of a run."""
    with pytest.raises(PromptValidationError):
        wink_asteval.AstevalConfig(**bounds)  # type: ignore[arg-type]
