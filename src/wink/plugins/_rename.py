"""Give a section's tools other names, so that two sections whose tools are called alike fit into one prompt."""

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wink.policies import PolicyDecision, ToolPolicy

if TYPE_CHECKING:
    from wink.prompt import Section
    from wink.tools import Tool, ToolContext, ToolResult


def with_renamed_tools(section: "Section[Any]", names: Mapping[str, str]) -> "Section[Any]":
    """A copy of `section` whose own tools have the names that `names` gives for their old ones.

    The section's policies go on speaking of the old names: a policy of `{"commit": {"status"}}` means this section's
    tools, whatever they are called now. The section's text stays as it is, and so do its children. Raises `KeyError`
    for a name that none of its tools has.
    """
    tools: tuple[Tool[Any, Any], ...] = tuple(section.tools())
    missing = names.keys() - {tool.name for tool in tools}
    if missing:
        raise KeyError(*sorted(missing))
    renamed = tuple(tool.replace(name=names[tool.name]) if tool.name in names else tool for tool in tools)
    originals = {new.name: old for new, old in zip(renamed, tools, strict=True) if new is not old}
    policies = tuple(RenamedPolicy(policy, originals) for policy in section.policies())
    cls = type(section)
    twin = copy.copy(section)
    # A subclass of the section's own class: whoever looks a section up by its type still finds it.
    twin.__class__ = type(
        cls.__name__,
        (cls,),
        {
            "__module__": cls.__module__,
            "__doc__": cls.__doc__,
            "tools": lambda self: renamed,  # noqa: ARG005  # pyright: ignore[reportUnknownLambdaType]
            "policies": lambda self: policies,  # noqa: ARG005  # pyright: ignore[reportUnknownLambdaType]
        },
    )
    return twin


class RenamedPolicy:
    """Shows a policy its section's tools under the names that it knows.

    A tool of another section that bears one of the old names is not shown to it: that is the very confusion which the
    renaming is to end.
    """

    __slots__ = ("_inner", "_originals", "_remark")

    def __init__(self, inner: ToolPolicy, originals: Mapping[str, "Tool[Any, Any]"]) -> None:
        self._inner, self._originals = inner, originals
        self._remark = ", ".join(f"{old.name} is called {new} here" for new, old in originals.items())

    @property
    def name(self) -> str:
        """The policy's own name."""
        return self._inner.name

    @property
    def is_immediate(self) -> bool:
        """What the policy says of itself."""
        return getattr(self._inner, "is_immediate", False)

    def check(self, tool: "Tool[Any, Any]", params: Any, *, context: "ToolContext") -> PolicyDecision:
        """Ask the policy, and tell the model the new names when it denies."""
        decision = self._inner.check(self._originals.get(tool.name, tool), params, context=context)
        # Whatever is not a decision goes through as it is: the executor denies and names the policy.
        if not isinstance(decision, PolicyDecision) or decision.allowed:  # pyright: ignore[reportUnnecessaryIsInstance]
            return decision
        return PolicyDecision.deny(f"{decision.reason} ({self._remark})")

    def on_result(
        self, tool: "Tool[Any, Any]", params: Any, result: "ToolResult[Any]", *, context: "ToolContext"
    ) -> None:
        """Tell the policy, unless the tool only happens to bear a name that a renamed tool had."""
        original = self._originals.get(tool.name)
        if original is None and any(tool.name == old.name for old in self._originals.values()):
            return
        self._inner.on_result(original or tool, params, result, context=context)

    def __repr__(self) -> str:
        return f"{self._inner!r} ({self._remark})"
