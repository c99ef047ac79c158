"""The parameters of a tool whose schema only its server knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from wink.dataclass import dataclass
from wink.serde import dumps, extras, parse


@dataclass(frozen=True, eq=False, repr=False)
class McpArguments:
    """The arguments of one call, as attributes where their names allow, so that policies and rules can read them.

    As JSON it is what was sent: arguments that were left out stay out.

    >>> arguments = McpArguments.of({"path": "a.txt", "max-lines": 3})
    >>> arguments.path, arguments["max-lines"], hasattr(arguments, "limit")
    ('a.txt', 3, False)
    """

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> McpArguments:
        """The parameters for these arguments, which are plain JSON values."""
        return parse(cls, arguments, extra="allow")

    def as_dict(self) -> dict[str, Any]:
        """The arguments, as they are sent to the server."""
        return dict(extras(self))

    def __getattr__(self, name: str) -> Any:
        found = extras(self)
        if name in found:
            return found[name]
        raise AttributeError(f"the call has no argument {name!r}")

    def __getitem__(self, name: str) -> Any:
        return extras(self)[name]

    def __contains__(self, name: object) -> bool:
        return name in extras(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, McpArguments):
            return NotImplemented
        return self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(dumps(self))

    def __repr__(self) -> str:
        return f"McpArguments({self.as_dict()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return cast("Any", McpArguments.of), (self.as_dict(),)
