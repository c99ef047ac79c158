"""A record that is damaged, of a later wink or none at all: every command says so in a line and leaves it as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.states import made_state, state_of

Cli = Callable[..., Done]

COMMANDS = (
    ("log",),
    ("log", "--json"),
    ("show", "c1"),
    ("diff",),
    ("diff", "c2"),
    ("undo",),
    ("redo",),
    ("checkpoint", "x"),
    ("restore", "c1"),
    ("gc",),
    ("serve",),
    ("call", "write_file", "file_path=new.txt", "content=x"),
    ("run", "task", "--model", "scripted:{script}", "--no-input"),
    ("run", "--resume"),
    ("runs",),
    ("approvals",),
    ("approve", "a1"),
    ("watch", "--json"),
    ("events",),
    ("export", "out.wink"),
    ("recover",),
)


def newer(path: Path) -> None:
    _sql(path, "PRAGMA user_version = 99")


def no_database(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 4000)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 3 + 100])


def first_page_zeroed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0:4096] = bytes(4096)
    path.write_bytes(data)


def all_but_the_first_page_zeroed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + bytes(len(data) - 4096))


def another_program(path: Path) -> None:
    _sql(path, "PRAGMA application_id = 1234")


def log_alone(path: Path) -> None:
    shutil.copy(path, f"{path}-wal")
    path.unlink()


def log_and_an_empty_file(path: Path) -> None:
    shutil.copy(path, f"{path}-wal")
    path.write_bytes(b"")


def _sql(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(sql)
    connection.close()


DAMAGES = {
    newer: "upgrade wink",
    no_database: "not a database",
    cut_off: "cannot be read as a record",
    first_page_zeroed: "not a database",
    all_but_the_first_page_zeroed: "cannot be read as a record",
    another_program: "another program's database",
    log_alone: "log of a record that is missing",
    log_and_an_empty_file: "log of a record that is missing",
}


@pytest.fixture
def damaged(cli: Cli, place: Path, script: Callable[[str], str]) -> Callable[[Callable[[Path], None]], Path]:
    """A workspace with three calls, whose record is then damaged; the place of the record."""
    assert cli("call", "read_file", "file_path=a.txt").status == 0
    assert cli("call", "write_file", "file_path=a.txt", "content=2\n").status == 0
    path = state_of(place) / "record.db"
    _sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    _sql(path, "PRAGMA journal_mode = DELETE")

    def damage(how: Callable[[Path], None]) -> Path:
        how(path)
        return path

    return damage


def kept(state: Path) -> dict[str, bytes]:
    """The record and all that belongs to it."""
    names = ("record.db", "record.db-wal")
    found = {name: (state / name).read_bytes() for name in names if (state / name).exists()}
    return found | {str(path): path.read_bytes() for path in (state / "staged").rglob("*") if path.is_file()}


@pytest.mark.parametrize("how", DAMAGES, ids=lambda how: how.__name__)
def test_every_command_says_so_and_changes_nothing(
    damaged: Callable[[Callable[[Path], None]], Path],
    cli: Cli,
    place: Path,
    how: Callable[[Path], None],
    script: Callable[[str], str],
) -> None:
    """It may be all that somebody has of a week's work."""
    path = damaged(how)
    before = kept(path.parent)
    written = script('[[turn]]\n[[turn.call]]\ntool = "write_file"\narguments = { file_path = "n", content = "1" }\n')

    for command in COMMANDS:
        done = cli(*(part.format(script=written) for part in command))
        assert done.status == 1, (command, done)
        assert DAMAGES[how] in done.err, (command, done.err)
        assert "--set-aside" in done.err
        assert done.err.startswith("wink: ")
        assert done.err.count("\n") == 1, (command, done.err)
        assert kept(path.parent) == before, command
    assert sorted(entry.name for entry in place.iterdir()) == [".wink", "a.txt"]


@pytest.mark.parametrize("how", DAMAGES, ids=lambda how: how.__name__)
def test_setting_it_aside_keeps_it_and_begins_a_new_one(
    damaged: Callable[[Callable[[Path], None]], Path], cli: Cli, place: Path, how: Callable[[Path], None]
) -> None:
    """Every byte is where the command says, and can be put back."""
    path = damaged(how)
    names = {name: data for name, data in kept(path.parent).items() if name.startswith("record.db")}

    done = cli("recover", "--set-aside")

    assert done.status == 0, done
    (aside,) = path.parent.glob("aside-*")
    assert str(aside) in done.out or aside.name in done.out
    assert {name: (aside / name).read_bytes() for name in names} == names
    assert (aside / "staged").is_dir()
    assert (cli("log").out, cli("call", "read_file", "file_path=a.txt").status) == ("no calls yet\n", 0)
    assert len(cli("log", "--json").rows) == 1
    assert cli("gc").status == 0
    assert (aside / "record.db-wal" if "alone" in how.__name__ else aside / "record.db").exists()


