"""A workspace is renamed, copied, restored, taken to another machine, or loses its key: what was done in it is not lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest
from tests.state.world import NOBODY, Ended, Forker, World, complaint


def refused(world: World, done: Ended) -> None:
    """It is told in one line what lies there, and how to go on; nothing was done."""
    assert complaint(done) is None
    assert done.status == 1
    assert "wink trust --state" in done.err
    assert done.out == ""


def works(world: World) -> None:
    """Everything that was done is still there, and can be taken back."""
    assert "c13" in world.ok("log").out
    assert "rm" in world.ok("show", "c8").out
    assert world.ok("tries").out.count("status 0") == 2
    assert "b.txt" in world.ok("history", "log", "-p").out
    world.ok("undo", "c7")
    assert not (world.work / "big.txt").exists()
    world.ok("accept", "--name", "other")
    assert (world.work / "other.txt").read_text() == "other\n"
    world.ok("restore", "one")
    assert (world.work / "a.txt").read_text() == "second"
    world.ok("call", "write_file", "file_path=after.txt", "content=after")
    assert "after.txt" in world.ok("history", "log", "--stat").out


def flatten(world: World) -> None:
    """Make the state one of the first version of wink: in `.wink` itself, and without a seal."""
    state = world.state()
    for one in state.iterdir():
        if not one.name.startswith("seal-"):
            one.rename(world.work / ".wink" / one.name)
    shutil.rmtree(state)


def test_a_workspace_of_the_first_version_is_taken_over(known: World) -> None:
    """One line says how; then log, undo, tries, checkpoints and history are all there."""
    flatten(known)
    for argv in (("log",), ("call", "write_file", "file_path=x", "content=x"), ("try", "--", "true"), ("history",)):
        refused(known, known.run(*argv))

    done = known.ok("trust", "--state", "--yes")

    assert "it is yours from now on" in done.out
    works(known)
    assert [one.name for one in (known.work / ".wink").iterdir() if one.name not in ("prompts", ".gitignore")] == [
        known.state().name
    ]


def test_a_renamed_workspace_works_at_once(known: World) -> None:
    """The name of the state does not depend on where the workspace is."""
    known.work.rename(known.base / "elsewhere")
    (known.base / "elsewhere").rename(known.base / "outside/moved")
    assert "c13" in known.ok("log", cwd=known.base / "outside/moved").out
    (known.base / "outside/moved").rename(known.work)

    works(known)


def test_a_copy_is_asked_about_and_the_original_goes_on(known: World) -> None:
    """A copy has another inode, as a clone has."""
    subprocess.run(["cp", "-a", known.work, known.base / "copy"], check=True)
    refused(known, known.run("log", cwd=known.base / "copy"))
    assert "c13" in known.ok("log").out

    known.ok("trust", "--state", "--yes", cwd=known.base / "copy")

    assert "c13" in known.ok("log", cwd=known.base / "copy").out
    known.ok("call", "write_file", "file_path=x.txt", "content=x", cwd=known.base / "copy")
    assert not (known.work / "x.txt").exists()
    works(known)


def test_a_backup_put_back_in_place_is_taken_over(known: World) -> None:
    """The directory of the workspace stays, what is in it comes from an archive."""
    archive = known.files / "backup.tar"
    subprocess.run(["tar", "--xattrs", "-cf", archive, "-C", known.work, "."], check=True)
    for one in known.work.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    subprocess.run(["tar", "--xattrs", "--xattrs-include=*", "-xf", archive, "-C", known.work], check=True)
    refused(known, known.run("log"))

    known.ok("trust", "--state", "--yes")

    works(known)


def test_another_machine_takes_a_workspace_over(known: World) -> None:
    """There is another key."""
    known.env["XDG_STATE_HOME"] = str(known.base / "keys-of-another")
    refused(known, known.run("log"))

    known.ok("trust", "--state", "--yes")

    works(known)


def test_a_deleted_key_is_made_anew(known: World) -> None:
    """What was made with the old one is asked about."""
    (known.base / "keys/wink/key").unlink()
    refused(known, known.run("log"))

    known.ok("trust", "--state", "--yes")

    works(known)


@pytest.mark.parametrize(
    "harm", ["short", "long", "empty", "writable", "writable directory", "another owner", "link", "fifo", "directory"]
)
def test_a_key_that_cannot_be_believed_is_told_of(known: World, harm: str) -> None:
    """wink neither makes another one by itself nor uses what others could have written."""
    key = known.base / "keys/wink/key"
    data = key.read_bytes()
    if harm in ("link", "fifo", "directory"):
        key.unlink()
    if harm in ("short", "long", "empty"):
        key.write_bytes({"short": data[:-1], "long": data * 2, "empty": b""}[harm])
    elif harm == "writable":
        key.chmod(0o620)
    elif harm == "writable directory":
        key.parent.chmod(0o770)
    elif harm == "another owner":
        if os.getuid():
            pytest.skip("only root can give a file away")
        os.chown(key, NOBODY, NOBODY)
    elif harm == "link":
        (known.base / "outside/key").write_bytes(data)
        key.symlink_to(known.base / "outside/key")
    elif harm == "fifo":
        os.mkfifo(key)
    elif harm == "directory":
        key.mkdir()
    known.seal()
    for argv in (
        ("log",),
        ("call", "write_file", "file_path=x", "content=x"),
        ("try", "--", "true"),
        ("trust", "--state", "--yes"),
        ("recover", "--set-aside"),
    ):
        done = known.run(*argv)

        assert complaint(done) is None, argv
        assert done.status in (1, 2), argv
        assert "/wink/key" in done.err, argv
        assert known.harm(done) == []
    assert not (known.work / "x").exists()


def test_a_deleted_state_starts_afresh(known: World) -> None:
    """As `git clean -fdx` does it."""
    subprocess.run(["git", "init", "-q"], cwd=known.work, check=True)
    subprocess.run(["git", "clean", "-fdxq"], cwd=known.work, check=True)
    shutil.rmtree(
        known.work / ".wink", ignore_errors=True
    )  # git leaves what it ignores in directories of its own accord

    assert known.ok("log").out == "no calls yet\n"
    known.ok("call", "write_file", "file_path=a.txt", "content=first")
    assert known.ok("log").out.startswith("c1 ")
    assert known.harm(known.ok("tries")) == []


def test_processes_that_begin_at_once_make_one_state(forker: Forker) -> None:
    """Twenty times four of them, each with a call of its own: one state, with all calls in it."""
    forkers = [forker, *(Forker() for _ in range(3))]
    try:
        for number in range(20):
            with World(forker) as world:
                for index, one in enumerate(forkers):
                    one.begin(world.request("call", "write_file", f"file_path={index}.txt", "content=x", number=index))
                assert [one.ended()["status"] for one in forkers] == [0] * 4
                assert len(list((world.work / ".wink").iterdir())) == 1, number
                assert len(world.ok("log").out.splitlines()) == 4, number
    finally:
        for one in forkers[1:]:
            one.close()


def test_several_unknown_states_are_never_chosen_from(known: World) -> None:
    """Whoever sees them has to say which one it is; the others are put aside."""
    flatten(known)
    (known.work / ".wink" / ("e" * 32)).mkdir()
    (known.work / ".wink" / ("d" * 32)).mkdir()
    refused(known, known.run("log"))

    done = known.run("trust", "--state", "--yes")

    assert (done.status, complaint(done)) == (2, None)
    assert "there are several" in done.err
    done = known.ok("recover", "--set-aside")
    assert done.out.count("it is in") == 3
    assert known.ok("log").out == "no calls yet\n"


@pytest.mark.parametrize("what", ["file", "link", "dangling link", "link to a state", "fifo", "link to itself"])
def test_a_wink_directory_that_is_none(known: World, what: str) -> None:
    """`.wink` itself may come as anything."""
    place = known.work / ".wink"
    known.state().parent.rename(known.base / "outside/kept")
    if what == "file":
        place.write_text("x")
    elif what == "fifo":
        os.mkfifo(place)
    else:
        targets = {"link": "outside", "dangling link": "outside/absent", "link to a state": "outside/kept"}
        place.symlink_to(known.base / targets[what] if what in targets else place)
    known.seal()
    commands = (
        ("log",), ("tools",), ("call", "write_file", "file_path=x", "content=x"), ("try", "--", "true"), ("tries",),
        ("history",), ("trust", "--state", "--yes"), ("serve",), ("checkpoint", "x", "--full"),
    )  # fmt: skip
    for argv in commands:
        done = known.run(*argv)

        assert complaint(done) is None, argv
        assert done.status in (1, 2), argv
        assert known.harm(done) == [], argv
    assert not (known.work / "x").exists()
    done = known.ok("recover", "--set-aside")
    assert known.harm(done) == []
    assert known.ok("log").out == "no calls yet\n"


def test_twenty_thousand_entries_in_wink_are_not_waited_for(world: World) -> None:
    """Names that look like states, and names that do not."""
    (world.work / ".wink").mkdir()
    for number in range(10_000):
        (world.work / ".wink" / f"{number:032x}").touch()
        (world.work / ".wink" / f"x{number}").touch()
    world.make_key()
    world.seal()
    for argv in (("log",), ("call", "write_file", "file_path=x", "content=x"), ("trust", "--state", "--yes")):
        started = time.monotonic()
        done = world.run(*argv)
        assert (done.status in (1, 2), complaint(done)) == (True, None)
        assert len(done.err) < 2000, "one line, and not of ten thousand names"
        assert world.harm(done) == []
        assert time.monotonic() - started < 10

    done = world.run("recover", "--set-aside")

    assert done.status == 0 or "move .wink itself away" in done.err
    assert len(done.out.splitlines()) <= 21
