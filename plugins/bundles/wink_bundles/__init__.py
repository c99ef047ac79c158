"""Sessions as files: written in one place, read in another."""

from wink_bundles._bundle import Bundle, read_bundle, write_bundle
from wink_bundles._errors import BundleRefused, ExportFailed, ImportRefused
from wink_bundles._exporting import export
from wink_bundles._git import git_bundle
from wink_bundles._importing import write_import
from wink_bundles._rows import (
    Call,
    Change,
    Event,
    Exported,
    LeftOut,
    Link,
    Manifest,
    Piece,
    Prompt,
    Run,
    Side,
    Slice,
    Turn,
)

__all__ = [
    "Bundle",
    "BundleRefused",
    "Call",
    "Change",
    "Event",
    "ExportFailed",
    "Exported",
    "ImportRefused",
    "LeftOut",
    "Link",
    "Manifest",
    "Piece",
    "Prompt",
    "Run",
    "Side",
    "Slice",
    "Turn",
    "export",
    "git_bundle",
    "read_bundle",
    "write_bundle",
    "write_import",
]
