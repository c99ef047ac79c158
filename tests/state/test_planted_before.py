"""A clone brings a `.wink` along, and wink was never used there: whatever lies in it does nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.state.world import Ended, World, complaint

LAYOUTS = {"flat": "", "guessed": "0123456789abcdef" * 2, "named in hexadecimal": "f" * 32}
"""As the first version of wink had it, and where an attacker may take the state to be."""
RUN = ("call", "--section", "shell.commands", "run_command", "command=true")
TRIES = (("try", "--", "true"), ("try", "--profile", "closed", "--", "true"))

pytestmark = pytest.mark.parametrize("layout", list(LAYOUTS))


@pytest.fixture
def cloned(world: World, layout: str) -> Callable[..., list[Ended]]:
    """A function that takes what `plant` has put into a repository's `.wink`, clones that, and runs commands in the clone."""

    def attack(plant: Callable[[Path], object], *commands: tuple[str, ...]) -> list[Ended]:
        planted = world.base / "theirs/.wink" / LAYOUTS[layout]
        planted.mkdir(parents=True)
        plant(planted)
        _git(world, world.base / "theirs", "init", "-q")
        _git(world, world.base / "theirs", "add", "-Af")
        _git(world, world.base / "theirs", "commit", "-q", "-m", "x")
        (world.work / "a.txt").unlink()
        world.work.rmdir()
        _git(world, world.base, "clone", "-q", "theirs", "work")
        world.make_key()
        world.seal()
        ended: list[Ended] = []
        for argv in commands:
            done = world.run(*argv)
            assert world.harm(done) == [], argv
            assert complaint(done) is None, argv
            assert (done.status, done.out) == (1, ""), argv
            assert "wink trust --state" in done.err, argv
            ended.append(done)
        return ended

    return attack


def _git(world: World, cwd: Path, *words: str) -> None:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": world.env["PATH"], "HOME": "/nonexistent", **who}
    subprocess.run(["git", *words], cwd=cwd, env=environment, check=True)


def test_the_draft_of_a_tries_facts_as_a_link(world: World, cloned: Callable[..., list[Ended]]) -> None:
    """Facts with shell text in them, to be written through a link into what a shell reads."""

    def plant(state: Path) -> None:
        place = state / "tries/default"
        (place / "upper").mkdir(parents=True)
        (place / "upper/x").write_text("x")
        key = f"\ntouch {world.base}/executed\n"
        (place / "try.json").write_text(json.dumps({key: key, "runs": [], "known": {key: [1, 2, 3, 4]}}))
        (place / "try.json.new").symlink_to(
            os.path.relpath(world.base / "home/.bashrc", world.work / ".wink/tries/default")
        )

    cloned(plant, TRIES[0])


@pytest.mark.parametrize("name", ["since", "lock", "home", "upper", "work", "try.json"])
def test_a_part_of_a_try_as_a_link(world: World, cloned: Callable[..., list[Ended]], name: str) -> None:
    """To be emptied, chmodded or written through."""

    def plant(state: Path) -> None:
        (state / "tries/default").mkdir(parents=True)
        target = {"home": "home", "upper": "home/.ssh", "work": "outside"}.get(name, "home/.bashrc")
        (state / "tries/default" / name).symlink_to(world.base / target)
        (state / "tries/default/kept").write_text("git keeps no empty directory\n")

    cloned(plant, *TRIES)


@pytest.mark.parametrize("name", ["lock", "since", "upper", "work", "scratch"])
def test_a_part_of_a_programs_overlay_as_a_link(world: World, cloned: Callable[..., list[Ended]], name: str) -> None:
    """A model's first command takes up what looks like an overlay that nobody uses."""

    def plant(state: Path) -> None:
        (state / "programs/x").mkdir(parents=True)
        (state / "programs/x/kept").write_text("")
        target = world.base / ("outside" if name in ("upper", "work", "scratch") else "precious.txt")
        (state / "programs/x" / name).symlink_to(target)

    cloned(plant, RUN)


