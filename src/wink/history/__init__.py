"""History as git: committed calls become commits in a bare repository that any git can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.history._folding import Folding

if TYPE_CHECKING:
    from wink.history._archive import Archive
    from wink.history._everything import TakenIn, take_in
    from wink.history._git import git_on_store
    from wink.history._listing import Item
    from wink.history._repository import repository
    from wink.history._store import Store

__all__ = ["Archive", "Folding", "Item", "Store", "TakenIn", "git_on_store", "repository", "take_in"]

# Most workspaces are opened and closed without a look at their history (PEP 562).
_LATER = {
    "Archive": "_archive",
    "Item": "_listing",
    "Store": "_store",
    "git_on_store": "_git",
    "repository": "_repository",
    "TakenIn": "_everything",
    "take_in": "_everything",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found
