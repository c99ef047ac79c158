"""Hand long output on a terminal to the pager that the environment names: `WINK_PAGER`, or else `PAGER`.

Nothing in a workspace has a say: the program is found by absolute directories of `PATH` only, none of them in the workspace.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO, cast

import click

from wink.trust import is_inside


@contextmanager
def paged(workspace: str) -> Generator[bool]:
    """Where a pager is named and this is a terminal, what is printed goes to it; gives whether it does."""
    words = _pager(os.path.realpath(workspace)) if sys.stdout.isatty() else None
    if words is None:
        yield False
        return
    import subprocess

    context = click.get_current_context()
    if context.color is None:  # what it would be on the terminal that the pager writes to
        context.color = True
    environment = {"LESS": "FRX", **os.environ}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=environment, text=True, errors="surrogateescape") as pager:
        stream = cast("TextIO", pager.stdin)
        try:
            with suppress(BrokenPipeError), redirect_stdout(stream):  # whoever has seen enough leaves
                yield True
        finally:
            with suppress(BrokenPipeError):
                stream.close()


def _pager(workspace: str) -> list[str] | None:
    import shlex
    import shutil

    try:
        words = shlex.split(os.environ.get("WINK_PAGER", os.environ.get("PAGER", "")))
    except ValueError:
        return None
    if not words or words == ["cat"]:
        return None
    places = [place for place in os.get_exec_path() if os.path.isabs(place)]
    found = shutil.which(words[0], path=os.pathsep.join(places)) if "/" not in words[0] else words[0]
    if found is None or not os.path.isabs(found):
        return None
    # A link in the workspace may lead to any program, such as a shell, which would run what it is shown.
    places = os.path.join(os.path.realpath(os.path.dirname(found)), os.path.basename(found)), os.path.realpath(found)
    if any(is_inside(place, workspace) for place in places):
        return None
    return [found, *words[1:]]
