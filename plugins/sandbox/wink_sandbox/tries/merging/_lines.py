"""Merge texts by three ways, by lines, as `git merge` does: what each was, what one made of it, and what another did."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeAlias

from wink.trust import program
from wink_sandbox import git_environment
from wink_sandbox.tries._marks import is_text

_SECONDS: Final = 120.0
_MOST_TEXTS: Final = 1000
_MOST_BYTES: Final = 32 << 20
"""So much is given to git at once, three versions counted as one."""
_MEMORY: Final = "/dev/shm"  # noqa: S108  (the directory made in it has a random name and is private)
_ROOM: Final = 16 * _MOST_BYTES
"""All that git makes of so much fits in, three times over."""
_ABOVE: Final = 250
"""Git marks what is in conflict with lines longer than that, so that no line of a text is taken for one of them."""
_LONG: Final = re.compile(rb"^(?:<{251,}|\|{251,}|={251,}|>{251,})", re.MULTILINE)
_COMMIT: Final = b"commit refs/heads/%b\ncommitter wink <wink> 0 +0000\ndata 0\n"
_FILE: Final = b"M 100644 inline %b\ndata %d\n%b\n"
_REFS: Final = ("base", "ours", "theirs")
_USAGE: Final = 129
"""Git's exit status where it does not know an option."""
_CONFIG: Final = {
    "core.bare": "true",
    "core.fsync": "none",
    "fastimport.unpackLimit": "0",
    "gc.auto": "0",
    "merge.renames": "false",
    "merge.directoryRenames": "false",
}

Versions: TypeAlias = tuple[bytes, bytes, bytes]
"""A text: ours, the base, theirs."""


class MergeFailed(Exception):
    """Why a text could not be merged at all."""


class MergedText(NamedTuple):
    """What becomes of a text; in the places where both changed the same lines, which are the `hunks`, it has git's markers.

    `ours` and `theirs` have the lines of one side there.
    """

    content: bytes
    ours: bytes
    theirs: bytes
    hunks: tuple[str, ...] = ()


def merge_texts(
    texts: Iterable[Versions], *, labels: tuple[str, str, str] = ("ours", "base", "theirs")
) -> Iterator[MergedText | MergeFailed | None]:
    """What becomes of each text, in order; None where one of its versions is none.

    Where they differ in how their lines end, a text is merged without regard to that, and its lines end as ours do: `git merge` has a
    conflict there. All else is what that says, of a file that has kept its name.
    """
    asked, size = list[Versions](), 0
    for versions in texts:
        asked.append(versions)
        size += max(map(len, versions))
        if len(asked) == _MOST_TEXTS or size >= _MOST_BYTES:
            yield from _answers(asked, labels)
            asked, size = [], 0
    yield from _answers(asked, labels)


def _answers(asked: Sequence[Versions], labels: tuple[str, str, str]) -> list[MergedText | MergeFailed | None]:
    known = {at: text for at, versions in enumerate(asked) if (text := _unmerged(versions)) is not None}
    hard = {at: versions for at, versions in enumerate(asked) if at not in known and all(map(is_text, versions))}
    plain = {at: _in_one_ending(versions) for at, versions in hard.items()}
    found: dict[int, MergedText | MergeFailed] = {at: MergedText(text, text, text) for at, text in known.items()}
    for at, merged in _merged(plain, labels).items():
        is_changed = plain[at] != hard[at] and _ending(hard[at][0]) == b"\r\n"
        found[at] = _returned(merged) if is_changed and isinstance(merged, MergedText) else merged
    return [found.get(at) for at in range(len(asked))]


def _unmerged(versions: Versions) -> bytes | None:
    """What becomes of a text that no more than one side has changed, or both alike."""
    ours, base, theirs = versions
    if not all(map(is_text, versions)):
        return None
    return ours if theirs in (ours, base) else theirs if ours == base else None