@pytest.mark.parametrize(
    "name",
    ["tries", "programs", "scratch", "wal", "staged", "conflicts", "results", "held", "lease", "spare", "copies"],
)
def test_a_directory_of_the_state_as_a_link(world: World, cloned: Callable[..., list[Ended]], name: str) -> None:
    """Whatever of the state comes as a link, and whatever is asked for."""

    def plant(state: Path) -> None:
        (state / "record.db").write_bytes(b"")
        (state / name).symlink_to(world.base / ("precious.txt" if name in ("lease", "spare") else "outside"))

    cloned(plant, ("log",), RUN, ("call", "write_file", "file_path=x", "content=x"), ("gc", "--calls", "0"), *TRIES)


def test_a_journal_that_would_delete_a_file_does_so_elsewhere(
    world: World, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the next test would show nothing: SQLite by itself does what the journal says."""
    monkeypatch.chdir(world.work)
    with sqlite3.connect("record.db") as made:
        made.execute("CREATE TABLE t (x)")
    made.close()
    Path("record.db-journal").write_bytes(_hot_journal(Path("record.db"), "../precious.txt"))
    opened = sqlite3.connect("record.db")
    opened.execute("SELECT * FROM sqlite_master").fetchall()
    opened.close()
    assert not (world.base / "precious.txt").exists()


@pytest.mark.parametrize(
    "argv",
    [("log",), ("tools",), ("tries",), ("diff",), ("undo",), ("try", "--", "true"), ("checkpoint", "x"), ("serve",)],
    ids=lambda argv: argv[0],
)
def test_a_journal_that_would_delete_a_file(
    world: World, cloned: Callable[..., list[Ended]], argv: tuple[str, ...]
) -> None:
    """SQLite deletes the super-journal that a hot journal names, from where the process is, when it has played it back."""

    def plant(state: Path) -> None:
        with sqlite3.connect(state / "record.db") as made:
            made.execute(f"PRAGMA application_id = {int.from_bytes(b'wink')}")  # it passes for a record
            made.execute("CREATE TABLE t (x)")
        made.close()
        (state / "record.db-journal").write_bytes(_hot_journal(state / "record.db", "../precious.txt"))

    cloned(plant, argv)

    assert (world.work / ".wink" / LAYOUTS[_layout(world)] / "record.db-journal").exists()


def _layout(world: World) -> str:
    (found,) = [name for name, place in LAYOUTS.items() if (world.work / ".wink" / place / "record.db").exists()]
    return found


def _hot_journal(database: Path, other: str) -> bytes:
    """A journal with one page in it, and the name of a super-journal at its end; see https://sqlite.org/fileformat2.html."""
    page, sector, nonce = 4096, 512, 1
    content = database.read_bytes()[:page]
    total = nonce + sum(content[at] for at in range(page - 200, 0, -200))
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(
        ">IIIII", 1, nonce, len(database.read_bytes()) // page, sector, page
    )
    body = head.ljust(sector, b"\0") + struct.pack(">I", 1) + content + struct.pack(">I", total & 0xFFFFFFFF)
    name = other.encode()
    pending = struct.pack(">I", (1 << 30) // page + 1)
    return body + pending + name + struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")


def test_settings_of_git_in_a_tries_home(world: World, cloned: Callable[..., list[Ended]]) -> None:
    """What lies in the private home of a try is the program's home: git runs what is named there."""

    def plant(state: Path) -> None:
        home = state / "tries/default/home/upper"
        home.mkdir(parents=True)
        (home / ".gitconfig").write_text(f"[core]\n\tfsmonitor = {world.base}/outside/run.sh\n")
        (state / "tries/default/upper").mkdir()
        (state / "tries/default/upper/x").write_text("x")

    (done,) = cloned(plant, ("try", "--", "git", "status"))

    assert not (world.base / "executed").exists()
    assert "branch" not in done.said


def test_settings_of_git_in_the_history(world: World, cloned: Callable[..., list[Ended]]) -> None:
    """`wink history` becomes git in a repository, which follows that repository's settings."""

    def plant(state: Path) -> None:
        _git(world, world.base, "init", "-q", "--bare", str(state / "store.git"))
        with open(state / "store.git/config", "a") as file:
            run = f"{world.base}/outside/run.sh"
            file.write(f"[core]\n\tpager = {run}\n\tfsmonitor = {run}\n\tsshCommand = {run}\n[alias]\n\tlog = !{run}\n")

    cloned(plant, ("history",), ("history", "log", "-p"), ("history", "show"))

    assert not (world.base / "executed").exists()
