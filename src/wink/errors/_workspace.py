"""Errors of workspaces and their record."""

from collections.abc import Sequence

from wink.errors._core import WinkError
from wink.errors._runtime import TransactionError

__all__ = [
    "BundleRefused",
    "CheckpointExists",
    "ExportFailed",
    "HistoryDamaged",
    "HistoryUnavailable",
    "ImportRefused",
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


class WorkspaceRootError(WinkError):
    """What should be a workspace is missing, or is not a directory."""

    def __init__(self, root: str, problem: str) -> None:
        self.root, self.problem = root, problem
        super().__init__(root, problem)

    def __str__(self) -> str:
        return f"{self.root!r} cannot be a workspace, it {self.problem}; give an existing directory"


class WorkspaceReadOnly(WinkError):
    """Nothing can be stored where a workspace keeps its state, so nothing in it can be changed."""

    def __init__(self, state: str, reason: str) -> None:
        self.state, self.reason = state, reason
        super().__init__(state, reason)

    def __str__(self) -> str:
        return (
            f"this workspace can only be read, its state cannot be kept in {self.state!r} ({self.reason}); "
            f"make it writable, or open the workspace with state=… in another place"
        )


class WorkspaceClosed(WinkError):
    """A workspace, or a session of it, was used after the workspace had been closed."""

    def __init__(self, root: str) -> None:
        self.root = root
        super().__init__(root)

    def __str__(self) -> str:
        return f"the workspace {self.root!r} has been closed; open it again with Workspace.open"


class WorkspaceNeedsRecovery(TransactionError):
    """It cannot be told whether a transaction committed; the workspace refuses writes until it can.

    Nothing may be undone on its account: what was changed stays as it is until the record can be read again.
    """

    def __init__(self, workspace: str, transaction_id: str, reason: str) -> None:
        self.workspace, self.transaction_id, self.reason = workspace, transaction_id, reason
        super().__init__(workspace, transaction_id, reason)

    def __str__(self) -> str:
        return (
            f"cannot tell whether transaction {self.transaction_id} was stored in {self.workspace!r}: {self.reason}; "
            f"fix that, then run `wink recover`"
        )


class SessionNameError(WinkError, ValueError):
    """The name of a session, or of another `kind` of thing, has characters that it must not have, or is too long."""

    def __init__(self, name: str, kind: str = "session") -> None:
        self.name, self.kind = name, kind
        super().__init__(name, kind)

    def __str__(self) -> str:
        return (
            f"{self.name!r} cannot name a {self.kind}; use 1 to 64 of a-z, 0-9, '.', '_' and '-', "
            f"beginning with a letter or a digit"
        )


class NothingToUndo(WinkError):
    """There is no call that could be taken back, or not so many; `reason` says which."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    def __str__(self) -> str:
        return f"{self.reason}; `wink log` lists what was done"


class StateConflict(TransactionError):
    """What a call wrote to a session cannot be taken back alone; `reason` says why, most often that it was changed since."""

    def __init__(self, type_name: str, reason: str = "was written again since") -> None:
        self.type_name, self.reason = type_name, reason
        super().__init__(type_name, reason)

    def __str__(self) -> str:
        return f"{self.type_name} {self.reason}"


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

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)

    def __str__(self) -> str:
        return f"there is a checkpoint {self.name!r} already; choose another name, or move it with `wink checkpoint --force`"


class HistoryDamaged(WinkError):
    """What calls replaced was folded into the history, and the history is missing or was altered.

    Nothing was changed; what has not been folded can still be taken back.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return (
            f"the history in {self.path!r} cannot be used: {self.reason}; put it back from a copy, or move it away: "
            f"then calls that were folded into it cannot be taken back, and later ones can"
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


class ExportFailed(WinkError):
    """A session cannot be written into a file; `reason` says why and what to do."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    def __str__(self) -> str:
        return f"nothing was exported: {self.reason}"


class BundleRefused(WinkError):
    """A file is no bundle of a session, or a damaged or a hostile one; nothing was written."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return f"{self.path!r} was not imported: {self.reason}; ask for it once more, `wink export` writes one"


class ImportRefused(WinkError):
    """What was to become the directory of an imported session is there already."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        super().__init__(directory)

    def __str__(self) -> str:
        return f"{self.directory!r} is there already; name a directory that is empty or does not exist"


class MaskPatternError(WinkError, ValueError):
    """A pattern by which secrets should be found cannot be used."""

    def __init__(self, pattern: str, reason: str) -> None:
        self.pattern, self.reason = pattern, reason
        super().__init__(pattern, reason)

    def __str__(self) -> str:
        return (
            f"{self.pattern!r} cannot find secrets: {self.reason}; use RE2 syntax, for example 'acme_[a-z0-9]{{20,}}'"
        )


class JournalNotOurs(TransactionError):
    """Something lies among the journals in the state that this wink cannot finish; it has been left as it is.

    The text names nothing of the host: it is told to models, too.
    """

    def __init__(self, transaction_id: str, reason: str) -> None:
        self.transaction_id, self.reason = transaction_id, reason
        super().__init__(transaction_id, reason)

    def __str__(self) -> str:
        return (
            f"nothing can be changed while {self.transaction_id!r} is among the journals: {self.reason}; it has been left as it "
            f"is, and `wink recover --set-aside` moves it away"
        )


class RecordError(WinkError):
    """A workspace's record cannot be used."""


class RecordTooNew(RecordError):
    """The record was written by a later wink, and has been left as it is."""

    def __init__(self, path: str, version: int, supported: int) -> None:
        self.path, self.version, self.supported = path, version, supported
        super().__init__(path, version, supported)

    def __str__(self) -> str:
        return (
            f"{self.path!r} has format {self.version}, and this wink knows formats up to {self.supported}; "
            f"upgrade wink, or put it aside with `wink recover --set-aside`, where it stays as it is"
        )


class RecordCorrupt(RecordError):
    """The record is damaged or something else's, and has been left as it is."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return (
            f"{self.path!r} cannot be read as a record: {self.reason}; it has been left as it is, "
            f"move it away to begin a new one: `wink recover --set-aside` does so"
        )


class StateNotKnown(RecordError):
    """What lies in a workspace's `.wink` looks like a state, and is not known to be this user's; nothing of it was opened."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return (
            f"{self.path!r} is not known as a state of yours: {self.reason}; `wink trust --state` takes it over if you "
            f"made it, and `wink recover --set-aside` puts it aside if not"
        )


class StateKeyError(RecordError):
    """The key by which wink knows a user's own states cannot be kept, or others could have written it."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return (
            f"wink knows what it has made by a key in {self.path!r}, which cannot be used: {self.reason}; fix that, or "
            f"set XDG_STATE_HOME to a directory that is yours alone"
        )


class RecordUnavailable(RecordError):
    """The record could not be reached just now: it is locked for too long, or the disk fails."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return f"cannot use {self.path!r}: {self.reason}; fix that and try again"
