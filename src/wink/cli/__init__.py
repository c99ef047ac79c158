"""The command line: the only part of wink that reads the environment, the home directory and the terminal."""

import gc
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    gc.disable()  # what is imported stays, and looking through it for garbage took a tenth of a short command
    from wink.cli import _main

    _main.main(arguments)
