"""Run what `wink accept --check` names, as `wink try` runs a program, on this process's own streams."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import chdir, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wink_sandbox import Overlay
    from wink_sandbox.tries import Check, Ran, Try


def check_of(command: str, *, as_json: bool) -> Check:
    """A check that runs a shell command; what it writes is seen, with `as_json` on standard error."""

    def check(one: Try, overlay: Overlay) -> Ran:
        # What an accept without a check does not need.
        from wink_sandbox.commands._hidden import hiding_of
        from wink_sandbox.commands._ways import Asked, run_confined
        from wink_sandbox.tries import CHECK_PROFILE, Ran

        asked = Asked(("/bin/sh", "-c", command), CHECK_PROFILE, None, (), (), True, hiding_of(overlay.root))
        # Where this process is may be gone in what is checked.
        with _on_standard_error(only=as_json), chdir(overlay.root):
            began = time.monotonic()
            return Ran(run_confined(one, overlay, asked)[0], "", asked.argv, time.monotonic() - began)

    return check


@contextmanager
def _on_standard_error(*, only: bool) -> Generator[None]:
    """Standard output is for machines."""
    if not only:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
