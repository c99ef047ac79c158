"""Programs on a copy that is kept in step: as exact as an overlay, on hosts that can mount none."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from plugins.sandbox.tests.test_exactness import PYTHON, SCRIPT, changed_by, described, programs
from tests.states import state_of

from wink.errors import MergeConflict, MergeRefused, SandboxUnavailable
from wink.filesystem import FileChange, HostFilesystem
from wink_sandbox import (
    Command,
    CopyGuard,
    Ended,
    Feature,
    Limits,
    OverlayGuard,
    Profile,
    Report,
    Sandbox,
    usual_guard,
)

SANDBOX = Sandbox(Profile(limits=Limits(memory_bytes=None)), scratch=("target",))


@contextmanager
def workspace(root: Path) -> Iterator[HostFilesystem]:
    """A filesystem that a call has its turn on."""
    with HostFilesystem(root) as files:
        files.turns.acquire(30)
        try:
            yield files
        finally:
            files.turns.release()


def run(
    files: HostFilesystem, words: str | tuple[str, ...], *, stdin: bytes = b"", keep: bool = True, meanwhile: Any = None
) -> tuple[Ended, tuple[FileChange, ...], tuple[tuple[str, str], ...]]:
    """Run a program under the guard; its changes become the workspace's, or are dropped."""
    argv = ("/bin/sh", "-c", words) if isinstance(words, str) else words
    part = files.begin()
    try:
        with CopyGuard().open(part, SANDBOX) as guarded:
            ended = guarded.run(Command(argv, stdin=stdin))
            if meanwhile is not None:
                meanwhile()
            changes, notes = guarded.changes(), guarded.notes()
            if keep:
                guarded.keep()
        part.revoke()
        if keep:
            part.prepare()
            part.publish()
        else:
            part.undo()
    except BaseException:
        part.undo()
        raise
    return ended, changes, notes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "src").mkdir(parents=True)
    (place / "a.txt").write_text("one\n")
    (place / "src/b.txt").write_text("b\n")
    return place


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs, programs, programs)
def test_it_leaves_what_a_plain_run_would_have_left(before: list[Any], dropped: list[Any], program: list[Any]) -> None:
    """For any tree, any program that was dropped before, and any program; undoing it leaves all as it was."""
    before, dropped, program = ([step for step in steps if step[0] != "link"] for steps in (before, dropped, program))
    place = Path(tempfile.mkdtemp(prefix="copy-guard-"))
    try:
        root, plain = place / "root", place / "plain"
        root.mkdir()
        changed_by(before, root)
        shutil.copytree(root, plain, symlinks=True)
        words = (PYTHON, "-c", SCRIPT)
        with workspace(root) as files:
            run(files, words, stdin=json.dumps(dropped).encode(), keep=False)
            assert described(root) == described(plain)
            changed_by(program, plain)
            _, shown, _ = run(files, words, stdin=json.dumps(program).encode())
            assert described(root) == described(plain)
            assert len({change.path for change in shown}) == len(shown)
            # The next program sees what there is now.
            ended, again, _ = run(files, "true")
            assert (ended.status, again) == (0, ())
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_the_next_program_sees_what_changed_in_the_workspace(root: Path) -> None:
    """Nothing that was dropped, and everything that somebody else did."""
    with workspace(root) as files:
        run(files, "echo dropped > a.txt; echo dropped > new.txt; rm -r src", keep=False)
        (root / "src/b.txt").write_text("theirs\n")
        (root / "c.txt").write_text("theirs too\n")
        ended, changes, _ = run(files, "cat a.txt src/b.txt c.txt; ls")
        assert ended.stdout.text() == "one\ntheirs\ntheirs too\na.txt\nc.txt\nsrc\n"
        assert changes == ()


def test_what_somebody_else_changed_meanwhile_is_a_conflict(root: Path) -> None:
    """Named, and nothing is merged; a change elsewhere is none."""
    with workspace(root) as files:
        with pytest.raises(MergeConflict) as caught:
            run(
                files,
                "echo mine > a.txt; rm src/b.txt; echo mine > new.txt",
                meanwhile=lambda: (
                    (root / "a.txt").write_text("theirs\n"),
                    (root / "new.txt").write_text("theirs\n"),
                ),
            )
        assert set(caught.value.paths) == {"a.txt", "new.txt"}
        assert (root / "src/b.txt").exists()
        run(files, "echo mine > a.txt", meanwhile=lambda: (root / "other.txt").write_text("theirs\n"))
        assert (root / "a.txt").read_text() == "mine\n"
        assert (root / "other.txt").read_text() == "theirs\n"


def test_a_directory_that_is_deleted_with_what_somebody_put_into_it_is_a_conflict(root: Path) -> None:
    """It would be lost."""
    with workspace(root) as files:
        with pytest.raises(MergeConflict) as caught:
            run(files, "rm -r src", meanwhile=lambda: (root / "src/theirs.txt").write_text("theirs\n"))
        assert "src/theirs.txt" in caught.value.paths
        assert (root / "src/theirs.txt").read_text() == "theirs\n"


def test_content_that_was_changed_behind_the_same_size_and_time_is_seen(root: Path) -> None:
    """A build may set a file's time back."""
    with workspace(root) as files:
        before = os.stat(root / "a.txt")
        run(files, f"printf 'two\\n' > a.txt; touch -d @{before.st_mtime_ns / 1e9:.9f} a.txt")
        assert (root / "a.txt").read_text() == "two\n"


