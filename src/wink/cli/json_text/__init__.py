"""Change single members of a file of JSON that people write by hand, comments and all, and leave every other byte as it is.

`plain` makes JSON of a text with comments, letter for letter in the same places; `parts` finds what is where in it, `with_members`,
`with_items` and `without` say what to change, and `applied` changes it, in the text with the comments.
"""

from wink.cli.json_text._changes import (
    Change,
    Part,
    applied,
    inverse,
    parts,
    top,
    with_items,
    with_members,
    without,
)
from wink.cli.json_text._comments import Plain, plain

__all__ = [
    "Change",
    "Part",
    "Plain",
    "applied",
    "inverse",
    "parts",
    "plain",
    "top",
    "with_items",
    "with_members",
    "without",
]
