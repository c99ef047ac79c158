"""What a person meets who is in the way of these defences: one line, and a way on that works."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.state.commands import SERVED
from tests.state.kinds import KINDS
from tests.state.world import RUNNING, World, complaint
from tests.states import state_of

from wink.cli import run
from wink.errors import StateKeyError, StateNotKnown, WorkspaceReadOnly
from wink.state import locate, make, unknown
from wink.workspace import Workspace
from wink_sandbox.tries import Try

NOBODY = 65534
USUAL = {("lease", "rubbish"), ("wal", "many"), ("staged", "many"), ("programs", "many")}
only_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a call in it."""
    place = tmp_path / "project"
    place.mkdir()
    with Workspace.open(place) as workspace:
        workspace.filesystem.write("a.txt", "one\n")
    return place


@pytest.mark.parametrize("what", ["link", "file", "fifo"])
def test_what_stands_where_the_state_lies_can_be_put_aside(
    tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The advice must not lead back to itself."""
    place = tmp_path / ".wink"
    if what == "link":
        place.symlink_to("/etc")
    elif what == "file":
        place.write_text("x")
    else:
        os.mkfifo(place)

    assert run(["log", "--workspace", str(tmp_path)]) == 1
    assert "--set-aside" in capsys.readouterr().err
    assert run(["doctor", "--workspace", str(tmp_path)]) in (0, 1)
    assert "is a link, or no directory" in capsys.readouterr().out
    assert run(["recover", "--set-aside", "--workspace", str(tmp_path)]) == 0
    assert run(["log", "--workspace", str(tmp_path)]) == 0
    (aside,) = tmp_path.glob(".wink-aside-*")
    assert (
        stat.S_IFMT(aside.lstat().st_mode) == {"link": stat.S_IFLNK, "file": stat.S_IFREG, "fifo": stat.S_IFIFO}[what]
    )


def test_a_stranger_beside_ones_own_is_told_and_put_aside(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not opened, and not in the way."""
    (root / ".wink/record.db").write_text("x")

    assert run(["log", "--workspace", str(root)]) == 0
    capsys.readouterr()
    assert run(["doctor", "--workspace", str(root)]) in (0, 1)
    assert "came with the workspace" in capsys.readouterr().out
    assert run(["recover", "--set-aside", "--workspace", str(root)]) == 0
    assert unknown(str(root)) == ()
    assert len(Workspace.open(root).calls()) == 1


@pytest.mark.parametrize("name", ["lease", "wal", "staged", "programs", "wal/x", "wal/journal"])
@pytest.mark.parametrize("kind", ["link to a file", "link to a directory", "rubbish", "many", "fifo", "socket"])
def test_what_stands_in_the_state_is_told_in_a_line_and_can_be_put_aside(known: World, name: str, kind: str) -> None:
    """A call said only "could not start (error 1a2b3c4d)", and `recover --set-aside` that there was no reason to."""
    if (name, kind) in USUAL:
        pytest.skip("wink has such a thing there")
    KINDS[kind](known.state() / name, known.base / "outside")
    known.seal()

    for argv in (("call", "write_file", "file_path=x.txt", "content=x"), (*RUNNING, "command=touch y.txt")):
        done = known.run(*argv)
        assert (done.status, complaint(done)) == (1, None)
        assert "wink recover --set-aside" in done.said, done.said
        assert known.harm(done) == []
    served = known.run("serve", "--section", "shell.commands", stdin=SERVED)
    assert known.state().name not in served.out
    assert known.harm(served) == []
    known.ok("recover", "--set-aside")

    assert "c13" in known.ok("log").out
    known.ok("call", "write_file", "file_path=x.txt", "content=x")
    known.ok("undo", "c7")
    assert known.harm(known.ok("recover")) == []


@only_root
def test_a_state_of_another_user_is_in_nobodys_way(root: Path) -> None:
    """Each has their own; nobody is told to put away what is somebody else's."""
    other = root / ".wink" / ("5" * 32)
    other.mkdir()
    os.chown(other, NOBODY, NOBODY)

    assert unknown(str(root)) == ()
    assert Path(locate(root)) == state_of(root)


@only_root
def test_a_workspace_that_only_its_user_may_look_into_is_told_in_a_line() -> None:
    """Another user of the machine, who has a key of their own."""
    with tempfile.TemporaryDirectory(prefix="wink-two-users-") as place:
        os.chmod(place, 0o777)
        with Workspace.open(place) as workspace:
            workspace.filesystem.write("a.txt", "one")
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                with pytest.raises(WorkspaceReadOnly, match="only the user 0 may look into it"):
                    locate(place)
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@only_root
def test_root_makes_no_key_in_somebody_elses_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `sudo wink` with the user's HOME would: it would keep them out of their own workspaces."""
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(home))

    with pytest.raises(StateKeyError, match="belongs to another user"):
        make(locate(tmp_path))
    assert list(home.iterdir()) == []


