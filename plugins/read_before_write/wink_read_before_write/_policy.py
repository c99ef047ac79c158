"""Deny changes to files whose content the model has not seen, or has changed since it did."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from wink.dataclass import dataclass
from wink.errors import PolicyError, UnboundResourceError, WinkError
from wink.policies import PolicyDecision, PolicyState, remember
from wink_read_before_write._evidence import Evidence, MountPoint

if TYPE_CHECKING:
    from wink.tools import Tool, ToolContext, ToolResult

READ_TOOLS: Final = ("read_file", "read_bytes")
WRITE_TOOLS: Final = ("write_file", "write_bytes", "edit_file", "move_file", "rm")
DELETES: Final = "rm"
"""The tool that deletes what its path names: of a link the link, which needs no reading of the file behind it."""
FILE_FIELDS: Final = ("file_path", "path")
SOURCE_FIELDS: Final = ("source_path", "source")
TARGET_FIELDS: Final = ("target_path", "target", "destination_path", "destination")


@dataclass(frozen=True, slots=True)
class Demand:
    """One path that a call would overwrite, move or delete, or, where `old_string` is given, change in part.

    Where it is only the path that goes, `is_entry`: of a link not the file that it leads to.
    """

    path: str
    old_string: str | None = None
    is_entry: bool = False


class ReadBeforeWritePolicy:
    """A file has to be read before it is overwritten, edited, moved or deleted; new files are free.

    What counts is content: a file must still be what was read, however often it has been read, and an own write counts
    as reading it. Overwriting, moving and deleting need all of a file to be known, an edit the lines that its
    `old_string` is in; what several reads showed adds up. A directory needs that of every file in it, and one of more
    than `MAX_FILES` files has to be dealt with piece by piece. Whatever cannot be checked is denied.
    Making, moving or deleting a link and setting permission bits need no reading: no content is lost.

    `read_tools` and `write_tools` name the tools concerned. A tool says by its parameters what it is about to change:
    `path` or `file_path`, for a move `source` or `source_path` with `target` or `target_path`, and `old_string` for an
    edit. The first of `read_tools` is the one that denials tell the model to call. `mount_point` is a prefix that the
    model's paths carry, such as `/workspace`.
    """

    __slots__ = ("_mount", "mount_point", "read_tools", "write_tools")

    is_immediate: Final = True
    """It waits for nothing, so servers ask it without a thread; see `ToolPolicy`."""

    def __init__(
        self,
        read_tools: Iterable[str] = READ_TOOLS,
        write_tools: Iterable[str] = WRITE_TOOLS,
        mount_point: str | None = None,
    ) -> None:
        self.read_tools = _names(read_tools)
        if not self.read_tools:
            raise PolicyError("no file could ever be read; name at least one tool in read_tools")
        self.write_tools = _names(write_tools)
        self.mount_point = mount_point or None
        self._mount = MountPoint(self.mount_point)

    @property
    def name(self) -> str:
        """The name in decisions."""
        return "read_before_write"

    def check(self, tool: Tool[Any, Any], params: Any, *, context: ToolContext) -> PolicyDecision:
        """Allow the call if everything that it would change is known; otherwise say what to read first."""
        if tool.name not in self.write_tools:
            return PolicyDecision.allow()
        demands = demands_of(params, deletes=tool.name == DELETES)
        if not demands:
            return PolicyDecision.deny(f"{tool.name} does not say in a parameter `path` or `file_path` what it changes")
        evidence = self._evidence(context)
        if evidence is None:
            return PolicyDecision.deny(
                f"{tool.name} is denied: no filesystem is bound, so nobody can tell what has been read; bind one to the prompt"
            )
        for demand in demands:
            reason = self._refusal(demand, evidence)
            if reason is not None:
                return PolicyDecision.deny(reason)
        return PolicyDecision.allow()

    def on_result(self, tool: Tool[Any, Any], params: Any, result: ToolResult[Any], *, context: ToolContext) -> None:
        """Remember the call, and take a read tool's word for it that a file was read, where the filesystem did not notice.

        A tool may show a file without going through `context.filesystem`; its content is then known as it is now.
        """
        if not result.success:
            return
        keys: set[tuple[str, str]] = set()
        evidence = self._evidence(context) if tool.name in (*self.read_tools, *self.write_tools) else None
        if evidence is not None:
            for demand in demands_of(params):
                try:
                    keys.add((tool.name, evidence.inner(demand.path)))
                    if tool.name in self.read_tools:
                        evidence.note(demand.path)
                    else:
                        evidence.note_own_write(demand.path, part=demand.old_string is not None)
                except (OSError, WinkError):
                    continue  # not a file of this filesystem: nothing is known of it, and changing it stays denied
        remember(context.session, PolicyState(self.name, frozenset({tool.name}), frozenset(keys)))

    def _evidence(self, context: ToolContext) -> Evidence | None:
        """What is known of the files; nothing where no filesystem is bound."""
        try:
            files = context.filesystem
        except UnboundResourceError:
            return None
        return Evidence(files, context, self._mount, self.read_tools[0])

    def _refusal(self, demand: Demand, evidence: Evidence) -> str | None:
        try:
            return evidence.missing(demand.path, demand.old_string, is_entry=demand.is_entry)
        except WinkError as error:
            return f"cannot check whether {demand.path} has been read: {error}"
        except OSError as error:
            return f"cannot check whether {demand.path} has been read: {error.strerror or type(error).__name__}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.read_tools!r}, {self.write_tools!r}, mount_point={self.mount_point!r})"


def files_policy(
    *,
    read_tools: Iterable[str] = READ_TOOLS,
    write_tools: Iterable[str] = WRITE_TOOLS,
    mount_point: str | None = None,
) -> ReadBeforeWritePolicy:
    """Deny changes to files that the agent has not read, or that changed since it did."""
    return ReadBeforeWritePolicy(read_tools, write_tools, mount_point)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each once: as they were given, or sorted where the container has no order."""
    if isinstance(names, str):
        return (names,)
    return tuple(sorted(names)) if isinstance(names, (set, frozenset)) else tuple(dict.fromkeys(names))


def demands_of(params: Any, *, deletes: bool = False) -> tuple[Demand, ...]:
    """The paths that a call with these parameters would change, or delete; empty when none of its parameters names one.

    >>> from types import SimpleNamespace as Params
    >>> demands_of(Params(path="a.txt", content="new"))
    (Demand(path='a.txt', old_string=None, is_entry=False),)
    >>> demands_of(Params(file_path="a.txt", old_string="one", new_string="two"))
    (Demand(path='a.txt', old_string='one', is_entry=False),)
    >>> [(demand.path, demand.is_entry) for demand in demands_of(Params(source_path="a.txt", target_path="b.txt"))]
    [('a.txt', True), ('b.txt', False)]
    """
    old_string = getattr(params, "old_string", None)
    # An empty old_string means something else in every tool; the whole file is at stake then.
    edited = old_string if isinstance(old_string, str) and old_string else None
    fields = ((FILE_FIELDS, deletes), (SOURCE_FIELDS, True), (TARGET_FIELDS, False))
    paths = ((_text(params, names), is_entry) for names, is_entry in fields)
    return tuple(Demand(path, edited, is_entry) for path, is_entry in paths if path is not None)


def _text(params: Any, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = getattr(params, name, None)
        if isinstance(value, str):
            return value
    return None
