"""What tools hold: every operation on the files under one root."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

from wink.errors import PathRefused
from wink.filesystem import _edit, _reading, _writing
from wink.filesystem._past import past_of
from wink.filesystem._paths import located
from wink.filesystem._results import EditResult, ReadResult, WriteMode, WriteResult
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import failure
from wink.filesystem._write_lock import WriteLock

if TYPE_CHECKING:
    from wink.filesystem._change import FileChange
    from wink.filesystem._past import FilesystemSnapshot, Past
    from wink.filesystem._streams import ReadStream, TextMode, TextStream, WriteStream
    from wink.filesystem._transaction import FileTransaction
    from wink.filesystem._tree import Seen
    from wink.filesystem.search import FileEntry, FileStat, GlobMatch, GrepMatch, Ignored, Listing
    from wink_fsspec import FilesystemView


class Filesystem:
    """Files under one root, which no path and no link leads out of.

    Paths are relative, with `/` between names. A call gets a handle of its own, which ends with it; a root
    (`InMemoryFilesystem`, `HostFilesystem`) that is used directly makes each operation a transaction of its own.
    Errors are Python's own and, for paths that no tool may use, `PathRefused`. Nothing shows or touches `.wink`; `.git`
    can be read and never written.
    """

    __slots__ = ("__weakref__", "_transaction")

    def __init__(self, transaction: FileTransaction) -> None:
        self._transaction = transaction

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.root!r})"

    # -- reading

    def read(
        self,
        path: str,
        offset: int = 0,
        limit: int | None = None,
        encoding: str = "utf-8",
        *,
        max_line_chars: int | None = None,
        column: int = 0,
    ) -> ReadResult:
        r"""`limit` lines of a text file from line `offset` (from 0) on, exactly as they are in the file.

        A line ends with `\n`. `max_line_chars` cuts longer lines, of which `column` leaves out so many characters at the
        beginning; a line counts as read once its end was shown. Raises `NotText` for binary files, and `FileTooLarge`
        where more than 64 MiB would have to be held; pages of larger files are streamed.
        """
        return _reading.read(self._transaction, path, _reading.Page(offset, limit, max_line_chars, column), encoding)

    def read_bytes(self, path: str, offset: int = 0, limit: int | None = None) -> bytes:
        """`limit` bytes of a file from byte `offset` on; raises `FileTooLarge` beyond 64 MiB at once.

        Parts that a session has read add up to the whole file.
        """
        return _reading.read_bytes(self._transaction, path, offset, limit)

    def open_read(self, path: str) -> ReadStream:
        """A binary stream; it ends with the call."""
        from wink.filesystem import _streams

        return _streams.open_read(self._transaction, path)

    def open_text(self, path: str, mode: TextMode = "r", encoding: str = "utf-8") -> TextStream:
        """A text stream to read (`r`), to replace (`w`), to make (`x`) or to append to (`a`) a file."""
        from wink.filesystem import _streams

        return _streams.open_text(self._transaction, path, mode, encoding)

    def exists(self, path: str) -> bool:
        """Whether there is something at the end of a path and its links."""
        name, is_directory = located(path)
        try:
            node = self._transaction.reading().node(name)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return not is_directory or node.kind == "directory"

    def stat(self, path: str) -> FileStat:
        """What is at the end of a path and its links."""
        from datetime import UTC, datetime

        from wink.filesystem.search import FileStat

        name, is_directory = located(path)
        store = self._transaction.reading()
        link = store.node(name, follow=False)
        node = store.node(name) if link.kind == "link" else link
        if is_directory and node.kind != "directory":
            raise failure(errno.ENOTDIR, path)
        modified = datetime.fromtimestamp(node.modified_ns / 1e9, UTC)
        is_file, is_directory = node.kind == "file", node.kind == "directory"
        size = node.size if is_file else 0
        return FileStat(name, is_file, is_directory, size, node.mode, modified, link.kind == "link", link.target)

    def list(self, path: str = ".", *, limit: int = 1000) -> Listing[FileEntry]:
        """The names in a directory, sorted; `truncated` says that there are more than `limit`."""
        from wink.filesystem.search import entries

        return entries(self._transaction, path, limit)

    def glob(
        self,
        pattern: str,
        path: str = ".",
        *,
        limit: int = 1000,
        include_git: bool = False,
        respect_ignore: bool = False,
    ) -> Listing[GlobMatch]:
        """Paths beneath `path` that fit: `*` stays within a name, `**` spans any number of directories, none too.

        `{a,b}` stands for either. Links are not followed. `respect_ignore` leaves out what `.gitignore` files name.
        """
        from wink.filesystem.search import glob

        return glob(self._transaction, pattern, path, limit, include_git, respect_ignore)

    def iglob(
        self, pattern: str, path: str = ".", *, include_git: bool = False, respect_ignore: bool = False
    ) -> Iterator[GlobMatch]:
        """Like `glob` without a limit: each path when it is found, and little held in memory however many there are."""
        from wink.filesystem.search import iglob

        return iglob(self._transaction, pattern, path, include_git, respect_ignore)

    def grep(
        self,
        pattern: str,
        path: str = ".",
        glob: str | None = None,
        max_matches: int = 1000,
        *,
        ignore_case: bool = False,
        include_git: bool = False,
        respect_ignore: bool = False,
    ) -> Listing[GrepMatch]:
        """Lines of the text files beneath `path` that match a regular expression, one match a line.

        `glob` chooses files, by name where it has no slash. Binary files are passed over. RE2 searches, and for what it
        cannot express, look-around and back-references, Python's engine in a process that is killed when it takes too
        long. Raises `PatternError`.
        """
        from wink.filesystem.search import grep

        return grep(self._transaction, pattern, path, glob, max_matches, ignore_case, include_git, respect_ignore)

    def igrep(
        self,
        pattern: str,
        path: str = ".",
        glob: str | None = None,
        *,
        ignore_case: bool = False,
        include_git: bool = False,
        respect_ignore: bool = False,
    ) -> Iterator[GrepMatch]:
        """Like `grep` without a limit: each match when it is found."""
        from wink.filesystem.search import igrep

        return igrep(self._transaction, pattern, path, glob, ignore_case, include_git, respect_ignore)

    # -- writing

    def write(
        self,
        path: str,
        content: str,
        mode: WriteMode = "overwrite",
        create_parents: bool = True,
        *,
        encoding: str = "utf-8",
    ) -> WriteResult:
        """Make a file's content `content`; `create` raises `FileExistsError`, `append` adds at the end.

        Like everything that writes, it raises `WriteTooLarge` for what would be larger than `max_file_bytes`.
        """
        _writing.check_size(self._transaction, path, len(content))  # a character has one byte at least
        return self._transaction.run(
            "write", _writing.write_bytes, path, content.encode(encoding), mode, create_parents
        )

    def write_bytes(
        self, path: str, content: bytes, mode: WriteMode = "overwrite", create_parents: bool = True
    ) -> WriteResult:
        """Like `write`, with bytes."""
        return self._transaction.run("write", _writing.write_bytes, path, bytes(content), mode, create_parents)

    def append(self, path: str, content: str, *, encoding: str = "utf-8") -> WriteResult:
        """Add to the end of a file, which is made if it is missing; a large one is copied and never held."""
        _writing.check_size(self._transaction, path, len(content))
        return self._transaction.run("append", _writing.append_bytes, path, content.encode(encoding), True)

    def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        replace_all: bool = False,
        encoding: str = "utf-8",
        max_growth: int | None = None,
    ) -> EditResult:
        """Replace `old`, which must stand in the file once unless `replace_all`, by `new`; raises `EditFailed`.

        New lines end as the file's lines do. With `max_growth`, the file may become longer by so many bytes. Of what is
        larger than 64 MiB one piece at a time is held.
        """
        return self._transaction.run("edit", _edit.edit, path, old, new, replace_all, encoding, max_growth)

    def locate(self, path: str, old: str, *, encoding: str = "utf-8") -> tuple[tuple[int, int], ...]:
        """The lines (half-open, from 0) of each place where `edit` would find `old`; does not count as reading them.

        Raises `EditFailed` where it is there more often than can be told.
        """
        return _edit.locate(self._transaction, path, old, encoding)

    def delete(self, path: str, recursive: bool = False) -> None:
        """Remove a file, a link itself, an empty directory, or with `recursive` a whole one."""
        self._transaction.run("delete", _writing.delete, path, recursive)

    def move(self, source: str, target: str, *, overwrite: bool = False, create_parents: bool = True) -> None:
        """Give a file or directory another name; `overwrite` lets a file replace a file."""
        self._transaction.run("move", _writing.move, source, target, overwrite, create_parents)

    def copy(self, source: str, target: str, *, overwrite: bool = False, create_parents: bool = True) -> WriteResult:
        """Copy one file with its mode."""
        return self._transaction.run("copy", _writing.copy, source, target, overwrite, create_parents)

    def mkdir(self, path: str, parents: bool = True, exist_ok: bool = True) -> None:
        """Make a directory, by default with those above it."""
        self._transaction.run("mkdir", _writing.mkdir, path, parents, exist_ok)

    def symlink(self, path: str, target: str, *, create_parents: bool = True) -> None:
        """Make `path` a symbolic link to `target`, which is relative to the link's own directory and need not be there.

        Raises `PathRefused` for links that lead, directly or through others, out of the workspace or into `.git` or
        `.wink`, and where these files have no links.
        """
        from wink.filesystem import _metadata

        self._transaction.run("symlink", _metadata.symlink, path, target, create_parents)

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits (0 to 0o777) of a file or directory; of a link, those of what it leads to.

        Raises `PathRefused` for bits that would close a file or a directory to its own owner.
        """
        from wink.filesystem import _metadata

        self._transaction.run("chmod", _metadata.chmod, path, mode)

    def ignored(self) -> Ignored:
        """What the `.gitignore` files in the tree say now, to be asked for paths in the order of a walk."""
        from wink.filesystem.search import Ignored

        return Ignored(self._transaction.reading())

    def open_write(self, path: str, mode: WriteMode = "overwrite", create_parents: bool = True) -> WriteStream:
        """A binary stream whose content becomes the file's when it is closed, all at once."""
        from wink.filesystem import _streams

        return _streams.open_write(self._transaction, path, mode, create_parents)

    # -- going back

    def snapshot(self, tag: str | None = None) -> FilesystemSnapshot:
        """The state now, which can be restored as long as the snapshot is kept; costs the same at any size.

        Of a root it is what has been committed; of a call's handle what the call sees, and it ends with the call. `tag` is
        the caller's own.
        """
        return self._transaction.snapshot(tag)

    def restore(self, snapshot: FilesystemSnapshot) -> tuple[str, ...]:
        """Make everything as it was at a snapshot of these files, in one transaction.

        Bytes, names, permission bits, links and empty directories go back, of all that was changed through wink since; other
        snapshots, later ones too, can still be restored afterwards. In a workspace it is a call that can be undone; in a call
        it is a part of it. What somebody else changed since stays: where that is in the way nothing is changed, and
        `UndoConflict` names the paths. Gives the paths of sockets, FIFOs and devices that a program took away, which do not
        come back. Raises `SnapshotMismatch`.
        """
        return self._transaction.restore(snapshot)

    def diff(self, snapshot: FilesystemSnapshot, until: FilesystemSnapshot | None = None) -> tuple[FileChange, ...]:
        """What is different at `until`, or now, of what was changed through wink since `snapshot`: one change for each path.

        On the disk the present is what is there, whoever wrote it. Raises `SnapshotMismatch`.
        """
        return self._transaction.diff(snapshot, until)

    # -- what is known

    @property
    def root(self) -> str:
        """Where the files are, for people: an absolute path of the host, or `memory:`."""
        return self._transaction.tree.store.root

    @property
    def max_file_bytes(self) -> int:
        """The largest file that a write may make, in bytes."""
        return self._transaction.tree.max_file_bytes

    @property
    def read_only(self) -> bool:
        """Whether every change is refused."""
        return self._transaction.refusal is not None

    def normalize(self, path: str) -> str:
        """The one spelling of a path, as stamps and results have it; raises `PathRefused`.

        >>> from wink.filesystem import InMemoryFilesystem
        >>> InMemoryFilesystem().normalize("./src//a/../b.py")
        'src/b.py'
        """
        return located(path)[0]

    def resolve(self, path: str, *, as_written: bool = False) -> str:
        """Where a path and its links end, normalised; what is not there is taken as it is named.

        A `..` takes back the name before it, as everywhere here; `as_written` has it go up from where links have led, as
        programs of the system do. Raises `PathRefused` for paths and links that lead out, and for links in circles.
        """
        from wink.filesystem._paths import resolved

        name = located(path)[0]
        return resolved(self._transaction.reading(), (path if as_written else name).split("/"), path)

    def seen(self, path: str) -> Stamp | None:
        """What is known of a file: what this call read or wrote, else what the session knew before it."""
        self._transaction.reading()
        return self._transaction.observed(located(path)[0])

    def fingerprint(self, path: str) -> str | None:
        """The digest of a file's content now, or None where there is no file that could be read."""
        name, store = located(path)[0], self._transaction.reading()
        try:
            return self._transaction.tree.facts.at(store, name).digest
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PathRefused):
            return None

    @property
    def fs(self) -> FilesystemView:
        """The same files for libraries that speak fsspec, through the same checks and the same transaction.

        Raises `ImportError` where the plugin that has the view is not installed.
        """
        return _view_type()(self)

    # -- transactions

    @property
    def past(self) -> Past:
        """The way back of these files, for a store that keeps its own in them; raises `OSError` where there is none."""
        return past_of(self._transaction.tree)

    @property
    def write_lock(self) -> WriteLock:
        """Held by the one call that may change these files now."""
        return self._transaction.tree.write_lock

    @property
    def turns(self) -> WriteLock:
        """The write lock, as it was called before."""
        return self.write_lock

    @property
    def recorder(self) -> object | None:
        """Who records what calls change here."""
        return self._transaction.tree.recorder

    @recorder.setter
    def recorder(self, recorder: object | None) -> None:
        self._transaction.tree.recorder = recorder

    def transaction(self, verb: str = "change", *paths: str) -> AbstractContextManager[FileTransaction]:
        """Changes that are made together, or not at all where the block raises.

        Of a root it is a transaction, which waits for the write lock, and which a workspace records as a call that did `verb`
        to `paths`; of a call's handle it is a savepoint. Raises `WorkspaceBusy` and `ReadOnlyFilesystem`.

        >>> from wink.filesystem import InMemoryFilesystem
        >>> files = InMemoryFilesystem()
        >>> with files.transaction() as transaction:
        ...     _ = transaction.handle.write("a.txt", "one")
        ...     transaction.handle.move("a.txt", "b.txt")
        >>> files.exists("a.txt"), files.exists("b.txt")
        (False, True)
        """
        return self._transaction.transaction(verb, *paths)

    def begin(
        self, *, writable: bool = True, seen: Seen | None = None, transaction_id: str | None = None
    ) -> FileTransaction:
        """A transaction; of a handle, a savepoint. Costs nothing until something changes.

        `seen` tells what the session knew of a path before. The caller holds the write lock, and ends it: see `transaction`.
        """
        return self._transaction.begin(writable=writable, seen=seen, transaction_id=transaction_id)


@cache
def _view_type() -> type[FilesystemView]:
    from wink.spellings import forwarded

    return forwarded("FilesystemView", __name__)
