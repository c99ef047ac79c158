"""Merge, as `wink accept` does, what the merge commits of a repository merged, and compare with what `git merge` makes of them.

    python tests/real/merges.py REPOSITORY [MOST]

takes up to MOST (1,000) merge commits that have one base and a file which both sides changed. For each such file both say
whether it is a conflict, and where it is none, what the file becomes. Renames are left out on both sides: they are no matter of lines.
A file whose versions end their lines differently, and which git has a conflict in, is counted and not compared.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import IO, Final, Self

from wink_sandbox.tries import MergedText, merge_texts

_QUIET: Final = (
    "-c",
    "merge.renames=false",
    "-c",
    "merge.directoryRenames=false",
    "-c",
    "core.attributesFile=/dev/null",
)
_NONE: Final = "0"


class Repository:
    """A repository, read by git."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        batch = subprocess.Popen(self._command("cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert batch.stdin is not None
        assert batch.stdout is not None
        self._batch, self._asked, self._answers = batch, batch.stdin, batch.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._batch.__exit__(None, None, None)

    def _command(self, *words: str) -> list[str]:
        return ["git", "-C", self._directory, *_QUIET, *words]

    def said(self, *words: str, fine: tuple[int, ...] = (0,)) -> bytes:
        """What git prints."""
        done = subprocess.run(self._command(*words), capture_output=True, check=False)
        if done.returncode not in fine:
            raise SystemExit(done.stderr.decode())
        return done.stdout

    def blob(self, name: str) -> bytes:
        """A file's content."""
        self._asked.write(f"{name}\n".encode())
        self._asked.flush()
        return _read(self._answers)

    def merges(self) -> Iterator[tuple[str, str, str]]:
        """Base and both sides of each merge commit that has one base, the last ones first."""
        for line in self.said("rev-list", "--merges", "--parents", "--all").decode().splitlines():
            _, *parents = line.split()
            if len(parents) == 2:
                bases = self.said("merge-base", "--all", *parents, fine=(0, 1)).decode().split()
                if len(bases) == 1:
                    yield bases[0], parents[0], parents[1]

    def changes(self, one: str, other: str) -> dict[str, tuple[str, str, str]]:
        """The files that differ, each with the new mode and both blobs."""
        fields = (
            self.said("diff-tree", "-r", "-z", "--no-renames", one, other)
            .decode("utf-8", "surrogateescape")
            .split("\0")
        )
        found: dict[str, tuple[str, str, str]] = {}
        for at in range(0, len(fields) - 1, 2):
            _, mode, old, new, _ = fields[at].split()
            found[fields[at + 1]] = mode, old, new
        return found

    def merged(self, ours: str, theirs: str) -> tuple[str, frozenset[str]]:
        """The tree that `git merge` makes, and the paths in conflict."""
        words = ("merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", ours, theirs)
        tree, *paths = self.said(*words, fine=(0, 1)).decode("utf-8", "surrogateescape").split("\0")
        return tree.strip(), frozenset(path for path in paths if path)


def _read(answers: IO[bytes]) -> bytes:
    size = int(answers.readline().split()[2])
    content = answers.read(size)
    answers.read(1)
    return content


def compare(directory: str, most: int) -> int:
    """Print what was compared and where the two differ; the number of differences."""
    seen, different = Counter[str](), list[str]()
    with Repository(directory) as repository:
        for base, ours, theirs in repository.merges():
            here, there = repository.changes(base, ours), repository.changes(base, theirs)
            both = {
                path: (here[path], there[path])
                for path in here.keys() & there.keys()
                if here[path][2] != there[path][2]
                and not any(set(name) == {_NONE} for name in (*here[path][1:], there[path][2]))
            }
            if not both:
                continue
            seen["merges"] += 1
            tree, conflicts = repository.merged(ours, theirs)
            results = repository.changes(base, tree)
            names = {
                path: (left, old, right)
                for path, ((mode, old, left), (_, _, right)) in both.items()
                if not mode.startswith(("12", "16"))
            }
            texts = {path: [repository.blob(name) for name in versions] for path, versions in names.items()}
            merges = merge_texts((left, old, right) for left, old, right in texts.values())
            for (path, versions), merged in zip(texts.items(), merges, strict=True):
                is_clean = isinstance(merged, MergedText) and not merged.hunks
                seen["files"] += 1
                seen["conflicts"] += path in conflicts
                if path in conflicts and len({b"\r\n" in text for text in versions}) > 1:
                    seen["line ends"] += 1  # what conflicts for git only because lines end differently is merged
                elif is_clean != (path not in conflicts):
                    different.append(
                        f"{ours[:9]} {theirs[:9]} {path}: {'merged' if is_clean else 'conflict'}, git says otherwise"
                    )
                elif is_clean and isinstance(merged, MergedText):
                    wanted = repository.blob(results[path][2]) if path in results else versions[1]
                    if wanted != merged.content:
                        different.append(f"{ours[:9]} {theirs[:9]} {path}: other lines than git's")
            if seen["merges"] >= most:
                break
    for line in different:
        print(line)
    print(
        f"{seen['merges']} merges, {seen['files']} files, {seen['conflicts']} in conflict, "
        f"{seen['line ends']} of them where lines end differently: {len(different)} differences"
    )
    return len(different)


if __name__ == "__main__":
    raise SystemExit(min(compare(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000), 1))
