"""Make a text that a program wrote fit to be sent to a model."""

from typing import Final

__all__ = ["SAID_LIMIT", "sayable"]

SAID_LIMIT: Final = 16_000
"""How many characters of one guardrail's text reach the model."""


def sayable(text: str) -> str:
    """The text with lone surrogates escaped, and cut where it is too long to be meant.

    >>> sayable("ok \\ud800"), len(sayable("x" * 1_000_000)) < 17_000
    ('ok \\\\ud800', True)
    """
    if len(text) > SAID_LIMIT:
        text = f"{text[:SAID_LIMIT]}\n[cut here: {len(text) - SAID_LIMIT} characters more]"
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
