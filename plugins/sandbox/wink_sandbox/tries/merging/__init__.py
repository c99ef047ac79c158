"""Merge what a try changed with what the workspace has become meanwhile: texts by lines, renames, and git by its refs."""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink_sandbox.tries.merging._lines import MergedText, MergeFailed, merge_texts
    from wink_sandbox.tries.merging._refs import RefMerge, Refs, is_merged
    from wink_sandbox.tries.merging._renames import Renames
    from wink_sandbox.tries.merging._repository import Arrived
    from wink_sandbox.tries.merging._three_way import (
        Choice,
        Conflict,
        Merge,
        ThreeWay,
        between,
        found_content,
        is_marked,
        regular_files,
        with_markers,
    )

__all__ = [
    "Arrived",
    "Choice",
    "Conflict",
    "Merge",
    "MergeFailed",
    "MergedText",
    "RefMerge",
    "Refs",
    "Renames",
    "ThreeWay",
    "between",
    "found_content",
    "is_marked",
    "is_merged",
    "merge_texts",
    "regular_files",
    "with_markers",
]

if not TYPE_CHECKING:  # listing tries needs none of these
    __getattr__ = lazily(
        __name__,
        {
            "MergeFailed MergedText merge_texts": "_lines",
            "RefMerge Refs is_merged": "_refs",
            "Renames": "_renames",
            "Arrived": "_repository",
            "Choice Conflict Merge ThreeWay between found_content is_marked regular_files with_markers": "_three_way",
        },
    )
