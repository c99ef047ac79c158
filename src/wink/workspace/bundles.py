"""Sessions as files: written in one place, read in another."""

from wink.workspace._bundle import Bundle, read_bundle, write_bundle
from wink.workspace._export import export
from wink.workspace._export_git import git_bundle
from wink.workspace._export_rows import Call, Change, Event, Exported, LeftOut, Manifest, Prompt, Run, Side, Slice
from wink.workspace._import import write_import

__all__ = [
    "Bundle",
    "Call",
    "Change",
    "Event",
    "Exported",
    "LeftOut",
    "Manifest",
    "Prompt",
    "Run",
    "Side",
    "Slice",
    "export",
    "git_bundle",
    "read_bundle",
    "write_bundle",
    "write_import",
]
