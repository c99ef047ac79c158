"""Keep standard input and output for a protocol, away from whatever else reads and prints in the process."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def standard_streams() -> Generator[tuple[int, int]]:
    """Private descriptors of standard input and output; whoever reads or writes the public ones misses the protocol.

    What handlers and programs print goes to standard error, and what they read is empty.
    """
    read, write = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
    finally:
        os.close(nothing)
    try:
        yield read, write
    finally:
        os.dup2(read, 0)
        os.dup2(write, 1)
        # Not closed: a thread may still wait on them, and must not find another file there.
