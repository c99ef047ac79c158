"""Errors of batches."""

from __future__ import annotations

from collections.abc import Sequence

from wink.errors import WinkError

_SHOWN = 25


class BatchError(WinkError):
    """A batch cannot be begun, gone on with or looked at as it was asked for; the message says why, and what to do."""


class TableError(BatchError):
    """A table of tasks cannot be used; `problems` are all that are wrong, each a place in the table and a message."""

    def __init__(self, address: str, problems: Sequence[tuple[str, str]]) -> None:
        self.address, self.problems = address, tuple(problems)
        super().__init__(address, self.problems)

    def __str__(self) -> str:
        shown = [f"{place}: {message}" if place else message for place, message in self.problems[:_SHOWN]]
        more = len(self.problems) - len(shown)
        if more > 0:
            shown.append(f"and {more} more")
        return f"{self.address} cannot be used as a table of tasks: {'; '.join(shown)}"


class SourceUnavailable(BatchError):
    """The workspace of a task cannot be had."""

    says = "the workspace {address!r} cannot be had: {reason}"

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(address, reason)


class BatchBusy(BatchError):
    """Another process works on this batch."""

    says = "another process works on the batch in {directory!r}; wait for it, or interrupt it first"

    def __init__(self, directory: str) -> None:
        self.directory = directory
        super().__init__(directory)


class BatchDamaged(BatchError):
    """What a batch's directory holds is not as it was left."""

    says = "{path!r} is no batch that can be read: {reason}"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)


class UnknownTask(BatchError):
    """A batch has no task of this id."""

    says = "the batch in {directory!r} has no task {task!r}; `wink batch show {directory}` lists them"

    def __init__(self, task: str, directory: str) -> None:
        self.task, self.directory = task, directory
        super().__init__(task, directory)


class EngineFailed(BatchError):
    """What was to run the tasks cannot be started, or is gone; what has ended is kept and the batch can be resumed."""

    is_failure = True

    says = "{engine}: {reason}"

    def __init__(self, engine: str, reason: str) -> None:
        self.engine, self.reason = engine, reason
        super().__init__(engine, reason)
