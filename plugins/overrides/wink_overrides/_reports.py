"""Say once what was left out of a prompt."""

import warnings
from collections.abc import Iterable
from threading import Lock

from wink.errors import PromptOverrideWarning
from wink_overrides._fit import Misfit, printable

__all__ = ["Reports", "place_of"]


def place_of(ns: str, prompt_key: str, tag: str) -> str:
    """How messages call what a tag says of a template."""
    return f"the overrides of {ns}:{prompt_key} under {tag!r}"


class Reports:
    """What has been said already: each thing that is wrong is worth one line, not one at every rendering."""

    __slots__ = ("_lock", "_said")

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()
        self._lock = Lock()

    def add(self, where: str, misfits: Iterable[Misfit]) -> None:
        """Give a `PromptOverrideWarning` for each that is new; what nobody has edited is left out in silence."""
        for misfit in misfits:
            if misfit.kind != "unedited":
                self.say(where, str(misfit))

    def say(self, where: str, problem: str) -> None:
        """Give one warning, unless it has been given."""
        with self._lock:
            if (where, problem) in self._said:
                return
            self._said.add((where, problem))
        warnings.warn(printable(f"{where}: {problem}; left out"), PromptOverrideWarning, stacklevel=2)
