"""The table `[tool.wink.plugins.notes]`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NotesSettings:
    """How notes are kept.

    `tighten` says which way a file in the workspace may move a setting: an agent could have written
    that file. What has none is only for the user's own settings.
    """

    file: str = "NOTES.md"
    """Where people find the notes, relative to the workspace; empty for nowhere."""
    max_characters: int = field(default=2000, metadata={"tighten": "lower"})
    """How long the text of a note may be."""
    shown: int = field(default=5, metadata={"tighten": "lower"})
    """How many of the latest notes stand in the prompt."""
    timezone: str = "UTC"
    """Where the notes' dates are taken."""
    deleting: tuple[str, ...] = field(default=("rm",), metadata={"tighten": "more"})
    """The tools that `notes.say-why` governs; each has an argument `path` or `file_path`."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense, for people to read."""
        if self.max_characters < 1:
            raise ValueError("max_characters must be at least 1")
        if self.shown < 0:
            raise ValueError("shown must be at least 0")
