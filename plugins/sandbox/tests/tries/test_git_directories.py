"""Commits to a git directory that is no working tree's `.git`: a separate one, and a bare repository with worktrees."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import GIT, Wink
from plugins.sandbox.tests.tries.test_git import git
from tests.states import paths_of

COMMIT = "echo two >> a.txt; git commit -qam two"


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    """Of somebody who commits."""
    return environment | GIT


@pytest.fixture
def separate(place: Path) -> Path:
    """A project whose git directory lies beside it, and says nothing of the project."""
    git(place, "init", "-q", "-b", "main", "--separate-git-dir", str(place.parent / "store.git"))
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    return place.parent / "store.git"


@pytest.fixture
def bare(place: Path) -> Path:
    """A bare repository, of which the project is a worktree."""
    source, store = place.parent / "source", place.parent / "home/bare.git"
    shutil.move(place, source)
    git(source, "init", "-q", "-b", "main")
    git(source, "add", ".")
    git(source, "commit", "-q", "-m", "one")
    git(source, "clone", "-q", "--bare", ".", str(store))
    git(store, "worktree", "add", "-q", str(place), "-b", "wt")
    return store


def commits(root: Path) -> list[str]:
    return git(root, "log", "--format=%s").split()


def content(store: Path) -> list[tuple[str, bytes]]:
    """Every file that git has."""
    files = (path for path in paths_of(store) if path.is_file())
    return [(str(path.relative_to(store)), path.read_bytes()) for path in files]


def test_a_separate_git_directory_is_asked_about_once(wink: Wink, place: Path, separate: Path) -> None:
    """The workspace's `.git` alone says that it belongs there, and that is the workspace's text."""
    before = content(separate)
    tried = wink("try", "--", "sh", "-ec", f"{COMMIT}; git checkout -q -b next")
    assert f"what git wrote to {separate} is in the try too; `wink accept` asks whether that belongs" in tried.stderr
    assert wink("diff", "--home").stdout.count("store.git") == 0

    refused = wink("accept")
    assert refused.returncode == 2
    assert f"leads to {separate}, which does not say that it belongs here; `wink accept --git-dir`" in refused.stderr
    assert content(separate) == before

    accepted = wink("accept", "--git-dir")
    assert accepted.returncode == 0, accepted.stderr
    assert (commits(place), git(place, "status", "--porcelain", "--branch")) == (["two", "one"], "## next\n")
    git(place, "fsck", "--strict")
    assert wink("tries").stdout == ""

    way = ("--workspace", str(separate))
    assert f"what git wrote is c1 of {separate}; wink undo c1 --workspace {separate} takes it back" in accepted.stdout
    assert wink("undo", "c1", *way).returncode == wink("undo").returncode == 0
    assert (commits(place), git(place, "status", "--porcelain", "--branch")) == (["one"], "## main\n")
    assert wink("redo", *way).returncode == wink("redo").returncode == 0
    assert (commits(place), git(place, "status", "--porcelain", "--branch")) == (["two", "one"], "## next\n")

    again = wink("try", "--keep-on-success", "--", "sh", "-ec", "echo 3 >> a.txt; git commit -qam three")
    assert again.returncode == 0, again.stderr
    assert commits(place) == ["three", "two", "one"]


def test_a_commit_in_a_worktree_of_a_bare_repository_is_accepted_and_taken_back(
    wink: Wink, place: Path, bare: Path
) -> None:
    """It names its worktrees, so nobody need be asked; it could not be accepted at all."""
    git(place, "remote", "add", "up", str(bare))
    tried = wink("try", "--", "sh", "-ec", f"{COMMIT}; git branch more; git config branch.more.rebase true")
    assert f"what git wrote to {bare}/worktrees/project is in the try too, and accepted with it" in tried.stderr

    accepted = wink("accept")

    assert accepted.returncode == 0, accepted.stderr
    assert (commits(place), git(place, "status", "--porcelain")) == (["two", "one"], "")
    assert git(place, "config", "branch.more.rebase") == "true\n"
    git(bare, "fsck", "--strict")
    way = ("--workspace", str(bare))
    assert wink("undo", "c1", *way).returncode == wink("undo").returncode == 0
    assert (commits(place), git(place, "status", "--porcelain")) == (["one"], "")
    assert git(bare, "branch", "--format=%(refname:short)").split() == ["main", "wt"]
    assert wink("redo", *way).returncode == wink("redo").returncode == 0
    assert (commits(place), git(place, "status", "--porcelain")) == (["two", "one"], "")


def test_what_a_person_committed_meanwhile_stays(wink: Wink, place: Path, bare: Path) -> None:
    """And what the try has committed arrives beside it."""
    wink("try", "--", "sh", "-ec", COMMIT)
    (place / "mine").write_text("mine\n")
    git(place, "add", "mine")
    git(place, "commit", "-q", "-m", "mine")

    accepted = wink("accept")

    assert accepted.returncode == 0, accepted.stderr
    assert "both have moved wt of git; the try's is try/default/wt now" in accepted.stdout
    assert commits(place) == ["mine", "one"]
    assert git(place, "log", "-1", "--format=%s", "try/default/wt") == "two\n"


RUN = (
    "hooks/post-commit",
    "config.worktree",
    "objects/info/alternates",
    "info/attributes",
    "worktrees/project/gitdir",
    "worktrees/project/commondir",
    "worktrees/project/config.worktree",
    "worktrees/new/HEAD",
    "modules/x/HEAD",
    "x/.git/HEAD",
    "description",
)
"""What git runs, or is told by, in its directory."""


def test_what_git_runs_in_a_bare_repository_is_refused(wink: Wink, place: Path, bare: Path) -> None:
    """The rules are those for any `.git`, whatever the directory is called."""
    before = content(bare)
    make = "; ".join(f"mkdir -p {os.path.dirname(name) or '.'}; echo {place}/.git > {name}" for name in RUN)
    wink("try", "--", "sh", "-ec", f"{COMMIT}; cd {bare}; {make}; ln -s main refs/heads/link; rm -r branches hooks")

    refused = wink("accept")

    assert refused.returncode == 2
    for name in (
        *RUN[1:7],
        "worktrees/new",
        "modules",
        "x/.git",
        "description",
        "refs/heads/link",
        "branches",
        "hooks",
    ):
        assert f"leads to {bare}, where {name} " in refused.stderr, name
    assert content(bare) == before
    assert wink("accept", "--rest").returncode == 1
    assert (content(bare), (place / "a.txt").read_text()) == (before, "one\ntwo\n")


def test_other_settings_of_a_bare_repository_are_refused_by_key(wink: Wink, bare: Path) -> None:
    """They run programs, or lead git elsewhere."""
    before = content(bare)
    keys = ("core.pager", "core.hookspath", "remote.up.vcs", "core.worktree")
    script = "; ".join(f"git config --file {bare}/config {key} less" for key in keys)
    wink("try", "--", "sh", "-ec", f"{script}; git config branch.wt.rebase true")

    refused = wink("accept", "--git-dir", "--remotes")

    assert refused.returncode == 2
    assert all(f"{key} (nothing -> 'less')" in refused.stderr for key in keys)
    assert "branch.wt" not in refused.stderr
    assert content(bare) == before


@pytest.mark.parametrize(
    "what",
    ["of another working tree", "in another one's", "for another place", "a part of one", "of somebody else", "no repository"],
)  # fmt: skip
def test_a_git_file_that_leads_to_what_is_anothers_gives_nothing(wink: Wink, place: Path, what: str) -> None:
    """A hostile `.git` names whatever repository is to get a commit, and the person says yes to all."""
    other = place.parent / "home/other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    (other / "a.txt").write_text("one\n")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "one")
    store = place.parent / "home/store.git"
    if what == "for another place":
        git(other, "init", "-q", "--separate-git-dir", str(store))
        git(other, "config", "core.worktree", str(other))
    elif what in ("of somebody else", "no repository"):
        git(other, "init", "-q", "--separate-git-dir", str(store))
        if what == "of somebody else" and os.geteuid() == 0:
            os.chown(store / "refs", 12345, 12345)
        else:
            (store / "objects").rename(store / "elsewhere")
            (store / "objects").symlink_to("elsewhere")
    elif what == "in another one's":
        store = other / ".git/nested"
        shutil.copytree(other / ".git", place.parent / "copy")
        shutil.move(place.parent / "copy", store)
    elif what == "a part of one":
        git(other, "worktree", "add", "-q", "../tree", "-b", "wt")
        store = other / ".git/worktrees/tree"
    else:
        store = other / ".git"
    (place / ".git").write_text(f"gitdir: {store}\n")
    before = content(store)

    tried = wink("try", "--", "sh", "-ec", f"{COMMIT} || true; echo x > {store}/refs/heads/x")
    done = wink("accept", "--git-dir")

    assert "stays in the try and cannot be accepted" in tried.stderr
    assert done.returncode == 2
    assert content(store) == before
    assert not (store / ".wink").exists()
