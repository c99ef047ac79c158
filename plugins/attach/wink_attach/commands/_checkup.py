"""What `wink doctor` says of attached agents, and of what is kept for them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from wink.cli import Checkup, Finding
from wink_attach._baseline import condition
from wink_attach._helper import last_failure
from wink_attach._offers import agent_named, agent_names
from wink_attach._place import baseline_directory, closed_for, oddity, seen
from wink_attach.commands._attach import is_attached, is_complete, scope_of

_GROUP = "agents"
_AGAIN = "it is tried again at the next event"


def attached(workspace: str) -> Checkup:
    """Say which agents are attached, whether their hooks are whole and were seen to work, and whether the helper can."""
    root = os.path.realpath(workspace)
    found: list[Finding] = []
    users = set[bool]()
    for name in agent_names(root):
        agent = agent_named(root, name)
        for user in (False, True):
            scope = scope_of(root, user=user)
            if not is_attached(agent, scope):
                continue
            users.add(user)
            again = f"wink attach {name}{' --user' if user else ''}"
            where = "all projects" if user else "this project"
            if not is_complete(agent, scope):
                found.append(
                    Finding(_GROUP, name, False, f"attached for {where}, but not all of its hooks are there", again)
                )
            elif seen(root, name) is None:
                found.append(Finding(_GROUP, name, True, f"attached for {where}, and not seen to work yet"))
            else:
                found.append(Finding(_GROUP, name, True, f"attached for {where}, and seen to work"))
    if users:
        found += _helper(root, is_chosen=False in users)
    return Checkup(tuple(found))


def _helper(root: str, *, is_chosen: bool) -> Iterator[Finding]:
    if odd := oddity(root, is_chosen=is_chosen):
        yield Finding(_GROUP, "helper", False, "it keeps and judges nothing here", odd)
        return
    if closed := closed_for(root):
        yield Finding(_GROUP, "helper", False, closed, _AGAIN)
    elif failure := last_failure(root):
        yield Finding(_GROUP, "helper", False, f"it cannot start: {failure}", _AGAIN)
    is_whole, told = condition(baseline_directory(root))
    if not is_whole:
        yield Finding(
            _GROUP, "baseline", False, f"the copies of files are damaged: {told}", "others are begun at the next event"
        )
    elif told:
        yield Finding(_GROUP, "baseline", True, told)
