"""Read the two text formats of a distribution's metadata: entry points, and the header of METADATA."""

from collections.abc import Iterator
from typing import Final, NamedTuple

_ONCE: Final = ("name", "version", "summary")


# Named tuples here and in the neighbours that every command loads: a dataclass takes a millisecond to make, they 0.1 ms.
class EntryPoint(NamedTuple):
    """One line of `entry_points.txt`; `target` is empty where the line names none."""

    group: str
    name: str
    target: str


class Header(NamedTuple):
    """What wink wants to know from METADATA."""

    name: str = ""
    version: str = ""
    summary: str = ""
    requires: tuple[str, ...] = ()


def entry_points(text: str) -> Iterator[EntryPoint]:
    """The entry points of `text`, in order, malformed lines included; extras such as `[yaml]` are dropped.

    A header that nobody closed starts its group too, with a nameless entry point whose target is the line.

    >>> list(entry_points("[wink.hooks]\\n# ours\\nnotes = notes.hooks [yaml]\\nbare"))
    [EntryPoint(group='wink.hooks', name='notes', target='notes.hooks'), EntryPoint(group='wink.hooks', name='bare', target='')]
    """
    group = ""
    for raw in text.removeprefix("\ufeff").splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            group = line[1:-1].strip()
        elif line[0] == "[" and "=" not in line:
            group = line[1:].strip()
            yield EntryPoint(group, "", line)
        elif group:
            name, _, value = line.partition("=")
            yield EntryPoint(group, name.strip(), value.partition("[")[0].strip())


def header(text: str) -> Header:
    """The fields at the head of METADATA or PKG-INFO, up to the first empty line.

    >>> header("Name: wink-notes\\nVersion: 1.0\\nRequires-Dist: wink>=1\\n\\nName: in the description").name
    'wink-notes'
    """
    once: dict[str, str] = {}
    requires: list[str] = []
    for line in _unfolded(text):
        key, colon, value = line.partition(":")
        key, value = key.strip().lower(), value.strip()
        if colon and key in _ONCE:
            once.setdefault(key, value)
        elif colon and key == "requires-dist":
            requires.append(value)
    return Header(**once, requires=tuple(requires))


def _unfolded(text: str) -> Iterator[str]:
    """Header lines, with continuation lines joined to theirs."""
    current = ""
    head = text.removeprefix("\ufeff").replace("\r\n", "\n").partition("\n\n")[0]
    for line in head.splitlines():
        if not line.strip():
            break
        if line[0] in " \t":
            current += " " + line.strip()
        else:
            if current:
                yield current
            current = line
    if current:
        yield current
