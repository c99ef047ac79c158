"""Tools for an agent's files: list, read, search, write, edit, move and delete."""

from wink_files._config import HostMount, VfsConfig
from wink_files._params import (
    EditFileParams,
    GlobParams,
    GrepParams,
    ListDirectoryParams,
    MoveFileParams,
    ReadFileParams,
    RemoveParams,
    WriteFileParams,
)
from wink_files._results import (
    DirectoryListing,
    EditedFile,
    Entry,
    FileText,
    FoundFiles,
    FoundLines,
    MatchedLine,
    MovedFile,
    RemovedPath,
    WrittenFile,
)
from wink_files._section import VfsToolsSection, files_section

__all__ = [
    "DirectoryListing",
    "EditFileParams",
    "EditedFile",
    "Entry",
    "FileText",
    "FoundFiles",
    "FoundLines",
    "GlobParams",
    "GrepParams",
    "HostMount",
    "ListDirectoryParams",
    "MatchedLine",
    "MoveFileParams",
    "MovedFile",
    "ReadFileParams",
    "RemoveParams",
    "RemovedPath",
    "VfsConfig",
    "VfsToolsSection",
    "WriteFileParams",
    "WrittenFile",
    "files_section",
]
