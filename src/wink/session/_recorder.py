"""Who keeps what the calls of a session did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from wink.session._approvals import ApprovalStore

if TYPE_CHECKING:
    from wink.session._session import Session

Entry_contra = TypeVar("Entry_contra", contravariant=True)


class Recorder(Protocol[Entry_contra]):
    """Keeps what calls did, durably; a workspace has one."""

    def commit(self, entry: Entry_contra, nested: Sequence[Entry_contra] = ()) -> None:
        """Store the entry, and those of the calls inside it, in one step: the only commit point of a transaction.

        Raises `CommitFailed` when it is certain that nothing was stored, and `WorkspaceNeedsRecovery` when that cannot
        be told; then nothing may be undone.
        """
        ...

    def committed(self, transaction_id: str) -> bool:
        """Whether a transaction was stored; raises `WorkspaceNeedsRecovery` when that cannot be told."""
        ...

    def attempt(self, entry: Entry_contra) -> None:
        """Store that a call was made which changed nothing, and what it appended to logs."""
        ...

    def refresh(self, session: Session) -> None:
        """Make `session` forget what it loaded if another process has committed since."""
        ...

    def start(self, entry: Entry_contra) -> None:
        """Store that a call which acts on the outside world is about to begin; raises like `commit`."""
        ...

    @property
    def approvals(self) -> ApprovalStore:
        """Where the calls are kept that people are asked about."""
        ...

    def keep_result(self, name: str, text: str) -> None:
        """Keep a text until it is one of many; raises when that cannot be done."""
        ...

    def kept_result(self, name: str) -> str | None:
        """The text that was kept, or None."""
        ...

    def kept_results(self) -> Sequence[str]:
        """The names of those that are kept, newest first."""
        ...
