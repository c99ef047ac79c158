"""Make a git repository of what one session's calls changed, with secrets masked, and pack it into one file.

It is made afresh, of this session alone: wink's own history has other sessions in it, and files as they are. git reads it from
a stream, in a directory of its own and without any settings but ours.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from wink.filesystem import FileVersion, Versions, protected_as
from wink.trust import program
from wink_bundles._errors import ExportFailed
from wink_bundles._rows import LeftOut

if TYPE_CHECKING:
    from wink.record import CallView
    from wink.workspace import Workspace

MOST: Final = 16 << 20
"""Larger files are left out."""
_BRANCH: Final = b"refs/heads/main"
_QUOTED: Final = {0x22: b'\\"', 0x5C: b"\\\\", 0x0A: b"\\n"}


def git_bundle(workspace: Workspace, session: str) -> tuple[bytes | None, tuple[LeftOut, ...]]:
    """The bundle, None where no call changed anything that git can hold; and what it does not have."""
    rows = [row for row in reversed(workspace.record.calls(session)) if row.committed and row.changes]
    # Calls inside of another one have its changes: only the outermost, which comes last, counts.
    last = {row.transaction: row for row in rows}
    stream = _Stream(workspace)
    for row in last.values():
        stream.add(row)
    if not stream.commits:
        return None, tuple(stream.left_out)
    with TemporaryDirectory(prefix="wink-export-") as place:
        _git(place, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", place)
        _git(place, "fast-import", "--quiet", "--date-format=raw", given=b"".join(stream.pieces) + b"done\n")
        made = os.path.join(place, "history.bundle")
        _git(place, "bundle", "create", "--quiet", made, "HEAD", "refs/heads/main")
        with open(made, "rb") as file:
            return file.read(), tuple(stream.left_out)


class _Stream:
    """Commands for `git fast-import`, and the tree that they make."""

    def __init__(self, workspace: Workspace) -> None:
        self._masking = workspace.masking
        self._versions = Versions(workspace.filesystem.places, workspace.record.changes)
        self._tree: dict[str, tuple[bytes, bytes]] = {}
        self.pieces: list[bytes] = [b"feature done\n"]
        self.left_out: list[LeftOut] = []
        self.commits = 0

    def add(self, row: CallView) -> None:
        """The call, and before it what it found that no call of the session had left so."""
        found: dict[str, tuple[bytes, bytes] | None] = {}
        made: dict[str, tuple[bytes, bytes] | None] = {}
        for change in row.changes:
            if any(protected_as(name) for name in change.path.split("/")) or not _can_be_named(change.path):
                self.left_out.append(LeftOut(row.position, change.path, "git keeps no such name"))
                continue
            origin = change.moved_from if change.before is None and change.moved_from else change.path
            for into, version, path in ((found, change.before, origin), (made, change.after, change.path)):
                is_known, entry = self._entry(row, change.path, path, version)
                if is_known:
                    into[change.path] = entry
        self._commit(row, {path: entry for path, entry in found.items() if self._tree.get(path) != entry}, "found")
        self._commit(row, {path: entry for path, entry in made.items() if self._tree.get(path) != entry}, row.tool)

    def _entry(
        self, row: CallView, path: str, origin: str, version: FileVersion | None
    ) -> tuple[bool, tuple[bytes, bytes] | None]:
        """Mode and content; whether git can hold it, and we have it."""
        if version is None:
            return True, None
        if version.kind == "link" and version.target is not None:
            return True, (b"120000", self._masking.text(version.target).encode("utf-8", "surrogateescape"))
        if version.kind != "file":
            return False, None
        mode = b"100755" if version.mode & 0o100 else b"100644"
        reason = "it is larger than 16 MiB" if version.size > MOST else ""
        stream = None if reason else self._versions.open(origin, version, row.transaction)
        if stream is None:
            self.left_out.append(LeftOut(row.position, path, reason or "its content is not known any more"))
            return False, None
        with stream:
            content = stream.read(MOST + 1)
        masked = self._masking.content(content)
        if masked != content and b"\0" in content:
            self.left_out.append(LeftOut(row.position, path, "there is a secret in it, and it is no text"))
            return False, None
        return True, (mode, masked)

    def _commit(self, row: CallView, entries: dict[str, tuple[bytes, bytes] | None], what: str) -> None:
        if not entries:
            return
        seconds = _seconds(row.started_at)
        subject = "found by" if what == "found" else "changed by"
        message = f"{_plain(what)}: c{row.position}\n\n{subject} {_plain(row.tool)} in session {row.session}\n".encode()
        lines = [b"commit " + _BRANCH + b"\n"]
        lines.append(b"committer wink <wink@wink.invalid> %d +0000\n" % seconds)
        lines.append(b"data %d\n" % len(message) + message + b"\n")
        for path in sorted(entries, key=lambda path: (entries[path] is not None, path)):
            entry = entries[path]
            if entry is None:
                lines.append(b"D " + _quoted(path) + b"\n")
                self._tree.pop(path, None)
            else:
                mode, content = entry
                lines.append(b"M " + mode + b" inline " + _quoted(path) + b"\n")
                lines.append(b"data %d\n" % len(content) + content + b"\n")
                self._tree[path] = entry
        self.pieces += lines
        self.commits += 1


def _quoted(path: str) -> bytes:
    data = os.fsencode(path)
    inner = b"".join(_QUOTED.get(byte) or (bytes([byte]) if byte >= 0x20 else b"\\%03o" % byte) for byte in data)
    return b'"' + inner + b'"'


def _can_be_named(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:100]).encode("utf-8", "replace").decode()


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _git(place: str, *arguments: str, given: bytes | None = None) -> None:
    own = {
        "GIT_DIR": place,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    command: Sequence[str] = ("git", *arguments)
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            check=False,
            cwd=place,
            env={"PATH": os.defpath, **_path(), **own},
        )
    except OSError as error:
        raise ExportFailed(f"git cannot be run: {error.strerror}; install it, or give --no-history") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise ExportFailed(f"git {arguments[0]} failed: {said[-1] if said else done.returncode}; or give --no-history")


def _path() -> dict[str, str]:

    found = program("git")
    return {} if found is None else {"PATH": f"{os.path.dirname(found)}{os.pathsep}{os.defpath}"}
