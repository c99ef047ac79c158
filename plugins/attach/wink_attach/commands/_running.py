"""Start an agent with wink's hooks for this run only: nothing is written into the project."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NoReturn

from wink.cli import wrong
from wink_attach._agent import Agent, Scope
from wink_attach._place import home_of_ours, hook_command, identity, install_client, made_private, mark_closed, oddity


def run_attached(
    agent: Agent, root: str, command: Sequence[str], *, closed: bool, environ: Mapping[str, str]
) -> NoReturn:
    """Become the agent, with its hooks; raises `WrongInput` where it takes none for one run, or cannot be started."""
    if reason := oddity(root, is_chosen=True):
        raise wrong(reason)
    install_client()
    mark_closed(root, closed=closed)
    place = made_private(f"{home_of_ours()}/once")
    words, more = agent.once(
        Scope(root, os.path.expanduser("~"), environ), hook_command, f"{place}/{identity(root)}-{agent.name}", command
    )
    try:
        os.execvpe(words[0], list(words), {**environ, **more})  # noqa: S606  # a program of the user's own
    except OSError as error:
        raise wrong(f"{words[0]!r} cannot be started: {error.strerror}") from None
