"""What a program must not read: paths of the workspace that rules name, and what lies elsewhere on the machine.

Which paths those are is found when a program starts. The launcher mounts an empty file or directory over each.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink_sandbox.hiding._hiding import Hiding
    from wink_sandbox.hiding._names import other_names
    from wink_sandbox.hiding._places import USUALLY_HIDDEN, Kept, kept_from, problem_with
    from wink_sandbox.hiding._rules import hiding_by

__all__ = ["USUALLY_HIDDEN", "Hiding", "Kept", "hiding_by", "kept_from", "other_names", "problem_with"]

if not TYPE_CHECKING:  # each is imported when it is asked for
    __getattr__ = lazily(
        __name__,
        {
            "Hiding": "_hiding",
            "USUALLY_HIDDEN Kept kept_from problem_with": "_places",
            "hiding_by": "_rules",
            "other_names": "_names",
        },
    )
