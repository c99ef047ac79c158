"""What the file tools are called with."""

from __future__ import annotations

from wink.dataclass import dataclass, field

_PATH = "Path of the file, relative to the workspace's root."


@dataclass(frozen=True, slots=True)
class ListDirectoryParams:
    """Which directory to list."""

    path: str = field(
        default="",
        metadata={"description": "Directory to list, relative to the workspace's root; leave out for the root."},
    )


@dataclass(frozen=True, slots=True)
class ReadFileParams:
    """Which lines of which file to show."""

    file_path: str = field(metadata={"description": _PATH})
    offset: int = field(
        default=0, metadata={"description": "How many lines to skip before the first one shown.", "ge": 0}
    )
    limit: int = field(default=2000, metadata={"description": "How many lines to show at most.", "ge": 1})
    column: int = field(
        default=0,
        metadata={"description": "How many characters of each line to skip, to read on in a very long one.", "ge": 0},
    )


@dataclass(frozen=True, slots=True)
class ReadBytesParams:
    """Which bytes of which file to show."""

    file_path: str = field(metadata={"description": _PATH})
    offset: int = field(
        default=0, metadata={"description": "How many bytes to skip before the first one shown.", "ge": 0}
    )
    limit: int = field(default=65_536, metadata={"description": "How many bytes to show at most.", "ge": 1})


@dataclass(frozen=True, slots=True)
class WriteFileParams:
    """A file's whole new content."""

    file_path: str = field(metadata={"description": f"{_PATH} Missing directories are made."})
    content: str = field(metadata={"description": "The whole content; it replaces whatever the file held before."})


@dataclass(frozen=True, slots=True)
class WriteBytesParams:
    """A binary file's whole new content."""

    file_path: str = field(metadata={"description": f"{_PATH} Missing directories are made."})
    content: str = field(
        metadata={"description": "The whole content in base64; it replaces whatever the file held before."}
    )


@dataclass(frozen=True, slots=True)
class EditFileParams:
    """A piece of text to replace in a file."""

    file_path: str = field(metadata={"description": _PATH})
    old_string: str = field(
        metadata={
            "description": "The text to replace, exactly as the file holds it, line breaks and indentation included but "
            "without read_file's line numbers. It must occur once, unless replace_all is true.",
            "min_length": 1,
        }
    )
    new_string: str = field(metadata={"description": "The text to put in its place; empty to delete it."})
    replace_all: bool = field(
        default=False, metadata={"description": "Replace every occurrence instead of the only one."}
    )


@dataclass(frozen=True, slots=True)
class MoveFileParams:
    """A file or directory, and the name it is to have."""

    source_path: str = field(metadata={"description": "File or directory to move, relative to the workspace's root."})
    target_path: str = field(
        metadata={
            "description": "Its new path, name included, relative to the workspace's root. Missing directories are made."
        }
    )
    overwrite: bool = field(default=False, metadata={"description": "Replace a file that is already at target_path."})


@dataclass(frozen=True, slots=True)
class SymlinkParams:
    """A link, and where it leads."""

    path: str = field(
        metadata={"description": "Path of the link, relative to the workspace's root. Missing directories are made."}
    )
    target_path: str = field(
        metadata={
            "description": "File or directory that the link leads to, relative to the workspace's root, not to the link."
        }
    )


@dataclass(frozen=True, slots=True)
class ChmodParams:
    """The permission bits that a file or directory is to have."""

    path: str = field(metadata={"description": "File or directory, relative to the workspace's root."})
    mode: str = field(
        metadata={
            "description": "Three octal digits for owner, group and others: 755 makes a file executable, 644 does not.",
            "regex": "^[0-7]{3}$",
            "max_length": 3,
        }
    )


@dataclass(frozen=True, slots=True)
class GlobParams:
    """Which files to find by name."""

    pattern: str = field(
        metadata={
            "description": "Glob pattern: * and ? stay within one directory, ** crosses them. Example: src/**/*.py"
        }
    )
    path: str = field(
        default="",
        metadata={"description": "Directory that the pattern starts from; leave out for the workspace's root."},
    )


@dataclass(frozen=True, slots=True)
class GrepParams:
    """Which lines to find by content."""

    pattern: str = field(metadata={"description": "Regular expression that a line has to contain a match of."})
    path: str = field(
        default="", metadata={"description": "Directory or file to search; leave out for the whole workspace."}
    )
    glob: str | None = field(
        default=None, metadata={"description": "Search only files that match this glob pattern, such as **/*.py"}
    )


@dataclass(frozen=True, slots=True)
class RemoveParams:
    """What to delete."""

    path: str = field(metadata={"description": "File or directory to delete, relative to the workspace's root."})
    recursive: bool = field(default=False, metadata={"description": "Delete a directory together with all it holds."})
