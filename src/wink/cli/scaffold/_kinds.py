"""The kinds of things that a plugin can offer, and what a new package says of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class OfferKind:
    """One kind: its entry point, the names that the package makes public, and the words for it.

    `short` is the offer's name after the dot, empty for hooks, whose entry point has the plugin's own name; `PLUGIN` in it
    stands for that name, since a command's word should be nobody else's. `target` is what the entry point leads to, after
    the package's name. `module` is the file of the package that `public` comes from.
    """

    group: str
    short: str
    target: str
    module: str
    public: tuple[str, ...]
    summary: str


KINDS: Final[Mapping[str, OfferKind]] = {
    "section": OfferKind(
        "wink.sections",
        "notebook",
        ":notebook_section",
        "_section",
        ("Note", "notebook_section"),
        "a notebook for agents",
    ),
    "policy": OfferKind(
        "wink.policies",
        "read-only",
        ":read_only_policy",
        "_policy",
        ("ReadOnlyPolicy", "read_only_policy"),
        "a policy under which nothing is changed",
    ),
    "filesystem": OfferKind(
        "wink.filesystems",
        "zip",
        ":zip_filesystem",
        "_filesystem",
        ("zip_filesystem",),
        "the files of a zip archive",
    ),
    "adapter": OfferKind(
        "wink.adapters",
        "command",
        ":command_adapter",
        "_adapter",
        ("CommandAdapter", "command_adapter"),
        "any program as a model",
    ),
    "command": OfferKind(
        "wink.commands",
        "PLUGIN",
        ".commands:recap",
        "commands",
        (),
        "a command that counts calls",
    ),
    "hooks": OfferKind(
        "wink.hooks",
        "",
        ".hooks",
        "hooks",
        (),
        "a log of calls that fail or are slow",
    ),
}
"""Kind, as `--offer` takes it → what a new package has of it; the order is that of the files and of the README."""
