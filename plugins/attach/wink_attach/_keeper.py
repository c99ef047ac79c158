"""Bring the baseline up to date, and tell in what a workspace differs from it.

What the watch heard of is looked at, and where it is not whole, everything. Whatever a comparison finds is told once: who asked
notes it with `take`, when it stands in the record. What is not looked at in time to be kept is seen, but cannot be undone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from wink.filesystem import git_index_meaning
from wink_attach._baseline import Baseline, Entry
from wink_attach._beside import Beside
from wink_attach._tree import LARGEST, Tree
from wink_attach._watch import Watch

_SLICE: Final = 32
_CLOSED: Final = "closed"
_COARSE: Final = 50_000_000
"""Nanoseconds that the times of files may lag behind the clock."""


class Difference(NamedTuple):
    """A path that is not what it was. `content` is what it holds now, where that is to be kept.

    One that `is_secret` is only named, and cannot be undone: a rule denies to read it, or it could not be read before. So is one
    that `is_beside`, a directory of dependencies or builds in which something has changed.
    """

    path: str
    before: Entry | None
    after: Entry | None
    content: bytes | None = None
    is_secret: bool = False
    is_beside: bool = False


class IsSecret(Protocol):
    """Whether a rule denies to read what is at a path, or, `by_name`, at whatever is called so."""

    def __call__(self, path: str, /, *, by_name: bool) -> bool: ...


class Keeper:
    """The baseline of a workspace, the watch over it, and what has still to be read."""

    def __init__(self, tree: Tree, baseline: Baseline, is_secret: IsSecret) -> None:
        self._tree, self.baseline = tree, baseline
        self._secret = is_secret
        self.watch = Watch()
        self._beside = Beside(tree)
        self._unread: dict[str, None] = {}
        self._dirty: set[str] = set()
        # Directories that cannot be looked into: since when nobody has known what is in them, and when they were changed
        # last, in nanoseconds; and the paths that were found in one when it could be, changed since then.
        noted = json.loads(baseline.fact(_CLOSED) or "{}")
        self._closed: dict[str, tuple[int, int]] = {path: tuple(one) for path, one in noted.get("places", {}).items()}
        self._late: set[str] = set(noted.get("late", ()))
        self._since = 0

    def close(self) -> None:
        """Note what is known, and let go."""
        self.watch.close()
        self.baseline.close()

    def begin(self) -> None:
        """Watch everything, and see what there is: of what is known already, what differs; the rest is read by `work`."""
        entries, met = self.baseline.entries, set[str]()
        is_new = self.baseline.is_new
        self._reopen()
        self._since = time.time_ns() if is_new else 0
        passed = set[str]()
        for inside in self._tree.walk(entering=self.watch.add, refused=self._refused, passed=passed):
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
                elif status.is_file and (not known.digest or path in self.baseline.unkept):
                    self._unread[path] = None
        self._dirty |= entries.keys() - met
        self._beside.know(sorted(passed), self.watch)
        self._since = 0
        self._note_closed()
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
        return bool(
            self._dirty
            or self.watch.paths
            or self.watch.fresh
            or self._beside.changed
            or not self.watch.is_whole
            or any(self._tree.changed_ns(path) != changed for path, (_, changed) in self._closed.items())
        )

    def differences(self) -> list[Difference]:
        """All that is not as the baseline has it, by path; what was looked at before and not taken is told again."""
        self._gather()
        found: list[Difference] = []
        for path in sorted(self._dirty):
            try:
                one = self._difference(path)
            except OSError:  # it is told when it can be looked at again
                if any(path.startswith(f"{directory}/") for directory in self._closed):
                    self._dirty.discard(path)  # until that can be looked into
                continue
            if one is None:
                self._dirty.discard(path)
            else:
                found.append(one)
        self.baseline.commit()
        return found + [Difference(path, None, None, is_beside=True) for path in sorted(self._beside.changed)]

    def take(self, found: Iterable[Difference]) -> None:
        """From now on this is how it was."""
        found = tuple(found)
        self._beside.know([one.path for one in found if one.is_beside], self.watch)
        for one in found:
            self._dirty.discard(one.path)
            self._late.discard(one.path)
            self._unread.pop(one.path, None)
            if one.after is None:
                self.baseline.drop(one.path)
            else:
                self.baseline.put(one.path, one.after, one.content)
        self._note_closed()
        self.baseline.commit()

    def _gather(self) -> None:
        """Take over what was heard, and look into directories that are new."""
        self._reopen()
        self.watch.listen()
        if not self.watch.is_whole:
            self._look_everywhere()
        watch = self.watch
        while watch.paths or watch.fresh:
            heard, fresh = watch.paths, watch.fresh
            watch.paths, watch.fresh = set(), set()
            self._dirty |= {path for path in heard if self._tree.is_kept(path)}
            self._beside.heard(heard, watch)
            for directory in sorted(fresh):
                if self._tree.is_kept(directory) or directory == ".git":
                    self._look_into(directory)
            watch.listen()

    def _look_into(self, directory: str) -> None:
        beneath = f"{directory}/"
        self._dirty |= {path for path in self.baseline.entries if path.startswith(beneath)}
        for inside in self._tree.walk(
            directory, entering=self.watch.add, refused=self._refused, passed=self._beside.changed
        ):
            self._dirty |= {path for path, _ in inside if self._tree.is_kept(path)}

    def _look_everywhere(self) -> None:
        """The watch is not whole: begin another one, and compare all."""
        self.watch.close()
        self.watch = Watch()
        met, passed = set[str](), set[str]()
        for inside in self._tree.walk(entering=self.watch.add, refused=self._refused, passed=passed):
            for path, status in inside:
                if self._tree.is_kept(path):
                    met.add(path)
                    known = self.baseline.entries.get(path)
                    if known is None or known.status != status:
                        self._dirty.add(path)
        self._dirty |= self.baseline.entries.keys() - met
        self._beside.compare(passed, self.watch)

    def _refused(self, directory: str) -> None:
        """Note a directory that cannot be looked into; one that was changed while it could not is told."""
        changed = self._tree.changed_ns(directory)
        since, before = self._closed.get(directory, (self._since, changed))
        self._closed[directory] = since, changed
        if changed != before and self._tree.is_kept(directory):
            self._late.add(directory)
            self._dirty.add(directory)

    def _reopen(self) -> None:
        """Try again to look into what could not be looked into.

        What was there all the time is new to the baseline, and no change. Of what has changed nobody knows what it was.
        """
        for directory, (since, _) in list(self._closed.items()):
            self._dirty |= {path for path in self.baseline.entries if path.startswith(f"{directory}/")}
            self._since, still = since, set[str]()

            def refused(closed: str, still: set[str] = still) -> None:
                still.add(closed)
                self._refused(closed)

            for inside in self._tree.walk(
                directory, entering=self.watch.add, refused=refused, passed=self._beside.changed
            ):
                for path, status in inside:
                    if path in self.baseline.entries or not self._tree.is_kept(path):
                        continue
                    if self._tree.changed_ns(path) < since - _COARSE:
                        self.baseline.put(path, Entry(status))
                        self._unread[path] = None
                    else:
                        self._late.add(path)
                        self._dirty.add(path)
            if directory not in still:
                del self._closed[directory]
        self._since = 0
        self._note_closed()

    def _note_closed(self) -> None:
        """Let another process know it, to which all of that would seem to be made anew."""
        noted = json.dumps({"places": self._closed, "late": sorted(self._late)} if self._closed or self._late else {})
        if noted != (self.baseline.fact(_CLOSED) or "{}"):
            self.baseline.note(_CLOSED, noted)

    def _difference(self, path: str) -> Difference | None:
        known = self.baseline.entries.get(path)
        if path in self._late:
            return self._not_kept(path, known)
        status = self._tree.status(path)
        if status is None:
            return None if known is None else Difference(path, known, None, is_secret=self._is_secret(path, known))
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
        return Difference(path, known, entry, content, self._is_secret(path, known, entry))

    def _is_secret(self, path: str, *entries: Entry | None) -> bool:
        return self._secret(path, by_name=not any(one is not None and one.status.is_file for one in entries))

    def _not_kept(self, path: str, known: Entry | None) -> Difference:
        """A change of what could not be looked at before: it is named, and from now on kept."""
        entry, content = self._look(path) or (None, None)
        return Difference(path, known, entry, content, is_secret=True)

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
        try:
            found = self._look(path, was_file=known.status.is_file)
        except OSError:
            found = None
        if found is None or found[0].status != known.status:
            self._dirty.add(path)  # it has changed meanwhile: what it was is not known
            return
        self.baseline.put(path, *found)

    def _look(self, path: str, *, was_file: bool = False) -> tuple[Entry, bytes | None] | None:
        """What is at a path now, and its content where that is to be kept; where a file was, one look does."""
        found = self._tree.read(path) if was_file else None
        status = self._tree.status(path) if found is None else found[0]
        if status is None:
            return None
        if not status.is_file:  # a FIFO is not opened: somebody may wait for its reader
            return Entry(status, target=self._tree.target(path) if not status.is_directory else ""), None
        found = found or self._tree.read(path)
        if found is None:
            return Entry(status), None  # it may not be read, and is known by its times alone
        status, content, digest = found
        if digest and self._secret(path, by_name=False):
            return Entry(status, self.baseline.keyed(digest)), None
        return Entry(status, digest), content if status.size <= LARGEST else None
