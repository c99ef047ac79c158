"""Files that a call can change and take back, in memory and on disk."""

from wink.filesystem._change import ChangeKind, FileChange, FileVersion
from wink.filesystem._filesystem import Filesystem
from wink.filesystem._part import FilePart
from wink.filesystem._paths import WorkspacePath, is_protected_name, workspace_path
from wink.filesystem._results import (
    EditResult,
    FileEntry,
    FileStat,
    FilesystemSnapshot,
    GlobMatch,
    GrepMatch,
    Listing,
    ReadResult,
    WriteMode,
    WriteResult,
)
from wink.filesystem._roots import HostFilesystem, InMemoryFilesystem
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import Frame, Node, NodeKind, Staging, Store
from wink.filesystem._streams import ReadStream, TextStream, WriteStream
from wink.filesystem._turns import Turns

__all__ = [
    "ChangeKind",
    "EditResult",
    "FileChange",
    "FileEntry",
    "FilePart",
    "FileStat",
    "FileVersion",
    "Filesystem",
    "FilesystemSnapshot",
    "Frame",
    "GlobMatch",
    "GrepMatch",
    "HostFilesystem",
    "InMemoryFilesystem",
    "Listing",
    "Node",
    "NodeKind",
    "ReadResult",
    "ReadStream",
    "Stamp",
    "Staging",
    "Store",
    "TextStream",
    "Turns",
    "WorkspacePath",
    "WriteMode",
    "WriteResult",
    "WriteStream",
    "is_protected_name",
    "workspace_path",
]
