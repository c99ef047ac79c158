"""Of a git repository a merge takes what git reads as data, and nothing that git runs or is told by."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.sandbox.conftest import Place
from tests.states import state_of

from wink.errors import MergeRefused

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