def test_a_record_that_can_be_used_is_not_put_aside(cli: Cli, place: Path) -> None:
    """A wrong word must not lose what can be undone."""
    cli("call", "write_file", "file_path=b.txt", "content=2\n")

    done = cli("recover", "--set-aside")

    assert done.status == 2
    assert "can be used" in done.err
    assert cli("undo").status == 0


def test_damage_further_in_is_named_where_it_is_met(cli: Cli, place: Path) -> None:
    """A page in the middle: commands work as far as they do not need it, and the others say what is wrong."""
    for number in range(8):
        assert cli("call", "write_file", f"file_path={number}.txt", "content=" + "x" * 3000).status == 0
    path = state_of(place) / "record.db"
    _sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    _sql(path, "PRAGMA journal_mode = DELETE")
    whole = path.read_bytes()
    for page in range(1, len(whole) // 4096, 2):
        path.write_bytes(whole[: page * 4096] + b"\xff" * 4096 + whole[(page + 1) * 4096 :])
        for command in (("log", "--limit", "100"), ("events",)):
            done = cli(*command)
            assert done.status in (0, 1)
            if done.status:
                assert "cannot be read as a record" in done.err


def test_an_empty_file_is_the_beginning_of_a_record(cli: Cli, place: Path) -> None:
    """What a process leaves that was killed when it made it."""
    made_state(place)
    (state_of(place) / "record.db").touch()

    assert (cli("log").out, cli("events").status, cli("undo").status) == ("no calls yet\n", 0, 2)
    assert cli("call", "read_file", "file_path=a.txt").status == 0
    assert len(cli("log", "--json").rows) == 1


def test_a_record_that_cannot_be_written_to_is_read(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace on a medium for reading, or of somebody else."""
    cli("call", "write_file", "file_path=b.txt", "content=2\n")
    before = kept(place / ".wink")
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: not mode & os.W_OK and real(path, mode, **more))

    for command in (("log",), ("show", "c1"), ("diff",), ("events",), ("runs",), ("approvals",), ("export", "x.wink")):
        assert cli(*command).status == 0, command
    for command in (("undo",), ("call", "write_file", "file_path=c.txt", "content=1"), ("checkpoint", "x")):
        done = cli(*command)
        assert done.status != 0
        assert "read" in done.err
    assert kept(place / ".wink") == before


FULL = """
import os, subprocess, sys
place, python = sys.argv[1:3]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], check=True)
os.chdir(place)
wink = [python, "-m", "wink"]
open("a.txt", "w").write("one\\n")
for text in ("two\\n", "three\\n"):
    subprocess.run([*wink, "call", "read_file", "file_path=a.txt"], check=True, capture_output=True)
    subprocess.run([*wink, "call", "write_file", "file_path=a.txt", "content=" + text], check=True, capture_output=True)
with open("filler", "wb", 0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
log = subprocess.run([*wink, "log"], capture_output=True, text=True)
diff = subprocess.run([*wink, "diff", "c2"], capture_output=True, text=True)
call = subprocess.run([*wink, "call", "write_file", "file_path=b.txt", "content=1"], capture_output=True, text=True)
gc = subprocess.run([*wink, "gc", "--calls", "0", "--dry-run"], capture_output=True, text=True)
freeing = subprocess.run([*wink, "gc", "--calls", "0"], capture_output=True, text=True)
print(repr([(one.returncode, one.stdout, one.stderr) for one in (log, diff, call, gc, freeing)]))
"""


def can_mount() -> bool:
    """Whether this machine lets us mount something in a namespace of our own."""
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_what_happened_can_be_read_on_a_full_disk(tmp_path: Path) -> None:
    """That is when people look for what filled it; where nothing can be mounted, the rest of these tests says as much."""
    if not can_mount():
        return
    (tmp_path / "full").mkdir()
    command = [
        "unshare",
        "--map-root-user",
        "--mount",
        sys.executable,
        "-c",
        FULL,
        str(tmp_path / "full"),
        sys.executable,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    log, diff, call, gc, freeing = eval(done.stdout)
    assert (log[0], len(log[1].splitlines()), log[2]) == (0, 4, "")
    assert diff[:2] == (0, "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n")
    assert call[0] == 1
    assert "full" in call[2] or "No space" in call[2]
    assert (gc[0], gc[1][:10]) == (0, "would free")
    assert "few megabytes" in freeing[2]
