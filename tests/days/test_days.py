"""Whole days of `wink try` on repositories as people have them: after each step the files are what they must be, and nothing is lost without a line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink
from tests.days.conftest import Day

LARGE = 80 << 20


@pytest.fixture
def day(place: Path, wink: Wink, environment: dict[str, str]) -> Day:
    """A repository with a virtual environment, installed packages, links, files that are ignored, and a large one."""
    day = Day(place, wink, environment)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(place / ".venv")], check=True)
    day.sh(
        r"""
        mkdir -p node_modules/.bin node_modules/tool src/pkg/deep
        echo 'console.log(1)' > node_modules/tool/main.js
        ln -s ../tool/main.js node_modules/.bin/tool
        printf 'one\r\ntwo\r\n' > windows.txt
        printf 'node_modules\n.venv\n*.bin\n.wink\n' > .gitignore
        echo 'print(1)' > src/pkg/deep/a.py
        git init -q .
        git add -A
        git commit -qm one
        """
    )
    with (place / "large.bin").open("wb") as file:
        file.write(b"begin")
        file.seek(LARGE)
        file.write(b"end")
    return day


def test_a_virtual_environment_is_removed_made_anew_and_still_works(day: Day) -> None:
    """Its links lead out: what was accepted could not be taken back any more."""
    python = os.readlink(day.root / ".venv/bin/python3") if (day.root / ".venv/bin/python3").is_symlink() else ""
    day.tried("rm -rf .venv")
    day.accepted()
    assert not (day.root / ".venv").exists()
    day.wink("undo")
    assert (os.readlink(day.root / ".venv/bin/python3") if python else "") == python
    assert subprocess.run([day.root / ".venv/bin/python", "-c", "pass"], check=False).returncode == 0

    day.tried(
        f"{sys.executable} -m venv --without-pip --symlinks other; ln -s /etc/hostname src/out; ln -s nowhere src/none"
    )
    day.accepted()
    assert os.readlink(day.root / "src/out") == "/etc/hostname"
    assert subprocess.run([day.root / "other/bin/python", "-c", "pass"], check=False).returncode == 0


def test_in_a_subdirectory_all_that_is_done_in_the_repository_is_seen(day: Day) -> None:
    """What was written beside the subdirectory was gone, with status 0."""
    said = day.tried("echo 'print(2)' >> a.py; echo new > ../../b.txt; echo top > ../../../top.txt", "src/pkg/deep")
    assert "../../b.txt" in said
    day.accepted("a.py", where="src/pkg/deep")
    assert not (day.root / "top.txt").exists()
    day.accepted(where="src/pkg/deep")
    assert (day.root / "src/b.txt").read_text() == "new\n"
    assert (day.root / "top.txt").read_text() == "top\n"
    assert not (day.root / "src/pkg/deep/.wink").exists()


def test_commits_and_branches_of_a_try_are_taken_back_and_done_again(day: Day) -> None:
    """Of git's settings a new branch writes its own, which are nobody's danger."""
    day.sh("git branch old")
    day.tried("echo 'print(2)' >> src/pkg/deep/a.py; git commit -qam two; git checkout -qb feature; git branch -D old")
    day.accepted()
    assert day.sh("git log --format=%s").split() == ["two", "one"]
    assert day.sh("git branch --show-current") == "feature\n"

    day.sh("git init -q --bare ../origin.git; git remote add origin ../origin.git; git push -q origin main feature")
    day.tried("git fetch -q origin; git checkout -q -b mine origin/main")
    day.accepted()
    assert day.sh("git config branch.mine.merge") == "refs/heads/main\n"


def test_a_commit_in_a_submodule(day: Day) -> None:
    """Its repository lies within that of the project."""
    day.sh("git init -q ../library; cd ../library; echo lib > lib.txt; git add -A; git commit -qm lib")
    day.sh("git submodule -q add ../library lib; git commit -qm submodule")
    day.tried("cd lib; echo more >> lib.txt; git commit -qam more; cd ..; git add lib; git commit -qm 'take more'")
    day.accepted()
    assert day.sh("git log --format=%s", "lib").split() == ["more", "lib"]
    assert day.sh("git submodule status")[0] == " "


@pytest.mark.parametrize("how", ["a worktree", "a worktree of a bare one", "a git directory elsewhere"])
def test_a_commit_where_git_keeps_its_directory_elsewhere_is_never_lost_without_a_word(day: Day, how: str) -> None:
    """The file was accepted and the commit was gone, with status 0."""
    if how == "a worktree":
        day.sh("git worktree add -q ../beside -b beside")
        day.root = day.root.parent / "beside"
    elif how == "a worktree of a bare one":
        day.sh("git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../beside -b beside")
        day.root = day.root.parent / "beside"
    else:
        day.sh("git init -q --separate-git-dir ../elsewhere.git .")
    before = day.look()
    day.tried("echo new > new.txt; git add new.txt; git commit -qm new")
    is_asked = how == "a git directory elsewhere"
    if is_asked:
        assert "does not say that it belongs here" in day.wink("accept", status=2)
        assert day.look() == before
    said = day.wink("accept", *(["--git-dir"] if is_asked else []))
    assert day.sh("git log --format=%s -1") == "new\n"
    assert day.sh("git status --porcelain") == ""
    day.wink("undo")
    way = re.search(r"wink undo (c\d+) --workspace (\S+) takes it back", said)
    assert way, said
    day.wink("undo", way[1], "--workspace", way[2])
    assert day.look() == before
    day.wink("redo", "--workspace", way[2])
    day.wink("redo")
    assert day.sh("git log --format=%s -1; git status --porcelain; git fsck") == "new\n"


def test_line_ends_large_files_and_ignored_ones(day: Day) -> None:
    """Bytes are bytes."""
    day.tried(
        r"sed -i 's/two/2/' windows.txt; printf more >> large.bin; echo x > node_modules/tool/new.js; rm node_modules/.bin/tool"
    )
    day.accepted()
    assert (day.root / "windows.txt").read_bytes() == b"one\r\n2\r\n"
    assert (day.root / "large.bin").stat().st_size == LARGE + len("endmore")
    day.wink("undo")
    assert (day.root / "windows.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert (day.root / "large.bin").stat().st_size == LARGE + len("end")


def test_what_was_saved_meanwhile_is_in_the_way_of_what_it_concerns_alone(day: Day) -> None:
    """A person goes on working."""
    day.tried("echo tried >> a.txt; echo tried > other.txt")
    (day.root / "a.txt").write_text("one\nmine\n")
    said = day.wink("accept", status=2)
    assert "a.txt" in said
    assert not (day.root / "other.txt").exists()
    day.accepted("other.txt")
    assert (day.root / "a.txt").read_text() == "one\nmine\n"
    assert "+tried" in day.wink("diff")
