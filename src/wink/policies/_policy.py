"""What a policy must be able to do."""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wink.policies._decision import PolicyDecision

if TYPE_CHECKING:
    from wink.tools import Tool, ToolContext, ToolResult

__all__ = ["ToolPolicy"]


@runtime_checkable
class ToolPolicy(Protocol):
    """A rule about tool calls, declared on a section or on a whole prompt.

    Every policy that governs a tool is asked, and one denial is enough. Policies fail closed: one that raises, or that
    answers with anything but a `PolicyDecision`, denies the call, and so does one that has not answered after five
    seconds where a call is made with `aexecute`, as servers do; `execute` waits for it on its caller's thread. A policy
    keeps nothing in itself, since it serves every session of its prompt; what it must remember goes into a session
    slice (see `PolicyState`), where it is rolled back, restored and reset with everything else.

    One that never waits, for a network, a lock or a process, may say so with an attribute `is_immediate = True`: it is
    then asked without a thread to be left behind, which costs a tenth of a millisecond, and without a limit of time.
    """

    @property
    def name(self) -> str:
        """Names the policy in decisions, events and state."""
        ...

    def check(self, tool: "Tool[Any, Any]", params: Any, *, context: "ToolContext") -> PolicyDecision:
        """Say whether `tool` may be called with `params` now.

        Asked before the handler runs, for each tool that the policy governs: those of its section and of the sections
        below it, or all of them when it was declared on the prompt. `params` have been parsed; a tool without
        parameters gets `None`.
        """
        ...

    def on_result(
        self, tool: "Tool[Any, Any]", params: Any, result: "ToolResult[Any]", *, context: "ToolContext"
    ) -> None:
        """Take notice of a call that succeeded.

        Told about the tools that it is asked about, inside the call's transaction: what is written to the session here
        is kept or lost together with the call, and raising fails the call, as does taking too long.
        """
        ...
