"""Keep wink's own bare repository, in which committed calls become commits that any git can show.

Rules of this module:

* Nothing here is followed as a link: a workspace that came from somewhere could lead our writes anywhere.
* The record says which commit is the last and which blob is wanted; references are written for people, never read.
* Whatever is read is checked against its id, so that an altered store can only lack things.
"""

from __future__ import annotations

import errno
import fcntl
import os
import zlib
from contextlib import suppress
from typing import Final, Self

from wink.errors import HistoryDamaged
from wink_history._objects import ID_BYTES, Kind, Malformed, object_id
from wink_history._pack_reading import MOST_BYTES, Pack, open_plain
from wink_history._pack_writing import UNUSED, PackWriter

NAME: Final = "store.git"
HISTORY: Final = "refs/wink/history"

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PARTS: Final = ("objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/wink")
# Nobody's git tidies up by itself here, or keeps logs of what we do to references.
CONFIG: Final = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogAllRefUpdates = false\n[gc]\n\tauto = 0\n"
_KINDS: Final[dict[bytes, Kind]] = {b"blob": "blob", b"tree": "tree", b"commit": "commit"}


class Store:
    """The repository in the state directory; a `with` block closes it.

    Raises `HistoryDamaged` for everything that is not as git and we leave it, a missing repository too unless `make`.
    """

    __slots__ = ("_directories", "_durable", "_lock", "_packs", "path")

    def __init__(self, state: str, *, make: bool = False, durable: bool = False) -> None:
        self.path = os.path.join(state, NAME)
        self._durable = durable
        self._directories: dict[str, int] = {}
        self._packs: list[Pack] | None = None
        self._lock = -1
        try:
            self._open(state, make=make)
        except (OSError, Malformed) as error:
            self.close()
            raise self.damaged(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def damaged(self, error: Exception) -> HistoryDamaged:
        """What went wrong, in our words."""
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return HistoryDamaged(self.path, reason)

    def close(self) -> None:
        """Close all files, and give up the lock."""
        self._close_packs()
        for fd in (*self._directories.values(), self._lock):
            if fd >= 0:
                os.close(fd)
        self._directories.clear()
        self._lock = -1

    def lock(self) -> bool:
        """Become the only one who adds to the store, until it is closed; False when somebody else is."""
        if self._lock < 0:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._lock = os.open("wink.lock", flags, 0o600, dir_fd=self._directories[""])
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        # Of somebody who was killed.
        directory = self._directories["objects/pack"]
        for name in (names := os.listdir(directory)):
            if name.startswith(UNUSED) and f"{name[len(UNUSED) :]}.idx" not in names:
                self._drop_pack(name[len(UNUSED) :])
            elif name.startswith("tmp_"):
                os.unlink(name, dir_fd=directory)
        for name in os.listdir(self._directories[""]):
            if name.startswith("tmp_"):
                os.unlink(name, dir_fd=self._directories[""])
        return True

    # -- objects

    def read(self, oid: bytes) -> tuple[Kind, bytes]:
        """An object; raises `HistoryDamaged` when it is not there as it was stored."""
        try:
            found = self._read(oid)
            if found is None:
                # Somebody's `git gc` may have put it elsewhere meanwhile.
                self._close_packs()
                found = self._read(oid)
        except (OSError, Malformed) as error:
            raise self.damaged(error) from None
        if found is None:
            raise HistoryDamaged(self.path, f"object {oid.hex()} is missing")
        return found

    def holds(self, oid: bytes) -> bool:
        """Whether an object is here and whole."""
        try:
            return self._read(oid) is not None
        except (OSError, Malformed):
            return False

    def finds(self, text: str) -> bool:
        """Whether an object, by its id in hexadecimal digits, is in a pack, whole or not; much cheaper."""
        try:
            oid = bytes.fromhex(text)
            return any(pack.find(oid) is not None for pack in self.packs())
        except (OSError, ValueError):
            return False

    def holds_text(self, text: str) -> bool:
        """The same for an id in hexadecimal digits, from wherever it comes."""
        try:
            return self.holds(bytes.fromhex(text))
        except ValueError:
            return False

    def writer(self, *, again: bool = False) -> PackWriter:
        """A pack for new objects; what is whole in another pack is not stored again, unless so wanted."""
        return PackWriter(self._directories["objects/pack"], _never if again else self._is_packed)

    def finish(self, writer: PackWriter) -> str | None:
        """Make a pack a part of the store; gives its name, or None when there was nothing new."""
        name = writer.finish(durable=self._durable)
        if name is not None and self._packs is not None:
            self._packs.append(Pack(self._directories["objects/pack"], name))
        return name

    def packs(self) -> list[Pack]:
        """All packs that can be read, in no order."""
        if self._packs is None:
            directory = self._directories["objects/pack"]
            self._packs = []
            for name in os.listdir(directory):
                if name.startswith("pack-") and name.endswith(".idx"):
                    # A pack that is broken as a whole is one whose objects are missing.
                    with suppress(OSError, Malformed):
                        self._packs.append(Pack(directory, name[: -len(".idx")]))
        return self._packs

    def forget_packs(self) -> None:
        """Look anew which packs there are, when they are next needed."""
        self._close_packs()

    def drop_packs(self, names: list[str]) -> None:
        """Remove packs whose objects are elsewhere, or not wanted any more."""
        self._close_packs()
        directory = self._directories["objects/pack"]
        for name in names:
            # Without its index a pack is nothing to git, and without a pack an index is broken.
            with suppress(FileNotFoundError):
                os.rename(f"{name}.idx", UNUSED + name, src_dir_fd=directory, dst_dir_fd=directory)
            self._drop_pack(name)

    def _drop_pack(self, name: str) -> None:
        for file in (*(name + ending for ending in (".pack", ".bitmap", ".rev", ".mtimes", ".keep")), UNUSED + name):
            with suppress(FileNotFoundError):
                os.unlink(file, dir_fd=self._directories["objects/pack"])

    def drop_loose(self) -> None:
        """Remove objects outside of packs: all that is wanted is in one now."""
        objects = self._directories["objects"]
        for name in os.listdir(objects):
            if len(name) == 2:
                try:
                    directory = os.open(name, _DIRECTORY, dir_fd=objects)
                except OSError:
                    continue
                try:
                    for rest in os.listdir(directory):
                        if len(rest) == 2 * ID_BYTES - 2:
                            os.unlink(rest, dir_fd=directory)
                finally:
                    os.close(directory)

    # -- references

    def point(self, reference: str, oid: bytes) -> None:
        """Let `HEAD`, or a name beneath `refs/wink`, stand for a commit; raises `HistoryDamaged`."""
        above, _, name = reference.rpartition("/")
        try:
            self._write(above, name, oid.hex().encode() + b"\n")
        except OSError as error:
            raise self.damaged(error) from None

    def unpoint(self, reference: str) -> None:
        """Forget a reference that `point` made."""
        above, _, name = reference.rpartition("/")
        try:
            if above not in self._directories:
                self._directories[above] = self._enter(above, make=True)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._directories[above])
        except OSError as error:
            raise self.damaged(error) from None

    def cut(self, oids: list[bytes]) -> None:
        """Let the history end at these commits, whose parents are not here; git calls such a repository shallow."""
        try:
            if oids:
                self._write("", "shallow", b"".join(oid.hex().encode() + b"\n" for oid in sorted(oids)))
            else:
                with suppress(FileNotFoundError):
                    os.unlink("shallow", dir_fd=self._directories[""])
        except OSError as error:
            raise self.damaged(error) from None

    def _write(self, directory: str, name: str, content: bytes, *, drafts: str = "tmp_") -> None:
        if directory not in self._directories:
            self._directories[directory] = self._enter(directory, make=True)
        # Not beside the file: to git, each file below `refs` is a reference, also the draft of somebody who was killed.
        top, fd = self._directories[""], self._directories[directory]
        draft = f"{drafts}{os.getpid()}_{os.urandom(4).hex()}"
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=top)
        try:
            os.write(file, content)
            if self._durable:
                os.fsync(file)
            os.rename(draft, name, src_dir_fd=top, dst_dir_fd=fd)
        except BaseException:
            os.unlink(draft, dir_fd=top)
            raise
        finally:
            os.close(file)

    # -- opening

    def _open(self, state: str, *, make: bool) -> None:
        top = os.open(state, _DIRECTORY)
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(NAME, 0o700, dir_fd=top)
            self._directories[""] = os.open(NAME, _DIRECTORY, dir_fd=top)
        finally:
            os.close(top)
        for part in _PARTS if make else ("objects", "objects/pack"):
            self._directories[part] = self._enter(part, make=make)
        if make:
            for name, content in (("config", CONFIG), ("HEAD", b"ref: refs/heads/wink\n")):
                if not _is_plain(self._directories[""], name):
                    # Who has the lock must not take this draft for that of somebody who was killed.
                    self._write("", name, content, drafts="new_")

    def _enter(self, path: str, *, make: bool) -> int:
        above, _, name = path.rpartition("/")
        if above not in self._directories:
            self._directories[above] = self._enter(above, make=make)
        parent = self._directories[above]
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=parent)
        return os.open(name, _DIRECTORY, dir_fd=parent)

    def _is_packed(self, oid: bytes) -> bool:
        for pack in self.packs():
            with suppress(Malformed, OSError):
                offset = pack.find(oid)
                if offset is not None:
                    pack.read(oid, offset)
                    return True
        return False

    def _read(self, oid: bytes) -> tuple[Kind, bytes] | None:
        damage: Exception | None = None
        for pack in self.packs():
            try:
                offset = pack.find(oid)
                if offset is not None:
                    return pack.read(oid, offset)
            except Malformed as error:
                damage = error  # it may be whole in another one
        found = self._read_loose(oid)
        if found is None and damage is not None:
            raise damage
        return found

    def _read_loose(self, oid: bytes) -> tuple[Kind, bytes] | None:
        text = oid.hex()
        try:
            directory = os.open(text[:2], _DIRECTORY, dir_fd=self._directories["objects"])
        except FileNotFoundError:
            return None
        try:
            fd = open_plain(directory, text[2:])
        except FileNotFoundError:
            return None
        finally:
            os.close(directory)
        try:
            if os.fstat(fd).st_size > MOST_BYTES:
                raise Malformed(f"object {text} is too large")
            with os.fdopen(fd, "rb", closefd=False) as file:
                data = zlib.decompressobj().decompress(file.read(), MOST_BYTES)
        except zlib.error as error:
            raise Malformed(f"object {text} cannot be read: {error}") from None
        finally:
            os.close(fd)
        head, _, content = data.partition(b"\0")
        kind = _KINDS.get(head.partition(b" ")[0])
        if kind is None or object_id(kind, content) != oid:
            raise Malformed(f"what is stored as {text} is something else")
        return kind, content

    def _close_packs(self) -> None:
        for pack in self._packs or ():
            pack.close()
        self._packs = None


def _never(oid: bytes) -> bool:
    del oid
    return False


def _is_plain(directory: int, name: str) -> bool:
    try:
        os.close(open_plain(directory, name))
    except FileNotFoundError:
        return False
    return True
