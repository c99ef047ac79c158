"""What programs close even for its owner, on an overlay and on copies, also where wink is killed before it has looked."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Wink, tree

AS_OWNER = ["unshare", "-U", "--map-user=1001", "--map-group=1001"] if os.geteuid() == 0 else []
"""Words before a command of somebody whom modes keep out."""
CLOSES = {
    "what there was": "echo n > src/n; : > run.sh; : > empty; chmod 0 a.txt run.sh empty src/deep/d src/deep src",
    "new ones": "rm -rf src; mkdir src n; echo q > src/q; echo x > n/x; chmod 0 n/x n src .",
}
WAYS = {"overlay": ("", []), "copy": ("touch begun", []), "unconfined": ("touch begun", ["--unconfined"])}
"""What begins a try, on a copy if it is not confined, and the options of those programs that follow."""
SHOWN = "find . -path ./.wink -prune -o -mindepth 1 -printf '%P %y %m\\n' 2>/dev/null | LC_ALL=C sort"
OPENED = "find . -path ./.wink -prune -o -mindepth 1 ! -type l -exec chmod u+rwX {} ';'"


@pytest.fixture
def wink(place: Path, environment: dict[str, str]) -> Wink:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*AS_OWNER, sys.executable, "-m", "wink", *arguments],
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return call


@pytest.fixture(autouse=True)
def deep(place: Path) -> None:
    (place / "src/deep").mkdir()
    (place / "src/deep/d").write_text("d\n")


def done(wink: Wink, *arguments: str) -> str:
    ran = wink(*arguments)
    assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr)
    return ran.stdout


def killed(place: Path, environment: dict[str, str], script: str, options: list[str]) -> None:
    """A program whose wink is killed while it runs; it has ended when this is done."""
    words = [
        *AS_OWNER,
        sys.executable,
        "-m",
        "wink",
        "try",
        "-q",
        *options,
        "--",
        "sh",
        "-ec",
        f"{script}\necho; read _",
    ]
    with subprocess.Popen(
        words, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stdout.readline() == b"\n"
        running.kill()
        running.wait()
        running.stdin.close()
        assert running.stdout.read() == b""
    (lock,) = (place / ".wink").glob("*/tries/default/lock")
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def in_twin(twin: Path, script: str) -> str:
    """What somebody sees who does the same without wink."""
    return subprocess.run(
        [*AS_OWNER, "sh", "-ec", script], cwd=twin, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    ).stdout


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", CLOSES)
def test_what_a_program_closed_is_gone_on_with(
    wink: Wink, place: Path, environment: dict[str, str], tmp_path: Path, what: str, way: str
) -> None:
    """On a copy the next program could not be started: the marks of what was closed could not be read.

    Whoever looks in between, modes stay what they were; opened in the try, all of it is accepted, undone and redone.
    """
    begin, options = WAYS[way]
    script, before, twin = f"echo two >> a.txt\n{CLOSES[what]}", tree(place), tmp_path / "twin"
    subprocess.run(["cp", "-a", str(place), str(twin)], check=True)
    in_twin(twin, f"{begin or ':'}\n{script}")
    if begin:
        done(wink, "try", "-q", "--unconfined", "--", "sh", "-c", begin)

    twin.chmod(0o755)  # the top directory itself is no part of a workspace

    killed(place, environment, script, options)
    done(wink, "diff")
    done(wink, "tries")
    assert done(wink, "try", "-q", *options, "--", "sh", "-c", SHOWN) == in_twin(twin, SHOWN)
    assert "chmod u+r in the try" in wink("accept", "--rest", "--dry-run").stderr
    done(wink, "drop")
    done(wink, "drop", "--undo")
    done(wink, "try", "-q", *options, "--", "sh", "-ec", OPENED)
    done(wink, "accept")
    in_twin(twin, OPENED)
    assert tree(place) == tree(twin)
    done(wink, "undo")
    assert tree(place) == before
    done(wink, "redo")
    assert tree(place) == tree(twin)
    assert done(wink, "tries") == ""


@pytest.mark.parametrize("way", WAYS)
def test_what_a_program_closed_is_dropped_and_freed(
    wink: Wink, place: Path, environment: dict[str, str], way: str
) -> None:
    """Nothing is left of it, be it that nobody has looked into it since wink was killed."""
    begin, options = WAYS[way]
    before = tree(place)
    for closed in CLOSES.values():
        if begin:
            done(wink, "try", "-q", "--unconfined", "--", "sh", "-c", begin)
        killed(place, environment, closed, options)
        done(wink, "drop")
    done(wink, "gc")
    assert done(wink, "tries", "--dropped") == ""
    assert not [*(place / ".wink").glob("*/tries/**/lock")]
    assert tree(place) == before
