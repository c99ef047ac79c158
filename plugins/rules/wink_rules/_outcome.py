"""Say which files a call has touched that its arguments did not name: what it changed, and what it found lines of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from wink.errors import SerdeError
from wink.transactions import current_transaction
from wink_rules._facts import Facts
from wink_rules._naming import kind_of

if TYPE_CHECKING:
    from wink.tools import ToolResult


CREATE: Final = "would create"


def touched(facts: Facts, result: ToolResult[Any]) -> dict[str, str]:
    """Each path that a call has touched, and how that is told: `would create`, `would change` or `found lines in`."""
    paths = dict(_changed(facts))
    if facts.tool.effects == "read" and result.value is not None:
        for path in _shown(result.value):
            paths.setdefault(path, "found lines in")
    return paths


def _changed(facts: Facts) -> Iterator[tuple[str, str]]:
    transaction = current_transaction()
    root = None if transaction is None else transaction.root
    if transaction is None or root is None or facts.tool.effects == "read":
        return
    part = transaction.file_part_of(root)
    if part is None or not part.dirty:
        return
    for change in part.changes():
        if change.before is None and change.after is not None and change.after.kind == "directory":
            continue  # made on the way to a file
        yield change.path, CREATE if change.before is None else "would change"
        if change.moved_from is not None:
            yield change.moved_from, "would change"


def _shown(value: Any) -> Iterator[str]:
    """The paths in a result that stand beside a text: lines that were found there."""
    from wink.serde import dump

    try:
        pending: list[Any] = [dump(value)]
    except SerdeError:
        return  # nothing that could be read as data
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending += cast("list[Any]", one)
        elif isinstance(one, Mapping):
            fields = cast("Mapping[str, Any]", one)
            texts = [key for key, inner in fields.items() if isinstance(inner, str) and kind_of(key) == "text"]
            if texts:
                yield from (inner for key, inner in fields.items() if isinstance(inner, str) and kind_of(key) == "path")
            pending += [inner for inner in fields.values() if isinstance(inner, list | Mapping)]
