"""Take secrets out of what this process shows: the record has none, but events, requests and diffs do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from wink.record import MASK, Masking

_BASE64: Final = re.compile(r"[-+ \d\t|]*[A-Za-z0-9+/=]{40,}\s*")
_rules: list[Masking] = []


def use(rules: Masking) -> Masking:
    """Mask by these rules from now on: those of the workspace that the command works on."""
    _rules[:] = [rules]
    return rules


def masking() -> Masking:
    """The rules of this process; those that are built in until a workspace has been opened."""
    if not _rules:
        _rules.append(Masking())
    return _rules[0]


def masked(text: str) -> str:
    """A text without secrets."""
    return masking().text(text)


def masked_value(value: Any) -> Any:
    """Plain values without secrets; values of other types stay as they are."""
    return masking().value(value)


def masked_lines(lines: Iterable[str]) -> list[str]:
    """Lines without secrets, as many as before: also without one that goes over several of them, such as a private key."""
    whole = list(lines)
    rules = masking()
    text = "\n".join(whole)
    if not rules.finds(text):
        return whole
    found = rules.text(text).split("\n")
    if len(found) == len(whole):
        return found
    return [MASK if _BASE64.fullmatch(line) else rules.text(line) for line in whole]
