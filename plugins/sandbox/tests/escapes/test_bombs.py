"""Programs that use up what they can reach: they end in time, and what they had is free again."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
import threading

import pytest
from plugins.sandbox.tests.conftest import Place
from plugins.sandbox.tests.escapes.conftest import ATTACKS, PATH, SECONDS, World, by_run_command, by_try

from wink.errors import MergeRefused
from wink_sandbox import MIB

PYTHON = "exec /usr/bin/python3 -c "
BOMBS = {
    "forks": "f() { f | f & }; f; sleep 300",
    "processor": "while :; do :; done",
    "output": "yes evil",
    "output on both": "yes evil & yes evil >&2",
    "a stopped process": "kill -STOP $$",
    "orders ignored": "trap '' TERM HUP INT QUIT; while :; do sleep 300; done",
    "outputs closed": "exec >&- 2>&- <&-; sleep 300",
    "outputs kept open by others": "(setsid sleep 300 &) ; sleep 300",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bomb_ends_in_time(world: World, bomb: str) -> None:
    """Whatever it does with its time, it has no more than it was given, and the reply is small."""
    before = world.snapshot()

    ended = by_run_command(world, BOMBS[bomb], timeout_seconds=1.5, processes=100, output_bytes=2000)

    assert ended.status == 1
    assert "ended after" in ended.text or "exit code" in ended.text
    assert len(ended.text) < 8000
    assert world.snapshot() == before
    assert world.leftovers() == []


FILLED = {
    "the workspace": "i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero > f$i || exit 1; done",
    "one file": "head -c 900000000 /dev/zero > big",
    "a sparse file": "truncate -s 1T big",
    "/tmp": "head -c 900000000 /dev/zero > /tmp/big",
    "/dev/shm": "head -c 900000000 /dev/zero > /dev/shm/big",
    "/run and the home": "head -c 900000000 /dev/zero > ~/big || head -c 900000000 /dev/zero > /run/big",
    "names": PYTHON + "'import itertools\nfor n in itertools.count(): open(str(n), \"w\").close()'",
}


@pytest.mark.parametrize("filled", FILLED)
def test_filling_ends_soon(place: Place, filled: str) -> None:
    """Bytes, and names without a byte, are counted; what was written is gone afterwards."""
    limits = {"written_bytes": 40 * MIB, "file_bytes": 20 * MIB, "temporary_bytes": 8 * MIB, "made_files": 3000}

    if filled == "a sparse file":  # which takes nothing of the disk
        with pytest.raises(MergeRefused, match="where a program may write 20971520 to a file"):
            place.run(FILLED[filled], commit=False, sandbox=place.limited(wall_seconds=60, **limits))
    else:
        ran = place.run(FILLED[filled], commit=False, sandbox=place.limited(wall_seconds=60, **limits))
        assert ran.ended.status != 0
        assert ran.ended.reason in ("exited", "wrote too much")
    assert list(place.root.rglob("big")) == []


def test_terminal_is_not_typed_into(world: World) -> None:
    """A person's terminal: what is asked for in its name must have been typed by that person."""
    ours, theirs = os.openpty()
    shown: list[bytes] = []

    def watch() -> None:
        try:
            while data := os.read(ours, 65536):
                shown.append(data)
        except OSError:
            pass

    reader = threading.Thread(target=watch)
    reader.start()
    words = [sys.executable, "-m", "wink", "try", "--profile", "agent", "--", sys.executable, ATTACKS.name, "processes"]
    environment = {"PATH": PATH, "HOME": str(world.home), "TERM": "dumb"}
    session = ["setsid", "-c", "-w", *words]
    with subprocess.Popen(session, cwd=world.root, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as run:
        status = run.wait(SECONDS)
    (waiting,) = struct.unpack("i", fcntl.ioctl(theirs, termios.FIONREAD, b"\0\0\0\0"))
    os.close(theirs)
    reader.join(10)
    os.close(ours)
    text = b"".join(shown).decode()
    assert status == 0, text
    assert "held typing_into_the_terminal" in text, text
    assert "ESCAPED" not in text, text
    assert waiting == 0


def test_file_that_is_read_from_is_only_read(world: World) -> None:
    """A program that gets a file as its input does not get the file."""
    before = world.snapshot()

    ended = by_try(world, "cat; echo evil > /proc/self/fd/0; echo evil > /dev/stdin; true", profile="agent")

    assert "what the program is to read" in ended.text
    assert world.snapshot() == before
