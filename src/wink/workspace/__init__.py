"""Directories that an agent works on: files, named sessions and the record of what was done to them."""

from wink.filesystem.disk import has_journals
from wink.workspace._applying import apply
from wink.workspace._collect import Collected
from wink.workspace._names import session_name
from wink.workspace._recovery import Otherwise, put_aside, put_journals_aside, put_strange_aside, recover
from wink.workspace._rewind import Rewound
from wink.workspace._root import open_record, state_place, workspace_root
from wink.workspace._undo import UNSEEN, Everything, Reverted
from wink.workspace._upkeep import History
from wink.workspace._workspace import Workspace

__all__ = [
    "Collected",
    "Everything",
    "History",
    "Otherwise",
    "Reverted",
    "Rewound",
    "UNSEEN",
    "Workspace",
    "apply",
    "has_journals",
    "open_record",
    "state_place",
    "put_aside",
    "put_journals_aside",
    "put_strange_aside",
    "recover",
    "session_name",
    "workspace_root",
]
