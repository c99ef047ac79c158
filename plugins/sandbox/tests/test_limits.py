"""Limits hold for a program as a whole, and nothing of it outlives its end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from plugins.sandbox.tests.conftest import Place
from tests.states import state_of

from wink.errors import MergeRefused, ProgramNotStarted
from wink_sandbox import MIB, Command, Stop, Streams, bubblewrap, launcher, opened, watch


def processes(marker: str) -> list[int]:
    """The processes that have a text in their command line or environment."""
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            said = Path(f"/proc/{name}/cmdline").read_bytes() + Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in said and int(name) != os.getpid():
            found.append(int(name))
    return found


MARK = str(10**12 + int.from_bytes(os.urandom(5), "big"))
"""A time to sleep that no other run of these tests has."""

TREE = (
    "(trap '' TERM HUP INT; setsid sleep MARK & (setsid sh -c 'sleep MARK & sleep MARK' &) ); echo started; ".replace(
        "MARK", MARK
    )
)


def test_whole_tree_is_gone_when_a_program_is_over(place: Place) -> None:
    """Double forks, new sessions and ignored signals do not help: the pid namespace ends with its first process."""
    ran = place.run(TREE)

    assert ran.ended.status == 0
    assert processes(MARK) == []


@pytest.mark.parametrize("requests", [(16,), (0x4206, 0x4207)], ids=["attach", "seize and interrupt"])
def test_a_program_that_goes_for_the_first_process_is_over_when_it_is(place: Place, requests: tuple[int, ...]) -> None:
    """The sandbox's own first process tells of the program's end: stopped by a debugger that stays, it told of nothing."""
    script = f"""
import ctypes, os, time
if not os.fork():
    os.setsid()
    for request in {requests}:
        ctypes.CDLL(None).ptrace(request, 1, 0, 0)
    open("tried", "w").close()
    time.sleep(1000)
while not os.path.exists("tried"):
    time.sleep(0.01)
os._exit(7)
"""
    ran = place.run([sys.executable, "-c", script], sandbox=place.limited(wall_seconds=20))
    assert (ran.ended.reason, ran.ended.status) == ("exited", 7)


def test_a_program_may_debug_what_it_has_started(place: Place) -> None:
    """Nothing but the sandbox's own process is out of a debugger's reach."""
    script = """
import ctypes, os, signal, time
trace = ctypes.CDLL(None, use_errno=True).ptrace
child = os.fork()
if not child:
    time.sleep(1000)
assert trace(16, child, 0, 0) == 0
assert os.WIFSTOPPED(os.waitpid(child, 0)[1])
with open(f"/proc/{child}/mem", "rb"):
    os.close(os.pidfd_open(child))