def _in_one_ending(versions: Versions) -> Versions:
    endings = {ending for text in versions if (ending := _ending(text)) is not None}
    if len(endings) < 2 or b"" in endings:
        return versions
    ours, base, theirs = (text.replace(b"\r\n", b"\n") for text in versions)
    return ours, base, theirs


def _ending(text: bytes) -> bytes | None:
    """How all lines end, nothing where they end differently, None where there is but one."""
    lines, with_return = text.count(b"\n"), text.count(b"\r\n")
    if not lines:
        return None
    return b"\r\n" if with_return == lines else b"\n" if not with_return else b""


def _returned(text: MergedText) -> MergedText:
    content, ours, theirs = (one.replace(b"\n", b"\r\n") for one in (text.content, text.ours, text.theirs))
    return MergedText(content, ours, theirs, text.hunks)


def _merged(texts: Mapping[int, Versions], labels: tuple[str, str, str]) -> dict[int, MergedText | MergeFailed]:
    """What git makes of texts that both sides have changed; where it fails, it is asked for each alone."""
    if not texts:
        return {}
    try:
        with TemporaryDirectory(prefix="wink-merge-", dir=_memory()) as place:
            return dict(_Merge(place, texts).results(labels))
    except (MergeFailed, OSError) as error:
        if len(texts) == 1:
            why = error if isinstance(error, MergeFailed) else MergeFailed(error.strerror or type(error).__name__)
            return dict.fromkeys(texts, why)
    return {at: one for at, versions in texts.items() for one in _merged({at: versions}, labels).values()}


def _memory() -> str | None:
    """Where git makes a file for each text soonest; None for where other temporary files are."""
    try:
        found = os.statvfs(_MEMORY)
    except OSError:
        return None
    return _MEMORY if found.f_bavail * found.f_frsize >= _ROOM and os.access(_MEMORY, os.W_OK | os.X_OK) else None


