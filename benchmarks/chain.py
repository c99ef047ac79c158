"""What it costs a call that its entry is committed to the one before it, beside storing the call, in the same run.

    python -m benchmarks.chain

Wink's own part is the time of the whole step with the chain, less that with a chain that is made of nothing. Each pair is of
the same call at the same time, in turn; of the times the lowest tenth counts, since what disturbs only adds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.conftest import Calls
from wink.record import _calls
from wink.workspace import Workspace

EACH = 4000
AIM = 15.0
"""Microseconds that it may cost a call."""


def main() -> None:
    """Print what a call takes with and without, what is between them, and the ratio."""
    hashed = _calls.entry_hash
    print(f"{'call':8}{'with':>10}{'without':>10}{'chain':>10}   ratio")
    for kind in ("noop", "write"):
        with tempfile.TemporaryDirectory() as place, Workspace.open(Path(place)) as workspace:
            calls = Calls(workspace.filesystem, workspace.session())
            for _ in range(200):
                calls(kind)
            with_it: list[float] = []
            without: list[float] = []
            for _ in range(EACH):
                with_it.append(_timed(calls, kind, hashed))
                without.append(_timed(calls, kind, _nothing))
            _calls.entry_hash = hashed
            one, other = (statistics.quantiles(times, n=10)[0] for times in (with_it, without))
            print(f"{kind:8}{one:8.1f}us{other:8.1f}us{one - other:8.1f}us{one / other:8.3f}")
    pieces = [b"x" * 350, b"x" * 200, b"x" * 1560, b"x" * 100]
    begun = time.perf_counter()
    for _ in range(EACH):
        hashed(b"y" * 32, pieces, b"z" * 64)
    took = (time.perf_counter() - begun) / EACH * 1e6
    print(f"hashing alone, of a call with 1.5 KB: {took:.1f}us, {took / AIM:.2f} of the {AIM:.0f}us that it may cost")


def _nothing(_before: bytes, _pieces: Sequence[bytes], _salt: bytes) -> bytes:
    return b"y" * 32


def _timed(calls: Calls, kind: str, hashed: Callable[[bytes, Sequence[bytes], bytes], bytes]) -> float:
    _calls.entry_hash = hashed
    begun = time.perf_counter()
    calls(kind)
    return (time.perf_counter() - begun) * 1e6


if __name__ == "__main__":
    main()
