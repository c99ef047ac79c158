"""Links that lead out of the workspace are accepted, are told, and can be undone; nothing is done through them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree

from wink.filesystem import FileChange, FileVersion
from wink_sandbox import steering

PYTHON = os.path.realpath(sys.executable)
VENV = f"{PYTHON} -m venv --without-pip .venv"


def told(path: str, target: str, root: str = "/srv/p") -> list[str]:
    """What is said of one new link."""
    return [reason for _, reason in steering([made(path, target)], root)]


def made(path: str, target: str) -> FileChange:
    return FileChange(path, None, FileVersion("link", len(target), 0o777, target))


@pytest.mark.parametrize(
    ("path", "target", "said"),
    [
        ("a", "/etc/passwd", ["leads out of the workspace, to /etc/passwd"]),
        ("d/a", "../../b", ["leads out of the workspace, to ../../b"]),
        ("a", "..", ["leads out of the workspace, to .."]),
        ("d/a", "../b", []),
        ("a", "b/c", []),
        ("a", "/srv/p/b", []),
        ("a", "/srv/p", []),
        ("a", "/srv/ps", ["leads out of the workspace, to /srv/ps"]),
        ("a", "/srv/p/../b", ["leads out of the workspace, to /srv/p/../b"]),
        ("a", "b/../c", ["goes down and up again, and may lead out of the workspace, to b/../c"]),
        ("a", "/\udcff\n", ['leads out of the workspace, to "/\\377\\n"']),
        ("a", "/" + "x" * 4094, ["leads out of the workspace, to /" + "x" * 199 + "…"]),
    ],
)
def test_what_is_said_of_a_link(path: str, target: str, said: list[str]) -> None:
    """By its text alone, since nothing is followed; a target that goes through other names may lead anywhere."""
    assert told(path, target) == said


def test_many_links_are_a_few_lines() -> None:
    """Three of a directory, six in all, and how many more there are."""
    one = steering([made(f".venv/bin/p{number}", "/usr/bin/p") for number in range(9)], "/srv/p")
    assert [path for path, _ in one] == [".venv/bin/p0", ".venv/bin/p1", ".venv/bin/p2", ".venv/bin"]
    assert one[-1][1] == "… and 6 more links like these"

    many = steering([made(f"d{number}/link", "/usr") for number in range(1000)], "/srv/p")
    assert len(many) == 7
    assert many[-1] == (".", "… and 994 more links like these")


def test_a_virtual_environment_is_accepted_undone_and_redone(wink: Wink, place: Path) -> None:
    """It could be accepted, and then neither be undone nor anything that was done before."""
    older = wink("try", "--keep-on-success", "--", "sh", "-c", "echo older > a.txt")
    assert older.returncode == 0, older.stderr
    before = tree(place)
    line = f".venv/bin/{os.path.basename(PYTHON)}"

    tried = wink("try", "--", "sh", "-c", VENV)
    assert tried.returncode == 0, tried.stderr
    links = [path for path in (".venv/bin/python", ".venv/bin/python3", line) if f"  {path} leads out" in tried.stderr]
    assert links, tried.stderr
    said = next(text for text in tried.stderr.splitlines() if f"{links[0]} leads out" in text)
    assert said.startswith(f"  {links[0]} leads out of the workspace, to /")
    assert (
        f"new file mode 120000\n--- /dev/null\n+++ b/{links[0]}\n@@ -0,0 +1 @@\n+{said.rpartition(' ')[2]}\n"
        in wink("diff").stdout
    )
    assert said in wink("accept", "--dry-run").stdout
    assert tree(place) == before
    accepted = wink("accept")
    assert accepted.returncode == 0, accepted.stderr
    assert said in accepted.stdout
    after = tree(place)
    target = os.readlink(place / links[0])

    for back, now in (
        ("undo", before),
        ("redo", after),
        ("undo", before),
        ("undo", None),
        ("redo", before),
        ("redo", after),
    ):
        dry = wink(back, "--dry-run")
        done = wink(back)
        assert (dry.returncode, done.returncode) == (0, 0), dry.stderr + done.stderr
        assert now is None or tree(place) == now
    assert os.readlink(place / links[0]) == target

    shutil.rmtree(place / ".venv")
    again = wink("try", "--keep-on-success", "--", "sh", "-c", VENV)
    assert again.returncode == 0, again.stderr
    assert said in again.stderr


def test_a_deleted_virtual_environment_comes_back(wink: Wink, place: Path) -> None:
    """A person's own, which a try has taken away."""
    (place / ".venv/bin").mkdir(parents=True)
    (place / ".venv/bin/python3").symlink_to("/usr/bin/python3")
    before = tree(place)
    assert wink("try", "--", "rm", "-rf", ".venv").returncode == 0
    accepted = wink("accept")
    assert "leads out" not in accepted.stdout
    assert (
        "--- a/.venv/bin/python3\n+++ /dev/null\n@@ -1 +0,0 @@\n-/usr/bin/python3\n"
        in wink("show", "c1", "--all").stdout
    )

    assert wink("undo", "--dry-run").returncode == 0
    undone = wink("undo")

    assert undone.returncode == 0, undone.stderr
    assert tree(place) == before


