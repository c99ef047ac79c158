"""Run a helper that is killed at a step: `python dying.py ROOT NUMBER`. What it did so far is as the kernel has it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from wink.filesystem import Merging
from wink.record import Record
from wink_attach._baseline import Baseline
from wink_attach._helper import serve
from wink_attach._keeper import Keeper

POINTS = (
    (Baseline, "begun"), (Baseline, "ended"), (Baseline, "put"), (Baseline, "drop"), (Baseline, "commit"), (Baseline, "note"),
    (Keeper, "differences"), (Keeper, "take"), (Merging, "note_change"), (Record, "commit"), (Record, "turn"),
)  # fmt: skip
"""Before and after each of these it may die, once the baseline is whole."""


def main(root: str, number: int) -> None:
    """Count the steps from the first event on, and die at one of them."""
    left = [number]

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            step()
            result = function(*args, **options)
            step()
            return result

        return called

    begin = Keeper.begin

    def begun(self: Keeper) -> None:
        begin(self)
        self.work(60)
        for kind, name in POINTS:
            setattr(kind, name, dying(getattr(kind, name)))

    Keeper.begin = begun  # type: ignore[method-assign]
    serve(root)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
