"""The eight file tools, as a model meets them."""

from __future__ import annotations

from typing import Any

from wink.tools import Tool, ToolExample
from wink_files._config import VfsConfig
from wink_files._handlers import FileTools
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
    FileText,
    FoundFiles,
    FoundLines,
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
        Tool[RemoveParams, RemovedPath](
            name="rm",
            description="Delete a file, or a directory with recursive=true.",
            handler=handlers.rm,
            accepts_overrides=accepts_overrides,
        ),
    )
