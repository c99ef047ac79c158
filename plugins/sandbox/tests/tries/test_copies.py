"""A try where no overlay can be mounted, or no program confined: on a copy of the workspace, and otherwise like any other."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import GIT, Wink, tree

LACKS = {
    "bubblewrap": "for place in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap;"
    " do [ ! -e $place ] || mount --bind /dev/null $place; done",
    "namespaces": "echo {allowed} > /proc/sys/user/max_user_namespaces",
}
WHO = {"root": "", "ordinary": "unshare -U --map-user=1001 --map-group=1001"}


def without(what: str, who: str) -> list[str]:
    """Words before a command that take something away from the machine that it sees; `ordinary` takes away root's rights too."""
    script = LACKS[what].format(allowed=0 if who == "root" else 1)
    return ["unshare", "-Urm", "sh", "-ec", f'{script}; exec {WHO[who]} "$@"', "sh"]


@pytest.fixture(params=[(what, who) for what in LACKS for who in WHO], ids=" without ".join)
def words(request: pytest.FixtureRequest) -> list[str]:
    """A machine that cannot confine programs, as root and as an ordinary user."""
    return without(*request.param)


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    """Of somebody who commits."""
    return environment | GIT


@pytest.fixture
def wink(place: Path, environment: dict[str, str], words: list[str]) -> Wink:
    """Run a command in the project, on that machine."""

    def call(*arguments: str, cwd: Path | None = None, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, sys.executable, "-m", "wink", *arguments],
            cwd=cwd or place,
            env=environment,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return call


