"""An overlay for libraries that speak fsspec: `wink-overlay`."""

from __future__ import annotations

import os
from typing import Any, cast
from weakref import finalize

from wink.filesystem import MAX_FILE_BYTES
from wink_fsspec import FilesystemView
from wink_overlay._filesystem import OverlayFilesystem


class OverlayFileSystem(FilesystemView):
    """Files over another fsspec filesystem, which stays as it is: `fs`, or one made of `target_protocol` and its options.

        fsspec.filesystem("wink-overlay", fs=s3, fo="bucket/data", upper="/srv/changes")
        fsspec.open("wink-overlay://table.csv::memory://data", "w")

    `fo` is the directory in it. `upper` is a directory for what is changed; without it changes end with this object. What was
    changed is seen, committed and dropped through `overlay`.
    """

    protocol = "wink-overlay"

    def __init__(
        self,
        fo: str = "",
        *,
        fs: Any = None,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        upper: str | os.PathLike[str] | None = None,
        read_only: bool = False,
        portable_names: bool = True,
        max_file_bytes: int = MAX_FILE_BYTES,
        **options: Any,
    ) -> None:
        if fs is None:
            if target_protocol is None:
                raise ValueError("an overlay needs a lower layer; give it as fs, or target_protocol and target_options")
            import fsspec  # pyright: ignore[reportMissingTypeStubs]

            fs = cast("Any", fsspec).filesystem(target_protocol, **(target_options or {}))
        self.overlay = OverlayFilesystem(
            fs, fo, upper=upper, read_only=read_only, portable_names=portable_names, max_file_bytes=max_file_bytes
        )
        super().__init__(self.overlay, **options)
        finalize(self, self.overlay.close)
