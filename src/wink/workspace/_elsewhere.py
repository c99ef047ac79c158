"""Take a workspace's calls into the history in another process, so that no call waits for the interpreter meanwhile."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Final

from wink.record import Durability, Keep

_logger: Final = logging.getLogger("wink.workspace")

# Last, so that nothing beside wink is taken for a part of Python.
_START: Final = (
    "import sys; sys.path.append({place!r}); from wink.workspace._elsewhere_main import main; main(sys.argv[1])"
)


def fold_elsewhere(root: str, state: str, durability: Durability, keep: Keep) -> bool:
    """Let another process fold what is pending, and wait for it; gives whether it has done so, or somebody else does."""
    import subprocess

    import wink

    if not sys.executable:
        return False  # inside another program: then it is done when the workspace is closed
    start = _START.format(place=os.path.dirname(os.path.dirname(os.path.abspath(wink.__file__))))
    command = [sys.executable, "-I", "-c", start, json.dumps([root, state, durability, *keep])]
    none = subprocess.DEVNULL
    try:
        done = subprocess.run(command, stdin=none, stdout=none, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        _logger.warning("no process could be started that folds calls into the history: %s", error)
        return False
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        _logger.warning("calls could not be folded into the history by another process: %s", said or done.returncode)
    return not done.returncode
