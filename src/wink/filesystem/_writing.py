"""Change files through a transaction's frame, and note what the caller knows of them afterwards."""

from __future__ import annotations

import errno
from dataclasses import replace
from itertools import islice
from typing import Final

from wink.errors import FileConflict, PathRefused
from wink.filesystem._access import Access
from wink.filesystem._edit import edited, find_lines
from wink.filesystem._facts import CHUNK, Scanner
from wink.filesystem._memory import error
from wink.filesystem._part import FilePart
from wink.filesystem._paths import located, unportable_name
from wink.filesystem._reading import decode, has_plain_newlines, held, opened
from wink.filesystem._results import EditResult, WriteMode, WriteResult
from wink.filesystem._siblings import difference
from wink.filesystem._stamps import Stamp, joined, shifted, whole
from wink.filesystem._store import Frame, Node, Staging, Store

_STREAMED: Final = CHUNK
"""Content above this size goes to staging before the gate is taken, so that revoking never waits for it."""

_ELSEWHERE: Final = "Windows and macOS take them for one, so use that name or choose another"


def write_bytes(part: FilePart, text: str, content: bytes, mode: WriteMode, create_parents: bool) -> WriteResult:
    """Make a file's content `content`, or add it at the end."""
    if mode == "append":
        return append_bytes(part, text, content, create_parents)
    if mode not in ("overwrite", "create"):
        raise ValueError(f"mode {mode!r} is none of 'overwrite', 'create' and 'append'")
    path = file_path(text)
    staged = stage(part, path, content) if len(content) > _STREAMED else content
    created, node = put(part, path, staged, exclusive=mode == "create", create_parents=create_parents)
    facts = part.tree.facts.of(node, content)
    part.note(path, whole(path, facts.digest, facts.size, facts.lines, "write"))
    return WriteResult(path, len(content), node.size, mode, created)


def append_bytes(part: FilePart, text: str, content: bytes, create_parents: bool) -> WriteResult:
    """Add to the end of a file, which is made where it is missing."""
    path = file_path(text)
    try:
        _, old, before = held(part, path, "write it anew through open_write")
    except FileNotFoundError:
        return replace(write_bytes(part, text, content, "create", create_parents), mode="append")
    known = _current(part, path, part.tree.facts.of(before, old).digest)
    together = old + content
    node = _exchange(part, path, before, old, together)
    facts = part.tree.facts.of(node, together)
    if known is not None and known.complete:
        part.note(path, whole(path, facts.digest, facts.size, facts.lines, "write"))
    else:
        begin = old.count(b"\n")
        # A last line without a newline becomes another line, which is known only when its beginning was.
        is_open = old[-1:] not in (b"", b"\n")
        first = begin + (is_open and not (known and known.knows(begin, begin + 1)))
        ranges = joined((*shifted(known.ranges if known else (), begin, begin + is_open, begin), (first, facts.lines)))
        complete = not facts.lines or ranges == ((0, facts.lines),)
        part.note(path, Stamp(path, facts.digest, facts.size, ranges, complete, facts.lines, "write"))
    return WriteResult(path, len(content), node.size, "append")


def edit(part: FilePart, text: str, old: str, new: str, replace_all: bool, encoding: str) -> EditResult:
    """Replace text in a file."""
    path, content, decoded, before = _text_of(part, text, encoding)
    change = edited(path, decoded, old, new, replace_all=replace_all)
    encoded = change.text.encode(encoding)
    known = _current(part, path, part.tree.facts.of(before, content).digest)
    node = _exchange(part, path, before, content, encoded)
    facts = part.tree.facts.of(node, encoded)
    total = facts.lines if has_plain_newlines(encoding) else change.text.count("\n") + (change.text[-1:] != "\n")
    if known is None:
        part.note(path, None)
    else:
        ranges = change.shifted(known.ranges)
        complete = known.complete or not total or ranges == ((0, total),)
        ranges = ((0, total),) if complete and total else ranges
        part.note(path, Stamp(path, facts.digest, facts.size, ranges, complete, total, "write"))
    return EditResult(path, len(change.places), node.size, tuple(place.start + 1 for place in change.places))


def locate(part: Access, text: str, old: str, encoding: str) -> tuple[tuple[int, int], ...]:
    """Where an edit would find `old`; nothing is noted."""
    path, _, decoded, _ = _text_of(part, text, encoding)
    return find_lines(path, decoded, old)


def delete(part: FilePart, text: str, recursive: bool) -> None:
    """Remove a file, a link, or a directory."""
    path, is_directory = located(text)
    with part.changing(path) as frame:
        _require_directory(part, path, text, is_directory)
        frame.delete(path, recursive=recursive)
        _forget_beneath(part, path)


def move(part: FilePart, text: str, target_text: str, overwrite: bool, create_parents: bool) -> None:
    """Give a file or directory another name; what is known of it goes along."""
    (source, must_be_directory), (target, _) = located(text), located(target_text)
    with part.changing(source) as frame:
        _require_directory(part, source, text, must_be_directory)
        emptied = check_names(part, target, moved=source)
        if source and create_parents:
            make_parents(part, frame, target)
        known = part.seen(source)
        frame.move(source, target, overwrite=overwrite)
        if source == target:
            return
        if emptied is not None:
            frame.delete(emptied, recursive=True)
        part.tree.siblings.made(part.tree.store, target)
        within = {path: stamp for path, stamp in part.noted().items() if path.startswith(source + "/")}
        _forget_beneath(part, source)
        _forget_beneath(part, target)
        if known is not None:
            part.note(target, replace(known, path=target))
        for path, stamp in within.items():
            moved = target + path[len(source) :]
            part.note(moved, stamp and replace(stamp, path=moved))


