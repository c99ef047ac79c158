"""A filesystem over anybody's store: what an author of a `Store` gives to tools."""

from __future__ import annotations

from wink.filesystem._access import Tree
from wink.filesystem._facts import FactCache
from wink.filesystem._filesystem import Filesystem
from wink.filesystem._roots import PATIENCE, RootAccess
from wink.filesystem._store import Store
from wink.filesystem._turns import Turns


class StoreFilesystem(Filesystem):
    """Files of a store that you made: it keeps them, and everything else is as with the stores that wink has.

    A store that is a `MarkingStore` can take snapshots. `immutable` promises that content never changes in place, so that
    two equal `Node.identity` always mean the same content. `wink.testing.FilesystemContract` holds the store to what is expected of it.
    """

    __slots__ = ("store",)

    def __init__(
        self, store: Store, *, read_only: bool = False, portable_names: bool = True, immutable: bool = False
    ) -> None:
        self.store = store
        tree = Tree(
            store,
            FactCache(trusted=immutable),
            Turns(f"the filesystem {store.root!r}"),
            read_only=read_only,
            portable_names=portable_names,
            patience=PATIENCE,
        )
        super().__init__(RootAccess(tree))
