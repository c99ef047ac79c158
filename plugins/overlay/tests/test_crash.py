"""An upper layer on the disk outlives its process, and a transaction that a process died in has not been."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem

from wink.errors import WorkspaceBusy
from wink.filesystem import DIFFABLE_BYTES
from wink_overlay import OverlayFilesystem

WORK = """
    import os, signal, sys
    from fsspec.implementations.local import LocalFileSystem
    from wink_overlay import OverlayFilesystem

    place, until = sys.argv[1], int(sys.argv[2])
    files = OverlayFilesystem(LocalFileSystem(), place + "/below", upper=place + "/upper")
    steps = 0

    def step(done):
        global steps
        steps += 1
        if steps == until:
            os.kill(os.getpid(), signal.SIGKILL)

    files.write("kept.txt", "committed")
    step("committed")
    files.write_lock.acquire(5)
    part = files.begin()
    handle = part.handle
    for change in (
        lambda: handle.write("a.txt", "changed"),
        lambda: handle.append("sub/b.txt", "more"),
        lambda: handle.move("sub", "elsewhere/sub"),
        lambda: handle.delete("elsewhere/sub/c.txt"),
        lambda: handle.delete("d", recursive=True),
        lambda: handle.write("d/new.txt", "new"),
        lambda: handle.copy("elsewhere/sub/b.txt", "copy.txt"),
    ):
        change()
        step(change)
    part.prepare()
    step("prepared")
    part.publish()
    step("published")
"""


def below(place: Path) -> Path:
    """A lower layer."""
    lower = place / "below"
    for path in ("a.txt", "sub/b.txt", "sub/c.txt", "d/e.txt"):
        (lower / path).parent.mkdir(parents=True, exist_ok=True)
        (lower / path).write_text(path)
    return lower


def shown(place: Path) -> dict[str, str]:
    """What an overlay that is opened again shows."""
    with OverlayFilesystem(LocalFileSystem(), str(place / "below"), upper=place / "upper") as files:
        files.write("probe.txt", "")  # takes the turn, and so recovers
        files.delete("probe.txt")
        return {match.path: files.read(match.path).content for match in files.glob("**") if match.is_file}


BEFORE = {path: path for path in ("a.txt", "sub/b.txt", "sub/c.txt", "d/e.txt")}
COMMITTED = {**BEFORE, "kept.txt": "committed"}
AFTER = {
    "a.txt": "changed", "elsewhere/sub/b.txt": "sub/b.txtmore", "d/new.txt": "new", "copy.txt": "sub/b.txtmore",
    "kept.txt": "committed",
}  # fmt: skip


@pytest.mark.parametrize("until", range(1, 11))
def test_a_process_killed_between_steps_leaves_all_or_nothing(tmp_path: Path, until: int) -> None:
    """Both subtrees of the upper layer, and so what is hidden, come back together."""
    lower = below(tmp_path)
    script = tmp_path / "work.py"
    script.write_text(textwrap.dedent(WORK))

    ended = subprocess.run([sys.executable, script, tmp_path, str(until)], check=False, timeout=60)

    assert ended.returncode == -signal.SIGKILL
    assert shown(tmp_path) == (AFTER if until == 10 else COMMITTED)
    assert {path.relative_to(lower).as_posix() for path in lower.rglob("*") if path.is_file()} == set(BEFORE)


def test_what_was_committed_is_there_in_the_next_process(tmp_path: Path) -> None:
    """Moves and deletions too; the upper layer can be looked at with any tool."""
    below(tmp_path)
    with OverlayFilesystem(LocalFileSystem(), str(tmp_path / "below"), upper=tmp_path / "upper") as files:
        files.move("sub", "moved")
        files.delete("a.txt")
        files.write("moved/new.txt", "new")

    assert shown(tmp_path) == {
        "moved/b.txt": "sub/b.txt", "moved/c.txt": "sub/c.txt", "moved/new.txt": "new", "d/e.txt": "d/e.txt",
    }  # fmt: skip
    assert (tmp_path / "upper" / "tree" / "moved" / "new.txt").read_text() == "new"


def test_two_objects_on_one_upper_layer_take_turns(tmp_path: Path) -> None:
    """The lease of the directory is the overlay's."""
    lower = below(tmp_path)
    one = OverlayFilesystem(LocalFileSystem(), str(lower), upper=tmp_path / "upper")
    two = OverlayFilesystem(LocalFileSystem(), str(lower), upper=tmp_path / "upper")
    one.write("a.txt", "one")
    assert two.read("a.txt").content == "one"
    one.write_lock.acquire(1)
    with pytest.raises(WorkspaceBusy):
        two.write_lock.acquire(0)
    one.write_lock.release()
    two.append("a.txt", " two")
    assert one.read("a.txt").content == "one two"
    one.close()
    two.close()
    two.close()


def test_closing_closes_every_descriptor(tmp_path: Path) -> None:
    """Of the upper layer, and of a lower one that was opened for the overlay."""
    lower = below(tmp_path)
    OverlayFilesystem(LocalFileSystem(), str(lower), upper=tmp_path / "upper").close()  # what opens once stays open
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    files = OverlayFilesystem(LocalFileSystem(), str(lower), upper=tmp_path / "upper")
    files.write("a.txt", "x")
    files.commit()
    files.close()
    for use in (lambda: files.read("a.txt"), lambda: files.write("a.txt", "x"), files.diff, files.commit):
        with pytest.raises(ValueError, match="has been closed"):
            use()
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)


def test_a_commit_that_cannot_be_counted_has_not_been(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last thing that can fail does so after the overlay's own preparations; `laws` found it."""
    with OverlayFilesystem(LocalFileSystem(), str(below(tmp_path)), upper=tmp_path / "upper") as files:

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(type(files.store.files._store), "count_commit", full)  # type: ignore[attr-defined]
            with pytest.raises(OSError, match="No space left"):
                files.write("new.txt", "new")

        assert not files.exists("new.txt")
        assert files.diff() == ()
        files.write("new.txt", "new")
        assert files.read("new.txt").content == "new"


def test_a_large_file_that_was_put_back_can_be_put_back_again(tmp_path: Path) -> None:
    """What is put back is another file with the same content, too large to be compared as a whole by the record."""
    with OverlayFilesystem(LocalFileSystem(), str(below(tmp_path)), upper=tmp_path / "upper") as files:
        large = b"x" * (DIFFABLE_BYTES + 1)
        empty = files.snapshot()
        files.write_bytes("large.bin", large)
        full = files.snapshot()
        files.restore(empty)
        files.restore(full)
        files.restore(empty)
        assert not files.exists("large.bin")
        files.restore(full)
        assert files.read_bytes("large.bin") == large
