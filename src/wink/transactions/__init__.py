"""Transactions over session state, files and resources."""

from wink.transactions._around import (
    current_transaction,
    heartbeats_around,
    holds,
    limits_around,
    recorder_of,
    take_turn,
    turns_of,
    turns_to_take,
)
from wink.transactions._change import Change
from wink.transactions._entry import CommitEntry, Outcome, Recorder
from wink.transactions._transaction import MakeEntry, Transaction

__all__ = [
    "Change",
    "CommitEntry",
    "MakeEntry",
    "Outcome",
    "Recorder",
    "Transaction",
    "current_transaction",
    "heartbeats_around",
    "holds",
    "limits_around",
    "recorder_of",
    "take_turn",
    "turns_of",
    "turns_to_take",
]
