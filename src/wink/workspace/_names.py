"""What sessions, checkpoints and tries may be called."""

from __future__ import annotations

import re
from typing import Final

from wink.errors import SessionNameError

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


def session_name(text: str, kind: str = "session") -> str:
    """Read `text` as the name of a session, or of another `kind` of thing: it is part of commands and of file names.

    >>> session_name("review-2")
    'review-2'
    >>> session_name("Review 2")
    Traceback (most recent call last):
    ...
    wink.errors.SessionNameError: 'Review 2' cannot name a session; use 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit
    """
    if _NAME.fullmatch(text) is None:
        raise SessionNameError(text, kind)
    return text
