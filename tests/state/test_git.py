"""Nothing of wink's gets into a repository, whatever the repository says of that; and nothing of a repository gets into wink."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.state.matrix import Attacked
from tests.state.world import World, complaint

COMMANDS = (
    ("log",), ("call", "write_file", "file_path=x.txt", "content=x"), ("try", "--", "true"), ("undo",),
    ("call", "--section", "shell.commands", "run_command", "command=true"), ("drop", "--name", "default"),
    ("gc", "--calls", "0"), ("checkpoint", "z", "--full"), ("recover",), ("history",),
)  # fmt: skip


def git(world: World, *words: str) -> str:
    """What git says in the workspace."""
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": world.env["PATH"], "HOME": "/nonexistent", **who}
    return subprocess.run(
        ["git", *words], cwd=world.work, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("ignored", [None, "!*\n", "!**\n!.gitignore\n", "!/*\n!/**\n!*/\n!*/**\n"])
@pytest.mark.parametrize("above", ["", "!.wink\n!.wink/**\n"])
def test_git_never_adds_what_is_in_wink(world: World, ignored: str | None, above: str) -> None:
    """The rule that counts lies deepest, in a directory that no repository can name."""
    git(world, "init", "-q")
    if ignored is not None:
        (world.work / ".wink").mkdir()
        (world.work / ".wink/.gitignore").write_text(ignored)
        git(world, "add", "-f", ".wink/.gitignore")
    if above:
        (world.work / ".gitignore").write_text(above)
    git(world, "add", ".")
    git(world, "commit", "-q", "-m", "first")

    world.ok("call", "read_file", "file_path=a.txt")
    world.ok("call", "write_file", "file_path=a.txt", "content=changed")
    world.ok("try", "--", "sh", "-c", "echo tried > tried.txt; echo h > $HOME/h")
    world.ok("checkpoint", "one", "--full")
    assert git(world, "status", "--porcelain", "-uall") == " M a.txt\n"
    git(world, "add", "-A")

    assert git(world, "diff", "--cached", "--name-only") == "a.txt\n"


@pytest.fixture(scope="module")
def attacked() -> Iterator[Attacked]:
    """A known state, to be copied."""
    made = Attacked()
    yield made
    made.close()


@pytest.mark.timeout(600)
def test_a_branch_that_tracks_what_is_in_the_state(attacked: Attacked) -> None:
    """The worst case: its name is known to whoever wrote the branch, and git writes what they please over what wink has."""
    failures: list[str] = []
    # Every name; of the commands the next three, so that each meets a third of the names.
    commands = itertools.cycle(COMMANDS)
    for name in attacked.names:
        attacked.fresh()
        world = attacked.world
        place = world.state() / name
        inside = os.path.relpath(place, world.work)
        git(world, "init", "-q")
        git(world, "add", "a.txt")
        git(world, "commit", "-q", "-m", "first")
        _commit_a_link(world, inside, str(world.base / "outside"))
        done = subprocess.run(
            ["git", "checkout", "-qf", "theirs"], cwd=world.work, env={"PATH": world.env["PATH"], "HOME": "/nonexistent"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode or not place.is_symlink():
            failures.append(f"{name}: git did not check it out: {done.stderr}")
            continue
        world.seal()
        for argv in itertools.islice(commands, 3):
            done = world.run(*argv)
            failures.extend(f"{name}: {argv}: {one}" for one in world.harm(done))
            wrong = complaint(done)
            if wrong is not None:
                failures.append(f"{name}: {argv}: {wrong}")
    assert failures == []


def _commit_a_link(world: World, path: str, target: str) -> None:
    """Make a branch in which this path is a link, without a look at what is there."""
    environment = {"PATH": world.env["PATH"], "HOME": "/nonexistent", "GIT_INDEX_FILE": str(world.files / "index")}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "x", f"GIT_{who}_EMAIL": "x"}

    def plumbing(*words: str, given: str = "") -> str:
        done = subprocess.run(
            ["git", *words], cwd=world.work, env=environment, input=given, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    Path(environment["GIT_INDEX_FILE"]).unlink(missing_ok=True)
    blob = plumbing("hash-object", "-w", "--stdin", given=target)
    plumbing("update-index", "--add", "--cacheinfo", f"120000,{blob},{path}")
    plumbing("branch", "-f", "theirs", plumbing("commit-tree", "-m", "theirs", plumbing("write-tree")))
