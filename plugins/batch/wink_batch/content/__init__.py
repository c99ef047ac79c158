"""The files that a task begins with, once on each node, and what an attempt changed in them."""

from wink_batch.content._cache import Base, Cache, usual_cache
from wink_batch.content._collect import Changed, Collected, changes_between, changes_over, collect

__all__ = ["Base", "Cache", "Changed", "Collected", "changes_between", "changes_over", "collect", "usual_cache"]
