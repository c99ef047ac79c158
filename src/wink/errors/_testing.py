"""Errors that tests of plugins end with."""

from collections.abc import Sequence

from wink.errors._core import WinkError

__all__ = ["InjectedFault", "UndeclaredEffects"]


class InjectedFault(WinkError):
    """What a handler is made to fail with by `wink.testing.fail_at_every_step`; `step` is what it was about to do."""

    says = "made to fail before {step}"

    def __init__(self, step: str) -> None:
        self.step = step
        super().__init__(step)


class UndeclaredEffects(WinkError, AssertionError):
    """A handler did what its tool's `effects` do not declare; `actions` says what and where, one text each.

    What was done around the handle is not rolled back when the call fails, and nobody is told of it when it succeeds.
    """

    def __init__(self, tool: str, effects: str, actions: Sequence[str], remedies: Sequence[str] = ()) -> None:
        self.tool, self.effects, self.actions, self.remedies = tool, effects, tuple(actions), tuple(remedies)
        super().__init__(tool, effects, self.actions, self.remedies)

    def __str__(self) -> str:
        done = "".join(f"\n  {action}" for action in self.actions)
        remedy = "".join(f"\n{remedy}" for remedy in self.remedies)
        return f"{self.tool} declares effects={self.effects!r} and does more:{done}{remedy}"
