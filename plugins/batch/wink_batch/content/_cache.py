"""Have the files that tasks begin with, once on each node, for all tasks together.

What is fetched is written beside its place and moved there when it is complete, by one process at a time; whoever finds it
looks first whether it is as it was left. A directory is used where it is: nothing writes to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

from wink.dataclass import dataclass
from wink_batch._errors import SourceUnavailable
from wink_batch._git import GitFailed, contents, entries, fetch, masked, resolve
from wink_batch._source import Source

_ENTRY: Final = "entry.json"
_NEVER: Final = frozenset(("", ".", ".."))
_MARKS: Final = ("ETag", "etag", "md5Hash", "checksum", "LastModified", "mtime", "modified", "CRC", "created")
"""What the filesystems say of a file that changes when its content does; the first that is there counts."""

_Listing = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Base:
    """Files that tasks begin with: `tree` is where they are; a git repository's come with that and the `commit`."""

    tree: str
    repository: str = ""
    commit: str = ""


def usual_cache() -> str:
    """Where a node keeps what it fetches unless told otherwise: a directory of this user beneath the system's temporary one."""
    return os.path.join(tempfile.gettempdir(), f"wink-batch-{os.getuid()}")


class Cache:
    """What one node has fetched, in a directory that only its user can enter."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._known: dict[tuple[str, Source], Base] = {}

    def base(self, source: Source, batch: str = "") -> Base:
        """The files of a source, fetched if they are not there yet; the same ones for all of a batch on this process.

        Raises `SourceUnavailable`.
        """
        found = self._known.get((batch, source))
        if found is None or not os.path.isdir(found.tree):
            self._ready()
            found = self._known[batch, source] = _WAYS[source.kind](self, source)
        return found

    def _ready(self) -> None:
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        found = os.lstat(self.directory)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
            raise SourceUnavailable(
                self.directory,
                "it is no directory of this user's own, which others cannot write to; name another with --cache",
            )

    def _empty(self, source: Source) -> Base:
        del source
        tree = os.path.join(self.directory, "empty")
        os.makedirs(tree, exist_ok=True)
        return Base(tree)

    def _at_its_place(self, source: Source) -> Base:
        if not os.path.isdir(source.address):
            problem = "is not a directory" if os.path.exists(source.address) else "does not exist"
            node = os.uname().nodename
            raise SourceUnavailable(
                source.address,
                f"it {problem} on {node}; name a git repository or a URL that every node can fetch, or correct the path",
            )
        return Base(os.path.realpath(source.address))

    def _of_git(self, source: Source) -> Base:
        address = source.address
        repository = os.path.join(self.directory, "git", _key(address))
        os.makedirs(os.path.dirname(repository), exist_ok=True)
        try:
            commit = resolve(address, source.revision)
            with self._locked(f"git-{_key(address)}"):
                commit = fetch(repository, address, commit)
        except GitFailed as error:
            raise SourceUnavailable(str(source), masked(str(error))) from None

        def fill(tree: str) -> None:
            with contents(repository) as objects:
                for entry in entries(repository, commit):
                    _write(tree, entry.path, entry.mode, objects.read, entry.sha)

        try:
            return Base(self._entry(_key(address, commit), str(source), fill), repository, commit)
        except GitFailed as error:
            raise SourceUnavailable(str(source), masked(str(error))) from None

    def _of_url(self, source: Source) -> Base:
        fs, found = _listing(source)
        signature = [(path, info["size"], info["mark"]) for path, info in sorted(found.items())]
        key = _key(source.address, json.dumps(signature))

        def fill(tree: str) -> None:
            _take(source, fs, found, tree)

        return Base(self._entry(key, str(source), fill))

    # -- entries

    def _entry(self, key: str, address: str, fill: Callable[[str], None]) -> str:
        """The tree of an entry, made by `fill` if there is none, or none that is as it was left."""
        place = os.path.join(self.directory, "trees", key)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with self._locked(f"tree-{key}"):
            if os.path.isdir(place) and not _is_whole(place):
                # Somebody may work over it; what is open stays as it is, and nobody finds it any more.
                os.rename(place, tempfile.mkdtemp(prefix="damaged-", dir=self.directory) + "/entry")
            if not os.path.isdir(place):
                made = tempfile.mkdtemp(prefix="making-", dir=self.directory)
                try:
                    tree = os.path.join(made, "tree")
                    os.mkdir(tree, 0o755)
                    fill(tree)
                    with open(os.path.join(made, _ENTRY), "w", encoding="utf-8") as file:
                        json.dump({"address": address, "mark": _mark(tree)}, file)
                    os.rename(made, place)
                except BaseException:
                    shutil.rmtree(made, ignore_errors=True)
                    raise
        return os.path.join(place, "tree")

    @contextmanager
    def _locked(self, name: str) -> Generator[None]:
        os.makedirs(os.path.join(self.directory, "locks"), exist_ok=True)
        fd = os.open(os.path.join(self.directory, "locks", name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


_WAYS: Final[dict[str, Callable[[Cache, Source], Base]]] = {
    "empty": Cache._empty,  # pyright: ignore[reportPrivateUsage]
    "directory": Cache._at_its_place,  # pyright: ignore[reportPrivateUsage]
    "git": Cache._of_git,  # pyright: ignore[reportPrivateUsage]
    "url": Cache._of_url,  # pyright: ignore[reportPrivateUsage]
}


def safe_path(path: str) -> str:
    """A path that stays beneath where it is written; raises `SourceUnavailable`."""
    parts = path.split("/")
    if any(part in _NEVER or "\0" in part or part.lower() == ".git" for part in parts):
        raise SourceUnavailable(path, "no workspace can have a file of this name")
    return path


def _write(tree: str, path: str, mode: str, read: Callable[[str], bytes], sha: str) -> None:
    place = os.path.join(tree, safe_path(path))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if mode == "160000":  # a submodule, which is another repository's business
        os.makedirs(place, exist_ok=True)
        return
    content = read(sha)
    if mode == "120000":
        os.symlink(content, place)
        return
    # `x`: never through a link that an earlier entry made.
    with open(place, "xb") as file:
        file.write(content)
        os.fchmod(file.fileno(), 0o755 if mode == "100755" else 0o644)


def _listing(source: Source) -> tuple[Any, _Listing]:
    """The filesystem of an fsspec URL, and its files by their relative paths, each with its `size` and a `mark`.

    Raises `SourceUnavailable`, also where there is nothing.
    """
    import fsspec  # pyright: ignore[reportMissingTypeStubs]

    try:
        fs: Any
        fs, root = fsspec.core.url_to_fs(source.address)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        root = str(root).rstrip("/")  # pyright: ignore[reportUnknownArgumentType]
        fs.invalidate_cache()
        found: dict[str, dict[str, Any]] = fs.find(root, detail=True)
    except Exception as error:  # foreign code: any filesystem
        reason = f"{type(error).__name__}: {error}"
        raise SourceUnavailable(str(source), reason[:500]) from error
    bare = str(fs._strip_protocol(root)).rstrip("/") if root else ""
    files: _Listing = {}
    for name, info in found.items():
        if info.get("type") == "directory":
            continue
        path = name[len(bare) :].lstrip("/") if bare and name.startswith(bare) else name.lstrip("/")
        if not path:
            raise SourceUnavailable(str(source), "is a single file; name a directory, or an archive as in zip://::URL")
        mark = next((str(info[key]) for key in _MARKS if info.get(key)), "")
        files[path] = {"size": info.get("size"), "mark": mark, "name": name}
    if not files:
        raise SourceUnavailable(str(source), "there are no files")
    return fs, files


def _take(source: Source, fs: Any, found: _Listing, tree: str) -> None:
    """Write all files of a listing beneath `tree`; raises `SourceUnavailable` also when one is not as long as it was listed."""
    for path, info in sorted(found.items()):
        place = os.path.join(tree, safe_path(path))
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with fs.open(info["name"], "rb") as stream, open(place, "xb") as file:
                while piece := stream.read(1 << 20):
                    file.write(piece)
        except Exception as error:  # foreign code: any filesystem
            reason = f"{path}: {type(error).__name__}: {error}"
            raise SourceUnavailable(str(source), reason[:500]) from error
        size = os.stat(place).st_size
        if info["size"] is not None and size != info["size"]:
            raise SourceUnavailable(str(source), f"{path} was to have {info['size']} bytes and came with {size}")


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _is_whole(place: str) -> bool:
    try:
        with open(os.path.join(place, _ENTRY), encoding="utf-8") as file:
            entry: Any = json.load(file)
        return entry["mark"] == _mark(os.path.join(place, "tree"))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _mark(tree: str) -> str:
    """What changes when anything in a tree does, without reading it."""
    digest = hashlib.sha256()
    for path, found in _walk(tree):
        is_link = stat.S_ISLNK(found.st_mode)
        facts = (path, found.st_mode, 0 if stat.S_ISDIR(found.st_mode) else found.st_size, is_link or found.st_mtime_ns)
        digest.update(repr(facts if not stat.S_ISDIR(found.st_mode) else facts[:2]).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _walk(tree: str) -> Iterator[tuple[str, os.stat_result]]:
    pending = [""]
    while pending:
        above = pending.pop()
        with os.scandir(os.path.join(tree, above)) as found:
            names = sorted(found, key=lambda entry: entry.name)
        for entry in names:
            path = f"{above}/{entry.name}" if above else entry.name
            yield path, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