def test_scratch_is_kept_and_stays_out(root: Path) -> None:
    """Also of a program that failed."""
    with workspace(root) as files:
        run(files, "mkdir target && echo built > target/out", keep=False)
        ended, changes, _ = run(files, "cat target/out")
        assert (ended.stdout.text(), changes) == ("built\n", ())
        assert not (root / "target").exists()


def test_a_hard_link_that_stays_in_the_copy_reaches_no_committed_file(root: Path) -> None:
    """Neither one in scratch, nor one of a file that the program has not changed."""
    with workspace(root) as files:
        run(files, "mkdir target; echo 1 > new; ln new target/x; ln a.txt linked")
        run(files, "echo EVIL > target/x; echo EVIL > a.txt; echo EVIL > linked", keep=False)
        assert [(root / name).read_text() for name in ("new", "a.txt", "linked")] == ["1\n", "one\n", "one\n"]


def test_a_changed_mode_is_not_that_of_a_hard_links_other_names(root: Path) -> None:
    """The program saw a file of its own, and who knows where the other names are."""
    os.link(root / "a.txt", root.parent / "elsewhere")
    mode = (root / "a.txt").stat().st_mode
    with workspace(root) as files:
        run(files, "chmod 700 a.txt")
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o700
    assert (root.parent / "elsewhere").stat().st_mode == mode


def test_what_must_not_become_the_workspaces_does_not(root: Path) -> None:
    """Hooks fail the merge; wink's own state, and what is no file, are left out with a word."""
    with workspace(root) as files:
        (root / ".git/hooks").mkdir(parents=True)
        with pytest.raises(MergeRefused):
            run(files, "echo evil > .git/hooks/pre-commit")
        assert not (root / ".git/hooks/pre-commit").exists()
        _, changes, notes = run(files, "mkfifo pipe; mkdir -p .wink/x; echo 2 >> a.txt")
        assert [change.path for change in changes] == ["a.txt"]
        assert {path for path, _ in notes} >= {"pipe"}
        assert not (root / "pipe").exists()


def test_a_link_that_leads_out_is_kept_and_put_back(root: Path) -> None:
    """As it was, dangling or not; what it leads to is not copied."""
    (root / "theirs").symlink_to("/etc/passwd")
    with workspace(root) as files:
        snapshot = files.snapshot()
        run(files, "ln -s /usr/bin/python3 python3; ln -sfn ../nowhere theirs")
        made = {name: os.readlink(root / name) for name in ("python3", "theirs")}
        assert made == {"python3": "/usr/bin/python3", "theirs": "../nowhere"}

        files.write_lock.release()
        try:
            files.restore(snapshot)
        finally:
            files.write_lock.acquire(30)

        assert os.readlink(root / "theirs") == "/etc/passwd"
        assert not os.path.lexists(root / "python3")


def test_a_damaged_index_or_copy_is_made_anew(root: Path) -> None:
    """It only says what need not be copied."""
    with workspace(root) as files:
        run(files, "true")
        copies = state_of(root) / "copies/0"
        (copies / "index.json").write_text('{"a.txt": [1')
        (copies / "upper/a.txt").write_text("forged\n")
        ended, changes, _ = run(files, "cat a.txt")
        assert (ended.stdout.text(), changes) == ("one\n", ())
        (copies / "index.json").write_text("[]")
        assert run(files, "cat a.txt")[0].stdout.text() == "one\n"


def test_two_programs_at_once_have_a_copy_each(root: Path) -> None:
    """Neither sees the other's half."""
    with workspace(root) as files:
        one, two = files.begin(), files.begin()
        with CopyGuard().open(one, SANDBOX) as first, CopyGuard().open(two, SANDBOX) as second:
            first.run(Command(("/bin/sh", "-c", "echo first > a.txt")))
            assert second.run(Command(("/bin/cat", "a.txt"))).stdout.text() == "one\n"
        one.undo()
        two.undo()


def test_the_guard_is_the_first_that_the_host_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where it can do none, nothing is run."""

    def host(**missing: bool) -> None:
        names = ("linux", "bubblewrap", "user namespaces", "overlayfs")
        features = tuple(Feature(name, not missing.get(name.replace(" ", "_"), False), "", "get it") for name in names)
        monkeypatch.setattr("wink_sandbox._probe.probe", lambda: Report(features))

    host()
    assert isinstance(usual_guard(), OverlayGuard)
    host(overlayfs=True)
    assert isinstance(usual_guard(), CopyGuard)
    host(overlayfs=True, bubblewrap=True)
    with pytest.raises(SandboxUnavailable, match="get it"):
        usual_guard()


def test_names_that_are_no_text_are_carried_over_and_kept_in_step(root: Path) -> None:
    """Its own notes are text, in which such a name must stand too."""
    name = os.fsdecode(b"a\xff\nb")
    with workspace(root) as files:
        run(files, ("/usr/bin/python3", "-c", "open(b'a\\xff\\nb', 'w').write('one')"))
        assert (root / name).read_text() == "one"
        _, changes, _ = run(files, ("/usr/bin/python3", "-c", "open(b'a\\xff\\nb', 'a').write(' two')"))
        assert [(change.path, change.kind) for change in changes] == [(name, "modified")]
        assert (root / name).read_text() == "one two"
        run(files, ("/usr/bin/python3", "-c", "import os; os.unlink(b'a\\xff\\nb')"))
    assert not (root / name).exists()