def copy(part: FilePart, text: str, target_text: str, overwrite: bool, create_parents: bool) -> WriteResult:
    """Copy one file, with its mode."""
    target = file_path(target_text)
    source, stream, node = opened(part, text)
    scanner = Scanner()
    with stream:
        staged = begin_staging(part, target)
        try:
            while chunk := stream.read(min(CHUNK, node.size + 1)):
                staged.write(chunk)
                scanner.add(chunk)
            known = part.seen(source)
            created, copied = put(
                part, target, staged, exclusive=not overwrite, create_parents=create_parents, mode=node.mode
            )
        except BaseException:
            staged.discard()
            raise
    facts = scanner.facts()
    part.tree.facts.learn(copied, facts)
    same = known is not None and known.digest == facts.digest
    part.note(target, replace(known, path=target, origin="write") if same and known else None)
    return WriteResult(target, copied.size, copied.size, "overwrite" if overwrite else "create", created)


def mkdir(part: FilePart, text: str, parents: bool, exist_ok: bool) -> None:
    """Make a directory."""
    path, _ = located(text)
    with part.changing(path) as frame:
        if exist_ok:
            try:
                if part.tree.store.node(path).kind == "directory":
                    return
            except FileNotFoundError:
                pass
        check_names(part, path)
        if parents:
            make_parents(part, frame, path)
        frame.mkdir(path)
        part.tree.siblings.made(part.tree.store, path)


# -- steps


def file_path(text: str) -> str:
    """The normalised path of a file that is to be written."""
    path, is_directory = located(text)
    if is_directory:
        raise error(errno.EISDIR, text)
    return path


def put(
    part: FilePart,
    path: str,
    content: bytes | Staging,
    *,
    exclusive: bool,
    create_parents: bool,
    mode: int | None = None,
) -> tuple[bool, Node]:
    """Publish content at a path; tells whether the file is new."""
    with part.changing(path) as frame:
        created = exclusive or not _exists(part.tree.store, path)
        if created:
            check_names(part, path)
            if create_parents and "/" in path:
                make_parents(part, frame, path)
        node = frame.put(path, content, exclusive=exclusive, mode=mode)
        if created:
            part.tree.siblings.made(part.tree.store, path)
        return created, node


def stage(part: FilePart, path: str, content: bytes) -> Staging:
    """Content in staging, written outside the gate."""
    staged = begin_staging(part, path)
    try:
        view = memoryview(content)
        for at in range(0, len(content), CHUNK):
            staged.write(bytes(view[at : at + CHUNK]))
    except BaseException:
        staged.discard()
        raise
    return staged


def make_parents(part: FilePart, frame: Frame, path: str) -> None:
    """Make the directories above `path` that are missing."""
    store, missing = part.tree.store, list[str]()
    parent = path.rpartition("/")[0]
    while parent and not _exists(store, parent):
        missing.append(parent)
        parent = parent.rpartition("/")[0]
    for directory in reversed(missing):
        frame.mkdir(directory)
        part.tree.siblings.made(store, directory)


def begin_staging(part: FilePart, path: str) -> Staging:
    """An empty staging of the part's frame."""
    with part.changing(path) as frame:
        return frame.stage()


def _exchange(part: FilePart, path: str, before: Node, old: bytes, content: bytes) -> Node:
    """Publish content that was made from the content of `before`, unless somebody has written the file since."""
    staged = stage(part, path, content) if len(content) > _STREAMED else content
    with part.changing(path) as frame:
        if part.tree.store.node(path).identity != before.identity:
            raise FileConflict(path)
        return frame.put(path, staged, replacing=old)


def _text_of(part: Access, text: str, encoding: str) -> tuple[str, bytes, str, Node]:
    path, content, node = held(part, text, "change it through open_read and open_write")
    facts = part.tree.facts.of(node, content)
    return path, content, decode(path, content, facts.has_nul, encoding), node


def _current(part: FilePart, path: str, digest: str) -> Stamp | None:
    """What is known of a path, if it is known of this content."""
    known = part.seen(path)
    return known if known is not None and known.digest == digest else None


def _exists(store: Store, path: str) -> bool:
    try:
        store.node(path)
    except FileNotFoundError:
        return False
    return True


def _require_directory(part: FilePart, path: str, text: str, is_directory: bool) -> None:
    if is_directory and path and part.tree.store.node(path, follow=False).kind != "directory":
        raise error(errno.ENOTDIR, text)


def check_names(part: FilePart, path: str, *, moved: str | None = None) -> str | None:
    """Refuse to make names that Windows or macOS cannot hold, or not beside what is there; `moved` will be gone.

    What is there already may be used. Gives a directory that could not stay beside the new names, and has nothing in it once
    that is moved.
    """
    if not part.tree.portable_names:
        return None
    store = part.tree.store
    if unportable_name(path) is not None:
        _check_each_name(store, path)
    while path:
        directory, _, name = path.rpartition("/")
        gone = moved.rpartition("/")[2] if moved and moved.rpartition("/")[0] == directory else None
        try:
            twin = part.tree.siblings.twin(store, directory, name, but=gone)
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
    while path and not _exists(store, path):
        path, _, last = path.rpartition("/")
        name = unportable_name(last)
        if name is not None:
            raise PathRefused(f"{path}/{last}" if path else last, f"has a name that Windows cannot hold, {name!r}")


def _forget_beneath(part: FilePart, path: str) -> None:
    part.note(path, None)
    for noted in list(part.noted()):
        if noted.startswith(path + "/"):
            part.note(noted, None)
