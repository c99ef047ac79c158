"""Files in memory: a persistent tree over immutable bytes, of which every state is kept as long as somebody wants it."""

from wink.filesystem.memory._store import MemoryStore

__all__ = ["MemoryStore"]
