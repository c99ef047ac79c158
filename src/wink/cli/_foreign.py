"""Keep what plugins print while they are imported out of a command's own output."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def printing_to_stderr() -> Generator[None]:
    """What is written to standard output meanwhile, by Python or by a program that it starts, goes to standard error.

    A command whose output a program reads would otherwise print JSON with a plugin's greeting in front of it.
    """
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(own, 1)
        os.close(own)
