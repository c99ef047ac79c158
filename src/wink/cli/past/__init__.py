"""Commands that look at what was done on a workspace, take it back, keep it, and hand it on."""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.cli.past._runs import forks_below
    from wink.cli.past._undo import doubts, echo_reverted, json_of_reverted

__all__ = ["doubts", "echo_reverted", "forks_below", "json_of_reverted"]

if not TYPE_CHECKING:  # whoever runs another command needs none of it
    __getattr__ = lazily(__name__, {"doubts echo_reverted json_of_reverted": "_undo", "forks_below": "_runs"})
