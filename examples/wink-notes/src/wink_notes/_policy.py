"""A policy: whoever deletes a file has to have noted why."""

from dataclasses import dataclass
from typing import Any

from wink import Filesystem, PolicyDecision, Tool, ToolContext, ToolResult

from wink_notes._notebook import Note
from wink_notes._settings import NotesSettings
from wink_notes._tools import notebook_of


@dataclass(frozen=True, slots=True)
class Reason:
    """A note has served as the reason for a call, and serves no second one."""

    tool: str
    path: str
    note: int


class SayWhyPolicy:
    """Deny the deletion of what no note of this session is about.

    A note is about a path when the path is its topic. What the policy remembers stands in the
    session, beside the notes: whoever undoes the deletion has the reason again.
    """

    def __init__(self, settings: NotesSettings) -> None:
        """A policy over the tools that the settings name."""
        self._tools = frozenset(settings.deleting)

    @property
    def name(self) -> str:
        """The name in decisions."""
        return "notes.say-why"

    def check(self, tool: Tool[Any, Any], params: Any, *, context: ToolContext) -> PolicyDecision:
        """Allow a deletion for which there is a fresh reason."""
        if tool.name not in self._tools:
            return PolicyDecision.allow()
        path = _path_of(params)
        if path is None:
            return PolicyDecision.deny(
                f"{tool.name} does not say in `path` or `file_path` what it deletes"
            )
        if _reason_for(path, context) is not None:
            return PolicyDecision.allow()
        return PolicyDecision.deny(
            f"say why before you delete {path}: call notes_add with topic={path!r} and the reason"
        )

    def on_result(
        self, tool: Tool[Any, Any], params: Any, result: ToolResult[Any], *, context: ToolContext
    ) -> None:
        """Use the reason up: inside the transaction, so that it is lost or kept with the call."""
        path = _path_of(params) if tool.name in self._tools and result.success else None
        reason = None if path is None else _reason_for(path, context)
        if path is not None and reason is not None:
            context.session.dispatch(Reason(tool.name, path, reason.number))


def say_why_policy(*, settings: NotesSettings | None = None) -> SayWhyPolicy:
    """Deny the deletion of files until the agent has noted why.

    It goes with the section `notes.notebook`: without its tools nothing could be noted.
    """
    return SayWhyPolicy(settings or NotesSettings())


def _path_of(params: Any) -> str | None:
    path = getattr(params, "path", None) or getattr(params, "file_path", None)
    return path if isinstance(path, str) else None


def _reason_for(path: str, context: ToolContext) -> Note | None:
    used = {reason.note for reason in context.session[Reason].all()}
    wanted = _normal(context.filesystem, path)
    for note in reversed(notebook_of(context.session).notes):
        if note.number not in used and _normal(context.filesystem, note.topic) == wanted:
            return note
    return None


def _normal(files: Filesystem, path: str) -> str | None:
    """The path in its one form; None for a topic that is no path."""
    try:
        return files.normalize(path) if path else None
    except (OSError, ValueError):
        return None
