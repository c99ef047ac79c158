"""The plugin's settings, as `[tool.wink.plugins.attach]` gives them."""

from __future__ import annotations

from typing import Final

from wink.dataclass import dataclass, field
from wink.plugins import hookimpl

BUDGET: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class AttachSettings:
    """What is kept of a workspace that an agent is attached to.

    `budget_bytes` is how much of the content of its files, largest first out. A file of the workspace that is not trusted says
    nothing of it: with a small one an agent could keep what it does from being taken back.
    """

    budget_bytes: int = field(default=BUDGET, metadata={"ge": 1 << 20, "le": 1 << 50})


@hookimpl
def wink_settings() -> type[AttachSettings]:
    """How much is kept."""
    return AttachSettings
