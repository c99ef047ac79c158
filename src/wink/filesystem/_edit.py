"""Replace text in a file, and note which lines of the new content are known.

A file that is small is held, of a large one a piece at a time.
"""

from __future__ import annotations

from typing import Final

from wink.errors import WriteTooLarge
from wink.filesystem._facts import Facts
from wink.filesystem._reading import MAX_HELD, decode, existing, has_plain_newlines
from wink.filesystem._replacing import TooLong, check_words, edited, find_lines
from wink.filesystem._results import EditResult
from wink.filesystem._stamps import Ranges, Stamp
from wink.filesystem._transaction import FileTransaction
from wink.filesystem._writing import current, exchange, staging

_UNBOUNDED: Final = 1 << 62


def edit(
    files: FileTransaction, text: str, old: str, new: str, replace_all: bool, encoding: str, max_growth: int | None
) -> EditResult:
    """Replace text in a file, which may become longer by `max_growth` bytes."""
    path = existing(files, text)
    content, before = files.tree.store.read(path, MAX_HELD)
    most = min(files.tree.max_file_bytes, _UNBOUNDED if max_growth is None else before.size + max_growth)
    if content is None:
        return _streamed(files, path, old, new, replace_all, encoding, most)
    was = files.tree.facts.of(before, content)
    decoded = decode(path, content, was.has_nul, encoding)
    try:
        change = edited(path, decoded, old, new, replace_all=replace_all, most=min(MAX_HELD, most))
    except TooLong:
        return _streamed(files, path, old, new, replace_all, encoding, most)
    encoded = change.text.encode(encoding)
    if len(encoded) > most:
        raise WriteTooLarge(path, len(encoded), most)
    node = exchange(files, path, before, content, encoded)
    facts = files.tree.facts.of(node, encoded)
    total = facts.lines if has_plain_newlines(encoding) else change.text.count("\n") + (change.text[-1:] != "\n")
    known = current(files, path, was.digest)
    ranges = () if known is None else change.shifted(known.ranges)
    _note(files, path, known, ranges, facts, total)
    return EditResult(path, len(change.places), node.size, tuple(place.start + 1 for place in change.places))


def locate(files: FileTransaction, text: str, old: str, encoding: str) -> tuple[tuple[int, int], ...]:
    """Where an edit would find `old`; nothing is noted."""
    path = existing(files, text)
    content, node = files.tree.store.read(path, MAX_HELD)
    if content is not None:
        return find_lines(path, decode(path, content, files.tree.facts.of(node, content).has_nul, encoding), old)
    if not old:
        return ()
    from wink.filesystem._edit_streams import found_in

    stream, node = files.tree.store.open(path)
    with stream:
        found = found_in(path, stream, node.size, old, encoding)
    return tuple((place.start, place.end) for place in reversed(list(found.places(old))))


def _streamed(
    files: FileTransaction, path: str, old: str, new: str, replace_all: bool, encoding: str, most: int
) -> EditResult:
    """Replace text in a file of which one piece at a time is held."""
    from wink.filesystem._edit_streams import check_places, found_in, replaced

    check_words(path, old, new)
    stream, before = files.tree.store.open(path)
    with stream:
        found = found_in(path, stream, before.size, old, encoding)
        check_places(path, found, replace_all=replace_all)
        size = found.size_with(old, new, encoding)
        if size > most:  # before any of it is written
            raise WriteTooLarge(path, size, most)
        stream.seek(0)
        with staging(files, path) as staged:
            facts, total = replaced(path, stream, found, new, encoding, staged.write)
            if facts.size > most:
                raise WriteTooLarge(path, facts.size, most)
            node = exchange(files, path, before, found.facts.digest, staged)
    files.tree.facts.learn(node, facts)
    known = current(files, path, found.facts.digest)
    ranges = () if known is None else found.shifted(known.ranges, new)
    _note(files, path, known, ranges, facts, total)
    return EditResult(path, len(found.lines), node.size, tuple(line + 1 for line in found.lines))


def _note(files: FileTransaction, path: str, known: Stamp | None, ranges: Ranges, facts: Facts, total: int) -> None:
    """Note what is known of the new content, where something was of the old one."""
    if known is None:
        files.observe(path, None)
        return
    complete = known.complete or not total or ranges == ((0, total),)
    ranges = ((0, total),) if complete and total else ranges
    files.observe(path, Stamp(path, facts.digest, facts.size, ranges, complete, total, "write"))
