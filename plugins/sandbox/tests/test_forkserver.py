"""Processes that have imported the module of isolated functions, and fork for each call."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem, HostFilesystem
from wink.limits import Heartbeat
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink.workspace import Workspace
from wink_sandbox.forkserver import Server, servers

SOURCE = '''
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys

from wink import tool

{imports}


@tool(isolated=True)
def around() -> dict[str, object]:
    """What is around this process."""
    mounts = []
    for line in open("/proc/self/mountinfo"):
        before, after = line.rstrip().split(" - ")
        fields = before.split()
        kind, source, options = (after + " ").split(" ")[:3]
        options = re.sub(r"(lowerdir|upperdir|workdir)=[^,]*", "", options)
        mounts.append(" ".join((fields[4], *sorted(fields[5].split(",")), kind)))
    seen = {{fields.split()[0]: fields for fields in mounts}}  # the uppermost at each place
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "SigBlk", "SigIgn", "SigCgt", "Uid", "Gid", "Groups", "Umask", "Threads")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
    links = {{name: os.readlink(f"/proc/self/ns/{{name}}") for name in ("mnt", "pid", "net", "ipc", "uts", "user")}}
    try:
        os.stat("/proc/1/environ")
        pathlib.Path("/proc/1/environ").read_bytes()
        first = "read"
    except OSError as error:
        first = type(error).__name__
    return {{
        "mounts": sorted(seen.values()),
        "status": {{name: status[name].strip() for name in names if name in status}},
        "limits": {{name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}},
        "fds": sorted(os.listdir("/proc/self/fd")),
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "processes": sum(name.isdigit() for name in os.listdir("/proc")),
        "places": {{place: sorted(os.listdir(place)) for place in ("/", "/dev", "/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/run", ".")}},
        "modes": {{place: oct(os.stat(place).st_mode) for place in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), ".")}},
        "leads": os.getsid(0) == os.getpid() or os.getsid(0),
        "links": links,
        "interfaces": socket.if_nameindex(),
        "oom": open("/proc/self/oom_score_adj").read(),
        "flags": str(sys.flags),
        "path": sys.path,
        "first": first,
        "ids": [open(f"/proc/self/{{kind}}_map").read().split() for kind in ("uid", "gid")],
    }}


@tool(isolated=True)
def look(path: str) -> dict[str, object]:
    """What is in the workspace."""
    found = sorted(os.path.join(top, name)[2:] for top, _, names in os.walk(".") for name in names if ".wink" not in top)
    return {{"names": found, "text": pathlib.Path(path).read_text() if os.path.exists(path) else None, "pid": os.getpid()}}


@tool(isolated=True)
def leave(text: str) -> str:
    """Leave things behind, everywhere."""
    global LEFT
    for place in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~")):
        pathlib.Path(place, "left").write_text(text)
    subprocess.Popen(["sleep", "1000"])
    before, LEFT = LEFT, text
    return before


@tool(isolated=True)
def refused() -> list[str]:
    """Try what no program may."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    names = {{"mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), "unshare": lambda: libc.unshare(0x10000000)}}
    libc.kill(1, 9)
    return [name for name, function in names.items() if function() != 0]


@tool(isolated=True)
def drawn(name: str) -> float:
    """Draw."""
    return sys.modules[name].random()


@tool(isolated=True)
def imported() -> str:
    """Say when the module was imported."""
    return IMPORTED


@tool(isolated=True)
def reach() -> dict[str, object]:
    """Look for whatever is another call's."""
    pathlib.Path("mine.txt").write_text("mine")
    yield "written"
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("root", "cwd"):
            try:
                found.append(sorted(os.listdir(f"/proc/{{pid}}/{{name}}{{os.getcwd() if name == 'root' else ''}}")))
            except OSError:
                pass
    overlays = [line for line in open("/proc/self/mountinfo") if " - overlay " in line and f" {{os.getcwd()}} " in line]
    return {{"found": found, "overlays": len(overlays)}}


@tool(isolated=True)
def hang() -> None:
    """Write, and never return."""
    pathlib.Path("a.txt").write_text("half")
    yield "written"
    signal.pause()