assert trace(17, child, 0, 0) == 0
os.kill(child, signal.SIGKILL)
"""
    ran = place.run([sys.executable, "-c", script])
    assert ran.ended.status == 0, ran.ended.stderr.text()


def test_whole_tree_is_gone_after_a_timeout(place: Place) -> None:
    """And nothing was merged."""
    ran = place.run(TREE + f"sleep {MARK}", sandbox=place.limited(wall_seconds=0.4))

    assert (ran.ended.reason, ran.ended.status) == ("timed out", None)
    assert ran.stdout == "started\n"
    assert processes(MARK) == []


def test_program_can_be_stopped_from_elsewhere(place: Place) -> None:
    """A call that is cancelled takes its program along."""
    stop = Stop()

    overlay = place.overlay()
    overlay.open()
    try:
        from wink_sandbox import Command, words_of

        ended = place.sandbox.run(
            Command(words_of(TREE + f"sleep {MARK}"), env={"PATH": "/usr/bin:/bin"}),
            overlay,
            stop=stop,
            on_output=lambda stream, data: stop(),
        )
    finally:
        overlay.drop()
        stop.close()
    assert ended.reason == "cancelled"
    assert processes(MARK) == []


def test_fork_bomb_ends_in_time(place: Place) -> None:
    """It cannot take more processes than it may, and goes with its namespace."""
    ran = place.run(
        "f() { f | f & }; f; sleep 60", sandbox=place.limited(processes=64, wall_seconds=2, output_bytes=4096)
    )

    assert ran.ended.reason in ("timed out", "exited")
    assert ran.ended.status != 0
    assert processes(MARK) == []


def test_memory_is_limited(place: Place) -> None:
    """A program that takes too much fails; the machine does not."""
    ran = place.run(
        ["/usr/bin/python3", "-c", "x = []\nwhile True: x.append(bytearray(1 << 24))"],
        sandbox=place.limited(memory_bytes=200 * MIB, wall_seconds=60),
    )

    assert ran.ended.reason == "exited"
    assert ran.ended.status != 0


def test_file_size_is_limited(place: Place) -> None:
    """A single file cannot fill the disk, nor make whoever reads it later wait for ever."""
    for script in ("head -c 5000000 /dev/zero > big", "truncate -s 1T big", "truncate -s 1T one; mv one big"):
        with pytest.raises(
            MergeRefused, match=r"big'? was given \d+ bytes, where a program may write 1000000 to a file"
        ):
            place.run(script, sandbox=place.limited(file_bytes=1_000_000))

        assert os.listdir(place.root) == [".wink"]


def test_what_was_large_before_is_no_reason_to_refuse_or_to_end_a_program(place: Place) -> None:
    """`chmod` of a file of 5 GB failed with "File too large": the kernel copies a file of which anything is changed."""
    (place.root / "big").write_bytes(os.urandom(5_000_000))
    small = place.limited(file_bytes=1_000_000, written_bytes=2_000_000)

    for script in ("chmod 700 big", "touch -d @1 big", "mv big large", "printf x >> large"):
        ran = place.run(f"{script} && sleep 0.4", sandbox=small)
        assert (ran.ended.reason, ran.ended.status) == ("exited", 0), (script, ran.ended)

    assert (place.root / "large").stat().st_mode & 0o777 == 0o700
    ended = place.run("cat large large > copy; sleep 2", sandbox=small, commit=False).ended
    assert ended.reason == "wrote too much"


def test_program_that_fills_the_disk_is_ended(place: Place) -> None:
    """Neither can many files."""
    script = "i=0; while true; do i=$((i+1)); head -c 4000000 /dev/urandom > f$i; done"

    ran = place.run(script, sandbox=place.limited(written_bytes=40 * MIB, wall_seconds=60))

    assert ran.ended.reason == "wrote too much"


def test_temporary_directory_is_private_and_limited(place: Place) -> None:
    """What a program leaves in /tmp is gone with it."""
    ran = place.run(
        "echo x > /tmp/98765-mine; head -c 3000000 /dev/zero > /tmp/big",
        sandbox=place.limited(temporary_bytes=1_000_000),
    )

    assert ran.ended.status != 0
    assert not os.path.exists("/tmp/98765-mine")


def test_there_is_no_network(place: Place) -> None:
    """Not even the host's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        ran = place.run(["/usr/bin/python3", "-c", code])

    assert ran.ended.status == 1
    assert "ConnectionRefusedError" in ran.ended.stderr.text()


def test_network_can_be_allowed(place: Place) -> None:
    """By the settings, for all that the host can reach."""
    from dataclasses import replace

    allowing = replace(place.sandbox, profile=replace(place.sandbox.profile, network=True))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ran = place.run(
            ["/usr/bin/python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"],
            sandbox=allowing,
        )

    assert ran.ended.status == 0


def test_program_that_is_not_there_says_so(place: Place) -> None:
    """By its name, before anything else is done."""
    with pytest.raises(ProgramNotStarted, match="no-such-program"):
        place.run(["no-such-program"])


def test_program_that_is_not_there_says_so_whatever_is_heard_first() -> None:
    """The launcher may have told the end, and hung up, before all that bubblewrap says has been read."""
    streams = Streams()
    os.close(streams.stdin)
    os.close(streams.stdout)
    told, telling = socket.socketpair()

    class Told:
        def __init__(self) -> None:
            self.news = [({"ended": 1, "code": None},), None]

        def fileno(self) -> int:
            return told.fileno()

        def read(self) -> tuple[dict[str, object], ...] | None:
            if len(self.news) == 1:
                os.write(streams.stderr, b"bwrap: execvp nothing: No such file or directory\n")
                os.close(streams.stderr)
            return self.news.pop(0)

        def kill(self) -> None: ...

        def close(self) -> None: ...

    with told, telling:
        telling.close()  # so that there is always something to be read
        with pytest.raises(ProgramNotStarted, match="nothing"):
            watch("nothing", Told(), streams, b"", seconds=20, output_bytes=1000)
    streams.close(streams.out, streams.err)


