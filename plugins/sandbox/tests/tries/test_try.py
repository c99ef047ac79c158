"""`wink try`, `accept`, `drop` and `tries`, as people use them, over real programs."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree

from wink.errors import NothingTried, TryBusy, TryConflict, UnknownTry
from wink.workspace import Workspace
from wink_sandbox import Command, Overlay, Sandbox
from wink_sandbox.tries import Try, tries

EVERYTHING = """
set -e
echo two >> a.txt
rm src/b.txt
mkdir -p new/empty
printf 'x\\0y' > new/binary
ln -s ../a.txt new/link
chmod 755 run.sh
mv run.sh start.sh
"""


def test_nothing_is_real_before_it_is_accepted_and_then_all_of_it_is(wink: Wink, place: Path) -> None:
    """The whole way: try, look, accept, undo."""
    before = tree(place)

    tried = wink("try", "--", "sh", "-c", EVERYTHING)
    assert tried.returncode == 0, tried.stderr
    assert "nothing of this is real yet" in tried.stderr
    assert tree(place) == before

    shown = wink("diff")
    assert "+two" in shown.stdout
    assert "-b" in shown.stdout
    assert wink("diff", "--try", "default").stdout == shown.stdout
    assert tree(place) == before

    accepted = wink("accept")
    assert accepted.returncode == 0, accepted.stderr
    after = tree(place)
    assert after["a.txt"].endswith("one\ntwo\n")
    assert after["start.sh"] == "100755 echo hi\n"
    assert after["new/link"].endswith("../a.txt")
    assert set(after) == {"a.txt", "src", "start.sh", "new", "new/empty", "new/binary", "new/link"}
    assert (place / "new/binary").read_bytes() == b"x\0y"

    assert wink("undo").returncode == 0
    assert tree(place) == before
    assert wink("redo").returncode == 0
    assert tree(place) == after


def test_the_exit_status_and_the_streams_are_the_programs_own(wink: Wink) -> None:
    """A script can use `wink try` where it used the program."""
    done = wink("try", "--", "sh", "-c", "cat; echo aside >&2; exit 7", stdin="through\n")
    assert (done.returncode, done.stdout) == (7, "through\n")
    assert done.stderr.splitlines()[1] == "aside"


def test_a_program_that_changes_nothing_leaves_nothing(wink: Wink, place: Path) -> None:
    """Not even a try."""
    done = wink("try", "--", "true")
    assert (done.returncode, done.stderr.splitlines()[1:]) == (0, ["wink: it changed nothing"])
    assert wink("tries").stdout == ""


def test_whoever_ran_programs_can_remove_the_workspace(wink: Wink, place: Path) -> None:
    """The kernel closes the directory that it works in, so that `rm -rf` ended with "Permission denied" for all but root."""
    assert wink("try", "--", "sh", "-c", "echo t > t.txt; echo t > ~/t").returncode == 0
    assert wink("call", "--section", "shell.commands", "run_command", "command=true").returncode == 0

    made = [Path(above, name) for above, names, _ in os.walk(place / ".wink") for name in names]
    closed = [path for path in made if not path.is_symlink() and path.stat().st_mode & 0o700 != 0o700]

    assert {"upper", "work"} <= {path.name for path in made}
    assert closed == []


def test_part_of_it_can_be_accepted_and_part_dropped(wink: Wink, place: Path) -> None:
    """What is neither is still being tried."""
    wink(
        "try",
        "--",
        "sh",
        "-c",
        "echo 2 >> a.txt; echo 2 >> src/b.txt; echo new > src/c.txt; mkdir -p x/y; echo z > x/y/z",
    )

    assert wink("accept", "src/c.txt", "x").returncode == 0
    assert (place / "src/c.txt").read_text() == "new\n"
    assert (place / "x/y/z").read_text() == "z\n"
    assert (place / "src/b.txt").read_text() == "b\n"

    assert wink("drop", "src").returncode == 0
    left = json.loads(wink("tries", "--json").stdout)
    assert [change["path"] for change in left["changes"]] == ["a.txt"]

    last = wink("accept")
    assert last.returncode == 0
    assert (place / "a.txt").read_text() == "one\n2\n"
    assert (place / "src/b.txt").read_text() == "b\n"
    assert wink("tries").stdout == ""


def test_only_what_was_asked_for_is_told_of(wink: Wink, place: Path) -> None:
    """What is not kept of other paths was said when the program ended, and is said when they are accepted."""
    made = "echo 2 | tee a.txt src/b.txt new.txt; mkfifo pipe src/pipe; chmod 6755 run.sh; chmod 2755 new.txt"
    kept, bits = "is a FIFO, which is not kept", "loses its setuid and setgid bits"

    def told(*arguments: str) -> list[str]:
        lines = wink("accept", *arguments).stdout.splitlines()
        return [line.strip() for line in lines if kept in line or bits in line]

    wink("try", "--", "sh", "-c", made)

    assert told("a.txt") == []
    assert told("s*", "--dry-run") == told("src", "--dry-run") == [f"src/pipe {kept}"]
    assert [line.partition(" ")[0] for line in told("--without", "src", "--dry-run")] == ["new.txt", "pipe", "run.sh"]
    assert [line.partition(" ")[0] for line in told("--without", "run.sh", "--dry-run")] == [
        "new.txt",
        "pipe",
        "src/pipe",
    ]
    assert told("src") == [f"src/pipe {kept}"]
    assert [line.partition(" ")[0] for line in told("new.txt")] == ["new.txt"]
    assert (place / "src/b.txt").read_text() == (place / "new.txt").read_text() == "2\n"


NEVER_ACCEPTED = {
    "a hook": ("echo x > .git/hooks/pre-commit", "belongs to what git runs", ".git/hooks/pre-commit"),
    "a setting": ("git config core.pager x", "has settings that are not merged: core.pager", ".git/config"),
    "a repository": ("git init -q lib", "would plant a git repository", "lib/.git"),
}


@pytest.mark.parametrize("what", NEVER_ACCEPTED)
@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_what_no_accept_takes_is_said_when_the_program_ends(
    wink: Wink, place: Path, what: str, quiet: tuple[str, ...]
) -> None:
    """By the time of the accept somebody may have gone on with it; a file beside it is not held up."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    script, reason, path = NEVER_ACCEPTED[what]

    lines = wink("try", *quiet, "--", "sh", "-c", f"{script}; echo two > a.txt").stderr.splitlines()

    at = lines.index("wink: 1 path cannot be accepted:")
    assert reason in lines[at + 1]
    assert lines[at + 2] == f"    {path}"
    assert ("keep the rest: wink accept --rest [PATH…]" in lines[-1]) is not bool(quiet)
    assert wink("accept", "--rest").returncode == 1
    assert (place / "a.txt").read_text() == "two\n"