def test_a_state_that_is_gone_is_begun_anew(root: Path) -> None:
    """`git clean -fdx` takes it away."""
    subprocess.run(["rm", "-rf", str(root / ".wink")], check=True)

    with Workspace.open(root) as workspace:
        assert workspace.calls() == ()
        workspace.filesystem.write("b.txt", "x")


def test_two_unknown_states_are_not_taken_for_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which of them is meant is for a person to say."""
    state = state_of(root)
    state.rename(root / ".wink" / ("1" * 32))
    (root / ".wink" / ("2" * 32)).mkdir()

    with pytest.raises(StateNotKnown):
        Workspace.open(root)
    assert run(["trust", "--state", "--yes", "--workspace", str(root)]) == 2
    assert "there are several" in capsys.readouterr().err


def test_a_try_works_through_a_link_to_the_workspace(root: Path) -> None:
    """As on a machine whose home, or temporary directory, is one."""
    from wink_sandbox import Command, Sandbox

    (root.parent / "linked").symlink_to(root)
    with Workspace.open(root.parent / "linked") as workspace:
        attempt = Try(workspace, "t")
        with attempt.use() as overlay:
            assert Sandbox().run(Command(("/bin/sh", "-c", "echo x > made")), overlay).status == 0
        attempt.accept()
    assert (root / "made").read_text() == "x\n"


def test_no_git_of_the_current_directory_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty entry of PATH, which `PATH=$NOTHING:$PATH` makes, means the current directory."""
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    git.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")

    run(["doctor"])

    assert "git version" not in capsys.readouterr().err
    assert not (tmp_path / "was-run").exists()


def test_a_number_of_thousands_of_digits_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python refuses to write it out."""
    (tmp_path / "wink.toml").write_text("rules_default = 0x" + "f" * 100_000)

    assert run(["tools", "--workspace", str(tmp_path)]) == 2
    assert "not int" in capsys.readouterr().err


@pytest.fixture
def listening() -> Iterator[str]:
    """A socket of another process's, where programs see the machine's files."""
    with tempfile.TemporaryDirectory(prefix="wink-socket-", dir="/var/lib" if os.getuid() == 0 else None) as place:
        path = f"{place}/daemon"
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path)
            os.chmod(place, 0o755)
            os.chmod(path, 0o777)
            made.listen()
            yield path


@only_root
def test_no_program_reaches_a_daemon_by_its_socket(root: Path, listening: str) -> None:
    """A mount that is read-only lets anybody connect."""
    code = (
        "import socket, sys\ntry: socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
        "except OSError as error: print(error.strerror)\nelse: print('connected')"
    )
    said = subprocess.run(
        [sys.executable, "-m", "wink", "try", "--profile", "build", "--", "/usr/bin/python3", "-c", code, listening],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(root.parent)},
    )
    assert said.stdout == "Connection refused\n", said


def make_key_readable(place: Path) -> Any:
    """Where the variable points elsewhere, the usual place may hold a key all the same."""
    key = place / ".local/state/wink/key"
    key.parent.mkdir(parents=True)
    key.write_bytes(os.urandom(32))
    return key


def test_no_program_reads_a_key_in_the_usual_place_either(root: Path) -> None:
    """`XDG_STATE_HOME` may be set today, and not yesterday."""
    home = root.parent / "home"
    key = make_key_readable(home)

    said = subprocess.run(
        [sys.executable, "-m", "wink", "try", "--", "/bin/sh", "-c", f"cat {key} | wc -c; ls -A {key.parent}"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(home)},
    )
    assert said.stdout == "0\n", said


def test_a_state_that_is_made_while_another_looks_is_no_strangers(tmp_path: Path) -> None:
    """Whoever looked between the directory's absence and its making took it for one that was deleted in part."""
    roots = [tmp_path / str(number) for number in range(300)]
    for root in roots:
        (root / ".wink").mkdir(parents=True)
    current = 0

    def look() -> None:
        while (number := current) < len(roots):
            locate(roots[number])

    with ThreadPoolExecutor(1) as others:
        looking = others.submit(look)
        try:
            for current in range(len(roots)):
                os.close(make(locate(roots[current])))
        finally:
            current = len(roots)
        looking.result()
