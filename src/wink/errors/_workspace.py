"""Errors of workspaces and their record."""

from collections.abc import Sequence

from wink.errors._core import WinkError
from wink.errors._runtime import TransactionError

__all__ = [
    "CheckpointExists",
    "HistoryDamaged",
    "HistoryUnavailable",
    "JournalNotOurs",
    "MaskPatternError",
    "NothingToUndo",
    "RecordCorrupt",
    "RecordError",
    "RecordTooNew",
    "RecordUnavailable",
    "SessionNameError",
    "StateConflict",
    "StateKeyError",
    "StateNotKnown",
    "UndoConflict",
    "UnknownCall",
    "UnknownCheckpoint",
    "UnknownSession",
    "WorkspaceClosed",
    "WorkspaceNeedsRecovery",
    "WorkspaceReadOnly",
    "WorkspaceRootError",
]


class _OfPath(WinkError):
    """What lies at `path` is not as it must be; `reason` says why."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)


class WorkspaceRootError(WinkError):
    """What should be a workspace is missing, or is not a directory."""

    says = "{root!r} cannot be a workspace, it {problem}; give an existing directory"

    def __init__(self, root: str, problem: str) -> None:
        self.root, self.problem = root, problem
        super().__init__(root, problem)


class WorkspaceReadOnly(WinkError):
    """Nothing can be stored where a workspace keeps its state, so nothing in it can be changed."""

    says = (
        "this workspace can only be read, its state cannot be kept in {state!r} ({reason}); "
        "make it writable, or open the workspace with state=… in another place"
    )

    def __init__(self, state: str, reason: str) -> None:
        self.state, self.reason = state, reason
        super().__init__(state, reason)


class WorkspaceClosed(WinkError):
    """A workspace, or a session of it, was used after the workspace had been closed."""

    says = "the workspace {root!r} has been closed; open it again with Workspace.open"

    def __init__(self, root: str) -> None:
        self.root = root
        super().__init__(root)


class WorkspaceNeedsRecovery(TransactionError):
    """It cannot be told whether a transaction committed; the workspace refuses writes until it can.

    Nothing may be undone on its account: what was changed stays as it is until the record can be read again.
    """

    says = (
        "cannot tell whether transaction {transaction_id} was stored in {workspace!r}: {reason}; "
        "fix that, then run `wink recover`"
    )

    def __init__(self, workspace: str, transaction_id: str, reason: str) -> None:
        self.workspace, self.transaction_id, self.reason = workspace, transaction_id, reason
        super().__init__(workspace, transaction_id, reason)


class SessionNameError(WinkError, ValueError):
    """The name of a session, or of another `kind` of thing, has characters that it must not have, or is too long."""

    says = (
        "{name!r} cannot name a {kind}; use 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit"
    )

    def __init__(self, name: str, kind: str = "session") -> None:
        self.name, self.kind = name, kind
        super().__init__(name, kind)


class NothingToUndo(WinkError):
    """There is no call that could be taken back, or not so many; `reason` says which."""

    says = "{reason}; `wink log` lists what was done"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class StateConflict(TransactionError):
    """What a call wrote to a session cannot be taken back alone; `reason` says why, most often that it was changed since."""

    says = "{type_name} {reason}"

    def __init__(self, type_name: str, reason: str = "was written again since") -> None:
        self.type_name, self.reason = type_name, reason
        super().__init__(type_name, reason)


class UndoConflict(TransactionError):
    """Calls cannot be taken back, because of what was done since; nothing was changed.

    `conflicts` holds one `(what, reason)` for each path, or type of session state, that is in the way.
    """

    def __init__(self, conflicts: Sequence[tuple[str, str]]) -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(self.conflicts)

    @property
    def paths(self) -> tuple[str, ...]:
        """What is in the way."""
        return tuple(what for what, _ in self.conflicts)

    def __str__(self) -> str:
        told = "; ".join(f"{what} {reason}" for what, reason in self.conflicts)
        return f"nothing was taken back: {told}"


class UnknownCall(WinkError, LookupError):
    """No call of this workspace has this number, or none any more: those before `first` are not kept."""

    def __init__(self, call: int, first: int = 0) -> None:
        self.call, self.first = call, first
        super().__init__(call, first)

    def __str__(self) -> str:
        if self.call < self.first:
            return (
                f"c{self.call} is not kept any more; the oldest call that is kept is c{self.first}, and "
                "[tool.wink.history] says how many are"
            )
        return f"there is no call c{self.call} in this workspace; `wink log` lists them"


class UnknownCheckpoint(WinkError, LookupError):
    """No checkpoint of this workspace has this name; `known` are those there are."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(name, self.known)

    def __str__(self) -> str:
        there = f"there are {', '.join(self.known)}" if self.known else "make one with `wink checkpoint NAME`"
        return f"there is no checkpoint {self.name!r}; {there}"


