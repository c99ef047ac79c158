"""What the person who mounts a server says about its tools."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from wink.dataclass import dataclass, field
from wink.serde import Extra
from wink_mcp.mount._names import fitted

if TYPE_CHECKING:
    import mcp_types as types

McpEffects = Literal["read", "external"]
"""What a mounted tool may be said to touch: wink can take nothing of it back, so it is never `workspace`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the mounting person says about a server's tools; all names are the server's own, and may be patterns."""

    prefix: str
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    effects: McpEffects | Mapping[str, McpEffects] = "external"
    trust_hints: bool = False
    extra: Extra = "forbid"

    def takes(self, name: str) -> bool:
        """Whether a tool of this name is wanted."""
        wanted = self.allow is None or any(fnmatchcase(name, pattern) for pattern in self.allow)
        return wanted and not any(fnmatchcase(name, pattern) for pattern in self.deny)

    def named(self, name: str) -> str:
        """What a tool is called here."""
        return self.rename.get(name) or fitted(self.prefix, name)

    def effects_of(self, tool: types.Tool) -> McpEffects:
        """What a tool may touch: as the person says, or the server's hint where that is trusted, otherwise anything."""
        hints = tool.annotations
        hinted = self.trust_hints and hints is not None and hints.read_only_hint is True
        if isinstance(self.effects, str):
            return "read" if hinted else self.effects
        return self.effects.get(tool.name, "read" if hinted else "external")