class _Merge:
    """One merge by git of a commit with all of our texts and one with all of theirs, in a repository of its own."""

    def __init__(self, place: str, texts: Mapping[int, Versions]) -> None:
        self._place, self._texts = place, texts
        # The length of the markers is asked of each file by its name.
        self._lengths = {at: _length(versions) for at, versions in texts.items()}
        self._names = {at: f"{at}.{length}" for at, length in self._lengths.items()}

    def results(self, labels: tuple[str, str, str]) -> Iterator[tuple[int, MergedText]]:
        """Each text."""
        self._import()
        contents, conflicts = self._contents("merge")
        # With the base in the markers git finds more in conflict: that is for people, and does not decide.
        marked = self._contents("diff3")[0] if conflicts else {}
        for at, name in self._names.items():
            content = contents[name]
            if name not in conflicts:
                yield at, MergedText(content, content, content)
                continue
            length = self._lengths[at]
            (ours, _, theirs), found = self._texts[at], _places(length)
            hunks = [_hunk(place, labels) for place in found.finditer(marked[name])]
            told = iter(hunks)
            yield (
                at,
                MergedText(
                    found.sub(lambda _, told=told: next(told), marked[name]),
                    _taken(content, found, "ours", ours),
                    _taken(content, found, "theirs", theirs),
                    tuple(hunk.decode("utf-8", "backslashreplace") for hunk in hunks),
                ),
            )

    def _import(self) -> None:
        for name in ("refs", "objects", "info"):
            os.mkdir(f"{self._place}/{name}")
        lengths = sorted(set(self._lengths.values()))
        attributes = "".join(f"*.{length} conflict-marker-size={length}\n" for length in lengths)
        for name, text in {"HEAD": "ref: refs/heads/none\n", "info/attributes": attributes}.items():
            with open(f"{self._place}/{name}", "x") as file:
                file.write(text)
        with open(f"{self._place}/stream", "xb") as stream:
            for ref, version in zip(_REFS, (1, 0, 2), strict=True):
                stream.write(_COMMIT % ref.encode())
                if ref != "base":
                    stream.write(b"from refs/heads/base\n")
                stream.writelines(
                    _FILE % (self._names[at].encode(), len(versions[version]), versions[version])
                    for at, versions in self._texts.items()
                )
        self._run("fast-import", "--quiet", said=f"{self._place}/stream")

    def _contents(self, style: str) -> tuple[dict[str, bytes], frozenset[str]]:
        """The merged files by name, and the names of those in conflict."""
        words = ("merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", "ours", "theirs")
        tree, *conflicts = self._run(*words, style=style, fine=(0, 1)).decode().split("\0")
        listed = self._run("ls-tree", "-z", tree.strip()).decode().split("\0")[:-1]
        blobs = {name: facts.split()[2] for facts, _, name in (line.partition("\t") for line in listed)}
        with open(f"{self._place}/{style}", "x") as asked:
            asked.writelines(f"{blob}\n" for blob in blobs.values())
        said, at, contents = self._run("cat-file", "--batch", said=f"{self._place}/{style}"), 0, dict[str, bytes]()
        for name in blobs:
            start = said.index(b"\n", at) + 1
            size = int(said[at:start].split()[2])
            contents[name] = said[start : start + size]
            at = start + size + 1
        return contents, frozenset(conflicts) & contents.keys()

    def _run(
        self, command: str, *words: str, said: str = os.devnull, style: str = "merge", fine: tuple[int, ...] = (0,)
    ) -> bytes:
        settings = _CONFIG | {"merge.conflictStyle": style}
        config = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        git = program("git")
        if git is None:
            raise MergeFailed("git is not installed, which merges texts; apt-get install git")
        try:
            with open(said, "rb") as file:
                done = subprocess.run(
                    [git, *config, command, *words],
                    stdin=file,
                    capture_output=True,
                    env=git_environment(self._place),
                    cwd=self._place,
                    timeout=_SECONDS,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise MergeFailed(f"git {command} was not done after {_SECONDS:.0f} s") from None
        if done.returncode == _USAGE:
            raise MergeFailed("git is older than 2.38; upgrade it")
        if done.returncode not in fine:
            lines = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
            raise MergeFailed(f"git {command} failed: {lines[0] if lines else f'exit status {done.returncode}'}")
        return done.stdout


def _length(versions: Versions) -> int:
    """How long the markers have to be for no line of a text to be one."""
    taken = {len(line) for text in versions for line in _LONG.findall(text)}
    return next(length for length in range(_ABOVE + 1, _ABOVE + 2 + len(taken)) if length not in taken)


def _places(length: int) -> re.Pattern[bytes]:
    return re.compile(
        rb"^<{%d} ours(?P<end>\r?\n)(?P<ours>(?s:.*?))(?:^\|{%d}(?: [^\n]*)?\n(?P<base>(?s:.*?)))?^={%d}\r?\n(?P<theirs>(?s:.*?))^>{%d} theirs\r?\n"
        % (length, length, length, length),
        re.MULTILINE,
    )


def _hunk(place: re.Match[bytes], labels: tuple[str, str, str]) -> bytes:
    ours, base, theirs = (label.encode() for label in labels)
    end = place["end"]
    return b"".join((
        b"<<<<<<< " + ours + end, place["ours"], b"||||||| " + base + end, place["base"],
        b"=======" + end, place["theirs"], b">>>>>>> " + theirs + end,
    ))  # fmt: skip


def _taken(content: bytes, found: re.Pattern[bytes], side: str, text: bytes) -> bytes:
    """One side's lines in the places in conflict, the last of which ends as it does there."""
    last = text.rpartition(b"\n")[2]

    def lines(place: re.Match[bytes]) -> bytes:
        if place.end() != len(content) or not last or not place[side]:
            return place[side]
        made = place[side].removesuffix(b"\n")
        return made if made.endswith(last) else made.removesuffix(b"\r")

    return found.sub(lines, content)