def test_remotes_that_a_person_can_confirm_are_not_said_to_be_refused(wink: Wink, place: Path) -> None:
    """`wink accept` shows them, and asks."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)

    done = wink("try", "--", "git", "remote", "add", "work", "https://example.org/a.git")

    assert "cannot be accepted" not in done.stderr
    assert wink("accept", "--remotes").returncode == 0


def test_all_of_it_can_be_asked_for_by_name(wink: Wink, place: Path) -> None:
    """As where no path is given; with one it is unclear what is meant."""
    wink("try", "--", "sh", "-c", "echo two | tee a.txt src/b.txt")

    unclear = wink("accept", "--all", "a.txt")
    assert (unclear.returncode, unclear.stderr.count("\n")) == (2, 1)
    assert wink("accept", "--all", "--without", "src").returncode == 0
    assert wink("accept", "--all").returncode == 0

    assert (place / "a.txt").read_text() == (place / "src/b.txt").read_text() == "two\n"
    assert wink("tries").stdout == ""


def test_a_try_goes_on_where_it_stopped_also_after_a_part_was_accepted(wink: Wink, place: Path) -> None:
    """The next program sees what the last one did, and what it writes to an accepted file is no conflict."""
    wink("try", "--", "sh", "-c", "echo 2 >> a.txt; echo 2 >> src/b.txt")
    assert wink("accept", "a.txt").returncode == 0

    again = wink("try", "--", "sh", "-c", "cat a.txt src/b.txt; echo 3 >> a.txt")
    assert again.stdout == "one\n2\nb\n2\n"
    assert (place / "a.txt").read_text() == "one\n2\n"

    assert wink("accept").returncode == 0
    assert (place / "a.txt").read_text() == "one\n2\n3\n"
    assert (place / "src/b.txt").read_text() == "b\n2\n"


def test_several_tries_stand_side_by_side(wink: Wink, place: Path) -> None:
    """Neither sees the other; one is dropped and the other accepted."""
    wink("try", "--name", "one", "--", "sh", "-c", "echo first > a.txt")
    wink("try", "--name", "two", "--", "sh", "-c", "cat a.txt; echo second > a.txt")

    unclear = wink("accept")
    assert unclear.returncode == 2
    assert "one, two" in unclear.stderr
    assert "+first" in wink("diff", "--try", "one").stdout
    assert wink("drop", "--name", "one").returncode == 0
    assert wink("accept").returncode == 0
    assert (place / "a.txt").read_text() == "second\n"


def test_what_changed_in_the_workspace_meanwhile_is_never_overwritten(wink: Wink, place: Path) -> None:
    """Nothing is accepted, the paths are named, and the rest can still be accepted by name."""
    wink("try", "--", "sh", "-c", "echo theirs > a.txt; echo theirs > src/b.txt")
    (place / "a.txt").write_text("mine\n")

    refused = wink("accept")
    assert refused.returncode != 0
    assert "    a.txt\n" in refused.stderr
    assert (place / "a.txt").read_text() == "mine\n"
    assert (place / "src/b.txt").read_text() == "b\n"
    assert "theirs" in wink("diff").stdout

    assert wink("accept", "src").returncode == 0
    assert (place / "src/b.txt").read_text() == "theirs\n"
    assert (place / "a.txt").read_text() == "mine\n"


def test_a_file_that_only_its_owner_may_read_stays_one(wink: Wink, place: Path) -> None:
    """Of an ordinary user's tries each look opened such files for writing, so 0444 was accepted as 0644, git's objects too."""
    (place / "old").write_text("old")
    (place / "old").chmod(0o444)
    wink("try", "--", "sh", "-c", "echo x > made; chmod 444 made; chmod 400 run.sh; touch old; rm a.txt")

    assert wink("tries").returncode == 0
    assert "old" not in wink("diff").stdout
    assert wink("accept").returncode == 0

    assert {name: f"{(place / name).stat().st_mode:o}" for name in ("made", "run.sh", "old")} == {
        "made": "100444", "run.sh": "100400", "old": "100444",
    }  # fmt: skip
    assert os.listxattr(place / "made") == os.listxattr(place / "run.sh") == []


def test_the_call_that_was_in_the_way_is_named(wink: Wink, place: Path) -> None:
    """Whoever reads it can look at that call, or undo it; what a person changed after a call is not the call's."""
    wink("try", "--", "sh", "-c", "echo theirs | tee a.txt src/b.txt run.sh; rm src/b.txt")
    with Workspace.open(place) as workspace:
        for path in ("a.txt", "src/b.txt", "run.sh"):
            workspace.filesystem.write(path, "by a call")
    (place / "run.sh").write_text("by a person")

    refused = wink("accept")

    said = refused.stderr.splitlines()
    assert said[:7] == [
        "wink: nothing was accepted, 3 paths cannot be:",
        "  was changed in the workspace meanwhile, by call c1, in the same lines:",
        "    a.txt",
        "  was changed in the workspace meanwhile, by somebody outside of wink, in the same lines:",
        "    run.sh",
        "  was changed in the workspace meanwhile, by call c2, and was deleted on one side:",
        "    src/b.txt",
    ]
    assert said[-1] == "  `wink drop` forgets what was tried"


