"""The policy that lets a tool run only after others have succeeded."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from wink.errors import DependencyCycle, PolicyError
from wink.policies._decision import PolicyDecision
from wink.policies._state import PolicyState, invoked_tools, is_remembered, remember

if TYPE_CHECKING:
    from wink.tools import Tool, ToolContext, ToolResult

__all__ = ["SequentialDependencyPolicy"]

_TOOL_NAME: Final = re.compile(r"[a-z0-9_-]{1,64}")


class SequentialDependencyPolicy:
    """Deny a tool until the tools that it depends on have succeeded in this session.

    `dependencies` maps a tool's name to the names that must have succeeded first; order is kept for the text that the
    model reads, so a list says more than a set. Two policies with one `name` share what they remember.

    >>> policy = SequentialDependencyPolicy({"deploy": ["test", "build"], "build": {"lint"}})
    >>> policy.dependencies["build"]
    frozenset({'lint'})

    A tool counts once it has succeeded, and stays counted until the session is reset or restored to an earlier state. The
    policy hears of the tools that it governs: for tools of several sections it belongs to a section around them, or to the
    prompt. Raises `PolicyError` for what cannot be meant, and its subclass `DependencyCycle`
    when tools wait for each other.
    """

    __slots__ = ("_name", "_needs", "dependencies")

    is_immediate: Final = True
    """It waits for nothing, so servers ask it without a thread; see `ToolPolicy`."""

    dependencies: Mapping[str, frozenset[str]]

    def __init__(self, dependencies: Mapping[str, Iterable[str]], *, name: str = "sequential_dependency") -> None:
        if not name.strip():
            raise PolicyError("a policy needs a name; leave it out to use the usual one")
        if not isinstance(cast("object", dependencies), Mapping):
            raise PolicyError(f"dependencies map a tool to those that it needs, and {dependencies!r} is no mapping")
        self._name = name
        self._needs = {tool: _ordered(tool, needed) for tool, needed in dependencies.items()}
        _refuse_cycles(self._needs)
        self.dependencies = MappingProxyType({tool: frozenset(needed) for tool, needed in self._needs.items()})

    @property
    def name(self) -> str:
        """The name under which decisions and memory are kept."""
        return self._name

    def check(self, tool: "Tool[Any, Any]", params: Any, *, context: "ToolContext") -> PolicyDecision:  # noqa: ARG002
        """Allow a tool whose dependencies have all succeeded; otherwise say which are missing and what to call next."""
        needed = self._needs.get(tool.name)
        if not needed:
            return PolicyDecision.allow()
        session = context.session
        if all(is_remembered(session, self._name, name) for name in needed):
            return PolicyDecision.allow()
        # Somebody may have noted it in another way.
        done = invoked_tools(session, self._name)
        missing = [name for name in needed if name not in done]
        if not missing:
            return PolicyDecision.allow()
        if unheard := self._unheard(missing, tool.name, context):
            return PolicyDecision.deny(
                f"{tool.name} needs {_listed(unheard)} to have succeeded first, and policy {self._name!r} does not govern "
                f"{'it' if len(unheard) == 1 else 'them'}; declare it on the prompt, or on a section around both"
            )
        steps = self._steps_to(missing, done)
        return PolicyDecision.deny(
            f"{tool.name} needs {_listed(missing)} to have succeeded first; call {', then '.join(steps)}"
        )

    def on_result(
        self,
        tool: "Tool[Any, Any]",
        params: Any,  # noqa: ARG002
        result: "ToolResult[Any]",
        *,
        context: "ToolContext",
    ) -> None:
        """Remember that `tool` has succeeded."""
        if result.success:
            remember(context.session, PolicyState(self._name, frozenset({tool.name})))

    def _unheard(self, missing: list[str], tool: str, context: "ToolContext") -> list[str]:
        """Those of `missing` whose success nobody would tell this policy of."""
        governing: Any = getattr(getattr(context, "rendered_prompt", None), "policies_for_tool", None)
        if governing is None or self not in governing(tool):
            return []  # asked by hand, or by a policy around it which knows the tools by other names
        return [name for name in missing if self not in governing(name)]

    def _steps_to(self, missing: Iterable[str], done: AbstractSet[str]) -> list[str]:
        """The calls that are left, in an order that this policy allows."""
        steps: dict[str, None] = {}

        def visit(tool: str) -> None:
            if tool not in done and tool not in steps:
                for needed in self._needs.get(tool, ()):
                    visit(needed)
                steps[tool] = None

        for tool in missing:
            visit(tool)
        return list(steps)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self._needs)!r}, name={self._name!r})"


def _ordered(tool: str, needed: Iterable[str]) -> tuple[str, ...]:
    """The names that `tool` needs, each once: as they were given, or sorted where the container has no order."""
    if isinstance(needed, str):
        raise PolicyError(f"{tool!r} depends on the text {needed!r}; give its dependencies as a set: {{{needed!r}}}")
    names = tuple(dict.fromkeys(needed))
    for name in (tool, *names):
        if not (isinstance(cast("object", name), str) and _TOOL_NAME.fullmatch(name)):
            raise PolicyError(f"{name!r} cannot be the name of a tool; use lower-case letters, digits, '_' and '-'")
    return tuple(sorted(names)) if isinstance(needed, AbstractSet) else names


def _refuse_cycles(needs: Mapping[str, tuple[str, ...]]) -> None:
    """Raise `DependencyCycle` when a tool waits, directly or not, for itself."""
    settled: set[str] = set()

    def visit(tool: str, path: tuple[str, ...]) -> None:
        if tool in path:
            raise DependencyCycle((*path[path.index(tool) :], tool))
        if tool not in settled:
            for needed in needs.get(tool, ()):
                visit(needed, (*path, tool))
            settled.add(tool)

    for tool in needs:
        visit(tool, ())


def _listed(names: list[str]) -> str:
    """Names as a person would list them: `a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