def tried(wink: Wink, script: str, *options: str, status: int = 0) -> str:
    """A script in an unconfined try; all that was said."""
    done = wink("try", "--unconfined", *options, "--", "sh", "-ec", script)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def done(wink: Wink, *arguments: str) -> str:
    """What a command says that ends well."""
    ran = wink(*arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


def git(place: Path, script: str) -> str:
    return subprocess.run(
        ["sh", "-ec", script], cwd=place, env={**os.environ, **GIT}, check=True, capture_output=True, text=True
    ).stdout


def test_without_a_sandbox_nothing_runs_and_both_ways_on_are_named(wink: Wink, place: Path) -> None:
    """To run a program unconfined is for the person to say."""
    ran = wink("try", "--", "touch", "ran")
    assert ran.returncode == 2
    assert "wink try --unconfined" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (place / "ran").exists()
    assert done(wink, "tries") == ""


def test_what_it_does_is_apart_until_it_is_accepted_and_can_be_undone(wink: Wink, place: Path) -> None:
    """Two programs, with all that people have: links, deleted files and directories, a venv, installed packages, modes."""
    (place / "old/deep").mkdir(parents=True)
    (place / "old/deep/c.txt").write_text("c\n")
    (place / "node_modules").mkdir()
    (place / "node_modules/m.js").write_text("1\n")
    (place / "out").symlink_to("/nowhere/at/all")
    before = tree(place)
    said = tried(
        wink, "echo two >> a.txt; rm -r old; mkdir .venv; ln -s /usr/bin .venv/bin; echo 2 > node_modules/m.js"
    )
    assert "nothing is confined" in said
    tried(
        wink, "grep two a.txt; test ! -e old; test -L .venv/bin; rm out; ln -s a.txt out; mv src old; chmod 700 run.sh"
    )
    assert tree(place) == before

    shown = done(wink, "diff", "--all")
    assert "+two" in shown
    done(wink, "accept")
    after = tree(place)
    assert after["old"] == before["src"]
    assert (place / "a.txt").read_text() == "one\ntwo\n"
    assert (place / "node_modules/m.js").read_text() == "2\n"
    assert [os.readlink(place / name) for name in (".venv/bin", "out")] == ["/usr/bin", "a.txt"]
    assert "src" not in after
    assert "old/deep" not in after
    assert (place / "run.sh").stat().st_mode & 0o777 == 0o700
    assert done(wink, "tries") == ""
    done(wink, "undo")
    assert tree(place) == before
    done(wink, "redo")
    assert tree(place) == after


def test_a_commit_is_accepted_like_any_other_change(wink: Wink, place: Path) -> None:
    """And nothing of git's own is changed by looking at it."""
    git(place, "git init -q .; git add -A; git commit -qm one")
    assert "changed nothing" in tried(wink, "git status --short; git log --oneline")
    tried(wink, "git checkout -qb feature; echo two >> a.txt; git commit -qam two")
    assert git(place, "git log --format=%s; git branch --show-current") == "one\nmain\n"
    done(wink, "accept")
    assert git(place, "git log --format=%s; git branch --show-current; git status --short; git fsck 2>&1") == (
        "two\none\nfeature\n"
    )


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_git_in_a_copy_does_not_reach_what_is_no_copy(wink: Wink, place: Path) -> None:
    """A worktree's repository, the workspace's own above the copy, and one that the caller has named."""
    git(place, "git init -q .; git add -A; git commit -qm one; git worktree add -q ../tree -b side")
    head = git(place, "git for-each-ref")
    commit = "git -c user.name=a commit -qam two"
    ran = wink("try", "--unconfined", "--", "sh", "-ec", f"echo two >> a.txt; {commit}", cwd=place.parent / "tree")
    assert ran.returncode == 128
    assert ".git leads to a git directory elsewhere" in ran.stderr
    assert "not a git repository" in ran.stderr
    tried(wink, f"rm -rf .git; echo two >> a.txt; {commit}", status=128)
    assert git(place, "git for-each-ref; git status --short") == head
    refused = wink("accept")
    assert refused.returncode == 2
    assert "is a git repository, which programs must not delete" in refused.stderr


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_variables_lead_to_the_copy(wink: Wink, place: Path, environment: dict[str, str]) -> None:
    """An active virtual environment is that of the copy, or what is installed would be real at once."""
    (place / ".venv/bin").mkdir(parents=True)
    environment |= {"PATH": f"{place}/.venv/bin:{environment['PATH']}", "VIRTUAL_ENV": f"{place}/.venv"}
    tried(wink, 'echo made > "$VIRTUAL_ENV/made"; echo made > "${PATH%%:*}/made"; echo made > "$PWD/made"; mkdir d')
    assert not (place / "made").exists()
    assert os.listdir(place / ".venv") == ["bin"]
    shown = done(wink, "diff", "--all")
    assert all(f"+++ b/{name}\n" in shown for name in (".venv/made", ".venv/bin/made", "made"))


def test_what_others_changed_meanwhile_stays_and_is_named(wink: Wink, place: Path) -> None:
    """A change, a deletion, and a new file; the rest can be accepted."""
    tried(wink, "echo mine > a.txt; echo mine > src/b.txt; echo mine > new; echo mine > run.sh")
    (place / "a.txt").write_text("theirs\n")
    (place / "src/b.txt").unlink()
    (place / "new").write_text("theirs\n")
    ran = wink("accept")
    assert ran.returncode == 2
    assert all(f"    {name}\n" in ran.stderr for name in ("a.txt", "src/b.txt", "new"))
    assert (place / "run.sh").read_text() == "echo hi\n"
    assert wink("accept", "--rest").returncode == 1
    assert [(place / name).read_text() for name in ("a.txt", "new", "run.sh")] == ["theirs\n", "theirs\n", "mine\n"]
    assert not (place / "src/b.txt").exists()


@pytest.mark.parametrize("words", [without("namespaces", "ordinary")], ids=["one"])
def test_parts_are_accepted_dropped_and_brought_back(wink: Wink, place: Path) -> None:
    """And the next program sees what that leaves."""
    tried(wink, "echo mine > a.txt; echo mine > src/b.txt; rm run.sh")
    done(wink, "accept", "a.txt")
    done(wink, "drop", "run.sh")
    tried(wink, "cat run.sh; grep mine a.txt; grep mine src/b.txt; echo more >> a.txt")
    assert (place / "a.txt").read_text() == "mine\n"
    done(wink, "drop")
    assert not list((place / ".wink").glob("*/tries/.dropped/*/copy"))
    assert tree(place)["a.txt"].endswith("mine\n")
    done(wink, "drop", "--undo")
    done(wink, "accept")
    assert (place / "a.txt").read_text() == "mine\nmore\n"
    assert (place / "run.sh").exists()


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_what_a_user_may_not_read_is_named_and_stays(wink: Wink, place: Path) -> None:
    """It is in no copy, and that it is not there is no deletion."""
    (place / "secret").write_text("theirs\n")
    (place / "shut").mkdir()
    (place / "shut/a").write_text("a\n")
    (place / "secret").chmod(0)
    (place / "shut").chmod(0)
    said = tried(wink, "test ! -e secret; test ! -e shut; echo two > a.txt")
    assert "cannot be accepted" not in said
    assert "secret cannot be read, and is not in the copy" in said
    assert "shut cannot be read" in said
    done(wink, "accept", "a.txt")
    assert (place / "secret").stat().st_size == 7
    (place / "shut").chmod(0o700)
    assert (place / "shut/a").exists()


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_nothing_takes_the_place_of_what_was_not_in_the_copy(wink: Wink, place: Path) -> None:
    """Nobody could undo it: a file, a directory, and one in a directory that the program deletes; the rest is accepted."""
    (place / "old").mkdir()
    (place / "build").mkdir()
    for name in ("secret", "old/secret", "build/a"):
        (place / name).write_text("theirs\n")
        (place / name).chmod(0)
    (place / "build").chmod(0)
    said = tried(wink, "echo mine > secret; rm -r old; mkdir -p build; echo mine > build/a; echo two > a.txt")
    assert "wink: 3 paths cannot be accepted:" in said
    assert "build" in done(wink, "diff", "--all", "--stat")
    assert wink("diff").returncode == 1  # what cannot be read is in no patch
    tried(wink, "grep mine secret; test ! -e old; grep mine build/a; chmod 711 src")
    (place / "secret").chmod(0o600)
    refused = wink("accept")
    assert refused.returncode == 2
    assert "was not in the copy, since it cannot be read:\n    build\n    secret\n" in refused.stderr
    assert "has old/secret in it, which was not in the copy, since it cannot be read:\n    old\n" in refused.stderr
    assert " changed" in done(wink, "tries")
    assert wink("accept", "--rest").returncode == 1
    assert (place / "a.txt").read_text() == "two\n"
    assert (place / "secret").read_text() == "theirs\n"
    assert [(place / name).stat().st_size for name in ("old/secret", "secret")] == [7, 7]
    done(wink, "undo")
    done(wink, "drop", "secret")
    tried(wink, "echo seen >> secret")
    done(wink, "accept", "secret")  # the second program had it as it is now
    assert (place / "secret").read_text() == "theirs\nseen\n"
    for dropped, back in (((), "default"), (("build",), "default-2")):
        done(wink, "drop", *dropped)
        done(wink, "drop", "--undo")
        assert "was not in the copy, since it cannot be read" in wink("accept", "build", "--name", back).stderr
    for name in ("default", "default-2"):
        done(wink, "drop", "--name", name)
    (place / "build").chmod(0o700)
    assert (place / "build/a").stat().st_size == 7


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary"), []], ids=["unconfined", "confined"])
def test_a_fifo_or_socket_that_is_not_in_the_copy_is_neither_deleted_nor_replaced(
    wink: Wink, place: Path, words: list[str]
) -> None:
    """No undo could make it again, nor find whoever listens there; the rest is accepted."""
    (place / "run").mkdir()
    os.mkfifo(place / "run/pipe")
    os.mkfifo(place / "pipe")
    bind = "import socket; socket.socket(socket.AF_UNIX).bind('socket')"
    subprocess.run([sys.executable, "-c", bind], cwd=place, check=True)
    begun = "" if words else tried(wink, "mkdir begun")
    ran = wink(
        "try",
        *(["--unconfined"] if words else []),
        "--",
        "sh",
        "-ec",
        "test ! -e pipe; rm -r run; echo > pipe; mkdir socket; echo two > a.txt",
    )
    assert ran.returncode == 0, ran.stderr
    said = begun + ran.stderr
    assert "pipe is a FIFO, socket or device, and is not in the copy" in said
    assert wink("accept").returncode == 2
    left = wink("accept", "--rest")
    assert left.returncode == 1
    assert "was not in the copy, since it is a FIFO, socket or device:\n    pipe\n    socket\n" in left.stderr
    assert (
        "has run/pipe in it, which was not in the copy, since it is a FIFO, socket or device:\n    run\n" in left.stderr
    )
    assert [(place / name).is_fifo() for name in ("run/pipe", "pipe")] == [True, True]
    assert (place / "socket").is_socket()
    assert (place / "a.txt").read_text() == "two\n"
    done(wink, "undo")


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody but root can make a directory of another user")
@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_what_is_in_a_directory_of_another_user_is_left_out(wink: Wink, place: Path) -> None:
    """As containers leave them. In the copy it is one's own; where it is real, deleting it would fail half-way."""
    (place / "old/theirs").mkdir(parents=True)
    (place / "build").mkdir()
    for name in ("old/theirs/a", "build/a", "build/b"):
        (place / name).write_text("theirs\n")
    for name in ("old/theirs", "build"):
        os.chown(place / name, 1, 1)
    before = tree(place)
    said = tried(wink, "echo two > a.txt; rm -r old build/a; echo mine > build/b; echo mine > build/c")
    assert "wink: 4 paths cannot be accepted:" in said
    refused = wink("accept")
    assert refused.returncode == 2
    paths = "".join(f"    {name}\n" for name in ("build/a", "build/b", "build/c", "old"))
    assert f"  is in a directory of another user, or has one in it, that you may not change:\n{paths}" in refused.stderr
    assert wink("accept", "--rest").returncode == 1
    assert tree(place) == before | {"a.txt": "100644 two\n"}


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_a_directory_that_was_closed_meanwhile_is_not_deleted(wink: Wink, place: Path) -> None:
    """Nobody could say what was in it; the rest is accepted, and what was tried there can be dropped."""
    tried(wink, "rm -r src; echo two > a.txt")
    (place / "src").chmod(0)
    refused = wink("accept")
    assert refused.returncode == 2
    assert "holds something that cannot be read here, and would be deleted:\n    src\n" in refused.stderr
    assert wink("accept", "--rest").returncode == 1
    assert (place / "a.txt").read_text() == "two\n"
    done(wink, "drop", "src")
    (place / "src").chmod(0o755)
    assert (place / "src/b.txt").read_text() == "b\n"


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_a_try_that_cannot_be_read_is_named_among_the_others_and_can_be_dropped(wink: Wink, place: Path) -> None:
    """One has lost its copy, and what another one is compared with has been closed."""
    tried(wink, "mkdir fine", "--name", "fine")
    tried(wink, 'rm -rf "$PWD"', "--name", "lost", status=2)
    tried(wink, "chmod 700 a.txt", "--name", "shut")
    (place / "a.txt").chmod(0)
    listed = done(wink, "tries")
    assert "fine  1 path changed" in listed
    assert "lost  cannot be read (what a program did" in listed
    assert "shut  cannot be read ([Errno 13]" in listed
    done(wink, "tries", "--json")
    for name in ("lost", "shut"):
        done(wink, "drop", "--name", name)
    assert done(wink, "tries").startswith("fine")


@pytest.mark.parametrize("words", [without("bubblewrap", "root")], ids=["one"])
def test_what_a_program_leaves_running_is_ended_with_it(wink: Wink, place: Path) -> None:
    """It would go on in a copy that nobody looks at any more."""
    tried(wink, "setsid sh -c 'echo $$ > pid; exec sleep 1000' & while ! test -s pid; do :; done")
    done(wink, "accept")
    pid = int((place / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


NOT_TO_BE_KILLED = """
import os, sys
kill = os.kill
def is_spared(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"spared" in file.read()
def mine(pid, number):
    if is_spared(pid):
        raise PermissionError(1, os.strerror(1))
    kill(pid, number)
os.kill = mine
from wink.cli import main
main(sys.argv[1:])
"""
"""wink, which may not end a process that has `spared` in its command line, as the kernel has it of what has other ids."""


def test_a_process_that_it_may_not_end_is_named(place: Path, environment: dict[str, str]) -> None:
    """As one with the ids of another user; the program's work is in the try all the same."""
    runs_on = "echo $$ > pid; exec <&- >&- 2>&-; for _ in $(seq 200); do sleep 1; done"
    script = f"echo two > a.txt; setsid sh -c '{runs_on}' spared & while ! test -s pid; do :; done"
    words = [sys.executable, "-c", NOT_TO_BE_KILLED, "try", "--unconfined", "--", "sh", "-ec", script]
    ran = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=100)
    (told,) = [line for line in ran.stderr.splitlines() if "runs on" in line]
    pid = int(told.partition("(process ")[2].partition(")")[0])
    assert told.startswith(f"wink: sh (process {pid}) is another user's, and runs on: the try is in use until it ends")
    assert ran.returncode == 0, ran.stderr
    accept = [sys.executable, "-m", "wink", "accept"]
    busy = subprocess.run(accept, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert "is still running in the try" in busy.stderr
    (lock,) = (place / ".wink").glob("*/tries/default/lock")
    os.kill(pid, signal.SIGKILL)
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    subprocess.run(accept, cwd=place, env=environment, check=True)
    assert (place / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_a_killed_wink_loses_nothing_that_its_program_did(wink: Wink, place: Path, environment: dict[str, str]) -> None:
    """While that still runs the try is in use; then it is looked at by whoever asks first."""
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "wink",
            "try",
            "--unconfined",
            "--",
            "sh",
            "-c",
            "echo x > a.txt; echo ready; cat; rm run.sh",
        ],
        cwd=place,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.kill()
        running.wait()
        busy = wink("accept")
        assert (busy.returncode, "is still running" in busy.stderr) == (2, True)
        running.stdin.close()
        (lock,) = (place / ".wink").glob("*/tries/default/lock")
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
    shown = done(wink, "diff")
    assert "+x" in shown
    assert "-echo hi" in shown
    done(wink, "accept")
    assert not (place / "run.sh").exists()


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_a_killed_wink_finds_what_its_program_closed(wink: Wink, place: Path) -> None:
    """The next command takes it in, looks into what not even its owner can, and does not make such modes real."""
    script = (
        "echo two > a.txt; mkdir -p c/c; echo c > c/c/f; echo b > src/b.txt; chmod 0 c/c/f c/c c src; kill -9 $PPID"
    )
    assert wink("try", "--unconfined", "--", "sh", "-ec", script).returncode == -signal.SIGKILL
    assert "+two" in done(wink, "diff")
    refused = wink("accept")
    assert refused.returncode == 2
    assert "chmod u+r in the try" in refused.stderr
    assert wink("accept", "--rest").returncode == 1
    assert ((place / "a.txt").read_text(), (place / "c").exists()) == ("two\n", False)
    done(wink, "drop")
    assert done(wink, "tries") == ""


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_a_copy_that_its_program_removed_is_no_deletion_of_all(wink: Wink, place: Path) -> None:
    """It is said, with a status that tells it, and `wink drop` is the way on."""
    before = tree(place)
    assert "wink drop" in tried(wink, 'rm -rf "$PWD"', status=2)
    assert wink("accept").returncode == 2
    done(wink, "drop")
    done(wink, "tries", "--dropped")
    assert "changed nothing" in tried(wink, "true")
    assert tree(place) == before


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
@pytest.mark.parametrize("how", ['rm -rf "$PWD"', 'mv "$PWD" "$PWD.moved"; ln -s / "$PWD"'], ids=["removed", "a link"])
def test_what_was_tried_before_a_copy_was_removed_can_be_accepted(wink: Wink, place: Path, how: str) -> None:
    """Dropping and bringing back gives up what the last program did, and nothing else."""
    tried(wink, "echo two > a.txt")
    assert "`wink drop --undo` brings back what was tried before" in tried(wink, how, status=2)
    done(wink, "drop")
    done(wink, "drop", "--undo")
    tried(wink, "grep two a.txt; echo b > src/b.txt")
    done(wink, "accept")
    assert (place / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("words", [without("bubblewrap", "ordinary")], ids=["one"])
def test_a_copy_that_its_program_closed_is_read_all_the_same(wink: Wink, place: Path) -> None:
    """Also by somebody whom modes hold off; the next program works on it again."""
    tried(wink, "echo two >> a.txt; chmod 0 ..; chmod 0 .")
    tried(wink, "grep two a.txt; rm run.sh; chmod 0 .")
    done(wink, "accept")
    assert (place / "a.txt").read_text() == "one\ntwo\n"
    assert not (place / "run.sh").exists()
    assert done(wink, "tries") == ""


@pytest.mark.parametrize("words", [[]], ids=["one"])
@pytest.mark.parametrize("option", [["--no-network"], ["--profile", "closed"], ["--read", "/etc"]], ids=" ".join)
def test_nothing_can_be_asked_of_a_program_that_is_not_confined(wink: Wink, option: list[str]) -> None:
    """Somebody would believe it."""
    ran = wink("try", "--unconfined", *option, "--", "true")
    assert ran.returncode == 2
    assert "--unconfined confines nothing" in ran.stderr


@pytest.mark.parametrize("who", WHO)
def test_where_no_overlay_can_be_mounted_a_copy_is_shown_at_the_workspaces_path(
    place: Path, environment: dict[str, str], who: str
) -> None:
    """An overlay cannot lie on another one; programs are confined all the same."""
    git(place, "git init -q .; git add -A; git commit -qm one")
    (place.parent / "home/mine").write_text("mine\n")
    for name in ("upper", "work"):
        (place.parent / name).mkdir()
    script = f"""
        cd {place}
        mount -t overlay o -o userxattr,lowerdir=.,upperdir=../upper,workdir=../work .
        cd {place}
        exec {WHO[who]} sh -ec "$1"
    """
    wink = f"{sys.executable} -m wink"
    day = f"""
        {wink} try --no-network -- sh -ec 'pwd; rm -r src; echo two >> a.txt; git commit -qam two; cat ~/mine
            touch ~/made 2>/dev/null || echo read-only; touch /elsewhere 2>/dev/null || echo confined'
        {wink} try -- sh -ec 'grep two a.txt; test ! -e src; mkdir src; echo new > src/new; ls -A {place}'
        cat a.txt; ls src
        {wink} accept
        cat a.txt; ls src; git log --format=%s; git status --short
        {wink} undo; ls src
    """
    ran = subprocess.run(
        ["unshare", "-Urm", "sh", "-ec", script, "sh", day],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    words = [line for line in ran.stdout.splitlines() if not line.startswith((" ", "wink", "undone"))]
    assert words == [
        str(place), "mine", "read-only", "confined",
        "two", ".git", ".wink", "a.txt", "run.sh", "src",
        "one", "b.txt",
        "one", "two", "new", "two", "one", "?? src/",
        "b.txt",
    ]  # fmt: skip
    seen = "home read-only, /tmp empty, machine read-only; hidden: .wink, socket files; on a copy of the workspace: "
    begun = [line for line in ran.stderr.splitlines() if line.startswith("wink: workspace ")]
    assert [line.partition(", home ")[0] for line in begun] == [
        "wink: workspace ., profile agent: network off",
        "wink: workspace ., profile agent: network on",
    ]
    assert f"{seen}no overlay can be mounted (Invalid argument, in {place}/.wink/" in begun[0]
    assert begun[1].endswith(f"{seen}this try began on one")


LOGIN = "mkdir -p ~/.claude && echo token > ~/.claude/.credentials.json"


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_a_confined_program_on_a_copy_keeps_nothing_in_the_home_and_that_is_said(wink: Wink, place: Path) -> None:
    """It cannot write there at all; also `--quiet` says so, and the profile that shows no home has nothing to say."""
    tried(wink, "true")
    tried(wink, "mkdir begun")
    home = place.parent / "home"
    (home / ".config/wink").mkdir(parents=True)
    (home / ".config/wink/wink.toml").write_text('persist = ["~/.token"]')

    claude = wink("try", "--profile", "claude", "-q", "--", "sh", "-c", LOGIN)
    settings = wink("try", "-q", "--", "sh", "-c", "echo x > ~/.token")
    closed = wink("try", "-q", "--profile", "closed", "--", "true")

    named = "~/.claude/.credentials.json, ~/.claude/projects/**/*.jsonl"
    told = "wink: not kept in your home: {}; it is read-only for a program on a copy"
    assert told.format(f"{named}, ~/.token") in claude.stderr.splitlines()
    assert told.format("~/.token") in settings.stderr.splitlines()
    assert closed.stderr == ""
    assert "Read-only file system" in claude.stderr
    assert (claude.returncode, settings.returncode, closed.returncode) == (1, 2, 0)
    assert sorted(os.listdir(home)) == [".config", ".profile"]


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_an_unconfined_program_writes_to_the_real_home_and_that_is_said(wink: Wink, place: Path) -> None:
    """Whatever the settings name: there is nothing left to be kept, and nothing of it is the try's."""
    home = place.parent / "home"
    (home / ".config/wink").mkdir(parents=True)
    (home / ".config/wink/wink.toml").write_text('persist = ["~/.token"]')

    said = tried(wink, "echo x > ~/.token; echo y > ~/.other")

    assert "home and /tmp are the real ones" in said.splitlines()[0]
    assert "kept in your home" not in said
    assert [(home / name).read_text() for name in (".token", ".other")] == ["x\n", "y\n"]
    assert done(wink, "tries") == ""


@pytest.mark.parametrize("words", [[]], ids=["one"])
@pytest.mark.parametrize("instead", ["", "ln -s {outside} src"], ids=["nothing", "a link that leads out"])
def test_it_starts_in_the_copy_and_nowhere_else(wink: Wink, place: Path, instead: str) -> None:
    """An earlier program has deleted the directory that one stands in, or put a link there: to what is no copy."""
    outside = place.parent / "outside"
    outside.mkdir()
    tried(wink, f"rm -r src; {instead.format(outside=outside)}")

    ran = wink("try", "--unconfined", "--", "touch", "made", cwd=place / "src")

    assert ran.returncode == 2
    assert "'src' is no directory in the copy; start it in another one" in ran.stderr
    assert os.listdir(outside) == []
    assert os.listdir(place / "src") == ["b.txt"]


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_what_is_written_beside_the_copy_is_named_and_stays(wink: Wink, place: Path) -> None:
    """A build that puts its results beside the project: they are in no try, and nothing deletes them."""
    ran = wink(
        "try",
        "--unconfined",
        "--keep-on-success",
        "--",
        "sh",
        "-ec",
        "mkdir ../out; echo r > ../out/report; echo two > a.txt",
    )
    assert ran.returncode == 2
    (told,) = [line for line in ran.stderr.splitlines() if line.startswith("wink: beside the copy, and in no try: ")]
    out = Path(told.rpartition(": ")[2])
    assert out.name == "out"
    assert not out.is_relative_to(place)
    assert "and in no try" not in tried(wink, "grep two a.txt; test ! -e ../out")
    done(wink, "accept")
    assert (place / "a.txt").read_text() == "two\n"
    assert (out / "report").read_text() == "r\n"


@pytest.mark.parametrize("words", [[]], ids=["one"])
@pytest.mark.parametrize(("name", "is_active"), [(".venv", False), ("src/env", True)])
def test_scripts_that_lead_to_the_workspace_itself_are_told_of(
    wink: Wink, place: Path, environment: dict[str, str], name: str, is_active: bool
) -> None:
    """As those of a virtual environment, in which pip would install at once; its Python is the copy's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / name], check=True)
    if is_active:
        environment["VIRTUAL_ENV"] = str(place / name)
    said = tried(wink, f"{name}/bin/python -c 'import sys; print(sys.prefix)'")
    assert (
        f"wink: scripts in {name}/bin, as pip, name the workspace's own path, and what they change there is real"
        in said
    )
    assert f"/upper/{name}\n" in said
    assert "scripts" not in tried(wink, "true", "-q")


@pytest.mark.parametrize("words", [[]], ids=["one"])
@pytest.mark.parametrize("link", ["..", "../../../..", "src/../../..", "in/..", "../../upper"])
def test_no_link_leads_to_what_is_winks_own(wink: Wink, place: Path, link: str) -> None:
    """Those that leave the root by `..` are in no copy; the others are."""
    (place / "in").symlink_to("src/..")
    (place / "src/up").symlink_to("../a.txt")
    (place / "away").symlink_to("/nowhere")
    (place / "build").symlink_to(link)
    state = sorted(os.listdir(place.parent))
    said = tried(
        wink, "test ! -L build; test -L in -a -L src/up -a -L away; rm -rf build/runs build/*; echo two > a.txt"
    )
    assert "build leads out of the workspace, and is not in the copy" in said
    assert [line for line in done(wink, "diff", "--all").splitlines() if line.startswith("+++")] == ["+++ b/a.txt"]
    done(wink, "accept")
    assert os.readlink(place / "build") == link
    assert sorted(os.listdir(place.parent)) == state
    assert done(wink, "tries") == ""


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_above_the_copy_is_nothing_of_the_workspace(wink: Wink, place: Path, environment: dict[str, str]) -> None:
    """Neither its state nor its files, however many `..` somebody writes by mistake; it goes with the try."""
    copies = Path(environment["XDG_STATE_HOME"]) / "wink-copies"
    said = tried(wink, "pwd; cd ..; ls -A; cd ../../../../..; ls -A; mkdir $OLDPWD/upper/new")
    assert said.splitlines()[-1].startswith("wink: see it")
    shown = [line for line in said.splitlines() if not line.startswith((" ", "wink", "created"))]
    assert (Path(shown[0]).is_relative_to(copies), shown[1:]) == (True, ["upper", "5"])
    assert Path(shown[0]).exists()
    done(wink, "drop")
    assert not Path(shown[0]).exists()
    assert not (copies / Path(shown[0]).relative_to(copies).parts[0]).exists()


@pytest.mark.parametrize("words", [[]], ids=["one"])
@pytest.mark.parametrize("command", ["log", "call ls", "tries", "accept", "try -- true"])
def test_wink_itself_does_not_work_in_the_copy(wink: Wink, place: Path, command: str) -> None:
    """Neither on the copy, as if it were a workspace, nor on the one that it is of."""
    (place / ".git").mkdir()
    ran = wink("try", "--unconfined", "--", "sh", "-c", f"cd src; exec {sys.executable} -m wink {command} 2>&1")
    (said,) = ran.stdout.splitlines()
    assert ran.returncode == 2
    assert said.startswith("wink: '")
    assert "is in a copy of a workspace, made for `wink try --unconfined`" in said
    assert done(wink, "tries") == ""


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_a_home_that_is_the_workspace_is_copied_without_the_copies(
    wink: Wink, place: Path, environment: dict[str, str]
) -> None:
    """The copies are below the home."""
    del environment["XDG_STATE_HOME"]
    environment["HOME"] = str(place)
    tried(wink, "test ! -e .local/state/wink-copies; echo two > a.txt")
    tried(wink, "test ! -e .local/state/wink-copies; grep two a.txt")
    done(wink, "accept")
    assert (place / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_a_copy_is_not_copied_into_itself_when_the_place_for_copies_has_moved(
    wink: Wink, place: Path, environment: dict[str, str]
) -> None:
    """It lies in the workspace, and stays where it was begun."""
    for name in ("first", "second"):
        environment["XDG_STATE_HOME"] = str(place / name)
        if name == "second":
            (place / "second").mkdir()
            (place / "first/wink").rename(place / "second/wink")
        said = tried(wink, "test ! -e first/wink-copies/*; echo two > a.txt")
        assert "too deep" not in said
    done(wink, "accept")
    assert (place / "a.txt").read_text() == "two\n"


REACH = """
import os, socket, sys
at = os.path.expanduser("~")
print("begun", flush=True)
sys.stdin.readline()
os.write(os.open(f"{at}/pipe", os.O_RDWR | os.O_NONBLOCK), b"escaped")
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        socket.socket(socket.AF_UNIX, kind).connect(f"{at}/socket{kind}")
    except OSError as error:
        print(type(error).__name__, flush=True)
"""
"""Writes to a FIFO of the home, and to sockets that are made when it has begun."""


@pytest.mark.parametrize("words", [[]], ids=["one"])
def test_a_confined_program_on_a_copy_reaches_nobody_through_the_home(
    wink: Wink, place: Path, environment: dict[str, str]
) -> None:
    """As over an overlay: a FIFO and a socket in what it may read have nobody behind them."""
    tried(wink, "mkdir begun")
    home = place.parent / "home"
    os.mkfifo(home / "pipe")
    reading = os.open(home / "pipe", os.O_RDWR | os.O_NONBLOCK)
    words = [sys.executable, "-m", "wink", "try", "--", sys.executable, "-c", REACH]
    with subprocess.Popen(
        words, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM)
        listening = [socket.socket(socket.AF_UNIX, kind) for kind in kinds]
        for made, kind in zip(listening, kinds, strict=True):
            made.bind(f"{home}/socket{kind}")
        listening[0].listen()
        said, _ = running.communicate("go\n", timeout=100)
    for made in listening:
        made.close()
    assert (running.returncode, said) == (0, "ConnectionRefusedError\n" * 2)
    with pytest.raises(BlockingIOError):
        os.read(reading, 100)
    os.close(reading)


@pytest.mark.parametrize("words", [[]], ids=["one"])
@pytest.mark.parametrize("home", ["..", ".", "src"])
def test_a_confined_program_writes_to_a_copy_wherever_the_home_is(
    wink: Wink, place: Path, environment: dict[str, str], home: str
) -> None:
    """The workspace lies in the home, as most do, or is it, or the home lies in it."""
    tried(wink, "mkdir begun")
    environment["HOME"] = os.path.realpath(place / home)
    script = f"echo two > {place}/a.txt; echo two > src/b.txt; cat ~/a.txt ~/b.txt ~/project/a.txt 2>/dev/null; test ! -e .wink/*"
    ran = wink("try", "--", "sh", "-c", script)
    assert (ran.returncode, ran.stdout) == (0, "two\n"), ran.stderr
    assert (place / "a.txt").read_text() == "one\n"
    done(wink, "accept")
    assert [(place / name).read_text() for name in ("a.txt", "src/b.txt")] == ["two\n", "two\n"]


@pytest.mark.parametrize("who", WHO)
def test_where_no_overlay_of_the_home_can_be_mounted_either_it_is_empty(
    place: Path, environment: dict[str, str], who: str
) -> None:
    """And what lies beside it, of a directory that may be read, is shown all the same."""
    script = f"""
        mount -t tmpfs none /srv
        mkdir -p /srv/beside /srv/home/other
        touch /srv/beside/theirs /srv/home/mine
        mount -t tmpfs none /srv/home/other
        cd {place}
        export HOME=/srv/home
        exec {WHO[who]} sh -ec '{sys.executable} -m wink try --unconfined -- mkdir begun
            {sys.executable} -m wink try -- sh -ec "ls -A ~ /srv/beside; touch ~/made"'
    """
    ran = subprocess.run(
        ["unshare", "-Urm", "sh", "-ec", script], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "/srv/beside:\ntheirs\n\n/srv/home:\n"
    assert "home and /tmp empty, machine read-only; hidden: .wink" in ran.stderr
    assert "wink: the home is empty: no overlay can be mounted over it either (Invalid argument, in /srv/home)\n" in (
        ran.stderr
    )
