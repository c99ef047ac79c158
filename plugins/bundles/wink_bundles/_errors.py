"""Errors of writing and reading bundles."""

from __future__ import annotations

from wink.errors import WinkError


class BundleRefused(WinkError):
    """A file is no bundle of a session, or a damaged or a hostile one; nothing was written."""

    says = "{path!r} was not imported: {reason}; ask for it once more, `wink export` writes one"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)


class ExportFailed(WinkError):
    """A session cannot be written into a file; `reason` says why and what to do."""

    says = "nothing was exported: {reason}"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ImportRefused(WinkError):
    """What was to become the directory of an imported session is there already."""

    says = "{directory!r} is there already; name a directory that is empty or does not exist"

    def __init__(self, directory: str) -> None:
        self.directory = directory
        super().__init__(directory)
