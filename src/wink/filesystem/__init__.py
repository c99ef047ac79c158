"""Files that a call can change and take back, in memory and on disk."""

from typing import TYPE_CHECKING

from wink.filesystem._change import DIFFABLE_BYTES, ChangeKind, FileChange, FileVersion, Kept
from wink.filesystem._filesystem import Filesystem
from wink.filesystem._git_data import is_git_data
from wink.filesystem._part import FilePart
from wink.filesystem._paths import WorkspacePath, is_protected_name, protected_as, unportable_name, workspace_path
from wink.filesystem._results import EditResult, ReadResult, WriteMode, WriteResult
from wink.filesystem._roots import HostFilesystem, InMemoryFilesystem
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import Frame, MarkingFrame, MarkingStore, Node, NodeKind, Staging, Store
from wink.filesystem._turns import Turns

if TYPE_CHECKING:
    from wink.filesystem._disk_content import Attributes, attributes_of
    from wink.filesystem._exchange import can_exchange
    from wink.filesystem._git_index import git_index_meaning, is_git_index
    from wink.filesystem._ignored import Ignored
    from wink.filesystem._journal_report import Conflict, Recovered
    from wink.filesystem._listing import FileEntry, FileStat, GlobMatch, GrepMatch, Listing
    from wink.filesystem._net import net_changes
    from wink.filesystem._over_store import StoreFilesystem
    from wink.filesystem._overlay_root import OverlayFilesystem
    from wink.filesystem._plan import BETWEEN, CHANGED, Target, changed_by_others, plan
    from wink.filesystem._putting_back import PuttingBack, preview
    from wink.filesystem._snapshot import FilesystemSnapshot
    from wink.filesystem._streams import ReadStream, TextStream, WriteStream
    from wink.filesystem._versions import Archived, Places, Versions

__all__ = [
    "BETWEEN",
    "CHANGED",
    "DIFFABLE_BYTES",
    "Archived",
    "Attributes",
    "ChangeKind",
    "Conflict",
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
    "Ignored",
    "InMemoryFilesystem",
    "Kept",
    "Listing",
    "MarkingFrame",
    "MarkingStore",
    "Node",
    "NodeKind",
    "OverlayFilesystem",
    "Places",
    "PuttingBack",
    "ReadResult",
    "ReadStream",
    "Recovered",
    "Stamp",
    "Staging",
    "Store",
    "StoreFilesystem",
    "Target",
    "TextStream",
    "Turns",
    "Versions",
    "WorkspacePath",
    "WriteMode",
    "WriteResult",
    "WriteStream",
    "attributes_of",
    "can_exchange",
    "changed_by_others",
    "git_index_meaning",
    "is_git_data",
    "is_git_index",
    "is_protected_name",
    "protected_as",
    "unportable_name",
    "net_changes",
    "plan",
    "preview",
    "workspace_path",
]

# What only some programs need is imported when it is asked for (PEP 562).
_LATER = {
    "Archived": "_versions",
    "BETWEEN": "_plan",
    "CHANGED": "_plan",
    "Attributes": "_disk_content",
    "Conflict": "_journal_report",
    "FileEntry": "_listing",
    "FileStat": "_listing",
    "FilesystemSnapshot": "_snapshot",
    "GlobMatch": "_listing",
    "GrepMatch": "_listing",
    "Ignored": "_ignored",
    "Listing": "_listing",
    "OverlayFilesystem": "_overlay_root",
    "Places": "_versions",
    "PuttingBack": "_putting_back",
    "ReadStream": "_streams",
    "Recovered": "_journal_report",
    "StoreFilesystem": "_over_store",
    "Target": "_plan",
    "TextStream": "_streams",
    "Versions": "_versions",
    "WriteStream": "_streams",
    "attributes_of": "_disk_content",
    "can_exchange": "_exchange",
    "changed_by_others": "_plan",
    "git_index_meaning": "_git_index",
    "is_git_index": "_git_index",
    "net_changes": "_net",
    "plan": "_plan",
    "preview": "_putting_back",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found
