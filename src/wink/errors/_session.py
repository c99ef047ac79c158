"""Errors of the session."""

from wink.errors._core import WinkError

__all__ = [
    "ReducerError",
    "SessionError",
    "SliceTypeError",
    "SnapshotRestoreError",
    "SnapshotSerializationError",
    "SubscriberErrors",
]


class SessionError(WinkError):
    """The session could not do what was asked; nothing in it changed."""


class SliceTypeError(SessionError, TypeError):
    """A slice was asked for, or given, something that it cannot hold."""

    says = "slice {slice_name}: {problem}"

    def __init__(self, slice_name: str, problem: str) -> None:
        self.slice_name, self.problem = slice_name, problem
        super().__init__(slice_name, problem)


class ReducerError(SessionError):
    """A reducer raised, or returned what is no slice operation; `__cause__` is what it raised."""

    says = "reducer {reducer_name} of slice {slice_name} failed on {event_name}: {problem}"

    def __init__(self, slice_name: str, event_name: str, reducer_name: str, problem: str) -> None:
        self.slice_name, self.event_name, self.reducer_name = slice_name, event_name, reducer_name
        self.problem = problem
        super().__init__(slice_name, event_name, reducer_name, problem)


class SnapshotSerializationError(SessionError, ValueError):
    """A snapshot holds something that cannot be written as JSON; `type_name` is the slice, `index` the item."""

    def __init__(self, problem: str, type_name: str = "", index: int | None = None) -> None:
        self.problem, self.type_name, self.index = problem, type_name, index
        super().__init__(problem, type_name, index)

    def __str__(self) -> str:
        return f"cannot write the snapshot: {_place(self.type_name, self.index)}{self.problem}"


class SnapshotRestoreError(SessionError, ValueError):
    """Stored state cannot be read back; `type_name` is the slice, `index` the item, where they are known."""

    def __init__(self, problem: str, type_name: str = "", index: int | None = None) -> None:
        self.problem, self.type_name, self.index = problem, type_name, index
        super().__init__(problem, type_name, index)

    def __str__(self) -> str:
        return f"cannot restore the state: {_place(self.type_name, self.index)}{self.problem}"


class SubscriberErrors(WinkError, ExceptionGroup[Exception]):
    """What the subscribers of one event raised."""


def _place(type_name: str, index: int | None) -> str:
    if not type_name:
        return ""
    return f"{type_name}: " if index is None else f"{type_name} item {index}: "
