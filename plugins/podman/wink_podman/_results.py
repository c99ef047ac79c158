"""What the container tools answer with, and how the model reads it."""

from __future__ import annotations

from typing import Literal

from wink.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShellExecuteResult:
    """How a command ended, what it said, and what it changed.

    `exit_code` is None where it did not exit by itself; `reason` tells why then. `kept` says whether its changes were made to
    the workspace; `changes` lists the first of `changed` paths, `left_out` what stays out, each with the reason. `hidden`
    names some of the paths that rules hid from the command.
    """

    exit_code: int | None
    reason: Literal["exited", "timed out", "died"]
    seconds: float
    stdout: str
    stderr: str
    kept: bool
    changed: int = 0
    changes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    hidden: str = ""

    def render(self) -> str:
        r"""The outcome first, then what was said, then what was changed.

        >>> print(ShellExecuteResult(0, "exited", 0.31, "hi\n", "", True, 1, ("created a.txt",)).render())
        exit code 0 after 0.3 s
        <BLANKLINE>
        stdout:
        hi
        <BLANKLINE>
        changed (1):
          created a.txt
        """
        ending = {"timed out": "timed out: ended", "died": "its container died"}.get(self.reason, "")
        parts = [f"{ending or f'exit code {self.exit_code}'} after {self.seconds:.1f} s"]
        parts += [
            f"{name}:\n{text.rstrip()}" for name, text in (("stdout", self.stdout), ("stderr", self.stderr)) if text
        ]
        if self.changed:
            head = "changed" if self.kept else "dropped, the workspace is as it was before"
            more = self.changed - len(self.changes)
            lines = [f"  {line}" for line in self.changes] + ([f"  ... and {more} more"] if more else [])
            parts.append("\n".join([f"{head} ({self.changed}):", *lines]))
        elif not (self.stdout or self.stderr):
            parts[0] += "; no output, and no file was changed"
        if self.left_out:
            parts.append("\n".join(["left out:", *(f"  {line}" for line in self.left_out)]))
        if self.hidden:
            parts.append(f"hidden by rules, and empty for the command: {self.hidden}")
        return "\n\n".join(parts)
