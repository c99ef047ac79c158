"""What a program must not read: paths of the workspace that rules name, and what lies elsewhere on the machine.

Which paths those are is found when a program starts. The launcher mounts an empty file or directory over each.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink_sandbox.hiding._hiding import Hiding
    from wink_sandbox.hiding._names import other_names
    from wink_sandbox.hiding._places import USUALLY_HIDDEN, Kept, kept_from, problem_with, would_keep
    from wink_sandbox.hiding._rules import hiding_by
    from wink_sandbox.hiding._seen import Unseen, unseen

__all__ = [
    "USUALLY_HIDDEN",
    "Hiding",
    "Kept",
    "Unseen",
    "hiding_by",
    "kept_from",
    "other_names",
    "problem_with",
    "unseen",
    "would_keep",
]

if not TYPE_CHECKING:  # each is imported when it is asked for
    __getattr__ = lazily(
        __name__,
        {
            "Hiding": "_hiding",
            "USUALLY_HIDDEN Kept kept_from problem_with would_keep": "_places",
            "hiding_by": "_rules",
            "Unseen unseen": "_seen",
            "other_names": "_names",
        },
    )
