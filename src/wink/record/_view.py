"""One call as everybody is told of it who looks at a record, and the words for what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from wink.filesystem import FileChange

if TYPE_CHECKING:
    from wink.transactions import Outcome

Role = Literal["good", "quiet", "warning", "bad"]
"""How a word wants to look where there are colours."""

WORDS: Final[Mapping[str, tuple[Role, str]]] = {
    # what became of a call: its role, and what it means, for a person who points at it
    "ok": ("good", "committed, and stands"),
    "undone": ("quiet", "committed, and was taken back later"),
    "rolled back": ("bad", "failed; nothing of what it did stayed"),
    "denied": ("warning", "a policy did not allow it; nothing was done"),
    "refused": ("warning", "it was not run: unknown, or its arguments are wrong"),
    "raised": ("bad", "ended the run; nothing of what it did stayed"),
    "unknown": ("bad", "its process ended while it acted on the outside world"),
}
"""Every word for what became of a call, in the order of a list to choose from."""


def word_of(outcome: str, *, committed: bool = True, undone: bool = False) -> str:
    """In a word of `WORDS`, what became of a call; `committed` and `undone` tell of its transaction.

    >>> word_of("denied"), word_of("committed"), word_of("committed", committed=False), word_of("committed", undone=True)
    ('denied', 'ok', 'rolled back', 'undone')
    """
    if outcome != "committed":
        return outcome
    if not committed:  # it was called inside of another one, which failed
        return "rolled back"
    return "undone" if undone else "ok"


def role_of(word: str) -> Role:
    """How a word of `WORDS` wants to look; one that is not known looks bad."""
    return WORDS.get(word, WORDS["unknown"])[0]


def values_of(arguments: str) -> Any:
    """Arguments as values; text that is no JSON stays text.

    >>> values_of('{"path": "a.txt"}'), values_of('{"path": ')
    ({'path': 'a.txt'}, '{"path": ')
    """
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


class CallView(NamedTuple):
    """One call as the record keeps it.

    `position` grows with every call, `transaction` with every transaction. `committed` tells whether the transaction of the
    call stands, `undone` whether it is taken back at present; a nested call shares `transaction_id` and `changes` with the
    outermost one. `arguments` is JSON text, `rendered` what the model was sent, `decisions` one
    `(policy, allowed, reason, asks)` a policy that was asked. `changes` hold no file's content, and `changed` is how many
    there are, of which a list may show only the first. `effects` is what the tool declares that it may touch, `run` the run
    that the call belongs to, `approval` the number of the answer of a person that it used, `error` what an exception said
    that the model was not shown, and `plugin` what offered the tool.
    """

    position: int
    transaction: int
    transaction_id: str
    session: str
    committed: bool
    call_id: str
    tool: str
    prompt: str
    outcome: Outcome
    arguments: str
    rendered: str
    started_at: datetime
    duration: timedelta
    decisions: tuple[tuple[str, bool, str | None, bool], ...]
    changes: tuple[FileChange, ...]
    effects: str = "workspace"
    run: str = ""
    approval: int = 0
    error: str | None = None
    plugin: str = ""
    changed: int = 0
    undone: bool = False

    @property
    def word(self) -> str:
        """What became of it, as a word of `WORDS`."""
        return word_of(self.outcome, committed=self.committed, undone=self.undone)

    @property
    def role(self) -> Role:
        """How that word wants to look."""
        return role_of(self.word)

    @property
    def meaning(self) -> str:
        """What that word means."""
        return WORDS.get(self.word, ("", ""))[1]

    @property
    def values(self) -> Any:
        """The arguments as `values_of` gives them."""
        return values_of(self.arguments)

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return self.duration.total_seconds() * 1000
