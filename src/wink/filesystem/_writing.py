"""Change files through a transaction's change set, and note what the caller knows of them afterwards."""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Final

from wink.errors import FileConflict, PathRefused, WriteTooLarge
from wink.filesystem._facts import CHUNK, Facts, Scanner
from wink.filesystem._paths import check_moved, located, unportable_name
from wink.filesystem._reading import MAX_HELD, existing, opened
from wink.filesystem._results import WriteMode, WriteResult
from wink.filesystem._siblings import difference
from wink.filesystem._stamps import Stamp, joined, shifted, whole
from wink.filesystem._store import ChangeSet, Node, Staging, Store, failure
from wink.filesystem._transaction import FileTransaction

_STREAMED: Final = CHUNK
"""Content above this size goes to staging before the gate is taken, so that revoking never waits for it."""

_ELSEWHERE: Final = "Windows and macOS take them for one, so use that name or choose another"


def write_bytes(
    files: FileTransaction, text: str, content: bytes, mode: WriteMode, create_parents: bool
) -> WriteResult:
    """Make a file's content `content`, or add it at the end."""
    if mode == "append":
        return append_bytes(files, text, content, create_parents)
    if mode not in ("overwrite", "create"):
        raise ValueError(f"mode {mode!r} is none of 'overwrite', 'create' and 'append'")
    path = file_path(text)
    check_size(files, path, len(content))
    staged = stage(files, path, content) if len(content) > _STREAMED else content
    created, node = put(files, path, staged, exclusive=mode == "create", create_parents=create_parents)
    facts = files.tree.facts.of(node, content)
    files.observe(path, whole(path, facts.digest, facts.size, facts.lines, "write"))
    return WriteResult(path, len(content), node.size, mode, created)


def append_bytes(files: FileTransaction, text: str, content: bytes, create_parents: bool) -> WriteResult:
    """Add to the end of a file, which is made where it is missing."""
    if exists(files.reading(), file_path(text)):
        return append(files, text, (content,), len(content))
    return replace(write_bytes(files, text, content, "create", create_parents), mode="append")


def append(files: FileTransaction, text: str, pieces: Iterable[bytes], size: int) -> WriteResult:
    """Add pieces of `size` bytes together to the end of a file; what is large is copied and never held."""
    path = existing(files, text)
    old, before = files.tree.store.read(path, MAX_HELD)
    check_size(files, path, before.size + size)
    if old is None or len(old) + size > MAX_HELD:
        node, was, begin, facts = _copied(files, path, pieces)
    else:
        together, begin = old + b"".join(pieces), old.count(b"\n")
        was = files.tree.facts.of(before, old)
        node = exchange(files, path, before, old, together)
        facts = files.tree.facts.of(node, together)
    known = current(files, path, was.digest)
    if known is not None and known.complete:
        files.observe(path, whole(path, facts.digest, facts.size, facts.lines, "write"))
    else:
        # A last line without a newline becomes another line, which is known only when its beginning was.
        is_open = was.lines > begin
        first = begin + (is_open and not (known and known.knows(begin, begin + 1)))
        ranges = joined((*shifted(known.ranges if known else (), begin, begin + is_open, begin), (first, facts.lines)))
        complete = not facts.lines or ranges == ((0, facts.lines),)
        files.observe(path, Stamp(path, facts.digest, facts.size, ranges, complete, facts.lines, "write"))
    return WriteResult(path, size, node.size, "append")


def _copied(files: FileTransaction, path: str, pieces: Iterable[bytes]) -> tuple[Node, Facts, int, Facts]:
    """Publish a file's content with more at its end; with the facts before, the newlines before, and the facts after."""
    stream, before = files.tree.store.open(path)
    scanner = Scanner()
    with stream, staging(files, path) as staged:
        while chunk := stream.read(CHUNK):
            staged.write(chunk)
            scanner.add(chunk)
        was, begin = scanner.facts(), scanner.newlines
        for piece in pieces:
            staged.write(piece)
            scanner.add(piece)
        node = exchange(files, path, before, was.digest, staged)
    facts = scanner.facts()
    files.tree.facts.learn(node, facts)
    return node, was, begin, facts


