"""Take what an editor has made of a file when it saved it into the record: many format what they save."""

from __future__ import annotations

import os
import stat
from typing import Final

from wink.bounded import content_of
from wink.dataclass import replace
from wink.errors import WinkError
from wink.filesystem import FileTransaction, Was, merging
from wink.transactions import CommitEntry
from wink.workspace import Workspace, apply

SAVE: Final = "save"
"""What stands in the record for the tool."""
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def note_saved(workspace: Workspace, path: str, written: str, *, session: str, run: str, prompt: str) -> None:
    """Where the file does not hold what was written, make a call of the same turn of the difference, which goes back with it."""
    before = written.encode()

    def work(part: FileTransaction) -> None:
        real = part.handle.resolve(path)
        found = _look(workspace.root, real, part.handle.max_file_bytes)
        if found is None or found[1] == before:
            return
        status = found[0]
        owner = (status.st_uid, status.st_gid)
        with merging(part, real) as steps:
            steps.note_change(
                real,
                Was(status.st_mode, len(before), status.st_mtime_ns, before, "", owner),
                Was(status.st_mode, status.st_size, status.st_mtime_ns, None, "", owner, status.st_ino),
            )

    def told(made: CommitEntry) -> CommitEntry | None:
        return replace(made, run=run, prompt=prompt) if made.changes else None

    try:
        apply(workspace, SAVE, {"file_path": path}, work, session=session, told=told)
    except (OSError, WinkError):
        pass  # as with any other save of a person's: it is on the disk, and has no entry


def _look(root: str, path: str, most: int) -> tuple[os.stat_result, bytes] | None:
    """A file's status and content, by way of directories alone; None where there is no file."""
    *above, name = path.split("/")
    fd = os.open(root, _DIRECTORY)
    try:
        for one in above:
            inner = os.open(one, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = inner
        file = os.open(name, _FILE, dir_fd=fd)
    finally:
        os.close(fd)
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        return None
    return status, content_of(file, name, most)
