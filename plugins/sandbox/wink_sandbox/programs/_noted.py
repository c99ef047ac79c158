"""Note in the record which programs a call has run, with their arguments and how they ended: those that wink itself started.

What those executed in turn is not seen: an unprivileged process learns of that only by tracing each of them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from wink.errors import WinkError
from wink.record import Record

PROGRAM: Final = "program-ended"
"""The kind of event that is noted."""

_LONGEST: Final = 4000
_WORDS: Final = 200


def note_program(
    recorder: object,
    session: str,
    *,
    transaction: str,
    call_id: str,
    tool: str,
    argv: Sequence[str],
    status: int | None,
    reason: str,
    seconds: float,
    guard: str,
) -> None:
    """Note one program of a call; what cannot be noted is logged, for the program has run.

    `reason` is that of `Ended`, or `not started`. Of the arguments the first four thousand characters are kept. Without a record, as in memory, it does nothing.
    """
    if not isinstance(recorder, Record):
        return
    told = {
        "call_id": call_id,
        "transaction": transaction,
        "tool": tool,
        "argv": bounded(argv),
        "status": status,
        "reason": reason,
        "seconds": round(seconds, 3),
        "guard": guard,
    }
    try:
        recorder.note(PROGRAM, session, told)
    except WinkError as error:
        logging.getLogger("wink_sandbox").warning("that %s ran a program was not recorded: %s", tool, error)


def bounded(argv: Sequence[str]) -> list[str]:
    """The arguments, as far as they are kept; where some are not, the last word says how much.

    >>> bounded(["echo", "x" * 5000])[-1][-24:]
    '… (1004 more characters)'
    """
    kept, left = list[str](), _LONGEST
    for number, word in enumerate(argv):
        word = word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        if number == _WORDS or left <= 0:
            return [*kept, f"… ({len(argv) - number} more arguments)"]
        kept.append(word if len(word) <= left else f"{word[:left]}… ({len(word) - left} more characters)")
        left -= len(word)
    return kept
