"""Take a function's docstring apart: what it does in a paragraph, more about it, and its parameters."""

import inspect
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

LONGEST: Final = 1_000
"""Characters of a description; providers take 1,024."""

_FIELDS: Final = re.compile(
    r"^[ \t]*(?:(?:Args|Arguments|Parameters|Params|Keyword Args|Other Parameters)\s*(?::|\n[ \t]*-+)|:param\b|@param\b)",
    re.MULTILINE,
)


class Told(NamedTuple):
    """What a docstring says: the first paragraph on one line, the paragraphs after it, and each parameter's words."""

    description: str
    details: str
    params: Mapping[str, str]


def told_by(docstring: str | None) -> Told:
    """Read a docstring in Google, NumPy or Sphinx style, or in none.

    A first paragraph that is longer than a description may be is shortened there, and stands whole in the details.

    >>> told_by('''Count words.
    ...
    ... Args:
    ...     path: where to look
    ... ''')
    Told(description='Count words.', details='', params={'path': 'where to look'})
    """
    text = inspect.cleandoc(docstring or "")
    params: dict[str, str] = {}
    first, _, rest = text.partition("\n\n")
    if _FIELDS.search(text):
        from docstring_parser import parse  # half of a start's time, for docstrings that have something to take apart

        found = parse(text)
        params = {one.arg_name.lstrip("*"): " ".join((one.description or "").split()) for one in found.params}
        first = _FIELDS.split(first, maxsplit=1)[0]
        rest = _FIELDS.split(rest, maxsplit=1)[0] if not _FIELDS.search(text.partition("\n\n")[0]) else ""
    first = " ".join(first.split())
    details = rest.strip()
    if len(first) > LONGEST:
        details = f"{first}\n\n{details}".strip()
        first = first[: LONGEST - 1].rsplit(" ", 1)[0] + "\u2026"
    return Told(first, details, {name: words for name, words in params.items() if words})
