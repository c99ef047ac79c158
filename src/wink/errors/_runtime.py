"""Errors of a tool call and of the transaction around it."""

from collections.abc import Sequence
from typing import Any

from wink.errors._core import WinkError

__all__ = [
    "ApprovalChanged",
    "ApprovalRequired",
    "BudgetExceededError",
    "CommitFailed",
    "DeadlineExceededError",
    "HandleRevoked",
    "RollbackFailed",
    "RunBusy",
    "ToolValidationError",
    "TransactionError",
    "UnknownApproval",
    "UnknownRun",
    "WorkspaceBusy",
]


class ToolValidationError(WinkError, ValueError):
    """A handler found that its arguments make no sense; the model is shown the message."""


class DeadlineExceededError(WinkError, TimeoutError):
    """The run's deadline passed."""


class BudgetExceededError(WinkError):
    """The run used more tokens than its budget allows."""

    says = "{used} {kind} tokens used of {limit} allowed"

    def __init__(self, kind: str, used: int, limit: int) -> None:
        self.kind, self.used, self.limit = kind, used, limit
        super().__init__(kind, used, limit)


class TransactionError(WinkError):
    """A transaction could not do what was asked."""

    is_failure = True


class HandleRevoked(TransactionError, PermissionError):
    """A handle was used after its call had ended, or a root was used where the call's own handle must be.

    Nothing was changed by the refused operation.
    """


class WorkspaceBusy(TransactionError, TimeoutError):
    """Another call holds the workspace's lease, and did not give it back in time."""

    def __init__(self, workspace: str, waited_seconds: float, holder: str = "") -> None:
        self.workspace, self.waited_seconds, self.holder = workspace, waited_seconds, holder
        super().__init__(workspace, waited_seconds, holder)

    def __str__(self) -> str:
        by = f" by {self.holder}" if self.holder else ""
        return f"{self.workspace} has been busy{by} for {self.waited_seconds:.1f} s; try again when the other call has ended"


class CommitFailed(TransactionError):
    """A transaction could not be committed, and was rolled back instead."""


class RollbackFailed(TransactionError):
    """A rollback could not finish; `paths` are the files that are not as they were.

    The workspace refuses writes until it has been recovered.
    """

    def __init__(self, paths: Sequence[str], reason: str) -> None:
        self.paths, self.reason = tuple(paths), reason
        super().__init__(self.paths, reason)

    def __str__(self) -> str:
        return (
            f"could not roll back {', '.join(map(repr, self.paths)) or 'the call'}: {self.reason}; run `wink recover`"
        )


class ApprovalRequired(WinkError):
    """A call waits for a person; nothing of it has happened. `request` says what was asked."""

    def __init__(self, request: Any) -> None:
        self.request = request
        super().__init__(request)

    def __str__(self) -> str:
        request = self.request
        return f"{request.tool} needs approval ({request.id}): {request.reason}"


class UnknownApproval(WinkError, LookupError):
    """No request that could be answered has this id; `known` are those that can be."""

    def __init__(self, request_id: str, problem: str = "", known: Sequence[str] = ()) -> None:
        self.request_id, self.problem, self.known = request_id, problem, tuple(known)
        super().__init__(request_id, problem, self.known)

    def __str__(self) -> str:
        remedy = f"these wait: {', '.join(self.known)}" if self.known else "no request waits for an answer"
        return f"{self.request_id} {self.problem or 'is no request for approval'}; {remedy}"


class ApprovalChanged(WinkError):
    """What was asked about is not as it was any more, so that the answer was not taken.

    `changes` say in a phrase each what is different, and `instead` is the request that was asked in its place.
    """

    is_failure = True

    def __init__(self, request_id: str, changes: Sequence[str], instead: Any) -> None:
        self.request_id, self.changes, self.instead = request_id, tuple(changes), instead
        super().__init__(request_id, self.changes, instead)

    def __str__(self) -> str:
        return (
            f"{self.request_id} was not answered, since it was asked {' and '.join(self.changes)}; "
            f"it is asked again as {self.instead.id}"
        )


class UnknownRun(WinkError, LookupError):
    """There is no such run; `known` are those that could be resumed, and None where one that has ended would do as well."""

    def __init__(self, run_id: str, problem: str = "", known: Sequence[str] | None = ()) -> None:
        self.run_id, self.problem, self.known = run_id, problem, known if known is None else tuple(known)
        super().__init__(run_id, problem, self.known)

    def __str__(self) -> str:
        resumable = f"these can be resumed: {', '.join(self.known)}" if self.known else "no run can be resumed"
        remedy = "`wink runs --all` lists them" if self.known is None else resumable
        return f"run {self.run_id!r} {self.problem}; {remedy}" if self.run_id else f"there is no such run; {remedy}"


class RunBusy(TransactionError):
    """Another process works on this run."""

    says = "another process works on run {run_id}; wait until it has ended"

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(run_id)
