"""Errors of overlays."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from wink.errors import CommitFailed, WinkError


class LowerFailed(WinkError, OSError):
    """The layer beneath an overlay failed in a way of its own; `lower` names it, `reason` is what it said."""

    says = "{path!r} cannot be had from the lower layer {lower!r}: {reason}"

    def __init__(self, path: str, lower: str, reason: str) -> None:
        super().__init__(errno.EIO, reason, path)
        self.path, self.lower, self.reason = path, lower, reason

    def __reduce__(self) -> tuple[type[LowerFailed], tuple[str, str, str]]:
        return type(self), (self.path, self.lower, self.reason)


class OverlayCommitFailed(CommitFailed):
    """Changes of an overlay could not be brought into its lower layer `lower`; they are still in the overlay.

    `paths` are those because of which, and `reason` says why. `left` are paths of the lower layer that were changed and could
    not be put back; there are none unless the lower layer failed a second time.
    """

    def __init__(self, lower: str, reason: str, paths: Sequence[str], left: Sequence[str] = ()) -> None:
        self.lower, self.reason, self.paths, self.left = lower, reason, tuple(paths), tuple(left)
        super().__init__(lower, reason, self.paths, self.left)

    def __str__(self) -> str:
        paths = ", ".join(map(repr, self.paths))
        after = (
            f"; not put back there: {', '.join(map(repr, self.left))}" if self.left else "; nothing was changed there"
        )
        return f"cannot commit to {self.lower!r}: {paths} {self.reason}{after}"