def delete(files: FileTransaction, text: str, recursive: bool) -> None:
    """Remove a file, a link, or a directory."""
    path, is_directory = located(text)
    with files.changing(path) as change_set:
        _require_directory(files, path, text, is_directory)
        change_set.delete(path, recursive=recursive)
        _forget_beneath(files, path)


def move(files: FileTransaction, text: str, target_text: str, overwrite: bool, create_parents: bool) -> None:
    """Give a file or directory another name; what is known of it goes along."""
    (source, must_be_directory), (target, _) = located(text), located(target_text)
    with files.changing(source) as change_set:
        _require_directory(files, source, text, must_be_directory)
        emptied = check_names(files, target, moved=source)
        if source and create_parents:
            make_parents(files, change_set, target)
        known = files.observed(source)
        if files.tree.store.node(source, follow=False).kind != "file":
            check_moved(files.tree.store, source, target)
        change_set.move(source, target, overwrite=overwrite)
        if source == target:
            return
        if emptied is not None:
            change_set.delete(emptied, recursive=True)
        files.tree.siblings.made(files.tree.store, target)
        within = {path: stamp for path, stamp in files.stamps().items() if path.startswith(source + "/")}
        _forget_beneath(files, source)
        _forget_beneath(files, target)
        if known is not None:
            files.observe(target, replace(known, path=target))
        for path, stamp in within.items():
            moved = target + path[len(source) :]
            files.observe(moved, stamp and replace(stamp, path=moved))


def copy(files: FileTransaction, text: str, target_text: str, overwrite: bool, create_parents: bool) -> WriteResult:
    """Copy one file, with its mode."""
    target = file_path(target_text)
    source, stream, node = opened(files, text)
    scanner = Scanner()
    with stream, staging(files, target, node.size) as staged:
        while chunk := stream.read(min(CHUNK, node.size + 1)):
            staged.write(chunk)
            scanner.add(chunk)
        known = files.observed(source)
        created, copied = put(
            files, target, staged, exclusive=not overwrite, create_parents=create_parents, mode=node.mode
        )
    facts = scanner.facts()
    files.tree.facts.learn(copied, facts)
    same = known is not None and known.digest == facts.digest
    files.observe(target, replace(known, path=target, origin="write") if same and known else None)
    return WriteResult(target, copied.size, copied.size, "overwrite" if overwrite else "create", created)


def mkdir(files: FileTransaction, text: str, parents: bool, exist_ok: bool) -> None:
    """Make a directory."""
    path, _ = located(text)
    with files.changing(path) as change_set:
        if exist_ok:
            try:
                if files.tree.store.node(path).kind == "directory":
                    return
            except FileNotFoundError:
                pass
        check_names(files, path)
        if parents:
            make_parents(files, change_set, path)
        change_set.mkdir(path)
        files.tree.siblings.made(files.tree.store, path)


# -- steps


def file_path(text: str) -> str:
    """The normalised path of a file that is to be written."""
    path, is_directory = located(text)
    if is_directory:
        raise failure(errno.EISDIR, text)
    return path


def put(
    files: FileTransaction,
    path: str,
    content: bytes | Staging,
    *,
    exclusive: bool,
    create_parents: bool,
    mode: int | None = None,
) -> tuple[bool, Node]:
    """Publish content at a path; tells whether the file is new."""
    with files.changing(path) as change_set:
        if not exclusive and isinstance(
            content, bytes
        ):  # staged content could be lost to somebody who deletes the file now
            try:
                return False, change_set.put(path, content, existing=True, mode=mode)
            except FileNotFoundError:
                pass  # or a directory on its way is missing
        created = exclusive or not exists(files.tree.store, path)
        if created:
            check_names(files, path)
            if create_parents and "/" in path:
                make_parents(files, change_set, path)
        node = change_set.put(path, content, exclusive=exclusive, mode=mode)
        if created:
            files.tree.siblings.made(files.tree.store, path)
        return created, node


def check_size(files: FileTransaction, path: str, size: int) -> None:
    """Raise `WriteTooLarge` for a size in bytes that no write may make a file of."""
    most = files.tree.max_file_bytes
    if size > most:
        raise WriteTooLarge(path, size, most)


def stage(files: FileTransaction, path: str, content: bytes) -> Staging:
    """Content in staging, written outside the gate."""
    with staging(files, path) as staged:
        view = memoryview(content)
        for at in range(0, len(content), CHUNK):
            staged.write(bytes(view[at : at + CHUNK]))
    return staged


