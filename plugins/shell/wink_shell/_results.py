"""What `run_command` answers with, and how the model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from wink.dataclass import dataclass
from wink.filesystem import FileChange, is_git_data, quoted_path
from wink_sandbox import Traffic

_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class FileNote:
    """One path that a command changed; `kind` is created, modified or deleted, `note` what else there is to say."""

    path: str
    kind: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended, what it said, and what it changed.

    `exit_code` is None where it did not exit by itself; `reason` tells why then. `kept` says whether the changes were
    made to the workspace. `changes` lists the first of `changed`; `left_out` are paths that stay out, those that
    decide what the next program loads, and links that lead out of the workspace, with what there is to say of them.
    `hidden` names some of the paths that rules hid from the command.
    `traffic` is what the command asked of the network, where only some hosts are listed.
    """

    exit_code: int | None
    reason: Literal["exited", "timed out", "wrote too much", "died"]
    seconds: float
    stdout: str
    stderr: str
    kept: bool
    changed: int = 0
    changes: tuple[FileNote, ...] = ()
    left_out: tuple[FileNote, ...] = ()
    guard: str = "overlay"
    hidden: str = ""
    traffic: Traffic | None = None

    def render(self) -> str:
        r"""The outcome first, then what was said, then what was changed.

        >>> print(CommandResult(1, "exited", 0.3, "", "no such test\n", False, 1, (FileNote("log.txt", "created"),)).render())
        exit code 1 after 0.3 s
        <BLANKLINE>
        stderr:
        no such test
        <BLANKLINE>
        dropped, the workspace is as it was before (1 path):
          created log.txt
        """
        parts = [f"{self._ending} after {self.seconds:.1f} s"]
        for name, text in (("stdout", self.stdout), ("stderr", self.stderr)):
            if text:
                parts.append(f"{name}:\n{text.rstrip()}")
        if self.changed:
            paths = f"{self.changed} path{'' if self.changed == 1 else 's'}"
            head = f"changed ({paths}):" if self.kept else f"dropped, the workspace is as it was before ({paths}):"
            parts.append("\n".join([head, *_lines(self.changes, self.changed)]))
        elif not (self.stdout or self.stderr):
            parts[0] += "; no output, and no file was changed"
        if self.left_out:
            parts.append("\n".join(["note:", *(f"  {note.path} {note.note}" for note in self.left_out)]))
        if self.traffic is not None and (lines := tuple(self.traffic.lines())):
            shown = [*lines[:_LINES], *([f"... and {len(lines) - _LINES} more"] if len(lines) > _LINES else [])]
            parts.append("\n".join(["network:", *(f"  {line}" for line in shown)]))
        if self.hidden:
            parts.append(f"hidden by rules, and empty for the command: {self.hidden}")
        return "\n\n".join(parts)

    @property
    def _ending(self) -> str:
        if self.exit_code is not None:
            return f"exit code {self.exit_code}"
        return {"timed out": "timed out: ended", "wrote too much": "wrote more than it may: ended"}.get(
            self.reason, "its sandbox died"
        )


def listed(changes: Sequence[FileChange], most: int) -> tuple[FileNote, ...]:
    """The first of the changes, what git keeps for itself last; a directory that was made or deleted stands for what is in it only where there is more."""
    first = sorted(changes, key=lambda change: is_git_data(change.path))[:most]
    return tuple(FileNote(quoted_path(change.path), change.kind, _note(change)) for change in first)


def _note(change: FileChange) -> str:
    before, after = change.before, change.after
    if before is not None and after is not None and before.kind == after.kind and before.mode != after.mode:
        return f"mode {before.mode:o} to {after.mode:o}"
    version = after or before
    return f"({version.kind})" if version is not None and version.kind != "file" else ""


def _lines(changes: Sequence[FileNote], total: int) -> list[str]:
    lines = [f"  {note.kind} {note.path}{' ' if note.note else ''}{note.note}" for note in changes]
    return [*lines, f"  ... and {total - len(lines)} more"] if total > len(lines) else lines
