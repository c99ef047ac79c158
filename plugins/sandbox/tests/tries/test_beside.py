"""What happens beside a program that runs in a try: servers, a person who edits, another program of the same try."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

SERVER = """
import http.server, sys
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
open("port", "w").write(f"{server.server_address[1]}\\n")
server.serve_forever()
"""
CLIENT = "import sys, urllib.request as u; print(u.urlopen(f'http://127.0.0.1:{sys.argv[1]}/a.txt').read().decode())"
SERVING = "python3 server.py {port} > /dev/null 2>&1 & until test -s port; do sleep 0.05; done; cat port"

Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin(place: Path, environment: dict[str, str]) -> Iterator[Begin]:
    """Start a program in a try, which goes on when it gets a line."""
    (place / "server.py").write_text(SERVER)
    started: list[subprocess.Popen[str]] = []

    def call(script: str, *options: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "wink", "try", *options, "--", "sh", "-c", script]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(words, cwd=place, env=environment, text=True, **streams))
        return started[-1]

    yield call
    for process in started:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def listening(port: int = 0) -> Iterator[int]:
    """A server of the machine, which answers nothing."""
    with socket.create_server(("127.0.0.1", port)) as server:
        yield server.getsockname()[1]


# -- servers


def test_with_the_network_a_server_of_a_try_is_reached_from_outside_and_serves_its_files(begin: Begin) -> None:
    """So one looks at what an agent has made before it is real."""
    program = begin(f"echo tried > a.txt; {SERVING.format(port=0)}; read line")

    with urlopen(f"http://127.0.0.1:{line_of(program)}/a.txt", timeout=60) as answer:
        assert answer.read() == b"tried\n"

    program.communicate("\n")
    assert program.returncode == 0


def test_without_the_network_a_server_is_the_programs_own(begin: Begin, wink: Wink) -> None:
    """Nobody outside reaches it, and a port that is taken there is free inside."""
    with listening() as port:
        program = begin(f'{SERVING.format(port=port)}; python3 -c "{CLIENT}" {port}; read line', "--no-network")
        assert [line_of(program), line_of(program)] == [str(port), "one"]
    with pytest.raises(ConnectionRefusedError):  # it runs, and is not what listens there
        socket.create_connection(("127.0.0.1", port), timeout=60)
    program.communicate("\n")
    assert program.returncode == 0


def test_a_server_that_is_left_in_the_background_ends_with_the_program(begin: Begin, wink: Wink) -> None:
    """Its port is free again, what it wrote is in the try, and nothing is waited for."""
    program = begin(SERVING.format(port=0))
    said, _ = program.communicate(timeout=60)

    assert program.returncode == 0
    with listening(int(said)):
        pass
    assert f"+{said}" in wink("diff").stdout


# -- a person who edits


def test_what_a_person_saves_while_a_program_runs_is_seen_and_not_tried(begin: Begin, wink: Wink, place: Path) -> None:
    """Only what both have changed is in the way of the rest."""
    program = begin(
        "cat a.txt; echo tried | tee src/b.txt > c.txt; echo ready; read line; cat a.txt src/new.txt src/b.txt"
    )
    assert [line_of(program), line_of(program)] == ["one", "ready"]
    for path in ("a.txt", "src/b.txt", "src/new.txt"):
        (place / path).write_text(f"mine {path}\n")

    said, _ = program.communicate("\n")

    assert said.split("\n")[:3] == ["mine a.txt", "mine src/new.txt", "tried"]
    refused = wink("accept")
    assert refused.returncode == 2
    first, reason, path, *_ = refused.stderr.splitlines()
    assert (first, path) == ("wink: nothing was accepted, 1 path cannot be:", "    src/b.txt")
    # The lines are the same ones, or wink had not yet kept what was there.
    assert reason.startswith("  was changed in the workspace meanwhile, by somebody outside of wink, ")
    assert wink("accept", "--rest").returncode == 1
    found = {path: (place / path).read_text() for path in ("a.txt", "src/b.txt", "src/new.txt", "c.txt")}
    assert found == {**{path: f"mine {path}\n" for path in found}, "c.txt": "tried\n"}


def test_a_program_that_sees_an_old_file_overwrites_no_new_one(begin: Begin, wink: Wink, place: Path) -> None:
    """The kernel may go on to show what an editor has replaced, and that there was nothing."""
    program = begin("cat a.txt; test -e new.txt || echo ready; read line; echo tried | tee -a a.txt new.txt")
    assert [line_of(program), line_of(program)] == ["one", "ready"]
    (place / "a.new").write_text("mine\n")
    (place / "a.new").rename(place / "a.txt")
    (place / "new.txt").write_text("mine\n")

    program.communicate("\n")
    refused = wink("accept")

    assert refused.returncode == 2
    assert refused.stderr.splitlines()[2:4] == ["    a.txt", "    new.txt"]
    assert ((place / "a.txt").read_text(), (place / "new.txt").read_text()) == ("mine\n", "mine\n")


# -- two programs


def test_of_two_programs_of_one_try_at_the_same_time_one_runs_and_the_other_is_told(
    begin: Begin, wink: Wink, place: Path
) -> None:
    """At once, with status 2, and nothing of it is in the try."""
    both = [begin("echo ran >> ran.txt; read line", "--name", "both") for _ in range(2)]
    while all(one.poll() is None for one in both):
        time.sleep(0.05)

    first, second = sorted(both, key=lambda one: one.poll() is not None)
    _, said = second.communicate()
    assert second.returncode == 2
    assert said == (
        "wink: a program is still running in the try 'both'; wait for it, or begin another one with --name\n"
    )
    assert "  is running  " in wink("tries").stdout
    assert wink("try", "--name", "other", "--", "true").returncode == 0
    first.communicate("\n")
    assert first.returncode == 0
    assert "  status 0  " in wink("tries").stdout
    assert wink("accept", "--name", "both").returncode == 0
    assert (place / "ran.txt").read_text() == "ran\n"