@contextmanager
def staging(files: FileTransaction, path: str, size: int = 0) -> Generator[Staging]:
    """An empty staging for content of at least `size` bytes, which is forgotten when the block raises."""
    check_size(files, path, size)
    staged = begin_staging(files, path)
    try:
        yield staged
    except BaseException:
        staged.discard()
        raise


def make_parents(files: FileTransaction, change_set: ChangeSet, path: str) -> None:
    """Make the directories above `path` that are missing."""
    store, missing = files.tree.store, list[str]()
    parent = path.rpartition("/")[0]
    while parent and not exists(store, parent):
        missing.append(parent)
        parent = parent.rpartition("/")[0]
    for directory in reversed(missing):
        change_set.mkdir(directory)
        files.tree.siblings.made(store, directory)


def begin_staging(files: FileTransaction, path: str) -> Staging:
    """An empty staging of the transaction's change set."""
    with files.changing(path) as change_set:
        return change_set.stage()


def exchange(files: FileTransaction, path: str, before: Node, old: bytes | str, content: bytes | Staging) -> Node:
    """Publish content that was made from `before`, whose content or digest is `old`, unless somebody has written since."""
    staged = stage(files, path, content) if isinstance(content, bytes) and len(content) > _STREAMED else content
    with files.changing(path) as change_set:
        if files.tree.store.node(path).identity != before.identity:
            raise FileConflict(path)
        return change_set.put(path, staged, replacing=old)


def current(files: FileTransaction, path: str, digest: str) -> Stamp | None:
    """What is known of a path, if it is known of this content."""
    known = files.observed(path)
    return known if known is not None and known.digest == digest else None


def exists(store: Store, path: str, *, follow: bool = True) -> bool:
    """Whether there is something at the end of a normalised path and its links, or at the path itself."""
    try:
        store.node(path, follow=follow)
    except FileNotFoundError:
        return False
    return True


def _require_directory(files: FileTransaction, path: str, text: str, is_directory: bool) -> None:
    if is_directory and path and files.tree.store.node(path, follow=False).kind != "directory":
        raise failure(errno.ENOTDIR, text)


def check_names(files: FileTransaction, path: str, *, moved: str | None = None) -> str | None:
    """Refuse to make names that Windows or macOS cannot hold, or not beside what is there; `moved` will be gone.

    What is there already may be used. Gives a directory that could not stay beside the new names, and has nothing in it once
    that is moved.
    """
    if not files.tree.portable_names:
        return None
    store = files.tree.store
    if unportable_name(path) is not None:
        _check_each_name(store, path)
    while path:
        directory, _, name = path.rpartition("/")
        gone = moved.rpartition("/")[2] if moved and moved.rpartition("/")[0] == directory else None
        try:
            twin = files.tree.siblings.twin(store, directory, name, but=gone)
        except FileNotFoundError:
            path = directory  # made, too, and so the first name that could have a twin
            continue
        if twin is not None:
            there = f"{directory}/{twin}" if directory else twin
            is_left = moved is not None and moved.startswith(f"{there}/")
            if moved is not None and is_left and _is_alone(store, there, moved):
                return there
            remedy = f"move {there!r} itself, and all in it goes along" if is_left else _ELSEWHERE
            raise PathRefused(path, f"differs from {there!r}, which is there, only {difference(name, twin)}; {remedy}")
        return None
    return None


def _is_alone(store: Store, directory: str, path: str) -> bool:
    """Whether nothing but `path` lies in a directory, so that it is empty, and nothing to git, once that is moved."""
    while directory != path:
        names = list(islice(store.scan(directory), 2))
        directory = f"{directory}/{path[len(directory) + 1 :].partition('/')[0]}"
        if len(names) != 1:
            return False
    return True


def _check_each_name(store: Store, path: str) -> None:
    while path and not exists(store, path):
        path, _, last = path.rpartition("/")
        name = unportable_name(last)
        if name is not None:
            raise PathRefused(f"{path}/{last}" if path else last, f"has a name that Windows cannot hold, {name!r}")


def _forget_beneath(files: FileTransaction, path: str) -> None:
    files.observe(path, None)
    for noted in list(files.stamps()):
        if noted.startswith(path + "/"):
            files.observe(noted, None)