class CheckpointExists(WinkError):
    """A checkpoint of this name was made before, and stays what it is."""

    says = "there is a checkpoint {name!r} already; choose another name, or move it with `wink checkpoint --force`"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


class HistoryDamaged(_OfPath):
    """What calls replaced was folded into the history, and the history is missing or was altered.

    Nothing was changed; what has not been folded can still be taken back.
    """

    says = (
        "the history in {path!r} cannot be used: {reason}; put it back from a copy, or move it away: "
        "then calls that were folded into it cannot be taken back, and later ones can"
    )


class HistoryUnavailable(HistoryDamaged):
    """What was asked for needs a history of the workspace, and no plugin is installed that keeps one."""

    def __init__(self, store: str) -> None:
        super().__init__(store, "no plugin is installed that keeps one")
        self.args = (store,)

    def __str__(self) -> str:
        return (
            "this needs the history of calls, and no plugin is installed that keeps one; install wink with its plugins"
        )


class UnknownSession(WinkError, LookupError):
    """No session of this workspace has this name; `known` are those there are."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(name, self.known)

    def __str__(self) -> str:
        there = f"there are {', '.join(self.known)}" if self.known else "nothing has happened in this workspace yet"
        return f"there is no session {self.name!r}; {there}"


class MaskPatternError(WinkError, ValueError):
    """A pattern by which secrets should be found cannot be used."""

    says = "{pattern!r} cannot find secrets: {reason}; use RE2 syntax, for example 'acme_[a-z0-9]{{20,}}'"

    def __init__(self, pattern: str, reason: str) -> None:
        self.pattern, self.reason = pattern, reason
        super().__init__(pattern, reason)


class JournalNotOurs(TransactionError):
    """Something lies among the journals in the state that this wink cannot finish; it has been left as it is.

    The text names nothing of the host: it is told to models, too.
    """

    says = (
        "nothing can be changed while {transaction_id!r} is among the journals: {reason}; it has been left as it "
        "is, and `wink recover --set-aside` moves it away"
    )

    def __init__(self, transaction_id: str, reason: str) -> None:
        self.transaction_id, self.reason = transaction_id, reason
        super().__init__(transaction_id, reason)


class RecordError(WinkError):
    """A workspace's record cannot be used."""

    is_failure = True


class RecordTooNew(RecordError):
    """The record was written by a later wink, and has been left as it is."""

    says = (
        "{path!r} has format {version}, and this wink knows formats up to {supported}; "
        "upgrade wink, or put it aside with `wink recover --set-aside`, where it stays as it is"
    )

    def __init__(self, path: str, version: int, supported: int) -> None:
        self.path, self.version, self.supported = path, version, supported
        super().__init__(path, version, supported)


class RecordCorrupt(_OfPath, RecordError):
    """The record is damaged or something else's, and has been left as it is."""

    says = (
        "{path!r} cannot be read as a record: {reason}; it has been left as it is, "
        "move it away to begin a new one: `wink recover --set-aside` does so"
    )


class StateNotKnown(_OfPath, RecordError):
    """What lies in a workspace's `.wink` looks like a state, and is not known to be this user's; nothing of it was opened."""

    says = (
        "{path!r} is not known as a state of yours: {reason}; `wink trust --state` takes it over if you "
        "made it, and `wink recover --set-aside` puts it aside if not"
    )


class StateKeyError(_OfPath, RecordError):
    """The key by which wink knows a user's own states cannot be kept, or others could have written it."""

    says = (
        "wink knows what it has made by a key in {path!r}, which cannot be used: {reason}; fix that, or "
        "set XDG_STATE_HOME to a directory that is yours alone"
    )


class RecordUnavailable(_OfPath, RecordError):
    """The record could not be reached just now: it is locked for too long, or the disk fails."""

    says = "cannot use {path!r}: {reason}; fix that and try again"
