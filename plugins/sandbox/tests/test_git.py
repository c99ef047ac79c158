"""Of a git repository a merge takes what git reads as data, and nothing that git runs or is told by."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.sandbox.tests.conftest import Place
from tests.states import state_of

from wink.errors import MergeConflict, MergeRefused
from wink_sandbox import Command, Guard, OverlayGuard, words_of
from wink_sandbox._copy_guard import CopyGuard

GIT = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "


def git(root: Path, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["git", "-C", str(root), *words], env=environment | who, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(place: Place) -> Place:
    git(place.root, "init", "-q", "-b", "main")
    (place.root / "a").write_text("a\n")
    (place.root / ".gitignore").write_text(".wink\n")
    git(place.root, "add", ".")
    git(place.root, "commit", "-q", "-m", "first")
    return place


def test_a_commit_is_merged(repository: Place) -> None:
    """Objects, refs, logs and index: afterwards git finds nothing amiss."""
    ran = repository.run(GIT + "echo b > b && git add b && git commit -q -m second && git branch side && git gc -q")

    assert ran.ended.status == 0, ran.ended.stderr.text()
    assert git(repository.root, "log", "--format=%s").split() == ["second", "first"]
    assert git(repository.root, "status", "--porcelain") == ""
    git(repository.root, "fsck", "--strict")


def test_a_commit_can_be_rolled_back(repository: Place) -> None:
    """The same way back as for every file."""
    before = git(repository.root, "rev-parse", "HEAD")

    repository.run(GIT + "echo b > b && git add b && git commit -q -m second && git gc -q", commit=False)

    assert git(repository.root, "rev-parse", "HEAD") == before
    assert git(repository.root, "status", "--porcelain") == ""
    git(repository.root, "fsck", "--strict")


REFUSED = {
    "a hook": ("echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit"),
    "settings": ("git config core.fsmonitor 'touch /tmp/x'", ".git/config"),
    "attributes": ("echo '* filter=x' > .git/info/attributes", ".git/info/attributes"),
    "other objects": ("echo /etc > .git/objects/info/alternates", ".git/objects/info/alternates"),
    "a nested repository": ("git init -q sub", "sub/.git"),
    "a file that leads to one": ("mkdir s; echo 'gitdir: /tmp/x' > s/.git", "s/.git"),
    "another spelling": ("mkdir -p s/.GIT", "s/.GIT"),
    "the repository itself": ("rm -rf .git", ".git"),
    "a link": ("ln -s /etc/passwd .git/refs/heads/x", ".git/refs/heads/x"),
    "a hard link": ("echo x > y; ln y .git/refs/heads/y", ".git/refs/heads/y"),
    "steps of a rebase": ("mkdir .git/rebase-merge; echo 'exec x' > .git/rebase-merge/git-rebase-todo", ".git/rebase-merge"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_git_would_run_is_refused(repository: Place, name: str) -> None:
    """By name, and nothing else of the program is merged either."""
    script, path = REFUSED[name]

    with pytest.raises(MergeRefused) as caught:
        repository.run(f"echo changed > a; {script}")

    assert path in caught.value.paths
    assert (repository.root / "a").read_text() == "a\n"
    assert not (repository.root / "s").exists()
    git(repository.root, "fsck", "--strict")


def test_a_new_repository_is_refused(place: Place) -> None:
    """Its hooks and settings would be the next git command's."""
    with pytest.raises(MergeRefused, match="would plant a git repository") as caught:
        place.run("git init -q; git init -q sub; echo x > a")

    assert caught.value.paths == (".git", "sub/.git"), "what lies in them need not be named"


def test_deleting_a_directory_with_a_repository_in_it_is_refused(place: Place) -> None:
    """As for file tools."""
    git(place.root, "init", "-q", "lib")

    with pytest.raises(MergeRefused, match=r"has '\.git' in it"):
        place.run("rm -rf lib")

    assert (place.root / "lib/.git/HEAD").exists()


def test_forging_winks_own_state_changes_nothing(place: Place) -> None:
    """It looks empty, cannot be written, and what is made under another spelling stays out."""
    (place.root / "a").write_text("a")
    ran = place.run("ls -A .wink; echo x > .wink/record.db; mkdir -p sub/.wink .WINK; echo x > sub/.wink/x; echo b > a")

    assert "Read-only file system" in ran.ended.stderr.text()
    assert ran.stdout == ""
    assert dict(ran.found.notes).keys() == {"sub/.wink", ".WINK"}
    assert not (place.root / "sub/.wink").exists()
    assert not (place.root / ".WINK").exists()
    assert not (state_of(place.root) / "record.db").exists()


def beside(act: Callable[[], object]) -> Callable[[str, bytes], None]:
    """What runs `act` while a program runs, which is kept when that is over."""
    done: list[bool] = []

    def on_output(_: str, data: bytes) -> None:
        if b"ready" in data and not done:
            done.append(True)
            act()

    return on_output


# A program sees the lock that git holds beside it, as without a sandbox; so it is ready when its own git is.
COMMIT = GIT + "echo b > b && git add b && git commit -q -m second && echo ready"


def rewritten(root: Path) -> None:
    """What `git status` does when a time is not the one that it has noted."""
    before = (root / ".git/index").stat().st_ino
    os.utime(root / "a", ns=(10**18, 10**18))
    git(root, "status")
    assert (root / ".git/index").stat().st_ino != before


def staged(root: Path) -> None:
    """A person's own change of the index."""
    (root / "mine").write_text("mine\n")
    git(root, "add", "mine")


@pytest.mark.parametrize("guard", ["overlay", "scan"])
def test_git_status_beside_a_program_is_no_change_of_its_index(repository: Place, guard: str) -> None:
    """A person's shell shows it in every prompt, and an agent's commit would be lost."""
    run_guarded(repository, guard, COMMIT, lambda: rewritten(repository.root))

    assert git(repository.root, "log", "--format=%s").split() == ["second", "first"]
    git(repository.root, "fsck", "--strict")


@pytest.mark.parametrize("guard", ["overlay", "scan"])
def test_git_add_beside_a_program_is_in_its_way(repository: Place, guard: str) -> None:
    """What a person has put into the index would be lost."""
    with pytest.raises(MergeConflict, match=r"\.git/index"):
        run_guarded(repository, guard, COMMIT, lambda: staged(repository.root))

    assert git(repository.root, "log", "--format=%s").split() == ["first"]
    assert "A  mine" in git(repository.root, "status", "--porcelain")


def run_guarded(place: Place, guard: str, script: str, act: Callable[[], object]) -> None:
    """Run a program as `run_command` does, and keep what it has done."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    part = place.files.begin()
    chosen: Guard = OverlayGuard() if guard == "overlay" else CopyGuard()
    place.files.turns.acquire(10)
    try:
        with chosen.open(part, place.sandbox) as guarded:
            ended = guarded.run(Command(words_of(script), env=environment), on_output=beside(act))
            assert ended.status == 0, ended.stderr.text()
            try:
                guarded.keep()
                part.prepare()
            except BaseException:
                part.undo()
                raise
            part.publish()
    finally:
        place.files.turns.release()
