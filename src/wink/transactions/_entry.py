"""What a call leaves in the record, and who keeps it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, Protocol

from wink.dataclass import dataclass
from wink.filesystem import FileChange
from wink.session import Recorder as SessionRecorder
from wink.session import SliceDelta

Outcome = Literal["committed", "rolled back", "denied", "refused", "raised", "unknown"]
"""`refused`: an unknown tool or arguments that do not fit; `raised`: rolled back, and the exception went on to the caller;
`unknown`: it acts on the outside world, and its process ended while it did."""


@dataclass(frozen=True, slots=True)
class CommitEntry:
    """One call as the record keeps it.

    `arguments` is JSON text as it was parsed, `rendered` what the model was sent, `decisions` one
    `(policy, allowed, reason, asks)` a policy that was asked, `effects` what its tool declares that it may touch. `run` is
    the run that an outermost call belongs to, `approval` the number of the person's answer that it used, and `error` what an
    exception said that the model was not shown. `plugin` is what offered the tool: name, distribution, version.
    """

    transaction_id: str
    session: str
    call_id: str
    tool: str
    prompt: str
    arguments: str
    outcome: Outcome
    rendered: str
    started_at: datetime
    duration: timedelta
    decisions: tuple[tuple[str, bool, str | None, bool], ...]
    deltas: tuple[SliceDelta, ...]
    changes: tuple[FileChange, ...]
    effects: str = "workspace"
    run: str = ""
    approval: int = 0
    error: str | None = None
    plugin: str = ""


class Recorder(SessionRecorder[CommitEntry], Protocol):
    """Keeps what calls did, durably; a workspace has one."""
