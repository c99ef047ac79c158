"""What a program that is tried sees of the machine's temporary directories, and what becomes of what it does there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

_REACH = """
import os, socket, sys
for path in sys.argv[1:]:
    try:
        if path.endswith("fifo"):
            os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        else:
            socket.socket(socket.AF_UNIX).connect(path)
    except OSError as error:
        print(error.strerror)
    else:
        print("reached")
"""
only_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can mount something for its programs to meet")


@pytest.fixture(params=["/tmp", "/var/tmp"])
def temporary(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory of somebody who works on this machine, where temporary files lie."""
    made = Path(tempfile.mkdtemp(prefix="wink-temporary-", dir=request.param))
    yield made
    shutil.rmtree(made)


def test_a_script_among_the_temporary_files_is_seen_and_what_is_done_there_stays_in_the_try(
    wink: Wink, temporary: Path
) -> None:
    """`wink try -- sh /tmp/x.sh` said "No such file": agents, and people, write their scripts there."""
    script = temporary / "x.sh"
    script.write_text(
        "echo seen; echo again >> $0; echo x > note.txt; echo x > $(dirname $0)/made; rm $(dirname $0)/old"
    )
    (temporary / "old").write_text("old")
    before = script.read_text()

    first = wink("try", "--name", "t", "--", "sh", str(script))

    assert first.stdout.splitlines()[0] == "seen", first.stderr
    assert (script.read_text(), sorted(os.listdir(temporary))) == (before, ["old", "x.sh"])
    assert wink("try", "--name", "t", "--", "ls", str(temporary)).stdout == "made\nx.sh\n"
    assert wink("try", "--name", "u", "--", "ls", str(temporary)).stdout == "old\nx.sh\n"
    shut = wink("try", "--profile", "closed", "--name", "v", "--", "ls", "-A", str(temporary.parent))
    assert str(temporary.name) not in shut.stdout


def test_a_place_for_temporary_files_that_a_program_cannot_write_to_is_not_named_to_it(
    wink: Wink, environment: dict[str, str]
) -> None:
    """With one beside the home and `/tmp`, as some machines set it, git could not even sign a commit."""
    environment |= {"TMPDIR": "/var/lib", "TMP": environment["HOME"], "TEMP": "/tmp/"}
    words = ["--", "sh", "-ec", 'echo "${TMPDIR-none} $TMP $TEMP"; mktemp -u']
    own = f"{environment['HOME']} /tmp/"

    seen = wink("try", "-q", *words).stdout.splitlines()
    real = wink("try", "-q", "--unconfined", "--name", "copy", "--", "sh", "-ec", f"touch begun; {words[-1]}")
    on_a_copy = wink("try", "-q", "--name", "copy", *words).stdout.splitlines()

    assert [seen[0], real.stdout.splitlines()[0]] == [f"none {own}", f"/var/lib {own}"]
    assert on_a_copy[0].startswith("none ")
    assert all(made.startswith("/tmp/") for made in (seen[1], on_a_copy[1]))


def test_no_socket_or_fifo_among_the_temporary_files_leads_to_another_process(wink: Wink, temporary: Path) -> None:
    """Displays, agents of keys and multiplexers of terminals listen there."""
    listener, fifo = temporary / "agent", temporary / "fifo"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(listener))
            made.listen()
            said = wink("try", "--", "/usr/bin/python3", "-c", _REACH, str(listener), str(fifo))
    finally:
        os.close(reading)

    assert said.stdout == "Connection refused\nNo such device or address\n", said.stderr


@pytest.mark.skipif(os.getuid() == 0, reason="root reads what is whose ever, here as elsewhere")
def test_what_others_keep_to_themselves_stays_theirs(wink: Wink) -> None:
    """The kernel mounts an overlay with rights that only reach as far as the user's own."""
    closed = [
        entry.path
        for entry in os.scandir("/tmp")
        if entry.is_dir(follow_symlinks=False) and not os.access(entry.path, os.R_OK)
    ]
    if not closed:
        pytest.skip("nobody else has anything there that is closed")
    said = wink("try", "--", "sh", "-c", 'ls "$1"; true', "sh", closed[0])
    assert (said.stdout, "Permission denied" in said.stderr) == ("", True)


def test_the_key_of_a_state_among_the_temporary_files_is_not_shown(
    wink: Wink, place: Path, environment: dict[str, str], temporary: Path
) -> None:
    """Nor is what else wink keeps for its user alone."""
    environment["XDG_STATE_HOME"] = str(temporary / "state")
    wink("call", "write_file", "file_path=x.txt", "content=x")
    assert list(temporary.rglob("key"))

    said = wink("try", "--", "find", str(temporary), "-name", "key*")

    assert (said.stdout, said.returncode) == ("", 0), said.stderr


def test_a_project_right_among_the_temporary_files_and_the_directory_of_them_all(
    environment: dict[str, str], temporary: Path
) -> None:
    """The project is mounted on top of what it lies in, wherever home and project are."""
    environment["HOME"] = str(temporary)
    (temporary / "project").mkdir()
    for home, project in ((temporary, temporary / "project"), (temporary.parent, temporary)):
        environment["HOME"] = str(home)
        script = f"echo x > made && echo y > {temporary.parent}/wink-made-here && cat {temporary.parent}/wink-made-here"
        said = _run(environment, project, "try", "--", "sh", "-c", script)
        assert (said.stdout, said.returncode) == ("y\n", 0), said.stderr
        assert not (temporary.parent / "wink-made-here").exists()
        assert "+ made" in said.stderr
        assert _run(environment, project, "accept").returncode == 0
        assert (project / "made").read_text() == "x\n"


@only_root
def test_a_mount_among_the_temporary_files_leaves_them_unseen_and_is_told(
    place: Path, environment: dict[str, str], temporary: Path
) -> None:
    """The kernel makes no overlay of what something is mounted in; an AppImage that runs is such a mount."""
    seen = "home private, /tmp empty" if temporary.parent == Path("/tmp") else "home and /tmp private"
    for quiet in ((), ("-q",)):
        said = _beside_a_mount(environment, place, temporary, "try", *quiet, "--", "ls", "-A", str(temporary.parent))

        assert said.returncode == 0, said.stderr
        assert temporary.name not in said.stdout
        first = f"wink: {temporary.parent} is empty, and nothing in it is kept: other filesystems are mounted in the machine's"
        assert said.stderr.splitlines()[0 if quiet else 1].startswith(first)
        assert (seen in said.stderr) == (not quiet)


@only_root
def test_a_mount_in_the_home_directory_is_refused_in_a_line(place: Path, environment: dict[str, str]) -> None:
    """It was "Invalid argument", of which nobody could have guessed that a remote disk in the home was meant."""
    home = place.parent / "home"
    (home / "remote").mkdir()

    said = _beside_a_mount(environment, place, home / "remote", "try", "--", "true")

    assert said.returncode != 0
    assert "other filesystems are mounted in the home directory, at 'remote'; unmount them" in said.stderr
    assert len(said.stderr.splitlines()) == 1
    shut = _beside_a_mount(environment, place, home / "remote", "try", "--profile", "closed", "--", "true")
    assert shut.returncode == 0, shut.stderr


def _run(environment: dict[str, str], at: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wink", *arguments], cwd=at, env=environment, capture_output=True, text=True, check=False
    )


def _beside_a_mount(
    environment: dict[str, str], at: Path, target: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    script = 'mount -t tmpfs none "$1" && shift && exec "$@"'
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(target), sys.executable, "-m", "wink", *arguments],
        cwd=at,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
