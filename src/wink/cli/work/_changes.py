"""Add up what the calls of a run did to the files, for one diff at its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wink.filesystem import DIFFABLE_BYTES, FileChange

if TYPE_CHECKING:
    from wink.filesystem import FileVersion
    from wink.runtime import ToolInvoked


class ChangesSoFar:
    """The net change of each path over the calls that committed."""

    def __init__(self) -> None:
        self._net: dict[str, FileChange] = {}
        self.touched: set[str] = set()
        """The paths that calls named or changed, whatever became of the calls."""

    def see(self, event: ToolInvoked) -> None:
        """Take in one call."""
        self.touched.update(event.change.paths, _named(event.params))
        if event.change.rolled_back:
            return
        for change in event.change.files:
            change = _holding_content(change)
            earlier = self._net.get(change.path)
            self._net[change.path] = change if earlier is None else replace(earlier, after=change.after)

    def net(self) -> tuple[FileChange, ...]:
        """The changes, without paths that are again what they were."""
        return tuple(change for change in self._net.values() if not _is_nothing(change))

    @property
    def paths(self) -> list[str]:
        """The changed paths."""
        return [change.path for change in self.net()]


def _named(params: object) -> tuple[str, ...]:
    """The path that a call was about, by the name that file tools give it."""
    path = getattr(params, "file_path", None)
    return (path,) if isinstance(path, str) else ()


def _holding_content(change: FileChange) -> FileChange:
    """The change with its content in memory: the files may change again before it is shown."""
    return replace(change, before=_loaded(change.before), after=_loaded(change.after))


def _loaded(version: FileVersion | None) -> FileVersion | None:
    content = version and version.content(DIFFABLE_BYTES)
    # What is larger is found again where the transaction has put it.
    return version if version is None or content is None else replace(version, load=lambda: content)


def _is_nothing(change: FileChange) -> bool:
    before, after = change.before, change.after
    if before is None or after is None:
        return before is after
    return before == after and before.content() is not None and before.content() == after.content()
