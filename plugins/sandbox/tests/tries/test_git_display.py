"""What is shown of git's own files, where a program that was tried has committed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

_COMMIT = "git -c user.name=a -c user.email=a@b commit -qm"


@pytest.fixture
def repository(place: Path) -> Path:
    """The project as a repository, and a submodule's beside it."""
    for root in (place, place / "src"):
        subprocess.run(["sh", "-c", f"git init -q && git add . && {_COMMIT} x"], cwd=root, check=True)
    return place


def test_the_files_that_people_look_for_come_first_and_gits_own_are_one_line(wink: Wink, repository: Path) -> None:
    """`wink diff` began with pages of objects, refs and logs, and `wink try` and `wink accept` listed nothing else."""
    script = f"echo 2 >> a.txt; {_COMMIT} y -a; cd src; echo c >> b.txt; {_COMMIT} y -a"
    tried = wink("try", "--", "sh", "-c", script)

    assert tried.returncode == 0, tried.stderr
    number = len(json.loads(wink("tries", "--json").stdout)["changes"])
    begin = tried.stderr.splitlines()
    assert begin[1:4] == [f"wink: tried, nothing of this is real yet: {number} paths", "  ~ a.txt", "  ~ src/b.txt"]
    folded = begin[4:6]
    assert [line.partition(" of git's own")[0].rpartition(" ")[0] for line in folded] == ["  … .git:", "  … src/.git:"]
    assert all("(1 commit on " in line and ": y, " in line and "index" in line for line in folded)
    assert begin[6] == "    (wink diff --try default --all shows them)"
    shown = wink("diff")
    assert shown.stdout.startswith("diff --git a/a.txt b/a.txt\n")
    assert ".git/" not in shown.stdout
    assert shown.stderr.splitlines()[1:] == [folded[0][2:], folded[1][2:], "  (wink diff --all shows them)"]
    assert begin[6][2:] in wink("accept", "--dry-run").stderr
    everything = wink("diff", "--all").stdout
    assert everything.startswith(shown.stdout)
    assert "\n--- a/.git/logs/HEAD\n" in everything
    accepted = wink("accept").stdout.splitlines()
    assert accepted[1:] == ["  ~ a.txt", "  ~ src/b.txt", *folded, "    (wink show c1 --all shows them)"]
    called = wink("show", "c1").stdout
    assert called.endswith(f"\n{folded[0][2:]}\n{folded[1][2:]}\n  (wink show c1 --all shows them)\n")
    assert "--- a/.git/" not in called
    assert "--- a/.git/" in wink("show", "c1", "--all").stdout
    assert "[~a.txt ~src/b.txt" in wink("log").stdout
    undone = wink("undo").stdout.splitlines()
    assert undone[1:3] == ["  ~ a.txt", "  ~ src/b.txt"]
    assert undone[-1] == "    (wink show c2 --all shows them)"


def test_what_of_git_is_no_data_is_never_folded(wink: Wink, repository: Path) -> None:
    """A hook or a setting decides what the next git command runs."""
    wink("try", "--", "sh", "-c", "echo 'touch /owned' > .git/hooks/pre-commit; echo x >> .git/config; echo 2 > a.txt")

    shown = wink("diff")

    assert "+++ b/.git/hooks/pre-commit" in shown.stdout
    assert "+++ b/.git/config" in shown.stdout
    assert "git's own" not in shown.stderr
