"""The command line: the only part of wink that reads the environment, the home directory and the terminal."""

import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from wink._planted import guard, named_workspaces

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    guard(*named_workspaces(sys.argv[1:] if arguments is None else arguments))
    gc.disable()  # what is imported stays, and looking through it for garbage took a tenth of a short command
    from wink.cli import _main

    _main.main(arguments)
