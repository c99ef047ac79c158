"""Files beneath one directory of the host, which nobody leaves, and whose changes can be taken back.

Every change is recorded in a journal before it is made, as one exchange of names: new content is staged, and what was there
lies in staging afterwards. Undoing never removes what it did not expect; it is kept aside and reported. What a dead
process began is ended by the next one that takes the lease. Paths are resolved beneath the root's descriptor, never as text.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.filesystem.disk._change_set import DiskChangeSet
    from wink.filesystem.disk._content import Attributes, attributes_of, copy_with_holes
    from wink.filesystem.disk._installed import SETTINGS, distribution_at, import_places
    from wink.filesystem.disk._journal_file import has_journals
    from wink.filesystem.disk._merge import Merging, Was, check_program_may_change, merging, program_state
    from wink.filesystem.disk._report import Conflict, Recovered
    from wink.filesystem.disk._store import DiskStore
    from wink.filesystem.disk._syscalls import can_exchange

__all__ = [
    "SETTINGS",
    "Attributes",
    "Conflict",
    "DiskChangeSet",
    "DiskStore",
    "Merging",
    "Recovered",
    "Was",
    "attributes_of",
    "can_exchange",
    "check_program_may_change",
    "copy_with_holes",
    "distribution_at",
    "has_journals",
    "import_places",
    "merging",
    "program_state",
]

# What only some programs need is imported when it is asked for (PEP 562).
_LATER = {
    "SETTINGS distribution_at import_places": "_installed",
    "Attributes attributes_of copy_with_holes": "_content",
    "Conflict Recovered": "_report",
    "DiskChangeSet": "_change_set",
    "DiskStore": "_store",
    "has_journals": "_journal_file",
    "Merging Was check_program_may_change merging program_state": "_merge",
    "can_exchange": "_syscalls",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
