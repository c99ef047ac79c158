"""`wink try`, `wink accept`, `wink drop` and `wink tries`, and what `wink doctor`, `diff`, `gc` and `explain` ask of this plugin."""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink_sandbox.commands._explained import CalledPrograms
    from wink_sandbox.commands._network import Reach

__all__ = ["CalledPrograms", "Reach"]

if not TYPE_CHECKING:  # each is imported when it is asked for
    __getattr__ = lazily(__name__, {"Reach": "_network", "CalledPrograms": "_explained"})
