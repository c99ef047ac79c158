"""Say what the proxy would answer for a host, by what it asks itself, and which entry of a list that is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from wink_sandbox.network._http import BadRequestError, authority
from wink_sandbox.network._listed import Listed
from wink_sandbox.network._opening import NOT_LISTED, NotOpenedError, Resolve, allowed, resolved

_PORT: Final = 443
_HOST: Final = r"[\w.:-]+"
_FAILED: Final = 502
_PUBLIC: Final = "1.1.1.1"
_LOOPBACK: Final = "127.0.0.1"


class Judged(NamedTuple):
    """Whether a host is let through, at the first of the listed `entry` that has it; `outcome` is why not, or what was not found.

    One that is not `is_listed` can be asked about.
    """

    is_allowed: bool
    entry: str = ""
    outcome: str = ""
    is_listed: bool = True


def target(text: str) -> tuple[str, int]:
    """Host and port of HOST or HOST:PORT, 443 unless given; raises ValueError."""
    try:
        host, port = authority(text, _PORT)
        if not re.fullmatch(_HOST, host):
            raise BadRequestError
        return host, port
    except BadRequestError:
        raise ValueError(
            f"{text!r} is no host; write example.org, example.org:22, 10.1.2.3 or [::1]:8080, without a scheme or a path"
        ) from None


def judged(host: str, port: int, entries: Sequence[str], *, look_up: bool) -> Judged:
    """What the proxy would say; without `look_up` as if the name led to a public address, or `localhost` to loopback.

    Nothing is connected to. Raises ValueError for entries that cannot be read.
    """
    outcome = _outcome(host, port, Listed(entries), resolved if look_up else _public)
    if outcome is not None and outcome.status != _FAILED:
        return Judged(False, outcome=outcome.outcome, is_listed=outcome.outcome != f"refused: {NOT_LISTED}")
    alone = (text for text in entries if _outcome(host, port, Listed((text,)), _public) is None)
    return Judged(True, next(alone, ""), "" if outcome is None else outcome.outcome)


def _outcome(host: str, port: int, listed: Listed, resolve: Resolve) -> NotOpenedError | None:
    try:
        asyncio.run(allowed(host, port, listed, resolve))
    except NotOpenedError as error:
        return error
    return None


def _public(name: str, port: int) -> Sequence[str]:
    del port
    return (_LOOPBACK if name == "localhost" or name.endswith(".localhost") else _PUBLIC,)
