"""What rules have to know of one call: its arguments as they were parsed, and where the paths among them lead."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from wink.errors import PathRefused
from wink_rules._naming import Named, named_paths

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.tools import Tool, ToolContext

MAX_HELD = 10_000
"""Names that are looked at to see what a directory holds; one with more is in doubt."""

MAX_NAMED = 10_000
"""Texts of one call that are looked at as paths; a call with more is in doubt."""

_PLACES_ONLY = frozenset(("cwd", "workdir", "root"))


class Placed(NamedTuple):
    """A path of a call: what it normalises to and where its links end, or why it can be neither."""

    named: Named
    places: tuple[str, ...] = ()
    refused: str = ""

    def may_be_changed(self, tool: Tool[Any, Any]) -> bool:
        """Whether the tool may do something to it, rather than read it or only start from it."""
        return tool.effects != "read" and self.named.argument.rpartition(".")[2] not in _PLACES_ONLY


class Facts:
    """What is known of a call, each found out when a rule first asks."""

    __slots__ = ("_also", "_arguments", "_held", "_paths", "_values", "context", "files", "params", "tool")

    def __init__(self, tool: Tool[Any, Any], params: Any, context: ToolContext, also: Collection[str] = ()) -> None:
        from wink.filesystem import Filesystem

        self.tool, self.params, self.context = tool, params, context
        self.files: Filesystem | None = context.resources.get_optional(Filesystem)
        self._also = also
        self._arguments: Any = None
        self._paths: tuple[Placed, ...] | None = None
        self._values: dict[str, list[Any]] = {}
        self._held: dict[tuple[str, ...], list[str]] = {}

    @property
    def arguments(self) -> Any:
        """The arguments as plain values, defaults included."""
        if self._arguments is None:
            from wink.serde import dump

            self._arguments = {} if self.params is None else dump(self.params)
        return self._arguments

    @property
    def paths(self) -> tuple[Placed, ...]:
        """The paths that the arguments name, or could name."""
        if self._paths is None:
            named = list(islice(named_paths(self.arguments, self._also), MAX_NAMED + 1))
            found = [one for one in (placed(each, self.files) for each in named[:MAX_NAMED]) if one is not None]
            if len(named) > MAX_NAMED:
                found.append(Placed(Named("", ""), (), f"more than {MAX_NAMED} texts may be paths"))
            self._paths = tuple(found)
        return self._paths

    def values(self, key: str) -> list[Any]:
        """What an argument holds: every value at `outer.inner`, through lists."""
        known = self._values.get(key)
        if known is None:
            known = [self.arguments]
            for name in key.split("."):
                known = [
                    cast("dict[str, Any]", one)[name] for one in _flat(known) if isinstance(one, dict) and name in one
                ]
            known = self._values[key] = _flat(known)
        return known

    def held(self, one: Placed) -> Sequence[str]:
        """What a directory that a call may change holds, links followed nowhere; raises `PathRefused` for too much."""
        known = self._held.get(one.places)
        if known is None:
            known = self._held[one.places] = list(self._walk(one)) if one.may_be_changed(self.tool) else []
        return known

    def _walk(self, one: Placed) -> Iterator[str]:
        files, met = self.files, 0
        if files is None:
            return
        for place in one.places:
            pending = [place] if _is_so(lambda place=place: files.stat(place).is_directory) else []
            while pending:
                entries = files.list(pending.pop() or ".", limit=MAX_HELD - met)
                met += len(entries)
                if entries.truncated:
                    raise PathRefused(one.named.text, f"holds more than {MAX_HELD} names")
                for entry in entries:
                    yield entry.path
                    if entry.is_directory and not entry.is_link:
                        pending.append(entry.path)


def placed(named: Named, files: Filesystem | None) -> Placed | None:
    """Where a path leads, None for a text that turns out to be none."""
    try:
        if named.is_weak and files is not None and not _is_so(lambda: files.exists(named.text)):
            return Placed(named, (files.normalize(named.text),))
        places = _places(named.text, files)
    except OSError as error:
        why = str(error) if isinstance(error, PathRefused) else f"{named.text!r} cannot be looked at ({error.strerror})"
        return Placed(named, (), why) if named.is_sure else None
    # A text that nothing else gives away is a path if there is something at it.
    return Placed(named if files is None else named._replace(is_weak=False), places)


def _places(text: str, files: Filesystem | None) -> tuple[str, ...]:
    from wink.filesystem import workspace_path

    if files is None:
        return (str(workspace_path(text)),)
    path = _inside(text, files.root)
    places = [files.normalize(path), files.resolve(path)]
    if ".." in path:
        # Programs that do not go through wink's own files take `..` as the system does: from where links led.
        places.append(files.resolve(path, as_written=True))
    return tuple(dict.fromkeys(places))


def _inside(text: str, root: str) -> str:
    """A path of the host that lies beneath the root as one of the workspace; others as they are, and refused later."""
    if text[:5].lower() == "file:":
        from urllib.parse import unquote

        text = unquote(text[5:])
        text = text[2:] if text.startswith("///") else text
    if text.startswith("/") and root.startswith("/"):
        plain = "/" + posixpath.normpath(text).lstrip("/")
        for base in (root, os.path.realpath(root)):
            if plain == base or plain.startswith(base.rstrip("/") + "/"):
                inner = text[len(base) :] if text.startswith(base + "/") else plain[len(base) :]
                return inner.strip("/")
    return text


def _is_so(ask: Callable[[], bool]) -> bool:
    try:
        return ask()
    except OSError:
        return False


def _flat(values: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, list):
            flat += _flat(cast("list[Any]", value))
        else:
            flat.append(value)
    return flat
