"""Replace text in a text, keeping its newlines, and tell which lines that touches."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from wink.errors import EditFailed
from wink.filesystem._stamps import Ranges, shifted

MAX_REPLACEMENTS: Final = 1_000_000
"""As many as can be remembered at once."""


class Place(NamedTuple):
    """One occurrence: lines `start` up to, not including, `end` became lines `start` up to `new_end`; counted from 0."""

    start: int
    end: int
    new_end: int


class Edit(NamedTuple):
    """The new text, and the places in the old one, ascending."""

    text: str
    places: tuple[Place, ...]

    def shifted(self, ranges: Ranges) -> Ranges:
        """Lines known of the old text as lines known of the new one."""
        for place in reversed(self.places):
            ranges = shifted(ranges, place.start, place.end, place.new_end)
        return ranges


class TooLong(Exception):
    """An edit would make more of a text than may be held."""


def check_words(path: str, old: str, new: str) -> None:
    """Raise `EditFailed` for an edit that means nothing, whatever is in the file."""
    if not old:
        raise EditFailed(path, "the text to replace is empty; write the file as a whole instead")
    if old.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        raise EditFailed(path, "the old and the new text are the same")


def edited(path: str, text: str, old: str, new: str, *, replace_all: bool = False, most: int | None = None) -> Edit:
    r"""Replace `old`, which must be there once unless `replace_all`, by `new`; raises `EditFailed`.

    Raises `TooLong`, before it is made, for a text of more than `most` characters.

    Newlines are those of the file: whether `old` and `new` have `\n` or `\r\n` makes no difference in a file that has
    only one of them, and elsewhere new lines end as those that they replace.

    >>> edited("a.txt", "one\r\ntwo\r\n", "two\n", "2\nthree\n").text
    'one\r\n2\r\nthree\r\n'
    """
    check_words(path, old, new)
    plain_old, plain_new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    crlf = text.count("\r\n")
    if not crlf:
        return _replace(path, text, plain_old, new, replace_all, most)
    if crlf == text.count("\n"):
        plain = _replace(path, text.replace("\r\n", "\n"), plain_old, plain_new, replace_all, most)
        return Edit(plain.text.replace("\n", "\r\n"), plain.places)
    spans = _counted(path, spans_of(text, plain_old))
    news = (plain_new, plain_new.replace("\n", "\r\n"))
    made = [news[is_crlf] for is_crlf in _kinds(text, spans)]
    return _assemble(path, text, plain_old, spans, made, replace_all, most)


def find_lines(path: str, text: str, old: str) -> tuple[tuple[int, int], ...]:
    """The lines, half-open and counted from 0, of each occurrence of `old`, found as `edited` finds it.

    Raises `EditFailed` for too many of them.

    >>> find_lines("a.txt", "a\\nb\\nc\\n", "b\\nc")
    ((1, 3),)
    """
    if not old:
        return ()
    try:
        # Any text that is not `old` will do: the places in the old text do not depend on it, but for its last newline.
        edit = edited(path, text, old, old + "\0\n" if old.endswith("\n") else old + "\0", replace_all=True)
    except EditFailed:
        if next(spans_of(text, old.replace("\r\n", "\n")), None) is not None:
            raise
        return ()
    return tuple((place.start, place.end) for place in edit.places)


def spans_of(text: str, old: str) -> Iterator[tuple[int, int]]:
    """Where `old`, whose newlines are plain, stands in a text in which they may be of either kind."""
    # Where in the text with plain newlines those are that had been two characters.
    shortened = array("Q")
    at = text.find("\r\n")
    while at >= 0:
        shortened.append(at - len(shortened))
        at = text.find("\r\n", at + 2)
    plain = text.replace("\r\n", "\n") if shortened else text
    for start, end in _exactly(plain, old):
        yield start + bisect_left(shortened, start), end + bisect_left(shortened, end)


def too_often(path: str) -> EditFailed:
    """Why a text that is there very often is not replaced."""
    return EditFailed(path, f"the text to replace is there more than {MAX_REPLACEMENTS} times; give a longer one")


def several(path: str, lines: Sequence[int]) -> EditFailed:
    """Why a text that is there several times, in these lines from 0 on, is not replaced."""
    shown = ", ".join(str(line + 1) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
    return EditFailed(
        path,
        f"the text to replace is there {len(lines)} times (lines {shown}); "
        "give more of the lines around the one that is meant, or set replace_all",
        tuple(line + 1 for line in lines),
    )


def _replace(path: str, text: str, old: str, new: str, replace_all: bool, most: int | None) -> Edit:
    """Replace in a text that has one kind of newline."""
    spans = _counted(path, _exactly(text, old))
    return _assemble(path, text, old, spans, [new] * len(spans), replace_all, most)


def _exactly(text: str, old: str) -> Iterator[tuple[int, int]]:
    at = text.find(old)
    while at >= 0:
        yield at, at + len(old)
        at = text.find(old, at + len(old))


def _counted(path: str, found: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    spans = list(islice(found, MAX_REPLACEMENTS + 1))
    if len(spans) > MAX_REPLACEMENTS:
        raise too_often(path)
    return spans


def _kinds(text: str, spans: list[tuple[int, int]]) -> Iterator[bool]:
    """For each span, whether its newline, else the one that ends its line, is two characters."""
    # Looked for once for all spans of a line: there may be a million in a line of many megabytes.
    newline, last = -1, text.rfind("\n")
    for start, _ in spans:
        if newline < start <= last:
            newline = text.find("\n", start)
        at = newline if newline >= start else last
        yield at > 0 and text[at - 1] == "\r"


def _assemble(
    path: str, text: str, old: str, spans: list[tuple[int, int]], news: list[str], replace_all: bool, most: int | None
) -> Edit:
    starts = _lines_of(text, spans)
    if not spans:
        raise EditFailed(path, *_explain_absence(text, old))
    if len(spans) > 1 and not replace_all:
        raise several(path, starts)
    if most is not None and len(text) + sum(map(len, news)) - sum(end - begin for begin, end in spans) > most:
        raise TooLong
    pieces: list[str] = []
    places: list[Place] = []
    done, total = 0, _count(text)
    for (begin, end), line, new in zip(spans, starts, news, strict=True):
        pieces += (text[done:begin], new)
        done = end
        # The rest of the last line stays; it belongs to the place unless the place ends with its line, before and after.
        whole = text[end - 1] == "\n" and (new.endswith("\n") or (not new and text[begin - 1 : begin] in ("", "\n")))
        last = line + text.count("\n", begin, end)
        new_last = line + new.count("\n")
        places.append(Place(line, min(last + (not whole), total), new_last + (not whole)))
    pieces.append(text[done:])
    return Edit("".join(pieces), tuple(places))


def _lines_of(text: str, spans: list[tuple[int, int]]) -> list[int]:
    lines: list[int] = []
    line = at = 0
    for begin, _ in spans:
        line += text.count("\n", at, begin)
        at = begin
        lines.append(line)
    return lines


def _count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def _explain_absence(text: str, old: str) -> tuple[str, tuple[int, ...]]:
    """Why `old` is not found, pointing at where all but the spaces fits."""
    wanted, have = _respaced(old.strip("\n")), _respaced(text)
    # Found as text, which takes linear time: comparing line by line takes hours where many lines are alike.
    at = have.find(wanted) if wanted.strip("\n") else -1
    if at >= 0:
        line = have.count("\n", 0, at) + 1
        return (
            f"the text to replace is not in the file as given, but line {line} differs only in spaces; "
            "copy the text exactly, with its indentation"
        ), (line,)
    return "the text to replace is not in the file; read it again and copy the text exactly", ()


def _respaced(text: str) -> str:
    """Text with a newline before and after each line, and one space for every stretch of them."""
    return "".join(["\n", *(" ".join(line.split()) + "\n" for line in text.split("\n"))])
