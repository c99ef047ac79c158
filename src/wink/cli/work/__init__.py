"""Commands that let models and tools work on a workspace, with all that a person is shown and asked meanwhile."""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.cli.work._judging import Judge, judging
    from wink.cli.work._progress import STYLES, counting
    from wink.cli.work._proposed import proposed_change
    from wink.cli.work._tools import show_long_names
    from wink.cli.work._view import Line, Tone

__all__ = ["Judge", "Line", "STYLES", "Tone", "counting", "judging", "proposed_change", "show_long_names"]

if not TYPE_CHECKING:  # each is imported when it is asked for
    __getattr__ = lazily(
        __name__,
        {
            "Judge judging": "_judging",
            "STYLES counting": "_progress",
            "proposed_change": "_proposed",
            "show_long_names": "_tools",
            "Line Tone": "_view",
        },
    )
