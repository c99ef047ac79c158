"""Hold what a session knows of a file against what the file is now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass
from wink.errors import PathRefused
from wink.filesystem import HostFilesystem, InMemoryFilesystem, Stamp
from wink.session import Upsert

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.tools import ToolContext

MAX_FILES: Final = 1000
"""Files that are looked at before a directory counts as too large to be checked."""

_NAMED: Final = 3
"""How many of a directory's unread files a denial names."""

_PIECE: Final = 1 << 20
"""How much of a file is held at once, in bytes."""


_LONG: Final = "its only line has not been read to the end"


class _TooMany(Exception):
    """A directory holds more than `MAX_FILES` files."""


@dataclass(frozen=True, slots=True)
class MountPoint:
    """The place, as the model sees it, of the filesystem's root.

    >>> mount = MountPoint("/workspace")
    >>> mount.inside("//workspace/./src/a.py"), mount.inside("src/a.py"), mount.shown("src/a.py")
    ('src/a.py', 'src/a.py', '/workspace/src/a.py')
    >>> mount.inside("/workspace/../etc/passwd")
    Traceback (most recent call last):
    ...
    wink.errors.PathRefused: '/workspace/../etc/passwd' is outside /workspace
    """

    prefix: str | None = None

    def inside(self, path: str) -> str:
        """The path below the filesystem's root; one that does not carry the prefix is taken to be relative to it.

        Slashes and dots are evened out first: `//workspace/./a` must not pass for another file than `/workspace/a`.
        Raises `PathRefused` for an absolute path that is not beneath the prefix.
        """
        if self.prefix is None:
            return path
        absolute = path.startswith("/")
        names, own = _names(path), _names(self.prefix)
        if absolute == self.prefix.startswith("/") and names[: len(own)] == own:
            return "/".join(names[len(own) :])
        if absolute:
            raise PathRefused(path, f"is outside {self.prefix}")
        return path

    def shown(self, path: str) -> str:
        """The path as the model writes it."""
        return path if self.prefix is None else f"{self.prefix.rstrip('/')}/{path}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What can be said for a call that is about to change files; `read_tool` is what the model is told to call.

    Looking never counts as reading: nothing here but `note` and `note_own_write` leaves a stamp.
    """

    files: Filesystem
    context: ToolContext
    mount: MountPoint
    read_tool: str

    def missing(self, path: str, old_string: str | None = None, *, is_entry: bool = False) -> str | None:
        """What the model still has to do before it may change `path`, or take that away where it `is_entry`, or None.

        Raises `OSError` or `WinkError` when that cannot be found out.
        """
        files, inner = self.files, self.inner(path)
        if not files.exists(inner):
            return None
        shown = self.mount.shown(inner)
        found = files.stat(inner)
        # Of a link only the link goes, or is moved; it has no content, and what is behind it stays.
        if found.is_link and (is_entry or found.is_directory):
            return None
        if found.is_directory:
            return self._missing_below(inner, shown)
        stamp = self._seen(inner)
        if stamp is None or not stamp.digest:  # without a digest: what the session knew was a file that is gone
            return f"{shown} exists and has not been read in this session; call {self.read_tool} on it first"
        if stamp.digest != files.fingerprint(inner):
            return f"{shown} changed since it was read{self._changed_by(inner)}; read it again before you change it"
        if stamp.complete:
            return None
        if old_string is None and stamp.byte_ranges and not stamp.ranges:
            return f"{shown} has been read only in part: {_known_bytes(stamp)}; read the rest first"
        if old_string is None:
            return f"{shown} has been read only in part: {_known_lines(stamp)}; call {self.read_tool} on the rest first"
        return self._unknown_lines(inner, shown, stamp, old_string)

    def _changed_by(self, inner: str) -> str:
        """Which call of which session left a file as it is now, or that none did; nothing where no record tells."""
        from wink.record import Record  # whoever is not denied anything need not load it

        session, root = self.context.session, self.files.root
        place = os.path.realpath(os.path.join(root, inner))  # by whatever links it was named
        is_within = os.path.isabs(root) and place.startswith(f"{root}/")
        if not isinstance(session.recorder, Record) or not is_within or not os.path.isfile(place):
            return ""
        path = place[len(root) + 1 :]
        number = session.recorder.writers(root, [path]).get(path)
        call = None if number is None else session.recorder.call(number)
        if call is None:
            return ", by somebody outside of wink"
        whose = "this session" if call.session == session.name else f"session {call.session!r}"
        return f", by c{call.position} ({call.tool}) of {whose}"

    def note(self, path: str) -> None:
        """Let the file's content count as read as it is now, unless the filesystem knows better."""
        inner = self.inner(path)
        stamp = self._seen(inner)
        if stamp is not None and stamp.digest == self.files.fingerprint(inner):
            return
        size = 0
        with self.files.open_read(inner) as stream:  # one that is read to its end counts as read
            while piece := stream.read(_PIECE):
                size += len(piece)
        if self._nobody_notes:
            digest = self.files.fingerprint(inner) or ""
            self.context.session.stage(Stamp, [Upsert(inner, Stamp(inner, digest, size, (), complete=True))])

    def note_own_write(self, path: str, *, part: bool) -> None:
        """Let what was just written count as known, where the filesystem does not see to that itself.

        Of a file that changed in `part` all must have been known before.
        """
        inner = self.inner(path)
        if self._nobody_notes and self.files.exists(inner):
            stamp = self._seen(inner)
            if not part or (stamp is not None and stamp.complete):
                self.note(path)

    @property
    def _nobody_notes(self) -> bool:
        """Whether the files are used outside of any call, as by a program that asks policies itself."""
        return isinstance(self.files, InMemoryFilesystem | HostFilesystem)

    def _seen(self, inner: str) -> Stamp | None:
        return self.context.session[Stamp].get(inner) if self._nobody_notes else self.files.seen(inner)

    def inner(self, path: str) -> str:
        """The path as the filesystem writes it."""
        return self.files.normalize(self.mount.inside(path))

    def _unknown_lines(self, inner: str, shown: str, stamp: Stamp, old_string: str) -> str | None:
        places = self.files.locate(inner, old_string)
        if not places:
            # A tool with an eye for similar text might still find it, in lines that nobody has seen.
            return (
                f"the text to replace is not in {shown} as given, and {_known_lines(stamp)}; "
                f"call {self.read_tool} on the lines to change first"
            )
        for start, end in places:
            if not stamp.knows(start, end):
                lines = f"line {start + 1}" if end == start + 1 else f"lines {start + 1}-{end}"
                return (
                    f"{lines} of {shown} would change and {_known_lines(stamp)}; "
                    f"call {self.read_tool} on {'it' if end == start + 1 else 'them'} first"
                )
        return None

    def _missing_below(self, inner: str, shown: str) -> str | None:
        try:
            unknown = [path for path in self._files_below(inner) if not self._is_known(path)]
        except _TooMany:
            return f"{shown} holds more than {MAX_FILES} files, too many to check whether each has been read; take parts of it"
        if not unknown:
            return None
        named = ", ".join(self.mount.shown(path) for path in unknown[:_NAMED])
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        return f"{shown} holds files that have not been read as they are now: {named}{more}; call {self.read_tool} on them first"

    def _is_known(self, path: str) -> bool:
        stamp = self._seen(path)
        return stamp is not None and stamp.complete and stamp.digest == self.files.fingerprint(path)

    def _files_below(self, directory: str) -> Iterator[str]:
        """Every file below a directory, in order; a link counts for itself and is not followed."""
        pending, met = [directory], 0
        while pending:
            entries = self.files.list(pending.pop(), limit=MAX_FILES - met)
            met += len(entries)
            if entries.truncated:
                raise _TooMany
            for entry in entries:
                if entry.is_link:
                    continue  # only the link goes, not what it leads to
                if entry.is_directory:
                    pending.append(entry.path)
                else:
                    yield entry.path