def test_keep_on_success_keeps_on_success_only(wink: Wink, place: Path) -> None:
    """A build that fails leaves its changes to be looked at."""
    failed = wink("try", "--keep-on-success", "--", "sh", "-c", "echo half > a.txt; exit 1")
    assert failed.returncode == 1
    assert (place / "a.txt").read_text() == "one\n"
    wink("drop")
    kept = wink("try", "--keep-on-success", "--", "sh", "-c", "echo whole > a.txt")
    assert kept.returncode == 0
    assert (place / "a.txt").read_text() == "whole\n"
    assert wink("log").stdout.splitlines()[0].split()[2:4] == ["ok", "accept"]


def test_dry_runs_show_and_change_nothing(wink: Wink, place: Path) -> None:
    """Both of them."""
    wink("try", "--", "sh", "-c", "echo new > a.txt")
    before = wink("tries", "--json").stdout
    for command in ("accept", "drop"):
        shown = wink(command, "--dry-run")
        assert (shown.returncode, "+new" in shown.stdout) == (0, True)
    assert wink("tries", "--json").stdout == before
    assert (place / "a.txt").read_text() == "one\n"


def test_a_dry_run_of_accept_refuses_what_accept_would(wink: Wink, place: Path) -> None:
    """With the same words, and without having shown what will never be."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    wink("try", "--", "sh", "-c", "echo 'touch /tmp/owned' > .git/hooks/pre-commit; echo new > a.txt")

    dry, real = wink("accept", "--dry-run"), wink("accept")

    assert (dry.returncode, dry.stderr, dry.stdout) == (real.returncode, real.stderr, real.stdout)
    assert ".git/hooks/pre-commit" in real.stderr
    assert wink("accept", "--dry-run", "a.txt").returncode == wink("accept", "a.txt").returncode == 0


def test_the_home_is_shown_and_what_is_written_there_stays_in_the_try(wink: Wink, place: Path) -> None:
    """An agent finds its settings, and keeps its notes between runs without leaving any."""
    home = place.parent / "home"
    first = wink(
        "try", "--name", "agent", "--", "sh", "-c", "cat ~/.profile; echo theirs >> ~/.profile; echo x > a.txt"
    )
    assert first.stdout == "mine\n"
    assert wink("try", "--name", "agent", "--", "sh", "-c", "cat ~/.profile").stdout == "mine\ntheirs\n"
    assert (home / ".profile").read_text() == "mine\n"
    assert wink("try", "--name", "other", "--", "sh", "-c", "cat ~/.profile").stdout == "mine\n"
    assert wink("try", "--name", "shut", "--profile", "closed", "--", "sh", "-c", "ls -A ~").stdout == ""


def test_the_rest_of_the_machine_stays_as_it_is(wink: Wink, place: Path) -> None:
    """Read-only where it can be seen, private where programs must be able to write."""
    outside = place.parent / "outside.txt"
    outside.write_text("outside\n")
    tests = f"echo x > {outside}; echo x > /etc/wink-was-here; echo x > /usr/wink-was-here; echo x > /tmp/wink-was-here; true"
    assert wink("try", "--", "sh", "-c", tests).returncode == 0
    assert outside.read_text() == "outside\n"
    for name in ("/etc/wink-was-here", "/usr/wink-was-here", "/tmp/wink-was-here"):
        assert not Path(name).exists()


def test_what_is_in_the_home_is_told_shown_and_kept_until_it_is_dropped(wink: Wink, place: Path) -> None:
    """A token that a program was given there went with the accept, and nobody was told."""
    home = place.parent / "home"
    program = "echo key > ~/.token; echo more >> ~/.profile; mkdir -p ~/.cache/x; echo two >> a.txt"
    told = "in the home, which stays with the try: 4 paths (~/.cache, ~/.profile, ~/.token); see it: wink diff --home"

    assert told in wink("try", "--", "sh", "-c", program).stderr
    shown = wink("diff", "--home").stdout
    assert "b/.token" in shown
    assert "+key" in shown
    assert "+more" in shown
    assert "+two" not in shown
    assert json.loads(wink("tries", "--json").stdout)["home"] == [".cache", ".cache/x", ".profile", ".token"]

    assert told in wink("accept").stdout
    assert (place / "a.txt").read_text() == "one\ntwo\n"
    assert sorted(one.name for one in home.iterdir()) == [".profile"]
    assert "+two" in wink("diff").stdout  # nothing is being tried: it is what calls changed
    assert wink("tries").stdout.startswith("default  0 paths changed, and 4 paths in the home\n")

    again = wink("try", "--", "cat", "/" + str(home / ".token").lstrip("/"))
    assert again.stdout == "key\n"
    assert told in wink("drop", "--dry-run").stdout + again.stderr
    assert "and 4 paths in the home" in wink("drop").stdout
    assert wink("tries").stdout == ""
    assert (home / ".profile").read_text() == "mine\n"


def test_a_program_that_writes_to_the_home_alone_leaves_a_try(wink: Wink) -> None:
    """It said that nothing was changed, and what it had written was gone."""
    done = wink("try", "--name", "login", "--", "sh", "-c", "echo key > ~/.token")
    assert "it changed nothing in the workspace" in done.stderr
    assert "1 path (~/.token); see it: wink diff --home --try login" in done.stderr
    assert "+key" in wink("diff", "--home", "--try", "login").stdout
    assert wink("diff", "--home", "--try", "other").returncode == 2
    both = wink("diff", "c1", "--home")
    assert (both.returncode, both.stderr) == (2, "wink: give a call or --home, not both\n")


def test_without_a_private_home_there_is_nothing_in_it_to_show(wink: Wink) -> None:
    """The closed profile has an empty one, which is gone with the program."""
    done = wink("try", "--profile", "closed", "--", "sh", "-c", "mkdir -p ~; echo key > ~/.token; echo two >> a.txt")
    assert "in the home" not in done.stderr
    assert wink("diff", "--home").stdout == ""


def test_a_project_in_the_home_directory_is_still_the_workspace(
    wink: Wink, place: Path, environment: dict[str, str]
) -> None:
    """Most are: the home is shown through one overlay, the project through another on top."""
    environment["HOME"] = str(place.parent)
    wink("try", "--", "sh", "-c", "echo x > ~/note; echo 2 >> ~/project/a.txt; cd ~/project/src && echo c > c.txt")
    changes = json.loads(wink("tries", "--json").stdout)["changes"]
    assert [change["path"] for change in changes] == ["a.txt", "src/c.txt"]
    assert not (place.parent / "note").exists()


def test_a_program_starts_where_its_user_is(wink: Wink, place: Path) -> None:
    """In the directory of the project that is the current one."""
    done = wink("try", "--workspace", "..", "--", "pwd", cwd=place / "src")
    assert done.stdout == f"{place / 'src'}\n", done.stderr


def test_from_a_subdirectory_the_whole_repository_is_tried(
    wink: Wink, place: Path, environment: dict[str, str]
) -> None:
    """What a program made beside the current directory was lost, with exit status 0."""
    environment["HOME"] = str(place.parent)
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    here = place / "src"

    done = wink("try", "--", "sh", "-c", "pwd; echo 2 >> b.txt; echo 2 >> ../a.txt; echo new > ../c.txt", cwd=here)
    assert (done.returncode, done.stdout) == (0, f"{here}\n")
    assert done.stderr.startswith("wink: workspace .., profile agent: ")
    assert done.stderr.splitlines()[1:5] == [
        "wink: tried, nothing of this is real yet: 3 paths",
        "  ~ ../a.txt",
        "  + ../c.txt",
        "  ~ b.txt",
    ]
    assert [one["path"] for one in json.loads(wink("tries", "--json", cwd=here).stdout)["changes"]] == [
        "a.txt",
        "c.txt",
        "src/b.txt",
    ]

    (place / "a.txt").write_text("mine\n")
    assert "    ../a.txt\n" in wink("accept", cwd=here).stderr
    assert "'nothing'" in wink("accept", "nothing", cwd=here).stderr
    assert wink("accept", "../c.txt", "b.txt", cwd=here).stdout.splitlines()[1:3] == ["  + ../c.txt", "  ~ b.txt"]
    assert wink("drop", "../a.txt", cwd=here).stdout.splitlines()[1:2] == ["  ~ ../a.txt"]
    assert (place / "c.txt").read_text() == "new\n"
    assert (here / "b.txt").read_text() == "b\n2\n"
    assert not (here / ".wink").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("try",), "COMMAND"),
        (("try", "--name", "Bad Name", "--", "true"), "cannot name"),
        (("try", "--profile", "none", "--", "true"), "agent"),
        (("try", "--read", "/nowhere", "--", "true"), "/nowhere"),
        (("try", "--", "no-such-program"), "no-such-program"),
        (("accept",), "nothing is being tried"),
        (("drop", "--name", "other"), "nothing is being tried"),
        (("diff", "--try", "other"), "nothing is being tried"),
        (("diff", "c1", "--try", "other"), "not both"),
    ],
)
def test_wrong_input_is_one_line_that_says_what_to_do(
    wink: Wink, place: Path, arguments: tuple[str, ...], says: str
) -> None:
    """And nothing is made."""
    done = wink(*arguments)
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert wink("tries").stdout == ""


def test_a_path_that_was_not_changed_is_named(wink: Wink) -> None:
    """Accepting nothing silently would look like success."""
    wink("try", "--", "sh", "-c", "echo x > a.txt")
    done = wink("accept", "src/b.txt")
    assert (done.returncode, "'src/b.txt'" in done.stderr) == (2, True)


def test_a_planted_hook_is_not_accepted(wink: Wink, place: Path) -> None:
    """The next git command of the person would run it."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    wink(
        "try",
        "--",
        "sh",
        "-c",
        "echo 'touch /tmp/owned' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo 2 >> a.txt",
    )
    refused = wink("accept")
    assert refused.returncode != 0
    assert ".git/hooks/pre-commit" in refused.stderr
    assert (place / "a.txt").read_text() == "one\n"
    assert wink("accept", "a.txt").returncode == 0
    assert not (place / ".git/hooks/pre-commit").exists()


