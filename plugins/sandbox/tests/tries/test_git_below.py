"""Worktrees and checkouts in directories of the workspace whose git directories lie outside of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink
from plugins.sandbox.tests.tries.test_git import COMMIT, git

NESTED = "cd sub/nested; echo n > n.txt; git add n.txt; git commit -qm {}"


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    """Of somebody who commits."""
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return environment | who


@pytest.fixture
def main(place: Path) -> Path:
    """A repository in the home, with a worktree in a directory of the project, which is a repository too."""
    root = place.parent / "home/main"
    git(place.parent / "home", "init", "-q", "-b", "main", "main")
    (root / "a.txt").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    git(root, "worktree", "add", "-q", str(place / "sub/nested"), "-b", "wt")
    (place / ".gitignore").write_text(".wink\nsub\n")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    return root


def commits(root: Path) -> list[str]:
    return git(root, "log", "--format=%s").split()


def test_a_commit_in_a_worktree_below_is_accepted_and_taken_back(wink: Wink, place: Path, main: Path) -> None:
    """The file was accepted, the commit was left in the home of the try, and the exit status was 0."""
    nested = place / "sub/nested"
    tried = wink("try", "--", "sh", "-ec", NESTED.format("two"))
    assert f"what git wrote to {main}/.git/worktrees/nested is in the try too" in tried.stderr, tried.stderr

    accepted = wink("accept")

    assert accepted.returncode == 0, accepted.stderr
    assert (commits(nested), git(nested, "status", "--porcelain")) == (["two", "one"], "")
    git(main, "fsck", "--strict")
    assert wink("tries").stdout == ""
    way = f"wink undo c1 --workspace {main}"
    assert way in accepted.stdout
    assert wink(*way.split()[1:]).returncode == wink("undo").returncode == 0
    assert (commits(nested), git(nested, "status", "--porcelain")) == (["one"], "")


def test_a_try_goes_on_after_its_commit_was_accepted(wink: Wink, place: Path, main: Path) -> None:
    """What an agent keeps in its home lets the try stay, and the second accept took the first for somebody else's change."""
    nested = place / "sub/nested"
    wink("try", "--", "sh", "-ec", f"touch ~/kept; {NESTED.format('two')}")
    os.utime(nested / "a.txt", ns=(10**18, 10**18))
    git(nested, "status")  # which writes the index anew
    assert wink("accept").returncode == 0
    wink("try", "--", "sh", "-ec", f"{NESTED.format('three').replace('echo n', 'echo m')}")

    accepted = wink("accept")

    assert accepted.returncode == 0, accepted.stderr
    assert (commits(nested), git(nested, "status", "--porcelain")) == (["three", "two", "one"], "")
    (nested / "mine").write_text("mine\n")
    git(nested, "add", "mine")
    git(nested, "commit", "-q", "-m", "mine")
    wink("try", "--", "sh", "-ec", f"{NESTED.format('four').replace('echo n', 'echo o')}")
    (nested / "mine").write_text("more\n")
    git(nested, "commit", "-q", "-a", "-m", "more")
    assert "the try's is try/default/" in wink("accept").stdout
    assert commits(nested)[0] == "more"


def test_commits_in_worktrees_of_several_repositories_are_accepted_together(
    wink: Wink, place: Path, main: Path
) -> None:
    """Each as a call of its own main working tree; of two worktrees of one repository only that is named which was written to."""
    other = main.parent / "other"
    git(main.parent, "clone", "-q", str(main), str(other))
    git(other, "worktree", "add", "-q", str(place / "sub/second"), "-b", "wt")
    git(main, "worktree", "add", "-q", str(place / "sub/a"), "-b", "a")
    second = "cd ../second; git commit -q --allow-empty -m second; cd ../..; git commit -q --allow-empty -m project"
    tried = wink("try", "--", "sh", "-ec", f"{NESTED.format('two')}; {second}")
    assert tried.stderr.count("what git wrote to") == 2

    assert wink("accept").returncode == 0

    where = (place / "sub/nested", place / "sub/second", place / "sub/a", place)
    assert [commits(root)[0] for root in where] == ["two", "second", "one", "project"]


