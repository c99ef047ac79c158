"""Make files what they were before transactions, without losing what others saved since.

`Versions` finds the content of any moment, `plan` works out what each path must become and `obstacles` what stands in the way,
and `PuttingBack` makes it so, as changes of one transaction that can be taken back itself.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.filesystem.undo._net import net_changes
    from wink.filesystem.undo._plan import (
        BETWEEN,
        CHANGED,
        GOES,
        OBJECT_GONE,
        Target,
        changed_by_others,
        obstacles,
        plan,
    )
    from wink.filesystem.undo._putting_back import PuttingBack, preview
    from wink.filesystem.undo._versions import Archived, Committed, Places, Versions

__all__ = [
    "BETWEEN",
    "CHANGED",
    "GOES",
    "OBJECT_GONE",
    "Archived",
    "Committed",
    "Places",
    "PuttingBack",
    "Target",
    "Versions",
    "changed_by_others",
    "net_changes",
    "obstacles",
    "plan",
    "preview",
]

# What only some programs need is imported when it is asked for (PEP 562).
_LATER = {
    "BETWEEN CHANGED GOES OBJECT_GONE Target changed_by_others obstacles plan": "_plan",
    "Archived Committed Places Versions": "_versions",
    "PuttingBack preview": "_putting_back",
    "net_changes": "_net",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