LEFT = "nothing"
IMPORTED = os.urandom(8).hex()
'''


def module_of(site: Path, name: str, imports: str = "") -> Any:
    (site / f"{name}.py").write_text(SOURCE.format(imports=imports))
    importlib.invalidate_caches()
    sys.modules.pop(name, None)
    return importlib.import_module(name)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    made = tmp_path / "site"
    made.mkdir()
    monkeypatch.syspath_prepend(str(made))
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "place"
    made.mkdir()
    (made / "a.txt").write_text("before")
    return made


def call(files: Filesystem, one: Any, **arguments: Any) -> ToolReply:
    template = PromptTemplate(ns="servers", key="one", sections=[ToolsSection("Some", [one])])
    prompt, session = Prompt(template).bind(resources={Filesystem: files}), Session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    said = executor.execute(ToolCall(one.name, arguments))
    assert said.success, said.text
    return said


def value(files: Filesystem, one: Any, **arguments: Any) -> Any:
    return call(files, one, **arguments).result.value


def server_of(root: Path) -> Server:
    (found,) = (server for (place, _), server in servers.opened().items() if place == str(root))
    return found


THREAD = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"


def test_a_fork_is_as_a_process_of_its_own_is(site: Path, root: Path) -> None:
    """What it sees, may do, and has: whatever holds for programs holds for it."""
    with Workspace.open(root) as workspace:
        files = workspace.filesystem
        alone = value(files, module_of(site, "alone", THREAD).around)
        assert server_of(root).unfit.startswith("it leaves a thread running (Thread-1")
        servers.close(str(root))
        forked = module_of(site, "forked").around
        value(files, forked)
        second = value(files, forked)
        assert server_of(root).unfit == ""

    for links in (alone.pop("links"), second.pop("links")):
        assert [name for name in links if links[name] == os.readlink(f"/proc/self/ns/{name}")] == []
    # A thread has the C library take a signal, and what a fork could ever get is bounded as well.
    for name in ("Threads", "SigCgt", "SigIgn", "CapBnd"):
        alone["status"].pop(name)
        bound = second["status"].pop(name)
    assert bound == second["status"]["CapPrm"]
    for name in alone:
        assert second[name] == alone[name], name


def test_a_call_sees_the_workspace_as_it_is_when_it_begins(site: Path, root: Path) -> None:
    """Whatever another tool has just done to it, though the process waits since before that."""
    look = module_of(site, "looking").look
    (root / "kept.txt").write_text("kept")
    (root / "deep").mkdir()
    with HostFilesystem(root) as files:
        assert value(files, look, path="a.txt")["text"] == "before"
        server = server_of(root)
        for number in range(3):
            (root / "a.txt").write_text(f"in place {number}")
            assert value(files, look, path="a.txt")["text"] == f"in place {number}"
            (root / "new").write_text(f"replaced {number}")
            os.replace(root / "new", root / "a.txt")
            assert value(files, look, path="a.txt")["text"] == f"replaced {number}"
            files.write("a.txt", f"by a tool {number}")
            assert value(files, look, path="a.txt")["text"] == f"by a tool {number}"
            os.rename(root / "a.txt", root / "deep" / f"moved{number}.txt")
            found = value(files, look, path="a.txt")
            assert (found["text"], found["names"]) == (
                None,
                sorted([*(f"deep/moved{one}.txt" for one in range(number + 1)), "kept.txt"]),
            )
            (root / "a.txt").write_text("again")
            os.rename(root / "deep", root / "other")
            assert "kept.txt" in (names := value(files, look, path="a.txt")["names"])
            assert f"other/moved{number}.txt" in names
            os.rename(root / "other", root / "deep")
            (root / "kept.txt").unlink()
            assert value(files, look, path="kept.txt")["text"] is None
            (root / "kept.txt").write_text("kept")
        assert server_of(root) is server
        assert server.unfit == ""


def test_nothing_of_a_call_is_left_for_the_next_one(site: Path, root: Path) -> None:
    """No global, no file, no process."""
    module = module_of(site, "leaving")
    with Workspace.open(root) as workspace:
        files = workspace.filesystem
        first = value(files, module.around)
        assert [value(files, module.leave, text=text) for text in "abc"] == ["nothing"] * 3
        last = value(files, module.around)
        assert server_of(root).unfit == ""

    assert all(last[name] == first[name] for name in ("places", "processes"))


def test_a_fork_may_do_nothing_that_no_program_may(site: Path, root: Path) -> None:
    """It has had more rights than those, and has none of them when a function is called."""
    module = module_of(site, "refusing")
    with HostFilesystem(root) as files:
        assert value(files, module.refused) == ["mount", "unshare"]
        assert server_of(root).unfit == ""


@pytest.mark.parametrize(
    ("imports", "reason"),
    [
        (THREAD, "it leaves a thread running"),
        ("HELD = open('/etc/passwd')", "it leaves files open"),
        ("os.listdir('.')", "it looks into the workspace (os.listdir of '.')"),
        ("pathlib.Path('/proc/self/cwd/a.txt').read_text()", "FileNotFoundError"),
        ("THERE = os.path.exists('a.txt')", "it looks into the workspace (os.stat of 'a.txt')"),
        ("THERE = pathlib.Path.cwd().joinpath('a.txt').is_file()", "it looks into the workspace (os.stat of '/"),
        ("MAY = os.access('a.txt', os.R_OK)", "it looks into the workspace (os.access of 'a.txt')"),
        ("os.chdir('/tmp'); os.chdir(os.environ['HOME'])", "it starts programs or leaves its directory (os.chdir)"),
        ("subprocess.run(['true'])", "it starts programs or leaves its directory (subprocess.Popen)"),
    ],
)
def test_a_module_that_would_not_be_the_same_in_a_fork_is_imported_for_each_call(
    site: Path, root: Path, imports: str, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A thread would be missing, a file would be shared, and the workspace is not there yet. It is said once."""
    monkeypatch.chdir(root)  # where it is imported here
    module = module_of(site, f"unfit_{abs(hash(imports))}", imports)
    monkeypatch.chdir(root)
    with HostFilesystem(root) as files:
        if "chdir" not in imports:
            assert value(files, module.look, path="a.txt")["text"] == "before"
        assert value(files, module.imported) != value(files, module.imported)
        assert server_of(root).unfit.startswith(reason)
    assert caplog.text.count("starts Python and imports it again") == 1
    assert reason in caplog.text


def test_a_module_is_imported_once_for_several_calls(site: Path, root: Path) -> None:
    """That is what all of this is for."""
    module = module_of(site, "once")
    with Workspace.open(root) as workspace:
        assert len({value(workspace.filesystem, module.imported) for _ in range(3)} - {module.IMPORTED}) == 1


@pytest.mark.parametrize("name", ["random", "numpy.random"])
def test_each_call_draws_other_numbers(site: Path, root: Path, name: str) -> None:
    """From `random`, and from the generator that numpy has for everybody."""
    pytest.importorskip(name)
    module = module_of(site, f"drawing_{name[:3]}", f"import {name}")
    with HostFilesystem(root) as files:
        assert len({value(files, module.drawn, name=name) for _ in range(3)}) == 3
        assert server_of(root).unfit == ""


def test_where_no_server_can_run_each_call_imports_the_module(
    site: Path, root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where Python itself lies in the workspace. It is tried once, not with every call."""
    from wink_sandbox.forkserver import _servers

    monkeypatch.setattr(_servers, "_BOOT", "raise SystemExit(3)")
    module = module_of(site, "without")
    with Workspace.open(root) as workspace:
        assert value(workspace.filesystem, module.imported) != value(workspace.filesystem, module.imported)
        server = server_of(root)
        assert call(workspace.filesystem, module.leave, text="x").text == "nothing"
        assert server_of(root) is server
    assert caplog.text.count("the process that imports it has ended") == 1


def test_where_no_namespaces_can_be_made_ahead_each_call_imports_the_module(
    site: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that has them may refuse them inside of others."""
    from wink_sandbox.forkserver import _servers

    broken = "from wink_sandbox.forkserver import _namespaces; _namespaces.launcher.empty = lambda place: 1 / 0; from wink_sandbox.forkserver._process"
    monkeypatch.setattr(_servers, "_BOOT", _servers._BOOT.replace("from wink_sandbox.forkserver._process", broken))
    module = module_of(site, "unmade")
    with HostFilesystem(root) as files:
        assert value(files, module.imported) != value(files, module.imported)
        assert server_of(root).unfit == "OSError: no namespaces could be made"


def test_a_call_that_its_server_cannot_begin_runs_without(
    site: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does each one after it."""
    from wink_sandbox.forkserver import _servers

    broken = (
        "from wink_sandbox.forkserver import _process\n"
        "def drop_rights(kept): raise OSError(1, 'no', 'drop rights')\n"
        "_process.drop_rights = drop_rights\n"
    )
    boot = "\n".join(_servers._BOOT.split("; "))
    monkeypatch.setattr(_servers, "_BOOT", f"{boot.rpartition(chr(10))[0]}\n{broken}main(control, setup)")
    module = module_of(site, "unbegun")
    with HostFilesystem(root) as files:
        assert value(files, module.imported) != value(files, module.imported)
        assert server_of(root).unfit == "drop rights: no"


def test_a_module_that_changes_on_the_disk_is_imported_again(site: Path, root: Path) -> None:
    """Its own file, and those of others that it imports."""
    (site / "beside_it.py").write_text("SAID = 'first'\n")
    imports = (
        "import beside_it\n\n@tool(isolated=True)\ndef said() -> str:\n    'Say.'\n    return beside_it.SAID + '1'"
    )
    said = module_of(site, "changing", imports).said
    with HostFilesystem(root) as files:
        assert call(files, said).text == "first1"
        (site / "beside_it.py").write_text("SAID = 'second'\n")
        assert call(files, said).text == "second1"
        (site / "changing.py").write_text(SOURCE.format(imports=imports.replace("'1'", "'22'")))
        assert call(files, said).text == "second22"
        assert server_of(root).unfit == ""


def test_a_file_that_a_module_reads_is_read_again_when_it_has_changed(site: Path, root: Path) -> None:
    """Data, and what lies deep in a package that is installed."""
    place = site / "site-packages"
    (place / "owned/a/b").mkdir(parents=True)
    (place / "owned/a/b/c.py").write_text("SAID = 'code 1'\n")
    (place / "owned/data.txt").write_text("data 1")
    text = SOURCE.format(
        imports="from owned.a.b import c\nDATA = pathlib.Path(__file__).with_name('data.txt').read_text()"
    )
    (place / "owned/__init__.py").write_text(text.replace("return IMPORTED", "return f'{c.SAID}, {DATA}'"))
    sys.path.insert(0, str(place))
    try:
        imported = importlib.import_module("owned").imported
        with HostFilesystem(root) as files:
            assert value(files, imported) == "code 1, data 1"
            (place / "owned/a/b/c.py").write_text("SAID = 'code 22'\n")
            assert value(files, imported) == "code 22, data 1"
            (place / "owned/data.txt").write_text("data 22")
            assert value(files, imported) == "code 22, data 22"
            server = server_of(root)
            assert value(files, imported) == "code 22, data 22"
            assert server_of(root) is server
            assert server.unfit == ""
    finally:
        sys.path.remove(str(place))


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        if parent(int(name)) == pid:
            found |= {int(name), *descendants(int(name))}
    return found


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it has ended together with another one
        os.kill(pid, 9)


def is_server(pid: int) -> bool:
    """Whether it is a process that has imported a module, or a fork of it."""
    try:
        words, name = Path(f"/proc/{pid}/cmdline").read_bytes(), Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False
    return b"forkserver" in words and name != "bwrap\n"


def gone(pids: set[int]) -> bool:
    """Whether processes end, in a while; one that is only waited for no more counts as well."""
    return not [pid for pid in pids if not ended(pid)]


def ended(pid: int) -> bool:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    try:
        return bool(select.select([fd], (), (), 60)[0])
    finally:
        os.close(fd)


def test_it_ends_with_the_workspace(site: Path, root: Path) -> None:
    """Nobody is left, not even as a zombie."""
    from wink_sandbox.programs import launcher

    look = module_of(site, "ending").look
    with Workspace.open(root) as workspace:
        call(workspace.filesystem, look, path="a.txt")
        pids = descendants(launcher.pid)
        assert len(pids) > 4
    assert not servers.opened()
    assert gone(pids)
    assert launcher.pid


@pytest.mark.parametrize("when", ["idle", "in a call"])
def test_it_ends_with_its_parent_however_that_ends(site: Path, root: Path, when: str) -> None:
    """Nobody needs to say goodbye."""
    import subprocess

    module_of(site, "orphaned")
    program = f"""
import os, sys
sys.path.insert(0, {str(site)!r})
sys.path.insert(0, {str(Path(__file__).parent)!r})
import orphaned, test_forkserver
from wink.filesystem import HostFilesystem
from wink.runtime import ToolCall
files = HostFilesystem({str(root)!r})
test_forkserver.call(files, orphaned.look, path="a.txt")
def end():
    print(*test_forkserver.descendants(os.getpid()), flush=True)
    os.kill(os.getpid(), 9)
if {when!r} == "in a call":
    test_forkserver.executor_of(files, orphaned.hang, end).execute(ToolCall("hang", {{}}))
end()
"""
    said = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=False)
    pids = {int(word) for word in said.stdout.split()}
    assert said.returncode == -9
    assert len(pids) > 4
    assert gone(pids)
    assert (root / "a.txt").read_text() == "before"


def test_there_are_only_so_many(site: Path, root: Path) -> None:
    """The one that nobody has used for longest goes."""
    with HostFilesystem(root) as files:
        looks = [module_of(site, f"many{number}").look for number in range(6)]
        for look in looks:
            call(files, look, path="a.txt")
        names = [name for (_, name) in servers.opened()]
        assert len(names) == 4
        assert b"many5" in names[-1]
        call(files, looks[0], path="a.txt")


def test_calls_at_the_same_time_are_apart(site: Path, root: Path) -> None:
    """One process serves them, each with namespaces of its own."""
    from concurrent.futures import ThreadPoolExecutor

    module = module_of(site, "several")
    with HostFilesystem(root) as files:
        call(files, module.look, path="a.txt")
        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda _: value(files, module.around), range(8)))
    for kind in ("mnt", "pid", "net", "ipc"):
        assert all(one["processes"] == said[0]["processes"] for one in said), kind
    assert len({one["links"]["net"] for one in said}) > 1


def test_one_that_was_killed_is_started_again(site: Path, root: Path) -> None:
    """A call finds another one."""
    from wink_sandbox.programs import launcher

    look = module_of(site, "killed").look
    with HostFilesystem(root) as files:
        call(files, look, path="a.txt")
        server = server_of(root)
        pids = descendants(launcher.pid)
        for pid in pids:
            kill(pid)
        assert gone(pids)
        assert value(files, look, path="a.txt")["text"] == "before"
        assert value(files, look, path="a.txt")["text"] == "before"
        assert server_of(root) is not server
        assert server_of(root).unfit == ""


def test_a_fork_that_is_killed_while_it_waits_is_replaced(site: Path, root: Path) -> None:
    """As where memory runs out. The process that has the module goes on."""
    from wink_sandbox.programs import launcher

    look = module_of(site, "replaced").look
    with HostFilesystem(root) as files:
        before = value(files, look, path="a.txt")
        server = server_of(root)
        waiting: set[int] = set()
        while not waiting:
            waiting = {pid for pid in descendants(launcher.pid) if depth(pid) == 2 and is_server(parent(pid))}
        for pid in waiting:
            kill(pid)
        assert gone(waiting)
        assert value(files, look, path="a.txt")["names"] == before["names"]
        assert server_of(root) is server
        assert server.unfit == ""


def depth(pid: int) -> int:
    """In how many process namespaces it is that are not ours."""
    try:
        return numbers(pid) - numbers(os.getpid())
    except OSError:
        return 0


def numbers(pid: int) -> int:
    return len(Path(f"/proc/{pid}/status").read_text().partition("NSpid:")[2].splitlines()[0].split())


def test_a_call_whose_server_is_killed_has_never_been(site: Path, root: Path) -> None:
    """Nothing of it goes on, and the next one runs."""
    from wink_sandbox.programs import launcher

    module = module_of(site, "crashed")
    with Workspace.open(root) as workspace:
        files = workspace.filesystem

        def crash() -> None:
            for pid in descendants(launcher.pid):
                if depth(pid) == 1 and is_server(pid):
                    kill(pid)

        said = executor_of(files, module.hang, crash).execute(ToolCall("hang", {}))
        assert not said.success
        assert "nothing was changed" in said.text
        assert (root / "a.txt").read_text() == "before"
        assert value(files, module.look, path="a.txt")["text"] == "before"


def executor_of(files: Filesystem, one: Any, told: Callable[[], object]) -> ToolExecutor:
    """With something to be done when a function says how far it is."""
    heartbeat = Heartbeat()
    heartbeat.add_callback(lambda: told() if heartbeat.progress is not None else None)
    template = PromptTemplate(ns="servers", key="one", sections=[ToolsSection("Some", [one])])
    prompt, session = Prompt(template).bind(resources={Filesystem: files}), Session()
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session, heartbeat=heartbeat)


def test_one_that_has_nothing_to_do_for_long_ends(site: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call starts another one."""
    from wink_sandbox.forkserver import _servers
    from wink_sandbox.programs import launcher

    monkeypatch.setattr(_servers, "IDLE_SECONDS", 1)
    look = module_of(site, "idle").look
    with HostFilesystem(root) as files:
        call(files, look, path="a.txt")
        server = server_of(root)
        assert gone(descendants(launcher.pid))
        call(files, look, path="a.txt")
        assert server_of(root) is not server


def test_calls_leave_no_descriptor_and_no_process(site: Path, root: Path) -> None:
    """Neither here nor there."""
    from wink_sandbox.programs import launcher

    look = module_of(site, "leaking").look
    with Workspace.open(root) as workspace:

        def most() -> tuple[int, int]:
            call(workspace.filesystem, look, path="a.txt")
            pids = descendants(launcher.pid)
            return len(pids), max(map(descriptors, [os.getpid(), *pids]))

        most()
        before = most()
        after = [most() for _ in range(10)][-1]
    assert after[0] < before[0] + 9
    assert after[1] < before[1] + 9


def descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def test_a_call_cannot_reach_another_ones_files(site: Path, root: Path) -> None:
    """It is the only one in its names, and has the only overlay in its mounts."""
    module = module_of(site, "reaching")
    with Workspace.open(root) as workspace:
        files = workspace.filesystem
        inside: list[Any] = []

        def other() -> None:
            if not inside:
                inside.append(None)
                inside.append(value(files, module.around))
                inside.append(value(files, module.look, path="mine.txt"))

        outer = executor_of(files, module.reach, other).execute(ToolCall("reach", {}))
        assert outer.success, outer.text
        _, around, look = inside
        assert (look["text"], look["names"]) == (None, ["a.txt"])
        assert set().union(*outer.result.value["found"]) - {".wink"} == {"a.txt", "mine.txt"}
        assert outer.result.value["overlays"] == 1
        assert around["processes"] == 2
        assert server_of(root).unfit == ""


def test_no_call_makes_user_namespaces_where_no_filter_keeps_it_from_that(
    site: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one of its own it would have all rights."""
    from wink_sandbox.forkserver import _servers

    monkeypatch.setattr(_servers, "filter_of_calls", lambda: None)
    module = module_of(site, "unfiltered")
    with HostFilesystem(root) as files:
        assert value(files, module.refused) == ["mount", "unshare"]
        assert server_of(root).unfit == ""
