"""Bring the baseline up to date, and tell in what a workspace differs from it.

What the watch heard of is looked at, and where it is not whole, everything. Whatever a comparison finds is told once: who asked
notes it with `take`, when it stands in the record. What is not looked at in time to be kept is seen, but cannot be undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from wink.filesystem import git_index_meaning
from wink_attach._baseline import Baseline, Entry
from wink_attach._tree import LARGEST, Tree
from wink_attach._watch import Watch

_SLICE: Final = 32


class Difference(NamedTuple):
    """A path that is not what it was. `content` is what it holds now, where that is to be kept."""

    path: str
    before: Entry | None
    after: Entry | None
    content: bytes | None = None
    is_secret: bool = False


class Keeper:
    """The baseline of a workspace, the watch over it, and what has still to be read."""

    def __init__(self, tree: Tree, baseline: Baseline, is_secret: Callable[[str], bool]) -> None:
        self._tree, self.baseline = tree, baseline
        self._is_secret = is_secret
        self.watch = Watch()
        self._unread: dict[str, None] = {}
        self._dirty: set[str] = set()

    def close(self) -> None:
        """Note what is known, and let go."""
        self.watch.close()
        self.baseline.close()

    def begin(self) -> None:
        """Watch everything, and see what there is: of what is known already, what differs; the rest is read by `work`."""
        entries, met = self.baseline.entries, set[str]()
        is_new = self.baseline.is_new
        for inside in self._tree.walk(entering=self.watch.add):
            for path, status in inside:
                if not self._tree.is_kept(path):
                    continue
                met.add(path)
                known = entries.get(path)
                if known is None and is_new:
                    self.baseline.put(path, Entry(status))
                    self._unread[path] = None
                elif known is None or known.status != status:
                    self._dirty.add(path)
                elif status.is_file and not known.digest:
                    self._unread[path] = None
        self._dirty |= entries.keys() - met
        self.baseline.note("complete", "yes")
        self.baseline.commit()

    @property
    def has_work(self) -> bool:
        """Whether something has still to be read."""
        return bool(self._unread)

    def work(self, seconds: float) -> None:
        """Read what has not been read yet, for so long."""
        until = time.monotonic() + seconds
        while self._unread and time.monotonic() < until:
            for path in [path for path, _ in zip(self._unread, range(_SLICE), strict=False)]:
                del self._unread[path]
                self._read(path)
        self.baseline.commit()

    def read_now(self, paths: Iterable[str]) -> None:
        """Read some files before all others, since a call names them."""
        for path in paths:
            if path in self._unread:
                del self._unread[path]
                self._read(path)
        self.baseline.commit()

    def has_news(self) -> bool:
        """Whether anything may have changed."""
        self.watch.listen()
        return bool(self._dirty or self.watch.paths or self.watch.fresh or not self.watch.is_whole)

    def differences(self) -> list[Difference]:
        """All that is not as the baseline has it, by path; what was looked at before and not taken is told again."""
        self._gather()
        found: list[Difference] = []
        for path in sorted(self._dirty):
            one = self._difference(path)
            if one is None:
                self._dirty.discard(path)
            else:
                found.append(one)
        self.baseline.commit()
        return found

    def take(self, found: Iterable[Difference]) -> None:
        """From now on this is how it was."""
        for one in found:
            self._dirty.discard(one.path)
            self._unread.pop(one.path, None)
            if one.after is None:
                self.baseline.drop(one.path)
            else:
                self.baseline.put(one.path, one.after, one.content)
        self.baseline.commit()

    def _gather(self) -> None:
        """Take over what was heard, and look into directories that are new."""
        watch = self.watch
        watch.listen()
        if not watch.is_whole:
            self._look_everywhere()
        while watch.paths or watch.fresh:
            heard, fresh = watch.paths, watch.fresh
            watch.paths, watch.fresh = set(), set()
            self._dirty |= {path for path in heard if self._tree.is_kept(path)}
            for directory in sorted(fresh):
                if self._tree.is_kept(directory) or directory == ".git":
                    self._look_into(directory)
            watch.listen()

    def _look_into(self, directory: str) -> None:
        beneath = f"{directory}/"
        self._dirty |= {path for path in self.baseline.entries if path.startswith(beneath)}
        for inside in self._tree.walk(directory, entering=self.watch.add):
            self._dirty |= {path for path, _ in inside if self._tree.is_kept(path)}

    def _look_everywhere(self) -> None:
        """The watch is not whole: begin another one, and compare all."""
        self.watch.close()
        self.watch = Watch()
        met = set[str]()
        for inside in self._tree.walk(entering=self.watch.add):
            for path, status in inside:
                if self._tree.is_kept(path):
                    met.add(path)
                    known = self.baseline.entries.get(path)
                    if known is None or known.status != status:
                        self._dirty.add(path)
        self._dirty |= self.baseline.entries.keys() - met

    def _difference(self, path: str) -> Difference | None:
        known = self.baseline.entries.get(path)
        status = self._tree.status(path)
        if status is None:
            return None if known is None else Difference(path, known, None, is_secret=self._is_secret(path))
        if known is not None and known.status == status and (known.digest or not status.is_file):
            return None
        entry, content = self._look(path) or (None, None)
        if entry is None:
            return None if known is None else Difference(path, known, None)
        if known is not None and not known.digest and known.status == entry.status and entry.status.is_file:
            self.baseline.put(path, entry, content)  # nobody has changed it: it only was not read yet
            self._unread.pop(path, None)
            return None
        if known is not None and (known.is_same_as(entry) or self._says_the_same(path, known, content)):
            self.baseline.put(path, entry, content)
            return None
        return Difference(path, known, entry, content, self._is_secret(path))

    def _says_the_same(self, path: str, known: Entry, content: bytes | None) -> bool:
        """Whether this is git's index, which git writes anew all the time, and nothing that matters has changed in it."""
        if path != ".git/index" or content is None:
            return False
        before = self.baseline.content(known)
        meaning = git_index_meaning(content)
        return before is not None and meaning is not None and git_index_meaning(before) == meaning

    def _read(self, path: str) -> None:
        known = self.baseline.entries.get(path)
        if known is None or path in self._dirty:
            return
        found = self._look(path)
        if found is None or found[0].status != known.status:
            self._dirty.add(path)  # it has changed meanwhile: what it was is not known
            return
        self.baseline.put(path, *found)

    def _look(self, path: str) -> tuple[Entry, bytes | None] | None:
        """What is at a path now, and its content where that is to be kept."""
        status = self._tree.status(path)
        if status is None:
            return None
        if not status.is_file:
            return Entry(status, target=self._tree.target(path) if not status.is_directory else ""), None
        found = self._tree.read(path)
        if found is None:
            return Entry(status), None  # it may not be read, and is known by its times alone
        status, content, digest = found
        if digest and self._is_secret(path):
            return Entry(status, self.baseline.keyed(digest)), None
        return Entry(status, digest), content if status.size <= LARGEST else None
