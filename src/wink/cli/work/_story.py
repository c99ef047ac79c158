"""What a command tells besides the events of its session: how it began, what the tests said, how it ended."""

from __future__ import annotations

from wink.dataclass import dataclass
from wink.filesystem import FileChange


@dataclass(frozen=True, slots=True)
class Began:
    """A model is about to work in `directory`; `title` says on what, `details` what there is to know about it."""

    title: str
    directory: str
    task: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class TestsRan:
    """A project's own tests were run; `outcome` is their last word, `failures` the names of those that failed."""

    passed: bool
    outcome: str
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """A run is over: `problem` says why it ended early, `changes` what is different now."""

    problem: str | None
    text: str
    changes: tuple[FileChange, ...]
    repository: str | None = None

    @property
    def success(self) -> bool:
        """Whether the model came to its end."""
        return self.problem is None


@dataclass(frozen=True, slots=True)
class Differs:
    """What is different after a run, in full."""

    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class Suggested:
    """Commands to try next, each with what it shows."""

    commands: tuple[tuple[str, str], ...]
