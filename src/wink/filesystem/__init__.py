"""Files that a call can change and take back, in memory and on disk."""

from typing import TYPE_CHECKING

from wink.filesystem._change import (
    COMPARED_BYTES,
    COPIED_BYTES,
    DIFFABLE_BYTES,
    ChangeKind,
    FileChange,
    FileVersion,
    Kept,
    file_version,
)
from wink.filesystem._filesystem import Filesystem
from wink.filesystem._git_data import is_git_data
from wink.filesystem._paths import (
    IGNORABLE,
    WorkspacePath,
    check_link,
    check_readable,
    check_writable,
    is_protected_name,
    protected_as,
    unportable_name,
    workspace_path,
)
from wink.filesystem._quoting import path_in_json, quoted_path
from wink.filesystem._results import EditResult, ReadResult, WriteMode, WriteResult
from wink.filesystem._roots import HostFilesystem, InMemoryFilesystem
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import ChangeSet, MarkingChangeSet, MarkingStore, Node, NodeKind, Staging, Store, failure
from wink.filesystem._transaction import FileTransaction
from wink.filesystem._tree import MAX_FILE_BYTES
from wink.filesystem._write_lock import WriteLock
from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.filesystem._git_data import git_index_meaning, is_git_config, is_git_index, is_git_object
    from wink.filesystem._past import FilesystemSnapshot, Past
    from wink.filesystem._roots import StoreFilesystem
    from wink.filesystem._streams import ReadStream, TextStream, WriteStream
    from wink.filesystem.disk import (
        SETTINGS,
        Attributes,
        Conflict,
        Merging,
        Recovered,
        Was,
        attributes_of,
        can_exchange,
        check_program_may_change,
        copy_with_holes,
        distribution_at,
        import_places,
        merging,
        program_state,
    )
    from wink.filesystem.search import FileEntry, FileStat, GlobMatch, GrepMatch, Ignored, IgnoreRules, Listing, Pattern
    from wink.filesystem.undo import (
        BETWEEN,
        CHANGED,
        GOES,
        OBJECT_GONE,
        Archived,
        Places,
        PuttingBack,
        Target,
        Versions,
        changed_by_others,
        net_changes,
        obstacles,
        plan,
        preview,
    )

__all__ = [
    "BETWEEN",
    "CHANGED",
    "COMPARED_BYTES",
    "GOES",
    "OBJECT_GONE",
    "COPIED_BYTES",
    "DIFFABLE_BYTES",
    "IGNORABLE",
    "MAX_FILE_BYTES",
    "Archived",
    "Attributes",
    "ChangeKind",
    "ChangeSet",
    "Conflict",
    "EditResult",
    "FileChange",
    "FileEntry",
    "FileStat",
    "FileTransaction",
    "FileVersion",
    "Filesystem",
    "FilesystemSnapshot",
    "GlobMatch",
    "GrepMatch",
    "HostFilesystem",
    "IgnoreRules",
    "Ignored",
    "InMemoryFilesystem",
    "Kept",
    "Listing",
    "MarkingChangeSet",
    "MarkingStore",
    "Merging",
    "Node",
    "NodeKind",
    "Past",
    "Pattern",
    "Places",
    "PuttingBack",
    "ReadResult",
    "ReadStream",
    "Recovered",
    "SETTINGS",
    "Stamp",
    "Staging",
    "Store",
    "StoreFilesystem",
    "Target",
    "TextStream",
    "Versions",
    "Was",
    "WorkspacePath",
    "WriteLock",
    "WriteMode",
    "WriteResult",
    "WriteStream",
    "attributes_of",
    "can_exchange",
    "changed_by_others",
    "check_link",
    "check_program_may_change",
    "check_readable",
    "check_writable",
    "copy_with_holes",
    "distribution_at",
    "failure",
    "file_version",
    "git_index_meaning",
    "import_places",
    "is_git_config",
    "is_git_data",
    "is_git_index",
    "is_git_object",
    "is_protected_name",
    "path_in_json",
    "protected_as",
    "quoted_path",
    "unportable_name",
    "merging",
    "net_changes",
    "obstacles",
    "plan",
    "preview",
    "program_state",
    "workspace_path",
]

# As they were called before; out of `__all__`, so that nobody learns them anew.
Frame, MarkingFrame = ChangeSet, MarkingChangeSet
FilePart = FileTransaction
Turns = WriteLock

# What only some programs need is imported when it is asked for (PEP 562).
_LATER = {
    "Archived BETWEEN CHANGED GOES OBJECT_GONE Places PuttingBack Target Versions changed_by_others net_changes obstacles plan preview": "undo",
    "Attributes Conflict SETTINGS distribution_at import_places Recovered attributes_of copy_with_holes Merging Was check_program_may_change merging program_state can_exchange": "disk",
    "FileEntry FileStat GlobMatch GrepMatch IgnoreRules Ignored Listing Pattern": "search",
    "FilesystemSnapshot Past": "_past",
    "OverlayFilesystem": "overlay",  # with a warning, until the next release
    "ReadStream TextStream WriteStream": "_streams",
    "StoreFilesystem": "_roots",
    "git_index_meaning is_git_config is_git_index is_git_object": "_git_data",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
