"""A state that somebody deleted: git does so, and nobody may find out only when nothing can be undone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.state.world import World

from wink.state import locate, make, user_directory

TOLD = "with it all that could be undone"
MAKE = ("call", "write_file", "file_path=n.txt", "content=n")


def git(world: World, *words: str) -> None:
    """Do something with git in the workspace."""
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": world.env["PATH"], "HOME": "/nonexistent", **who}
    subprocess.run(["git", *words], cwd=world.work, env=environment, check=True, capture_output=True)


@pytest.fixture
def used(world: World) -> World:
    """A repository with a branch that tracks `.wink` as a link, in which wink was used."""
    git(world, "init", "-q", "-b", "main")
    git(world, "add", "a.txt")
    git(world, "commit", "-q", "-m", "first")
    git(world, "checkout", "-q", "-b", "theirs")
    (world.work / ".wink").symlink_to(world.base / "outside")
    git(world, "add", ".wink")
    git(world, "commit", "-q", "-m", "a link")
    git(world, "checkout", "-q", "main")
    world.ok(*MAKE)
    return world


@pytest.mark.parametrize("how", [("clean", "-fdxq"), ("checkout", "-qf", "theirs")])
def test_what_git_deletes_is_told_until_there_is_something_new(used: World, how: tuple[str, ...]) -> None:
    """In a line and at the next command, whichever that is; what comes then is usual again."""
    git(used, *how)
    git(used, "checkout", "-qf", "main")

    for argv in (("log",), ("undo",), MAKE):
        done = used.run(*argv)
        assert done.err.count(TOLD) == 1, done

    done = used.ok("log")
    assert TOLD not in done.err
    assert "write_file" in done.out


def test_a_new_directory_in_the_place_of_an_old_one_had_no_state(used: World) -> None:
    """It often has the inode of the one before, which was deleted on purpose."""
    shutil.rmtree(used.work)
    used.work.mkdir()

    assert used.ok("log").err == ""


def test_what_was_put_aside_or_taken_over_is_not_gone(used: World) -> None:
    """A person's own decisions are no news to them."""
    state = used.state()
    copied = state.with_name("0" * 31 + "a")
    shutil.copytree(state, copied)
    shutil.rmtree(state)
    used.ok("trust", "--state", "--yes")
    assert TOLD not in used.ok("log").err

    shutil.rmtree(used.state())
    assert TOLD in used.ok("log").err


def test_where_nothing_can_be_noted_wink_works_all_the_same(used: World) -> None:
    """The note is for people alone."""
    notes = used.base / "keys/wink/known"
    shutil.rmtree(notes)
    notes.symlink_to(used.base / "outside")
    shutil.rmtree(used.state())
    used.seal()

    done = used.ok("call", "write_file", "file_path=o.txt", "content=o")

    assert used.harm(done) == []
    assert "write_file" in used.ok("log").out


def test_what_is_left_of_a_state_is_told_for_what_it_is(used: World) -> None:
    """git stops at directories that the kernel has closed, and leaves what lies above them; it was no copy."""
    state = used.state()
    for one in state.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    (state / "programs/x/work").mkdir(parents=True)

    done = used.run("log")
    assert done.status == 1
    assert "was deleted in part, as `git clean -x` does" in done.err

    used.ok("recover", "--set-aside")
    assert used.ok(*MAKE[:2], "file_path=o.txt", "content=o").err == ""
    assert "write_file" in used.ok("log").out


def test_a_state_that_another_process_makes_just_now_is_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made between the first look for it and the look at what is noted of it."""
    from wink.state import _memory as memory

    place, read = locate(tmp_path), memory.read_file

    def make_and_read(*words: Any) -> bytes:
        os.close(make(place))
        return read(*words)

    with memory.opened_directory(os.path.join(user_directory() or "", "known"), make=True):
        monkeypatch.setattr(memory, "read_file", make_and_read)

    assert not memory.is_gone(str(tmp_path), place)
    assert os.path.isdir(place)