def test_a_command_in_a_call_makes_one_and_the_model_is_told(wink: Wink, place: Path) -> None:
    """The same for `run_command`."""
    before = tree(place)
    done = wink(
        "call", "--section", "shell.commands", "run_command", "command=ln -s /usr/bin/env env; mkdir d; ln -s / d/r"
    )
    assert done.returncode == 0, done.stderr
    assert "leads out of the workspace, to /usr/bin/env" in done.stdout
    after = tree(place)
    assert after["env"].endswith(" /usr/bin/env")

    assert wink("undo").returncode == 0
    assert tree(place) == before
    assert wink("redo").returncode == 0
    assert tree(place) == after


HOSTILE = {
    "to the state": ("x", ".wink", True),
    "to hooks": ("x", ".git/hooks", True),
    "settings": ("wink.toml", "/etc/passwd", False),
    "in hooks": (".git/hooks/pre-commit", "/bin/sh", False),
    "in the objects": (".git/objects/x", "/etc", False),
    "as a repository": ("new/.git", "/etc", False),
}


@pytest.mark.parametrize(("path", "target", "is_taken"), HOSTILE.values(), ids=HOSTILE)
def test_what_protects_git_and_settings_is_as_strict_as_before(
    wink: Wink, place: Path, path: str, target: str, is_taken: bool
) -> None:
    """Where git runs what it finds no link is accepted, and what is accepted is a name that nobody follows."""
    for name in (".git/hooks", ".git/objects", ".git/refs"):
        (place / name).mkdir(parents=True)
    (place / ".git/HEAD").write_text("ref: refs/heads/main\n")
    before = tree(place)
    tried = wink("try", "--", "sh", "-c", f"mkdir -p new; ln -s {target} {path}")
    assert tried.returncode == 0, tried.stderr

    dry, real = wink("accept", "--dry-run"), wink("accept")

    assert (dry.returncode == 0, real.returncode == 0) == (is_taken, is_taken), dry.stderr + real.stderr
    assert is_taken or tree(place) == before
    if is_taken:
        after = tree(place)
        assert wink("undo").returncode == 0
        assert tree(place) == before
        assert wink("redo").returncode == 0
        assert tree(place) == after


def test_nothing_is_accepted_beneath_a_directory_that_became_a_link_out(wink: Wink, place: Path) -> None:
    """Somebody has swapped it since."""
    outside = place.parent / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("b\n")
    wink("try", "--", "sh", "-c", "echo 2 >> src/b.txt; echo c > src/c.txt")
    shutil.rmtree(place / "src")
    (place / "src").symlink_to("../outside")

    assert wink("accept").returncode != 0

    assert os.listdir(outside) == ["b.txt"]
    assert (outside / "b.txt").read_text() == "b\n"


def test_a_rule_over_paths_judges_a_link_that_leads_out_by_its_name(place: Path, wink: Wink) -> None:
    """Where it leads to is no file of the workspace, so that no rule is about it: a virtual environment has some."""
    (place / ".env").write_text("K\n")
    (place / "wink.toml").write_text('[[rules]]\naction = "deny"\npaths = ["**/.env", "secrets/**"]\n')

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return wink("call", "run_command", "--section", "shell.commands", f"command={command}")

    made = run("ln -s /usr/bin/env tool; ln -s ../../x up; ln -s /etc/hosts gone")
    changed = run("ln -sfn /etc tool; rm gone")

    assert (made.returncode, changed.returncode) == (0, 0), made.stdout + made.stderr + changed.stdout
    assert (os.readlink(place / "tool"), os.readlink(place / "up")) == ("/etc", "../../x")
    for command in ("mkdir secrets; ln -s /etc secrets/out", "ln -s .env in", "ln -sfn /etc .env"):
        refused = run(command)
        assert refused.returncode == 1
        assert "nothing was changed" in refused.stderr, refused.stderr
    assert (place / ".env").read_text() == "K\n"
