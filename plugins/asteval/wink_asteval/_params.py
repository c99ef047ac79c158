"""What `evaluate_python` is called with."""

from __future__ import annotations

from typing import Any, Literal

from wink.dataclass import dataclass, field

WriteMode = Literal["create", "overwrite", "append"]


@dataclass(frozen=True, slots=True)
class EvalFileRead:
    """A file that the code may read with `read_text(path)`."""

    path: str = field(
        metadata={"description": "Path of a text file, relative to the workspace's root.", "min_length": 1}
    )
    encoding: str = field(default="utf-8", metadata={"description": "The file's text encoding."})

    def render(self) -> str:
        """One line.

        >>> EvalFileRead("a.txt").render()
        'read a.txt'
        """
        return f"read {self.path}"


@dataclass(frozen=True, slots=True)
class EvalFileWrite:
    """A file to write when the code has ended well."""

    path: str = field(
        metadata={
            "description": "Path to write, relative to the workspace's root. Missing directories are made.",
            "min_length": 1,
        }
    )
    content: str = field(
        metadata={
            "description": "The text; {name} and {name:.2f} stand for the value that the code gave to name, {{ and }} for braces."
        }
    )
    mode: WriteMode = field(
        default="create",
        metadata={"description": "create fails if the file exists, overwrite replaces it, append adds to its end."},
    )

    def render(self) -> str:
        """One line, without the content.

        >>> EvalFileWrite("a.txt", "one", "append").render()
        'append a.txt (3 characters)'
        """
        return f"{self.mode} {self.path} ({len(self.content):,} character{'' if len(self.content) == 1 else 's'})"


@dataclass(frozen=True, slots=True)
class EvalParams:
    """A script, its inputs and its outputs."""

    code: str = field(metadata={"description": "Python expression or script; the value of its last line is shown."})
    globals: dict[str, Any] = field(
        default_factory=dict[str, Any], metadata={"description": "Names that the code starts with, and their values."}
    )
    reads: tuple[EvalFileRead, ...] = field(
        default=(), metadata={"description": "Files that the code reads with read_text(path)."}
    )
    writes: tuple[EvalFileWrite, ...] = field(
        default=(), metadata={"description": "Files to write after the code; it may also call write_text(path, text)."}
    )
