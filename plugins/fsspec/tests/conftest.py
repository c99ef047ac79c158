"""Filesystems of both kinds, whose views are looked at."""

from tests.filesystem.conftest import files, make, memory

__all__ = ["files", "make", "memory"]
