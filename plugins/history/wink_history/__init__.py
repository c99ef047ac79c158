"""History as git: committed calls become commits in a bare repository that any git can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink_history._folding import Folding

if TYPE_CHECKING:
    from wink_history._archive import Archive
    from wink_history._blame import Author, BlameError, Line, blame
    from wink_history._everything import TakenIn, take_in
    from wink_history._git import git_on_store
    from wink_history._listing import Item
    from wink_history._repository import repository
    from wink_history._scan import Progress, Tree
    from wink_history._store import Store

__all__ = [
    "Archive",
    "Author",
    "BlameError",
    "Folding",
    "Item",
    "Line",
    "Progress",
    "Store",
    "TakenIn",
    "Tree",
    "blame",
    "git_on_store",
    "repository",
    "take_in",
]

# Most workspaces are opened and closed without a look at their history (PEP 562).
_LATER = {
    "Archive": "_archive",
    "Author BlameError Line blame": "_blame",
    "Item": "_listing",
    "Progress Tree": "_scan",
    "Store": "_store",
    "git_on_store": "_git",
    "repository": "_repository",
    "TakenIn take_in": "_everything",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
