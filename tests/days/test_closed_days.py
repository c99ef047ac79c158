"""A day with directories that their owner has closed (mode 0555, as of `go mod download`), as an ordinary user, whom modes keep out."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.tries.conftest import Wink
from tests.days.conftest import Day
from tests.states import paths_of

SHUT = "closed/deep/in"


@pytest.fixture
def wink(place: Path, environment: dict[str, str]) -> Wink:
    """Commands of somebody without root's rights, whose the files are."""
    around = ["unshare", "-U", "--map-user=1001", "--map-group=1001"] if os.geteuid() == 0 else []

    def call(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*around, sys.executable, "-m", "wink", *arguments],
            cwd=cwd or place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return call


@pytest.fixture
def day(place: Path, wink: Wink, environment: dict[str, str]) -> Day:
    """Closed directories in closed directories."""
    day = Day(place, wink, environment)
    day.sh(
        f"""
        mkdir -p {SHUT} other
        for at in closed closed/deep {SHUT} other; do echo "$at" > $at/a; echo b > $at/b; done
        chmod 555 {SHUT} closed/deep closed other
        """
    )
    return day


def modes(root: Path) -> dict[str, Any]:
    """Every path but wink's own, with its mode, what is in it or where it leads."""
    found: dict[str, Any] = {}
    for path in paths_of(root):
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(root))] = (path.lstat().st_mode, content)
    return found


def test_what_programs_do_in_closed_directories_is_accepted_undone_and_redone(day: Day) -> None:
    """They were left open, and what was accepted could be neither undone nor redone."""
    states = [modes(day.root)]
    for script in (
        f"chmod u+w closed; rm closed/a; chmod 555 closed; chmod 755 closed/deep; echo more >> {SHUT}/a; chmod 400 a.txt",
        "chmod u+w closed other; echo n > closed/n; mkdir -m 555 closed/new; mv other closed/other; chmod 555 closed/other closed",
        "chmod -R u+w closed; rm -r closed; mkdir closed; echo c > closed/c; ln -s c closed/l; mkdir -m 555 closed/in; chmod 555 closed",
        "chmod -R u+w closed; rm -rf closed; mkdir new; echo x > new/x; mkdir -m 555 new/in; chmod 555 new src",
    ):
        day.wink("try", "-q", "--", "sh", "-ec", script)
        assert modes(day.root) == states[-1]
        day.wink("accept")
        states.append(modes(day.root))
    assert (day.root / "closed").exists() is False
    for state in reversed(states[:-1]):
        day.wink("undo")
        assert modes(day.root) == state
    for state in states[1:]:
        day.wink("redo")
        assert modes(day.root) == state


def test_a_program_finds_the_modes_that_the_one_before_left(day: Day) -> None:
    """Whoever had looked into the try in between had opened what was closed."""
    day.wink(
        "try", "-q", "--", "sh", "-ec", "mkdir new; echo x > new/x; chmod 0 new/x new; chmod 300 other; chmod 0 a.txt"
    )
    day.wink("diff")
    day.wink("tries")
    said = day.wink("try", "-q", "--", "sh", "-ec", "stat -c '%n %a' new other a.txt; chmod 700 new; stat -c '%n %a' new/x", status=0)  # fmt: skip
    assert said.split("\n")[:4] == ["new 0", "other 300", "a.txt 0", "new/x 0"]
    day.wink("try", "-q", "--", "chmod", "u+r", "new/x", "other", "a.txt")
    day.wink("accept")
    found = modes(day.root)
    assert [oct(found[name][0] & 0o777) for name in ("new", "new/x", "other", "a.txt")] == [
        "0o700", "0o400", "0o700", "0o400",
    ]  # fmt: skip


def test_a_part_of_what_was_done_in_a_closed_directory(day: Day) -> None:
    """What stays in the try is as the program left it, and what was accepted is not in the way of it."""
    before = modes(day.root)
    day.wink(
        "try", "-q", "--", "sh", "-ec",
        "chmod u+w closed closed/deep; rm closed/a; echo n > closed/n; echo m > closed/deep/m; chmod 711 closed; chmod 555 closed/deep",
    )  # fmt: skip
    day.wink("accept", "closed/n")
    assert modes(day.root) == before | {"closed/n": (0o100644, b"n\n")}
    day.wink("drop", "closed/a")
    day.wink("drop", "--undo")
    day.wink("accept", "--name", "default")
    day.wink("accept")
    after = modes(day.root)
    assert "closed/a" not in after
    assert oct(after["closed"][0] & 0o777) == "0o711"
    assert oct(after["closed/deep"][0] & 0o777) == "0o555"
    day.wink("undo", "3")
    assert modes(day.root) == before


def test_files_that_not_even_their_owner_may_read_are_deleted_and_come_back(day: Day) -> None:
    """The pre-image could not be opened."""
    day.sh("echo secret > secret; chmod 0 secret")
    day.wink("try", "-q", "--", "rm", "-f", "secret")
    day.wink("accept")
    assert not (day.root / "secret").exists()
    day.wink("undo")
    assert (day.root / "secret").stat().st_mode & 0o777 == 0
    (day.root / "secret").chmod(0o600)
    assert (day.root / "secret").read_text() == "secret\n"


@pytest.mark.parametrize(
    ("how", "seed"), [((), 1), ((), 2), (("--unconfined",), 3)], ids=["overlay", "another", "copy"]
)
def test_any_day_with_closed_directories(day: Day, seed: int, how: tuple[str, ...]) -> None:
    """What was accepted is what the same programs leave without wink; what was undone is what there was."""
    chance = random.Random(seed)
    names = ("closed", "closed/deep", SHUT, "other", "src", "new", "new/in", "closed/new")

    def act() -> str:
        at, leaf = shlex.quote(chance.choice(names)), chance.choice("abc")
        return chance.choice(
            [
                f"(cd {at} && chmod u+w . && rm -f {leaf}; chmod 555 .)",
                f"(cd {at} && chmod u+w . && echo {chance.random()} > {leaf}; chmod {chance.choice(['555', '700'])} .)",
                f"chmod -R u+w {at}; rm -rf {at}",
                f"chmod u+w $(dirname {at}); mkdir -p {at}; chmod 555 {at}",
                f"chmod {chance.choice(['555', '755', '511'])} {at}/..",
                f"chmod u+w {at} . ; mv {at}/{leaf} moved-{leaf}",
                f"chmod 400 {at}/{leaf}",
            ]
        )

    states = [modes(day.root)]
    for _ in range(2):
        script = "\n".join(f"{act()} 2>&-" for _ in range(9)) + "\nchmod u+rwx .; true"
        twin = day.root.parent / "twin"
        subprocess.run(["cp", "-a", str(day.root), str(twin)], check=True)
        done = day.call("try", "-q", *how, "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        assert modes(day.root) == states[-1]
        as_owner = ["unshare", "-U", "--map-user=1001", "--map-group=1001"] if os.geteuid() == 0 else []
        subprocess.run([*as_owner, "sh", "-c", script], cwd=twin, check=True)
        wanted = modes(twin)
        subprocess.run(["sh", "-c", 'chmod -R u+rwx "$1"; rm -rf "$1"', "sh", str(twin)], check=True)
        if wanted == states[-1]:
            continue
        day.wink("accept")
        assert modes(day.root) == wanted, script
        states.append(wanted)
    for state in reversed(states[:-1]):
        day.wink("undo")
        assert modes(day.root) == state
    for state in states[1:]:
        day.wink("redo")
        assert modes(day.root) == state