def test_a_separate_git_directory_of_a_directory_below_is_asked_about(wink: Wink, place: Path, main: Path) -> None:
    """The rules are those for the workspace's own."""
    odd, store = place / "sub/odd", main.parent / "elsewhere"
    odd.mkdir()
    git(odd, "init", "-q", "--separate-git-dir", str(store))
    wink("try", "--", "sh", "-ec", f"cd sub/odd; {COMMIT}")

    assert f"leads to {store}, which does not say that it belongs here" in wink("accept").stderr
    accepted = wink("accept", "--git-dir")

    assert accepted.returncode == 0, accepted.stderr
    assert (commits(odd), git(odd, "status", "--porcelain")) == (["two"], "")


ELSEWHERE = {
    "a link to one": "git init -q {home}/linked; ln -s {home}/linked/.git .git",
    "a common directory elsewhere": "git init -q .; mv .git/objects {home}/objects; git init -q --bare {home}/bare; echo {home}/bare > .git/commondir",
    "a worktree that was moved": "git -C {home}/main worktree add -q {home}/tree; cp {home}/tree/.git .git",
}


@pytest.mark.parametrize("how", ELSEWHERE)
def test_a_commit_below_that_cannot_be_accepted_is_told_and_never_lost(
    wink: Wink, place: Path, main: Path, how: str
) -> None:
    """A line at the end of the program, a refusal, and a way on that leaves the commit in the try."""
    home = main.parent
    (place / "sub/odd").mkdir()
    script = ELSEWHERE[how].format(home=home)
    wink("call", "ls")  # a state
    assert os.system(f"cd {place}/sub/odd && ({script}) >/dev/null 2>&1") == 0
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}

    tried = wink("try", "--", "sh", "-ec", f"cd sub/odd; {COMMIT}")
    assert tried.returncode == 0, tried.stderr
    assert "commit again after `wink accept --without sub/odd/.git`" in tried.stderr, tried.stderr

    refused = wink("accept")
    assert refused.returncode != 0
    assert "where git wrote something in the try that cannot be accepted" in refused.stderr
    assert not (place / "sub/odd/w.txt").exists()
    assert wink("accept", "--dry-run").returncode != 0
    rest = wink("accept", "--rest")
    assert rest.returncode == 1
    assert (place / "sub/odd/w.txt").exists()
    assert "is still in the try" in rest.stdout
    again = wink("accept", "--without", "sub/odd/.git")
    assert again.returncode == 0, again.stderr
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    assert wink("try", "--", "git", "-C", "sub/odd", "log", "-1", "--format=%s").stdout == "two\n"


@pytest.mark.parametrize("how", ["a directory", "of another user", "a link on the way", "a loop", "a fifo", "huge"])
def test_a_git_file_below_that_leads_astray_gets_nothing(wink: Wink, place: Path, main: Path, how: str) -> None:
    """Whoever wrote the workspace could name any repository of this user, and anything else."""
    nested, hostile = place / "sub/nested", place / "sub/hostile"
    hostile.mkdir()
    if how == "a directory":
        (hostile / ".git").write_text(f"gitdir: {main.parent}\n")
    elif how == "of another user":
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(main / ".git/worktrees/nested", 12345, 12345)
    elif how == "a link on the way":
        (place / "real").mkdir()
        nested.rename(place / "real/nested")
        (place / "sub/nested").symlink_to(place / "real/nested")
    elif how == "a loop":
        (hostile / ".git").symlink_to(".git")
        (hostile / "around").symlink_to("..")
    elif how == "a fifo":
        os.mkfifo(hostile / ".git")
    else:
        (hostile / ".git").write_text("gitdir: " + "x" * 100_000)
    safe = "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'"
    tried = wink("try", "--", "sh", "-c", f"{safe}; {NESTED.format('two')}; echo x > ~/main/.git/hooks/evil")
    assert tried.returncode == 0, tried.stderr

    accepted = wink("accept")

    assert accepted.returncode != 0, accepted.stderr
    assert git(main, "log", "--all", "--format=%s") == "one\n"
    assert not (main / ".git/hooks/evil").exists()
