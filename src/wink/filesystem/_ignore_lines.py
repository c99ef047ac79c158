"""Read the lines of a `.gitignore` file as git reads them (gitignore(5); dir.c and wildmatch.c in its source)."""

from __future__ import annotations

import string
from typing import Final, NamedTuple

_MOST_STARS: Final = 32
_SPECIAL: Final = b"*?[\\"
_CLASSES: Final = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, (*range(32), 127))),
    b"digit": string.digits,
    b"graph": string.ascii_letters + string.digits + string.punctuation,
    b"lower": string.ascii_lowercase,
    b"print": string.ascii_letters + string.digits + string.punctuation + " ",
    b"punct": string.punctuation,
    b"space": " \t\n\r\v\f",
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}


class IgnoreLine(NamedTuple):
    """One rule: a regular expression over the bytes of a path, relative to the file that it stands in."""

    expression: bytes
    takes_back: bool = False
    directories_only: bool = False


def ignore_lines(text: bytes) -> list[IgnoreLine]:
    r"""The rules in the text of a file; what can never match is left out.

    >>> for line in ignore_lines(b"# built\n/build/\n!*.py\n"):
    ...     print(line)
    IgnoreLine(expression=b'build', takes_back=False, directories_only=True)
    IgnoreLine(expression=b'(?:.*/)?[^/]*\\x2epy', takes_back=True, directories_only=False)
    """
    found: list[IgnoreLine] = []
    for whole in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = _without_spaces(whole.removesuffix(b"\r"))
        if not line or line.startswith(b"#") or line.count(b"*") > _MOST_STARS:
            continue
        takes_back = line.startswith(b"!")
        line = line[takes_back:]
        directories_only = line.endswith(b"/")
        line = line[:-1] if directories_only else line
        expression = _beneath(line) if b"/" in line else _by_name(line)
        if expression is not None:
            found.append(IgnoreLine(expression, takes_back, directories_only))
    return found


def _without_spaces(line: bytes) -> bytes:
    """Spaces at the end do not count, unless there is a backslash before them."""
    end = at = 0
    while at < len(line):
        if line[at : at + 1] == b"\\":
            at += 1
            if at == len(line):
                return line
            end = at + 1
        elif line[at : at + 1] != b" ":
            end = at + 1
        at += 1
    return line[:end]


def _by_name(pattern: bytes) -> bytes | None:
    """A pattern without a slash is about names at any depth."""
    expression = _translated(pattern, 0) if pattern else None
    return None if expression is None else b"(?:.*/)?" + expression


def _beneath(pattern: bytes) -> bytes | None:
    """A pattern with a slash is about paths from the file's own directory on."""
    pattern = pattern.removeprefix(b"/")
    # What comes before the first wildcard is compared by itself, so that two stars right after it are at a beginning.
    plain = next((at for at in range(len(pattern)) if pattern[at] in _SPECIAL), len(pattern))
    return _translated(pattern, plain)


def _translated(pattern: bytes, beginning: int) -> bytes | None:
    out: list[bytes] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at : at + 1]
        at += 1
        if letter == b"\\":
            if at == len(pattern):
                return None
            out.append(_literal(pattern[at]))
            at += 1
        elif letter == b"?":
            out.append(b"[^/]")
        elif letter == b"*":
            stars = at - 1
            while pattern[at : at + 1] == b"*":
                at += 1
            rest = pattern[at:]
            is_alone = stars in (0, beginning) or pattern[stars - 1 : stars] == b"/"
            if at - stars < 2 or not is_alone or not (rest[:1] in (b"", b"/") or rest[:2] == b"\\/"):
                out.append(b"[^/]*")
            elif rest[:1] == b"/":
                out.append(b"(?:.*/)?")
                at += 1
            else:
                out.append(b".*")
        elif letter == b"[":
            members, at = _members(pattern, at)
            if not members:
                return None
            out.append(b"[" + b"".join(b"\\x%02x" % one for one in sorted(members)) + b"]")
        else:
            out.append(_literal(letter[0]))
    return b"".join(out)


def _members(pattern: bytes, at: int) -> tuple[set[int], int]:
    """The bytes that a bracket stands for, never a slash, and where it ends; none for one that is never closed."""
    is_negated = pattern[at : at + 1] in (b"!", b"^") and at < len(pattern)
    at += is_negated
    members: set[int] = set()
    previous = 0
    is_first = True
    while is_first or pattern[at : at + 1] != b"]":
        is_first = False
        if at >= len(pattern):
            return set(), at
        one = pattern[at]
        if one == ord("\\"):
            at += 1
            if at >= len(pattern):
                return set(), at
            one = pattern[at]
            members.add(one)
        elif one == ord("-") and previous and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 1 + (pattern[at + 1 : at + 2] == b"\\")
            if at >= len(pattern):
                return set(), at
            members.update(range(previous, pattern[at] + 1))
            one = 0
        elif pattern[at : at + 2] == b"[:":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                return set(), at
            if end - at - 3 < 0 or pattern[end - 1 : end] != b":":
                members.add(one)
            else:
                named = _CLASSES.get(pattern[at + 2 : end - 1])
                if named is None:
                    return set(), at
                members.update(named.encode())
                one, at = 0, end
        else:
            members.add(one)
        previous = one
        at += 1
    members = set(range(1, 256)) - members if is_negated else members
    return members - {ord("/")}, at + 1


def _literal(byte: int) -> bytes:
    letter = bytes((byte,))
    return letter if letter.isalnum() or letter in b"/_" else b"\\x%02x" % byte
