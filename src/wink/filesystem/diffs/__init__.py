"""What became of files, in git's extended format, as lines, and as numbers.

Everything that shows a change asks here: `FileChange.diff`, the commands, the page. Nothing is compared before somebody asks.
"""

from wink.filesystem.diffs._binary import kind_of
from wink.filesystem.diffs._format import FileDiff, diff_text, diffs_of, file_diffs, hunk_text, signed_lines
from wink.filesystem.diffs._groups import Folded, Grouped, Repository, grouped, size_in_words, summed_up, without_filled
from wink.filesystem.diffs._lines import CONTEXT, Block, Hunk, changed_blocks, hunks_between, lines_of

__all__ = [
    "CONTEXT",
    "Block",
    "FileDiff",
    "Folded",
    "Grouped",
    "Hunk",
    "Repository",
    "changed_blocks",
    "diff_text",
    "diffs_of",
    "file_diffs",
    "grouped",
    "hunk_text",
    "hunks_between",
    "kind_of",
    "lines_of",
    "signed_lines",
    "size_in_words",
    "summed_up",
    "without_filled",
]