def _known_bytes(stamp: Stamp) -> str:
    """What has been read, in bytes.

    >>> from wink.filesystem import Stamp
    >>> _known_bytes(Stamp("a", "d", 90, (), complete=False, byte_ranges=((0, 20), (40, 60))))
    'only bytes 0-19 and 40-59 of its 90'
    """
    spans = [f"{start}-{end - 1}" for start, end in stamp.byte_ranges]
    named = spans[0] if len(spans) == 1 else f"{', '.join(spans[:-1])} and {spans[-1]}"
    return f"only bytes {named} of its {stamp.size}"


def _known_lines(stamp: Stamp) -> str:
    """What has been read, with the lines as the model counts them.

    >>> from wink.filesystem import Stamp
    >>> _known_lines(Stamp("a", "d", 9, ((0, 20), (40, 41)), complete=False, total_lines=90))
    'only lines 1-20 and 41 of its 90 have been read'
    >>> _known_lines(Stamp("a", "d", 9, (), complete=False, total_lines=90))
    'none of its 90 lines has been read to the end'
    """
    spans = [str(end) if end == start + 1 else f"{start + 1}-{end}" for start, end in stamp.ranges]
    if not spans:
        its = "lines" if stamp.total_lines is None else f"{stamp.total_lines} lines"
        return f"none of its {its} has been read to the end" if stamp.total_lines != 1 else _LONG
    named = spans[0] if len(spans) == 1 else f"{', '.join(spans[:-1])} and {spans[-1]}"
    total = "" if stamp.total_lines is None else f" of its {stamp.total_lines}"
    return f"only line {named}{total} has been read" if named.isdigit() else f"only lines {named}{total} have been read"


def _names(path: str) -> list[str]:
    names: list[str] = []
    for name in path.split("/"):
        if name == ".." and names and names[-1] != "..":
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return names
