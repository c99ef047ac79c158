"""Run a command of wink's that is killed before a change to a tree: `python killed.py TREE NUMBER ARGUMENTS...`.

It is the first one from system call NUMBER on, of those below the tree, SQLite's too. To be started under the library of
`tests/faults`.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(tree: str, number: str, *arguments: str) -> None:
    """Count from the start of the command on."""
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from tests.faults.library import KILL, Injector

    from wink.cli import main as wink

    injector = Injector()
    injector.watch(tree)
    injector.open(KILL, int(number))
    wink(arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
