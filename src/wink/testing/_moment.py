"""What files, state and resources are at one moment, and what is different at another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wink.dataclass import dataclass
from wink.filesystem import Filesystem
from wink.testing._harness import Harness


@dataclass(frozen=True)
class Moment:
    """Everything that a call which fails has to leave as it was.

    `files` has kind, mode and content for each path, `state` the items of each slice that rolls back, and `resources`
    what those resources say that can be rolled back, as far as that can be compared.
    """

    files: Mapping[str, tuple[str, int, object]]
    state: Mapping[type, tuple[Any, ...]]
    resources: Mapping[type, object]

    @classmethod
    def of(cls, harness: Harness) -> Moment:
        """What is now."""
        return cls(_files(harness.filesystem), harness.facts(), _resources(harness))

    def differences(self, later: Moment) -> tuple[str, ...]:
        """What is not the same later, in words; a resource that was made in between is no difference."""
        found = [_told(f"the file {path!r}", self.files.get(path), later.files.get(path)) for path in
                 sorted({*self.files, *later.files})]  # fmt: skip
        for cls in dict.fromkeys((*self.state, *later.state)):
            found.append(_told(f"the slice {cls.__qualname__}", self.state.get(cls), later.state.get(cls)))
        for cls, said in self.resources.items():
            found.append(_told(f"the resource {cls.__qualname__}", said, later.resources.get(cls, said)))
        return tuple(filter(None, found))


def _told(what: str, before: object, after: object) -> str:
    if before == after:
        return ""
    if before is None:
        return f"{what} is there: {_short(after)}"
    return f"{what} is gone" if after is None else f"{what} was {_short(before)} and is {_short(after)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _files(files: Filesystem) -> dict[str, tuple[str, int, object]]:
    found: dict[str, tuple[str, int, object]] = {}
    waiting = ["."]
    while waiting:
        for entry in files.list(waiting.pop(), limit=1_000_000):
            if entry.is_link:
                target = files.stat(entry.path).target if entry.is_file or entry.is_directory else None
                found[entry.path] = ("link", 0, target)
                continue
            mode = files.stat(entry.path).mode
            if entry.is_directory:
                waiting.append(entry.path)
                found[entry.path] = ("directory", mode, None)
            else:
                found[entry.path] = ("file", mode, files.read_bytes(entry.path))
    return found


def _resources(harness: Harness) -> dict[type, object]:
    said = {
        protocol: resource.snapshot()
        for protocol, resource in harness.prompt.resources.snapshotables()
        if not isinstance(resource, Filesystem)
    }
    return {protocol: snapshot for protocol, snapshot in said.items() if type(snapshot).__eq__ is not object.__eq__}
