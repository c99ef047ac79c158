"""Errors that tests of plugins, and runs that are played again, end with."""

from collections.abc import Sequence

from wink.errors import WinkError


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


class RecordingUnreadable(WinkError, ValueError):
    """A file is no recording of a run, or a damaged one; `line` counts from 1."""

    says = "{path}, line {line}: {problem}"

    def __init__(self, path: str, line: int, problem: str) -> None:
        self.path, self.line, self.problem = path, line, problem
        super().__init__(path, line, problem)


class ReplayMismatch(WinkError):
    """A run that is played again goes another way than the recorded one; `turn` counts the model's turns from 1."""

    is_failure = True

    says = "before turn {turn} of the model: {problem}"

    def __init__(self, turn: int, problem: str) -> None:
        self.turn, self.problem = turn, problem
        super().__init__(turn, problem)
