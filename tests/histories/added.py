"""What source distributions hardly have, put into each version from a seed: modes, links, bytes, and paths that change kind."""

from __future__ import annotations

import random
import zlib
from typing import Final

from .trees import Entry, Tree, with_parents

MODES: Final = (0o755, 0o600, 0o640, 0o700, 0o444)
_DIRECTORY_MODES: Final = (0o700, 0o750, 0o775)
_OWN: Final = "added"
OUTWARDS: Final = f"{_OWN}/outwards"
"""A link that leads out of the tree, in every version."""


def with_more(tree: Tree, number: int, seed: int) -> Tree:
    """The tree of version `number` with a directory of its own, and with other modes for some of its paths."""
    more = dict(tree)
    files = sorted(path for path, entry in tree.items() if entry.kind == "file")
    directories = sorted(path for path, entry in tree.items() if entry.kind == "directory")
    for path in files:
        drawn = zlib.crc32(f"{seed} {path}".encode())
        # One in 23 files has other bits, and others again every fifth version; at times the usual ones.
        if drawn % 23 == 0:
            which = (drawn // 23 + number // 5) % (len(MODES) + 1)
            more[path] = more[path]._replace(mode=(*MODES, 0o644)[which])
        elif drawn % 97 == 1 and (drawn // 97 + number // 7) % 2:
            more[path] = Entry("link", 0, b"somewhere/else")
    for path in directories[:: 1 + len(directories) // 2]:
        more[path] = more[path]._replace(mode=_DIRECTORY_MODES[number // 8 % 3])
    for index in range(6):
        drawn = random.Random(f"{seed} link {index} {(number + index) // 4}")
        target = drawn.choice([*files, *directories, f"missing-{number}"])
        more[f"{_OWN}/link-{index}"] = Entry("link", 0, f"../{target}".encode())
    for index in range(3):
        drawn = random.Random(f"{seed} bytes {index} {(number + index) // 3}")
        moved = (number + 2 * index) // 5  # into another directory, every fifth version
        content = drawn.randbytes(drawn.choice((1, 100, 4096, 70_000)))
        more[f"{_OWN}/bytes-{moved}/{index}.bin"] = Entry("file", (0o644, 0o755)[number // 6 % 2], content)
    # What is a directory in one version is a file in the next, a link, and nothing.
    turning = f"{_OWN}/turning"
    match number % 4:
        case 0:
            more[f"{turning}/inner/text"] = Entry("file", 0o644, f"{number}\r\nof\r\n".encode())
        case 1:
            more[turning] = Entry("file", 0o644, b"")
        case 2:
            more[turning] = Entry("link", 0, b"bytes-0")
        case _:
            pass
    more[OUTWARDS] = Entry("link", 0, b"../../outside")
    more[f"{_OWN}/empty-{number // 6}"] = Entry("directory", 0o755)
    return with_parents(more)