def test_killing_wink_ends_its_programs(place: Place) -> None:
    """kill -9 leaves no process behind, and the next program sweeps what lies in the state directory."""
    code = textwrap.dedent(f"""
        from wink.filesystem import HostFilesystem, program_state
        from wink_sandbox import *
        files = HostFilesystem({str(place.root)!r})
        overlay = Overlay({str(place.root)!r}, program_state(files) + "/" + PROGRAMS + "/" + fresh_name())
        overlay.open()
        Sandbox(Profile()).run(
            Command(words_of({TREE + "sleep " + MARK!r}), env={{"PATH": "/usr/bin:/bin"}}), overlay,
            on_output=lambda stream, data: print("started", flush=True),
        )
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=dict(os.environ)) as wink:
        assert wink.stdout is not None
        assert wink.stdout.readline() == b"started\n"
        pids = processes(MARK)
        assert pids
        handles = [os.pidfd_open(pid) for pid in pids]
        wink.kill()
    _wait_for(handles)
    assert processes(MARK) == []
    programs = state_of(place.root) / "programs"
    assert len(list(programs.iterdir())) == 1

    from wink_sandbox import sweep

    assert len(sweep(str(programs))) == 1
    assert list(programs.iterdir()) == []


def test_killing_the_launcher_ends_its_programs_and_another_one_is_started(place: Place) -> None:
    """It is small, but somebody may still kill it."""
    import signal

    overlay = place.overlay()
    overlay.open()
    try:
        from wink_sandbox import Command, words_of

        ended = place.sandbox.run(
            Command(words_of(TREE + f"sleep {MARK}"), env={"PATH": "/usr/bin:/bin"}),
            overlay,
            on_output=lambda stream, data: os.kill(launcher.pid, signal.SIGKILL),
        )
    finally:
        overlay.drop()

    assert ended.reason == "died"
    _wait_for([os.pidfd_open(pid) for pid in processes(MARK)])
    assert place.run("echo again").stdout == "again\n"


def _wait_for(handles: list[int]) -> None:
    import select

    for handle in handles:
        assert select.select([handle], [], [], 20)[0], "a process of the program is still there"
        os.close(handle)


def test_a_socket_that_goes_while_a_program_starts_is_in_nobodys_way(place: Place, tmp_path: Path) -> None:
    """Those of other processes are covered: it was "Can't mkdir parents" where one had ended since it was seen."""
    shown, stays, goes = tmp_path / "shown", tmp_path / "shown/stays", tmp_path / "shown/goes/socket"
    goes.parent.mkdir(parents=True)
    code = (
        "import socket, sys\ntry: socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
        "except OSError as error: print(error.strerror)\nelse: print('connected')"
    )
    profile = replace(place.sandbox.profile, readable=(str(shown),))
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        first.bind(str(stays))
        first.listen()
        second.bind(str(goes))
        with opened(place.overlay()) as overlay:
            command = Command(("/usr/bin/python3", "-c", code, str(stays)), env={"PATH": "/usr/bin:/bin"})
            request = replace(place.sandbox, profile=profile).request(command, overlay)
            goes.unlink()
            goes.parent.rmdir()
            streams = Streams()
            channel = launcher.launch(request, streams.theirs)
            streams.close_theirs()
            ended = watch("python3", channel, streams, b"", seconds=60, output_bytes=1000)
            streams.close(streams.out, streams.err)

    assert (ended.status, ended.stdout.text()) == (0, "Connection refused\n")


@pytest.mark.parametrize("goes", [True, False])
def test_a_start_is_tried_once_more_where_a_socket_went_in_the_middle_of_it(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes: bool
) -> None:
    """Bubblewrap mounts again what it was shown, and ended where the name under a mount had gone meanwhile."""
    shown, meets = tmp_path / "shown", tmp_path / "meets"
    shown.mkdir()
    real = bubblewrap()
    # The first one waits for the end of the socket, which may come at any moment between the look at it and the program.
    meets.write_text(
        f"#!/bin/sh\nif [ ! -e {tmp_path}/met ]; then echo > {tmp_path}/met\n"
        f"while [ ! -e {tmp_path}/go ]; do :; done; echo 'bwrap: No such file or directory' >&2; exit 1; fi\n"
        f'exec {real} "$@"\n'
    )
    meets.chmod(0o755)
    monkeypatch.setattr("wink_sandbox._sandbox.bubblewrap", lambda: str(meets))
    sandbox = replace(place.sandbox, profile=replace(place.sandbox.profile, readable=(str(shown),)))

    def end() -> None:
        while not (tmp_path / "met").exists():
            pass
        if goes:
            (shown / "socket").unlink()
        (tmp_path / "go").touch()

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(shown / "socket"))
        listening.listen()
        other = threading.Thread(target=end)
        other.start()
        if goes:
            ended = place.run("echo x > made; echo told", sandbox=sandbox).ended
            assert (ended.status, ended.stdout.text()) == (0, "told\n")
            assert (place.root / "made").read_text() == "x\n"
        else:
            with pytest.raises(ProgramNotStarted, match="No such file"):
                place.run("echo x > made", sandbox=sandbox)
        other.join()


def test_a_program_that_is_ended_while_it_begins_leaves_no_process(place: Place) -> None:
    """Killed before it has named the first process, bubblewrap leaves one that would wait for it for ever."""
    for step in range(40):
        place.run("sleep 9", sandbox=place.limited(wall_seconds=0.002 + 0.001 * step))
    launched = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    until = time.monotonic() + 10
    while launched.read_text() and time.monotonic() < until:
        time.sleep(0.05)

    assert launched.read_text() == ""
