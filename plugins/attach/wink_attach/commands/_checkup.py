"""What `wink doctor` says of attached agents."""

from __future__ import annotations

import os

from wink.cli import Checkup, Finding
from wink_attach._offers import agent_named, agent_names
from wink_attach._place import seen
from wink_attach.commands._attach import is_attached, is_complete, scope_of


def attached(workspace: str) -> Checkup:
    """Say which agents are attached, and whether their hooks are whole and were seen to work."""
    root = os.path.realpath(workspace)
    found: list[Finding] = []
    for name in agent_names(root):
        agent = agent_named(root, name)
        for user in (False, True):
            scope = scope_of(root, user=user)
            if not is_attached(agent, scope):
                continue
            again = f"wink attach {name}{' --user' if user else ''}"
            where = "all projects" if user else "this project"
            if not is_complete(agent, scope):
                found.append(
                    Finding("agents", name, False, f"attached for {where}, but not all of its hooks are there", again)
                )
            elif seen(root, name) is None:
                found.append(Finding("agents", name, True, f"attached for {where}, and not seen to work yet"))
            else:
                found.append(Finding("agents", name, True, f"attached for {where}, and seen to work"))
    return Checkup(tuple(found))
