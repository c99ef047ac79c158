"""One word, and one look, for what became of a call."""

from __future__ import annotations

from typing import get_args

import pytest

from wink.record import WORDS, Role, role_of, word_of
from wink.transactions import Outcome


def test_every_outcome_has_a_word_that_means_something() -> None:
    """Whatever a transaction ends with can be told, and has a role and a meaning."""
    told = {
        word_of(outcome, committed=committed, undone=undone)
        for outcome in get_args(Outcome)
        for committed in (True, False)
        for undone in (True, False)
    }

    assert told == set(WORDS)
    assert {role_of(word) for word in WORDS} == set(get_args(Role))
    assert all(meaning for _, meaning in WORDS.values())


@pytest.mark.parametrize(
    ("outcome", "committed", "undone", "word"),
    [
        ("committed", True, False, "ok"),
        ("committed", True, True, "undone"),
        ("committed", False, False, "rolled back"),
        ("denied", True, True, "denied"),
        ("refused", False, False, "refused"),
    ],
)
def test_what_stands_and_what_was_taken_back_differ(outcome: str, committed: bool, undone: bool, word: str) -> None:
    """A call inside of another one shares its transaction, and fails with it; what did not commit is never undone."""
    assert word_of(outcome, committed=committed, undone=undone) == word


def test_a_word_that_nobody_knows_looks_bad() -> None:
    """A record that somebody else has written is shown all the same."""
    assert role_of("exploded") == "bad"
