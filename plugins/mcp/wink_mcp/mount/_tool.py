"""A tool whose work is done by an MCP server, and whose schema is the server's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wink.errors import ParseError, Problem, PromptValidationError
from wink.serde import Extra, parse
from wink.tools import Tool, ToolHandler
from wink_mcp.mount._arguments import McpArguments
from wink_mcp.mount._choice import McpEffects
from wink_mcp.mount._results import McpResult
from wink_mcp.mount._schema import ArgumentSchema


class McpTool(Tool[McpArguments, McpResult]):
    """A tool of a mounted server; `origin` is what the server calls it.

    Its parameters are `McpArguments`: checked against the server's schema, and not shaped any further. `extra` says what
    becomes of arguments that the schema neither names nor provides for: they are refused (`forbid`), dropped (`ignore`),
    or sent along (`allow`). JSON Schema would let them pass where it is silent; models invent arguments, so the default
    does not.
    """

    __slots__ = ("_arguments", "origin")

    origin: str

    def __init__(
        self,
        name: str,
        description: str,
        handler: ToolHandler[McpArguments, McpResult],
        *,
        arguments: ArgumentSchema,
        origin: str,
        effects: McpEffects = "external",
        extra: Extra = "forbid",
    ) -> None:
        super().__init__(
            name, description, handler, (), False, effects=effects, extra=extra, _types=(McpArguments, McpResult)
        )
        object.__setattr__(self, "_arguments", arguments)
        object.__setattr__(self, "origin", origin)

    def parse(self, arguments: str | bytes | Mapping[str, Any]) -> McpArguments:
        """The arguments of a call, checked against the server's schema; raises `ParseError` with every problem."""
        if isinstance(arguments, (str, bytes)) and not arguments.strip():
            arguments = "{}"
        given: dict[str, Any] = parse(dict[str, Any], arguments)
        known = self._arguments
        unknown = [] if known.is_open else [name for name in given if name not in known.names]
        refused: list[Problem] = []
        if unknown and self.extra == "forbid":
            named = f"the arguments are {', '.join(map(repr, sorted(known.names)))}" if known.names else "it takes none"
            refused = [Problem(f"$.{name}", f"is not a known argument; {named}") for name in unknown]
        kept = given if not unknown or self.extra == "allow" else {k: v for k, v in given.items() if k in known.names}
        checked = kept if not unknown else {key: value for key, value in kept.items() if key in known.names}
        problems = [*refused, *known.problems(checked)]
        if problems:
            raise ParseError(problems)
        return McpArguments.of(kept)

    def schema(self) -> dict[str, Any]:
        """The server's own schema; a new dict each time."""
        return self._arguments.document()

    def check(self) -> None:
        """Nothing is left to check: the schema was when the tool was listed."""

    def replace(self, **changes: Any) -> McpTool:
        """The same tool with other arguments, such as another `name`."""
        kept = ("name", "description", "handler", "effects", "extra", "origin")
        arguments: dict[str, Any] = {key: getattr(self, key) for key in kept} | {"arguments": self._arguments} | changes
        for fixed in ("examples", "accepts_overrides", "timeout"):
            if fixed in arguments:
                raise PromptValidationError(f"{fixed} of a mounted tool cannot be replaced", tool=self.name)
        return McpTool(**arguments)

    def __repr__(self) -> str:
        return f"<McpTool {self.name!r}>"

    _arguments: ArgumentSchema