def test_a_commit_made_in_a_try_is_accepted(wink: Wink, place: Path) -> None:
    """Objects, refs, index and HEAD are data."""
    git = ["git", "-C", str(place), "-c", "user.name=n", "-c", "user.email=e@x"]
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    tried = wink("try", "--", "sh", "-c", "echo 2 >> a.txt; git -c user.name=n -c user.email=e@x commit -qam second")
    assert tried.returncode == 0, tried.stderr
    assert wink("accept").returncode == 0
    log = subprocess.run([*git, "log", "--format=%s"], check=True, capture_output=True, text=True).stdout
    assert log.split() == ["second", "first"]
    assert (
        subprocess.run([*git, "status", "--porcelain", "--ignored"], check=True, capture_output=True, text=True).stdout
        == "!! .wink/\n"
    )


def test_it_is_killed_with_all_that_it_started_when_wink_is(place: Path, environment: dict[str, str]) -> None:
    """Also by SIGKILL, and what it changed can still be looked at afterwards."""
    ready = place.parent / "home"
    words = "echo half > a.txt; (setsid sleep 1000 &) ; echo up; sleep 1000"
    process = subprocess.Popen(
        [sys.executable, "-m", "wink", "try", "--", "sh", "-c", words],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n", ready
    process.send_signal(signal.SIGKILL)
    process.wait()
    # The pipe ends when the last process that has it is gone.
    assert process.stdout.read() == ""
    process.stdout.close()
    with Workspace.open(place) as workspace:
        (one,) = tries(workspace)
        assert [change.path for change in one.differences().changes()] == ["a.txt"]
    assert (place / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ending_wink_ends_the_program(place: Path, environment: dict[str, str], number: signal.Signals) -> None:
    """With the status that says so."""
    process = subprocess.Popen(
        [sys.executable, "-m", "wink", "try", "--", "sh", "-c", "trap '' TERM INT; echo up; while :; do sleep 1; done"],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_an_interactive_program_has_a_terminal_of_its_own(place: Path, environment: dict[str, str]) -> None:
    """Keys go in one by one, its size is the real one's, Ctrl-C reaches the program and not wink."""
    ours, theirs = os.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    words = "tty; stty size; trap 'echo caught' INT; echo ready; read answer; echo got $answer; read answer; echo then $answer; echo x > a.txt"
    process = subprocess.Popen(
        [sys.executable, "-m", "wink", "try", "--", "bash", "-c", words],
        cwd=place,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = read_until(ours, "ready")
        assert "not a tty" not in shown
        assert "33 77" in shown
        os.write(ours, b"yes\n")
        read_until(ours, "got yes")
        # A shell that is about to read looks for signals before it waits, and may hear of one at the next key only.
        read_until(ours, "caught", pressing=b"\x03")
        os.write(ours, b"more\n")
        rest = read_until(ours, "drop")
        assert process.wait(60) == 0, rest
    finally:
        os.close(ours)
        process.kill()
        process.wait()
    assert (place / "a.txt").read_text() == "one\n"


def test_when_its_terminal_goes_the_program_goes(place: Path, environment: dict[str, str]) -> None:
    """A window that was closed leaves nothing running."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "wink", "try", "--", "sh", "-c", "trap '' HUP; echo ready; sleep 1000"],
        cwd=place,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        read_until(ours, "ready")
        os.close(ours)
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()


def test_a_directory_of_a_repository_finds_its_git(wink: Wink, place: Path, environment: dict[str, str]) -> None:
    """Agents work in parts of large repositories, too."""
    environment["HOME"] = str(place.parent)
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    done = wink("try", "--workspace", "src", "--", "git", "rev-parse", "--show-toplevel")
    assert done.stdout == f"{place}\n", done.stderr


def read_until(fd: int, text: str, pressing: bytes = b"") -> str:
    """What a terminal shows, up to some text; a key is pressed again where nothing comes."""
    shown = ""
    give_up = time.monotonic() + 60
    os.write(fd, pressing)
    while text not in shown:
        assert time.monotonic() < give_up, shown
        if not select.select([fd], [], [], 2)[0]:
            os.write(fd, pressing)
            continue
        try:
            shown += os.read(fd, 4096).decode()
        except OSError as error:  # the other end is closed
            raise AssertionError(shown) from error
    return shown


# -- through the library


def overlay_run(workspace: Workspace, one: Try, words: str) -> None:
    """Run a shell command in a try."""
    with one.use() as overlay:
        ended = Sandbox().run(Command(("/bin/sh", "-c", words)), overlay)
        assert ended.status == 0, ended


def test_a_failure_while_accepting_leaves_the_try_as_it_was(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workspace too: it is one transaction."""
    from wink.errors import CommitFailed
    from wink.record import Record

    before = tree(place)
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, EVERYTHING)
        wanted = [change.path for change in one.differences().changes()]

        def fail(*arguments: object, **options: object) -> None:
            raise CommitFailed("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(Record, "commit", fail)
            with pytest.raises(CommitFailed):
                one.accept()
        assert tree(place) == before
        assert [change.path for change in one.differences().changes()] == wanted
        one.accept()
        assert (place / "a.txt").read_text() == "one\ntwo\n"


def test_a_crash_after_the_commit_never_lets_a_program_write_into_the_workspace(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was taken over has two names until the try lets go of it."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo 2 >> a.txt; echo 2 >> src/b.txt")

        def die(found: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("wink_sandbox.tries._accepted.forget", die)
            with pytest.raises(KeyboardInterrupt):
                one.accept("a.txt")
        assert (place / "a.txt").read_text() == "one\n2\n"
        overlay_run(workspace, one, "echo 3 >> a.txt")
        assert (place / "a.txt").read_text() == "one\n2\n"
        assert {change.path for change in one.differences().changes()} == {"a.txt", "src/b.txt"}


def test_an_accepted_file_is_no_hard_link_of_one_that_is_still_tried(place: Path) -> None:
    """A program could go on writing to what has been reviewed."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(
            workspace,
            one,
            "echo reviewed > h1; chmod 751 h1; touch -d @5 h1; ln h1 h2; mkdir d; ln h1 d/h3; ln a.txt h4",
        )
        one.accept("h1")
        made = (place / "h1").stat()
        assert (made.st_nlink, made.st_mode & 0o7777, made.st_mtime) == (1, 0o751, 5)
        overlay_run(workspace, one, "echo EVIL > h2; echo EVIL > h4")
        assert (place / "h1").read_text() == "reviewed\n"
        assert (place / "a.txt").read_text() == "one\n"
        one.drop("d")
        one.accept("h2")
        assert [(place / name).read_text() for name in ("h1", "h2")] == ["reviewed\n", "EVIL\n"]
        assert {change.path for change in one.differences().changes()} == {"a.txt", "h4"}


def test_hard_links_that_are_accepted_together_stay_links_and_leave_the_try(place: Path) -> None:
    """They are one file, as for the program; with nothing of it left outside of the workspace."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo 1 > h1; ln h1 h2; echo more > rest")
        one.accept("h1", "h2")
        assert (place / "h1").samefile(place / "h2")
        assert (place / "h1").stat().st_nlink == 2
        overlay_run(workspace, one, "echo 2 > h1")
        assert [(place / name).read_text() for name in ("h1", "h2")] == ["1\n", "1\n"]


def test_a_crash_after_the_commit_leaves_no_file_in_two_places_wherever_it_is_by_now(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person may have given what was taken over another name before the try is used again."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo 1 > h1; ln h1 h2; echo 1 > h3")

        def die(found: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("wink_sandbox.tries._accepted.forget", die)
            with pytest.raises(KeyboardInterrupt):
                one.accept()
        for name in ("h1", "h2", "h3"):
            (place / name).rename(place / f"{name}.mine")
        overlay_run(workspace, one, "echo EVIL >> h1; echo EVIL >> h3; test ! -e h2")
        assert [(place / f"h{number}.mine").read_text() for number in (1, 2, 3)] == ["1\n"] * 3


def saved_unseen(path: Path, text: str) -> None:
    """Save as many characters as there are, and set the time back, as `cp -p` does."""
    found = path.stat()
    assert len(text) == found.st_size
    path.write_text(text)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_a_save_that_kept_size_and_time_is_in_the_way(place: Path) -> None:
    """Of a file that the try has changed, and of one that was accepted from it and is tried again."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo two > a.txt; echo 1 > new; echo 2 >> src/b.txt")
        one.accept("new", "src/b.txt")
        overlay_run(workspace, one, "echo 2 > new; echo 3 >> src/b.txt; chmod 700 run.sh")
        for name, text in (("a.txt", "me!\n"), ("new", "m\n"), ("src/b.txt", "m\nm\n")):
            saved_unseen(place / name, text)
        before = tree(place)

        with pytest.raises(TryConflict) as caught:
            one.accept()

        assert set(caught.value.paths) == {"a.txt", "new", "src/b.txt"}
        assert tree(place) == before
        one.accept("run.sh")


def test_what_was_changed_and_exactly_put_back_is_not_in_the_way(place: Path) -> None:
    """As by a call that failed: the same file with the same content, but for the time at which anything happened to it."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo two > a.txt; rm src/b.txt; chmod 700 run.sh")
        part = workspace.filesystem.begin(writable=True)
        for name in ("a.txt", "src/b.txt", "run.sh"):
            part.handle.write(name, "for a moment")
        part.undo()

        one.accept()

        assert tree(place).keys() == {"a.txt", "run.sh", "src"}


@pytest.mark.parametrize("name", ["a.txt", "made", "src/b.txt"])
def test_what_a_person_saves_at_the_very_last_moment_is_in_the_way(place: Path, name: str) -> None:
    """What there is to do is looked at when no other call can change anything, and then each path once more."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo theirs > a.txt; echo theirs > made; rm src/b.txt")

        with pytest.raises(TryConflict):
            one.accept(confirm=lambda done: (place / name).write_text("mine\n"))

        assert (place / name).read_text() == "mine\n"
        (place / name).unlink()
        assert tree(place).keys() == {"a.txt", "run.sh", "src", "src/b.txt"} - {name}


def test_what_another_call_did_while_an_accept_waited_for_its_turn_is_in_the_way(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that was looked at before the turn was taken is true any more."""
    from wink_sandbox.tries import _accept

    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo theirs > a.txt")
        apply = _accept.apply

        def wait(*arguments: Any, **options: Any) -> Any:
            workspace.filesystem.write("a.txt", "of a call\n")
            return apply(*arguments, **options)

        monkeypatch.setattr(_accept, "apply", wait)
        with pytest.raises(TryConflict):
            one.accept()
        assert (place / "a.txt").read_text() == "of a call\n"


def test_a_try_in_use_is_nobody_elses(place: Path) -> None:
    """Accepting half of what a program is writing would be a mess."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo 2 >> a.txt")
        with one.use():
            for work in (Try(workspace, "t").accept, Try(workspace, "t").drop):
                with pytest.raises(TryBusy):
                    work()
        with pytest.raises(NothingTried):
            one.accept("src")
        with pytest.raises(UnknownTry):
            Try(workspace, "other").accept()


def test_a_file_that_was_deleted_or_made_meanwhile_is_a_conflict(place: Path) -> None:
    """In both directions."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo 2 >> a.txt; echo mine > new.txt")
        (place / "a.txt").unlink()
        (place / "new.txt").write_text("theirs\n")
        with pytest.raises(TryConflict) as caught:
            one.accept()
        assert set(caught.value.paths) == {"a.txt", "new.txt"}
        assert (place / "new.txt").read_text() == "theirs\n"


def test_a_commit_can_be_accepted_after_git_status(place: Path) -> None:
    """Editors ask for it all the time, and git then writes an index that says the same with other times in it."""

    def git(*arguments: str) -> str:
        command = ("git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *arguments)
        return subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout

    def refresh(seconds: int) -> None:
        before = (place / ".git/index").read_bytes()
        os.utime(place / "src/b.txt", (seconds, seconds))
        git("status")
        assert (place / ".git/index").read_bytes() != before

    git("init", "-q")
    git("add", "a.txt", "src")
    git("commit", "-qm", "first")
    commit = "echo 2 >> a.txt; git -c user.name=a -c user.email=a@example.invalid commit -qam tried"
    with Workspace.open(place) as workspace:
        for message in ("second", "third"):
            one = Try(workspace, message)
            overlay_run(workspace, one, commit.replace("tried", message))
            refresh(1_000_000_000 + len(message))
            one.accept()
            assert git("log", "-1", "--format=%s") == message + "\n"
        one = Try(workspace, "fourth")
        overlay_run(workspace, one, commit)
        git("rm", "-q", "--cached", "src/b.txt")
        assert one.accept().arrived == ()
        assert git("log", "-1", "--format=%s") == "tried\n"
        assert "D  src/b.txt" in git("status", "--porcelain")


def test_what_lies_in_the_state_and_is_no_try_is_left_alone(place: Path) -> None:
    """Somebody may have put it there."""
    with Workspace.open(place) as workspace:
        odd = Path(workspace.state) / "tries"
        odd.mkdir(parents=True)
        (odd / "Not A Name").mkdir()
        (odd / "empty").mkdir()
        (odd / "broken/upper").mkdir(parents=True)
        (odd / "broken/try.json").write_text("{")
        assert [one.name for one in tries(workspace)] == ["broken"]
        assert tries(workspace)[0].runs == ()
        assert isinstance(tries(workspace)[0].overlay, Overlay)


def test_an_empty_directory_that_somebody_made_meanwhile_is_not_replaced(place: Path) -> None:
    """There is nothing in it that could have been changed, and still it is somebody's."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo file > results")
        (place / "results").mkdir()

        with pytest.raises(TryConflict):
            one.accept()

        assert (place / "results").is_dir()


def test_a_workspace_whose_first_call_accepts_a_try_has_sessions_like_any_other(place: Path) -> None:
    """The session was written to before anybody had opened it."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "echo two >> a.txt")
        one.accept()

    with Workspace.open(place) as workspace:
        assert workspace.session().session_id


def test_what_was_accepted_is_not_tried_any_more_also_when_the_accept_is_undone(place: Path) -> None:
    """A new directory and a changed mode too, which an overlay keeps in ways of its own."""
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        overlay_run(workspace, one, "mkdir made; chmod 700 run.sh; echo two >> a.txt")
        one.accept("made", "run.sh")

        workspace.undo()

        assert [change.path for change in one.differences().changes()] == ["a.txt"]
        one.accept()
        assert not (place / "made").exists()
        assert (place / "a.txt").read_text().endswith("two\n")


def test_what_decides_what_is_loaded_next_is_told(wink: Wink, place: Path, environment: dict[str, str]) -> None:
    """`pip install -e .` makes such things rightly; whoever accepts them should have seen them."""
    environment["PYTHONPATH"] = str(place / "src")
    made = "mkdir src/x.egg-info lib lib/y.egg-info; echo x > src/x.egg-info/entry_points.txt; ln -s none wink.toml"

    tried = wink("try", "--", "sh", "-c", made)
    accepted = wink("accept")

    for told in (tried.stderr, accepted.stdout):
        assert "  src/x.egg-info names a distribution" in told
        assert "  wink.toml is where wink reads settings, and is no regular file" in told
        assert "y.egg-info names" not in told


def test_a_program_that_closes_the_root_closes_it_to_nobody(wink: Wink, place: Path) -> None:
    """An ordinary user could not even look at what there is any more, nor drop it."""
    done = wink("try", "--", "sh", "-c", "echo hi > kept; chmod 000 .")

    assert done.returncode == 0
    assert "+ kept" in done.stderr
    assert wink("tries").returncode == 0
    assert wink("accept").returncode == 0
    assert (place / "kept").read_text() == "hi\n"
    assert os.stat(place).st_mode & 0o700 == 0o700


def test_somebody_who_only_looks_is_in_nobodys_way(place: Path) -> None:
    """`wink tries` asks for the lock to see whether a program is running."""
    with Workspace.open(place) as workspace:
        tried = Try(workspace, "x")
        with tried.use():
            assert tried.overlay.is_in_use()
        assert not tried.overlay.is_in_use()
        looking = os.open(f"{tried.overlay.directory}/lock", os.O_RDONLY)
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.02, os.close, (looking,)).start()
        with tried.use():
            assert tried.overlay.is_in_use()
