"""A filesystem over another one, which it never changes before it is told to.

What is new lies in an upper store; marks in it hide what of the lower layer is gone. All that an overlay knows is in that
store, so its undo and its snapshots are the store's. A commit takes the changes to the lower layer: in one transaction where
that is one of wink's own filesystems, path by path and taken back at a failure where it is an fsspec filesystem.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink_overlay._errors import LowerFailed, OverlayCommitFailed
from wink_overlay._filesystem import OverlayFilesystem

if TYPE_CHECKING:
    from wink_overlay._fsspec import OverlayFileSystem

__all__ = ["LowerFailed", "OverlayCommitFailed", "OverlayFileSystem", "OverlayFilesystem"]

_LATER = {"OverlayFileSystem": "_fsspec"}  # which imports fsspec

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
