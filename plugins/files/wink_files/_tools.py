"""The file tools, as a model meets them."""

from __future__ import annotations

from typing import Any

from wink.tools import Tool, ToolExample
from wink_files._config import VfsConfig
from wink_files._handlers import FileTools
from wink_files._params import (
    ChmodParams,
    EditFileParams,
    GlobParams,
    GrepParams,
    ListDirectoryParams,
    MoveFileParams,
    ReadBytesParams,
    ReadFileParams,
    RemoveParams,
    SymlinkParams,
    WriteBytesParams,
    WriteFileParams,
)
from wink_files._results import (
    ChangedMode,
    DirectoryListing,
    EditedFile,
    FileBytes,
    FileText,
    FoundFiles,
    FoundLines,
    MadeLink,
    MatchedLine,
    MovedFile,
    RemovedPath,
    WrittenFile,
)


def file_tools(config: VfsConfig, *, accepts_overrides: bool = True) -> tuple[Tool[Any, Any], ...]:
    """The tools in the order in which a model meets them: those that read, then those that change."""
    handlers = FileTools(config)
    return (
        Tool[ListDirectoryParams, DirectoryListing](
            name="ls",
            description="List the names in a directory, directories first.",
            handler=handlers.ls,
            effects="read",
            accepts_overrides=accepts_overrides,
        ),
        Tool[ReadFileParams, FileText](
            name="read_file",
            description="Show the lines of a text file, numbered from 1. Use offset and limit to page through long files.",
            handler=handlers.read_file,
            examples=(
                ToolExample(
                    description="Show lines 11 to 12",
                    input=ReadFileParams("src/app.py", offset=10, limit=2),
                    output=FileText("src/app.py", "def main():\n    run()\n", 11, 40),
                ),
            ),
            effects="read",
            accepts_overrides=accepts_overrides,
        ),
        Tool[ReadBytesParams, FileBytes](
            name="read_bytes",
            description="Show the bytes of a file in base64. Use it for what is not text, and read_file for what is.",
            handler=handlers.read_bytes,
            examples=(
                ToolExample(
                    description="Show the first 4 bytes",
                    input=ReadBytesParams("logo.png", limit=4),
                    output=FileBytes("logo.png", "iVBORw==", 0, 512),
                ),
            ),
            effects="read",
            accepts_overrides=accepts_overrides,
        ),
        Tool[GlobParams, FoundFiles](
            name="glob",
            description="Find files by name, with * and ? within one directory and ** across directories.",
            handler=handlers.glob,
            effects="read",
            accepts_overrides=accepts_overrides,
        ),
        Tool[GrepParams, FoundLines](
            name="grep",
            description="Find the lines of files that match a regular expression.",
            handler=handlers.grep,
            examples=(
                ToolExample(
                    description="Find a function in the Python files below src",
                    input=GrepParams(r"def main\b", "src", "**/*.py"),
                    output=FoundLines(r"def main\b", (MatchedLine("src/app.py", 11, "def main():"),)),
                ),
            ),
            effects="read",
            accepts_overrides=accepts_overrides,
        ),
        Tool[WriteFileParams, WrittenFile](
            name="write_file",
            description="Create a file, or replace the whole content of one.",
            handler=handlers.write_file,
            accepts_overrides=accepts_overrides,
        ),
        Tool[WriteBytesParams, WrittenFile](
            name="write_bytes",
            description="Create a file that is not text, or replace the whole content of one, with bytes in base64.",
            handler=handlers.write_bytes,
            examples=(
                ToolExample(
                    description="Write 4 bytes",
                    input=WriteBytesParams("data/header.bin", "iVBORw=="),
                    output=WrittenFile("data/header.bin", True, 4, None),
                ),
            ),
            accepts_overrides=accepts_overrides,
        ),
        Tool[EditFileParams, EditedFile](
            name="edit_file",
            description="Replace one piece of text in a file, or with replace_all every occurrence of it.",
            handler=handlers.edit_file,
            examples=(
                ToolExample(
                    description="Replace one line",
                    input=EditFileParams("src/app.py", "    run()\n", "    run(verbose=True)\n"),
                    output=EditedFile("src/app.py", 1, "def main():\n    run(verbose=True)\n", 11),
                ),
            ),
            accepts_overrides=accepts_overrides,
        ),
        Tool[MoveFileParams, MovedFile](
            name="move_file",
            description="Move or rename a file or directory.",
            handler=handlers.move_file,
            accepts_overrides=accepts_overrides,
        ),
        Tool[SymlinkParams, MadeLink](
            name="symlink",
            description="Make a symbolic link to a file or directory of the workspace.",
            handler=handlers.symlink,
            accepts_overrides=accepts_overrides,
        ),
        Tool[ChmodParams, ChangedMode](
            name="chmod",
            description="Set who may read, write and execute a file or directory.",
            handler=handlers.chmod,
            examples=(
                ToolExample(
                    description="Make a script executable",
                    input=ChmodParams("bin/run.sh", "755"),
                    output=ChangedMode("bin/run.sh", "755", "644"),
                ),
            ),
            accepts_overrides=accepts_overrides,
        ),
        Tool[RemoveParams, RemovedPath](
            name="rm",
            description="Delete a file, or a directory with recursive=true.",
            handler=handlers.rm,
            accepts_overrides=accepts_overrides,
        ),
    )
