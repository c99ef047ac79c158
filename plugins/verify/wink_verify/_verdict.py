"""What was found of a record, and how far it can be believed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far the entries of a record fit. An entry is a transaction with its calls; entries are counted by position.

    `problem` says what the entry at `position` has that does not fit, with the last `call` before or in it; None where all
    fit. Up to and with `upto` each entry fits the one before it, and up to `kept` the head that was kept outside of the
    workspace vouches for them; 0 where none was kept, or where it does not fit. Entries up to `unchained` were written
    before there was a chain, and those up to `forgotten` were forgotten.
    """

    problem: str | None
    position: int
    call: int
    upto: int
    kept: int
    unchained: int
    forgotten: int
    entry: bytes
    """The hash of the entry at `upto`."""
    contents: int
    """How many contents that calls replaced are what earlier calls have left."""
    gone: int
    """How many of those are not kept any more."""
    unknown: int
    """How many contents that calls replaced no earlier call has left, so that nothing vouches for them."""

    @property
    def fits(self) -> bool:
        """Whether nothing was found that does not fit."""
        return self.problem is None
