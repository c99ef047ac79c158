"""A directory to open as a workspace, and programs that open it in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PRELUDE = """
import itertools, os, signal, sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from wink.session import SlicePolicy, replace_latest, upsert_by
from wink.transactions import CommitEntry
from wink.workspace import Workspace

sys.modules["items"] = sys.modules["__main__"]

@dataclass(frozen=True, slots=True)
class Note:
    text: str

Note.__module__ = "items"

# As wink's own: whoever folds frees what a committed id has in staging, while another call is under way.
numbers = itertools.count()

def obey_permissions():
    '''Make root obey permission bits like anybody else, by giving up all capabilities.'''
    import ctypes
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert os.getuid() or ctypes.CDLL(None).capset(header, none) == 0

def call(workspace, tool, work, *, session="default", die=None):
    '''What the executor does for one call, with a place to die.'''
    session, files = workspace.session(session), workspace.filesystem
    id = f"{tool}-{os.getpid()}-{next(numbers)}"
    files.write_lock.acquire(10)
    try:
        session.recorder.refresh(session)
        part, filepart = session.begin(), files.begin(transaction_id=id)
        token, guard = part.enter(), filepart.guard()
        try:
            work(session, filepart.handle)
        finally:
            filepart.unguard(guard)
            part.exit(token)
        changes = filepart.changes()
        deltas = part.prepare()
        filepart.prepare()
        if die == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        session.recorder.commit(CommitEntry(
            id, session.name, "call", tool, "demo", "{}", "committed", "done",
            datetime.now(UTC), timedelta(0), (), deltas, changes,
        ))
        if die == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        filepart.publish()
        part.publish()
    finally:
        files.write_lock.release()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with one file in it."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("before\n")
    return root


@pytest.fixture
def run(root: Path, tmp_path: Path) -> Run:
    """Runs a program, which finds the workspace's root in `root`, in a process of its own."""

    def run(program: str) -> subprocess.CompletedProcess[str]:
        source = f"{PRELUDE}\nroot = {str(root)!r}\n{textwrap.dedent(program)}"
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", source],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )

    return run
