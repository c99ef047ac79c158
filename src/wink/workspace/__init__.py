"""Directories that an agent works on: files, named sessions and the record of what was done to them."""

from wink.workspace._applying import apply
from wink.workspace._collect import Collected
from wink.workspace._names import session_name
from wink.workspace._recovery import Otherwise, put_aside, recover
from wink.workspace._root import STATE_DIRECTORY, has_journals, open_record
from wink.workspace._undo import Reverted
from wink.workspace._workspace import Workspace

__all__ = [
    "Collected",
    "Otherwise",
    "Reverted",
    "STATE_DIRECTORY",
    "Workspace",
    "apply",
    "has_journals",
    "open_record",
    "put_aside",
    "recover",
    "session_name",
]
