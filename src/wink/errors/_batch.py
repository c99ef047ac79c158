"""Errors of batches."""

from collections.abc import Sequence

from wink.errors._core import WinkError

__all__ = [
    "BatchBusy",
    "BatchDamaged",
    "BatchError",
    "EngineFailed",
    "SourceUnavailable",
    "TableError",
    "UnknownTask",
]

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

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        return f"the workspace {self.address!r} cannot be had: {self.reason}"


class BatchBusy(BatchError):
    """Another process works on this batch."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        super().__init__(directory)

    def __str__(self) -> str:
        return f"another process works on the batch in {self.directory!r}; wait for it, or interrupt it first"


class BatchDamaged(BatchError):
    """What a batch's directory holds is not as it was left."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return f"{self.path!r} is no batch that can be read: {self.reason}"


class UnknownTask(BatchError):
    """A batch has no task of this id."""

    def __init__(self, task: str, directory: str) -> None:
        self.task, self.directory = task, directory
        super().__init__(task, directory)

    def __str__(self) -> str:
        return (
            f"the batch in {self.directory!r} has no task {self.task!r}; `wink batch show {self.directory}` lists them"
        )


class EngineFailed(BatchError):
    """What was to run the tasks cannot be started, or is gone; what has ended is kept and the batch can be resumed."""

    def __init__(self, engine: str, reason: str) -> None:
        self.engine, self.reason = engine, reason
        super().__init__(engine, reason)

    def __str__(self) -> str:
        return f"{self.engine}: {self.reason}"
