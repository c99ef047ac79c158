"""The file tools: each a thin layer over the call's own `Filesystem`, with bounds and words for a model."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from wink.errors import NotText, PathRefused, ToolValidationError, WriteTooLarge
from wink.tools import ToolContext, ToolResult
from wink_files._config import VfsConfig
from wink_files._paging import Page, read_page
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
from wink_files._problems import for_the_model
from wink_files._results import (
    ChangedMode,
    DirectoryListing,
    EditedFile,
    Entry,
    FileBytes,
    FileText,
    FoundFiles,
    FoundLines,
    MadeLink,
    MatchedLine,
    MovedFile,
    RemovedPath,
    WrittenFile,
    count,
)

if TYPE_CHECKING:
    from wink.filesystem import FileEntry, Filesystem

AROUND: Final = 4
"""Lines shown before and after an edit."""


class FileTools:
    """The handlers, bounded by one configuration."""

    __slots__ = ("_config",)

    def __init__(self, config: VfsConfig) -> None:
        self._config = config

    @for_the_model
    def ls(self, params: ListDirectoryParams, *, context: ToolContext) -> ToolResult[DirectoryListing]:
        """List a directory, directories first."""
        files = context.filesystem
        found = files.list(params.path, limit=self._config.max_entries)
        entries = sorted((_entry(files, entry) for entry in found), key=lambda entry: entry.kind != "directory")
        path = files.normalize(params.path) or "."
        more = " or more" if found.truncated else ""
        message = f"{path}: {count(len(entries), 'entry', 'entries')}{more}"
        return ToolResult.ok(DirectoryListing(path, tuple(entries), found.truncated), message)

    @for_the_model
    def read_file(self, params: ReadFileParams, *, context: ToolContext) -> ToolResult[FileText]:
        """Show lines of a text file with their numbers."""
        config = self._config
        try:
            page = read_page(
                context.filesystem,
                params.file_path,
                params.offset,
                min(params.limit, config.max_read_lines),
                max_chars=config.max_read_chars,
                max_line_chars=config.max_line_chars,
                column=params.column,
            )
        except NotText as error:
            # Nothing of it can be shown, but that is an answer, and all that a model can know before it replaces it.
            note = f"not UTF-8 text: {count(error.size, 'byte')}, not shown; read_bytes shows them in base64"
            return ToolResult.ok(FileText(error.path, "", 1, 0, (note,)), f"{error.path}: binary")
        if params.offset and params.offset >= page.total_lines:
            raise ToolValidationError(
                f"{page.path!r} has only {count(page.total_lines, 'line')}; give a smaller offset"
            )
        text = FileText(page.path, page.content, page.offset + 1, page.total_lines, _notes(page))
        return ToolResult.ok(text, f"{page.path}: {count(page.total_lines, 'line')}")

    @for_the_model
    def read_bytes(self, params: ReadBytesParams, *, context: ToolContext) -> ToolResult[FileBytes]:
        """Show bytes of a file in base64."""
        from base64 import b64encode

        files, path = context.filesystem, params.file_path
        # Each three bytes are four characters.
        limit = min(params.limit, max(self._config.max_read_chars // 4 * 3, 1))
        content = files.read_bytes(path, params.offset, limit)
        size = files.stat(path).size_bytes
        if params.offset and params.offset >= size:
            raise ToolValidationError(f"{path!r} has only {count(size, 'byte')}; give a smaller offset")
        value = FileBytes(files.normalize(path), b64encode(content).decode(), params.offset, size)
        return ToolResult.ok(value, f"{value.path}: {count(size, 'byte')}")

    @for_the_model
    def write_file(self, params: WriteFileParams, *, context: ToolContext) -> ToolResult[WrittenFile]:
        """Create a file, or replace its whole content."""
        self._refuse_large(params.file_path, params.content)
        written = context.filesystem.write(params.file_path, params.content)
        lines = params.content.count("\n") + (not params.content.endswith("\n") and params.content != "")
        value = WrittenFile(written.path, written.created, written.size, lines)
        did = "Created" if written.created else "Overwrote"
        return ToolResult.ok(value, f"{did} {written.path} ({count(lines, 'line')}, {count(written.size, 'byte')}).")

    @for_the_model
    def write_bytes(self, params: WriteBytesParams, *, context: ToolContext) -> ToolResult[WrittenFile]:
        """Create a file, or replace its whole content, with bytes."""
        from base64 import b64decode

        path, most = params.file_path, self._config.max_write_bytes
        text = "".join(params.content.split())  # base64 is often written in lines
        size = len(text) // 4 * 3 - text[-2:].count("=")
        if size > most:  # before it is decoded
            self._refuse_size(path, size)
        try:
            content = b64decode(text, validate=True)
        except ValueError as error:
            raise ToolValidationError(
                f"content is not base64 ({error}); encode the bytes with A-Z, a-z, 0-9, + and /, padded with ="
            ) from None
        written = context.filesystem.write_bytes(path, content)
        did = "Created" if written.created else "Overwrote"
        value = WrittenFile(written.path, written.created, written.size, None)
        return ToolResult.ok(value, f"{did} {written.path} ({count(written.size, 'byte')}).")

    @for_the_model
    def edit_file(self, params: EditFileParams, *, context: ToolContext) -> ToolResult[EditedFile]:
        """Replace text in a file."""
        files = context.filesystem
        self._refuse_large(params.file_path, params.new_string)
        most = self._config.max_write_bytes
        try:
            edited = files.edit(
                params.file_path, params.old_string, params.new_string, replace_all=params.replace_all, max_growth=most
            )
        except WriteTooLarge as error:
            if error.limit == files.max_file_bytes:
                raise
            raise ToolValidationError(
                f"{error.path!r} would have {error.size} bytes, over {most} more than now, and one edit may not add more; "
                "split it up"
            ) from None
        first = max(edited.lines[0] - 1 - AROUND, 0)
        height = 2 * AROUND + 1 + params.new_string.count("\n")
        around = files.read(edited.path, offset=first, limit=height, max_line_chars=self._config.max_line_chars)
        value = EditedFile(edited.path, edited.replacements, around.content, first + 1)
        places = "" if edited.replacements == 1 else f" in {edited.replacements} places"
        cut = ", with long lines cut" if around.clipped_lines else ""
        return ToolResult.ok(value, f"Edited {edited.path}{places}. It now reads{cut}:")

    @for_the_model
    def move_file(self, params: MoveFileParams, *, context: ToolContext) -> ToolResult[MovedFile]:
        """Give a file or directory another path."""
        files = context.filesystem
        files.move(params.source_path, params.target_path, overwrite=params.overwrite)
        value = MovedFile(files.normalize(params.source_path), files.normalize(params.target_path))
        return ToolResult.ok(value, f"Moved {value.source_path} to {value.target_path}.")

    @for_the_model
    def symlink(self, params: SymlinkParams, *, context: ToolContext) -> ToolResult[MadeLink]:
        """Make a symbolic link."""
        files = context.filesystem
        path, target = files.normalize(params.path), files.normalize(params.target_path)
        # A link's body is relative to the directory that it really is in.
        directory = files.resolve(posixpath.dirname(path))
        files.symlink(path, posixpath.relpath(f"/{target}", f"/{directory}"))
        missing = "" if files.exists(path) else ", where nothing is yet"
        return ToolResult.ok(MadeLink(path, target), f"Made {path} a link to {target or 'the root'}{missing}.")

    @for_the_model
    def chmod(self, params: ChmodParams, *, context: ToolContext) -> ToolResult[ChangedMode]:
        """Set permission bits."""
        files, path = context.filesystem, context.filesystem.normalize(params.path)
        before = f"{files.stat(path).mode & 0o777:03o}"
        files.chmod(path, int(params.mode, 8))
        value = ChangedMode(path, params.mode, before)
        if before == params.mode:
            return ToolResult.ok(value, f"{path} has mode {before} already.")
        return ToolResult.ok(value, f"Changed the mode of {path} from {before} to {params.mode}.")

    @for_the_model
    def glob(self, params: GlobParams, *, context: ToolContext) -> ToolResult[FoundFiles]:
        """Find files by name."""
        found = context.filesystem.glob(
            params.pattern,
            params.path,
            limit=self._config.max_entries,
            respect_ignore=self._config.respect_ignore_files,
        )
        value = FoundFiles(params.pattern, tuple(match.path for match in found), found.truncated)
        return ToolResult.ok(value, f"{count(len(found), 'path')} found." if found else "No path matches.")

    @for_the_model
    def grep(self, params: GrepParams, *, context: ToolContext) -> ToolResult[FoundLines]:
        """Find lines by content."""
        found = context.filesystem.grep(
            params.pattern,
            params.path,
            glob=params.glob,
            max_matches=self._config.max_matches,
            respect_ignore=self._config.respect_ignore_files,
        )
        most = self._config.max_match_chars
        matches = tuple(
            MatchedLine(match.path, match.line_number, _cut(match.line_content, most, match.clipped)) for match in found
        )
        value = FoundLines(params.pattern, matches, found.truncated)
        return ToolResult.ok(value, f"{count(len(found), 'line')} found." if found else "No line matches.")

    @for_the_model
    def rm(self, params: RemoveParams, *, context: ToolContext) -> ToolResult[RemovedPath]:
        """Delete a file or directory."""
        files = context.filesystem
        files.delete(params.path, recursive=params.recursive)
        path = files.normalize(params.path)
        return ToolResult.ok(RemovedPath(path), f"Deleted {path}.")

    def _refuse_large(self, path: str, content: str) -> None:
        # A character has one byte at least, so that huge content is refused without being encoded.
        size = len(content)
        if size <= self._config.max_write_bytes:
            size = len(content.encode("utf-8", "surrogatepass"))
        if size > self._config.max_write_bytes:
            self._refuse_size(path, size)

    def _refuse_size(self, path: str, size: int) -> None:
        raise ToolValidationError(
            f"{path!r} would have {size} bytes, more than the {self._config.max_write_bytes} allowed; split it up"
        )


def _entry(files: Filesystem, entry: FileEntry) -> Entry:
    if entry.is_link:
        return Entry(entry.name, "link")
    if entry.is_directory:
        return Entry(entry.name, "directory")
    try:
        return Entry(entry.name, "file", files.stat(entry.path).size_bytes)
    except (FileNotFoundError, PathRefused):  # deleted since it was listed, or of a name that no path can have
        return Entry(entry.name, "file")


def _notes(page: Page) -> tuple[str, ...]:
    """What the numbered lines alone do not show."""
    notes: list[str] = []
    if page.total_lines == 0:
        notes.append("the file is empty")
    if page.column:
        notes.append(f"of each line from character {page.column + 1} on")
    if page.cut:
        first, numbers = page.cut[0], ", ".join(str(line + 1) for line in page.cut)
        lines, where = (f"lines {numbers}", f" in line {first + 1}") if page.cut[1:] else (f"line {numbers}", "")
        on = f"offset={first}, limit=1, column={page.next_column}"
        notes.append(f"too long to be shown to the end: {lines}; to go on{where}, call read_file with {on}")
    if "\r\n" in page.content:
        notes.append("lines end in CRLF")
    if page.content and not page.content.endswith("\n"):
        notes.append("no newline at the end of the file")
    return tuple(notes)


def _cut(line: str, most: int, is_part: bool) -> str:
    return f"{line[:most]}…" if is_part or len(line) > most else line
