"""`PolicyContract` finds what is wrong: each of these policies breaks one promise."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.testing.trying import assert_each_is_caught

from wink.policies import PolicyDecision, ToolPolicy
from wink.prompt import MarkdownSection, Section
from wink.session import SlicePolicy
from wink.testing import PolicyContract, allowed, denied
from wink.tools import Tool, ToolContext, ToolResult

pytest_plugins = ["pytester"]


@dataclass(frozen=True)
class Path:
    """What the tools take."""

    path: str


@dataclass(frozen=True)
class Read:
    """A file that was read."""

    path: str


@dataclass(frozen=True)
class ReadBadly:
    """The same, with what cannot be stored."""

    path: str
    how: Any


def read(params: Path, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult(context.filesystem.read(params.path).content, None)


def delete(params: Path, *, context: ToolContext) -> ToolResult[None]:
    context.filesystem.delete(params.path)
    return ToolResult("deleted", None)


TOOLS = (
    Tool[Path, None]("read", "Read a file.", read, effects="read"),
    Tool[Path, None]("delete", "Delete a file.", delete),
)
SAY = "it has not been read; call read first"


class Sound:
    """A file has to be read before it is deleted."""

    name: Any = "read-first"

    def check(self, tool: Any, params: Any, *, context: Any) -> Any:
        if tool.name != "delete" or self.known(params, context):
            return PolicyDecision.allow()
        return self.deny(context)

    def on_result(self, tool: Any, params: Any, result: Any, *, context: Any) -> None:
        if tool.name == "read":
            self.learn(params, context)

    def known(self, params: Any, context: Any) -> bool:
        return Read(params.path) in context.session[Read].all()

    def learn(self, params: Any, context: Any) -> None:
        context.session[Read].append(Read(params.path))

    def deny(self, context: Any) -> Any:
        return PolicyDecision.deny(SAY)


class Blank(Sound):
    name = " "


class Numbered(Sound):
    name = 7


class Renamed(Sound):
    def __init__(self) -> None:
        self._numbers = itertools.count()

    @property
    def name(self) -> str:
        return f"policy-{next(self._numbers)}"


class AllowsAll(Sound):
    def deny(self, context: Any) -> Any:
        return PolicyDecision.allow()


class NeverLearns(Sound):
    def learn(self, params: Any, context: Any) -> None:
        """Nothing."""


class FailsToLearn(Sound):
    def learn(self, params: Any, context: Any) -> None:
        raise RuntimeError("no")


class Raises(Sound):
    def deny(self, context: Any) -> Any:
        raise ValueError(SAY)


class SaysNo(Sound):
    def deny(self, context: Any) -> Any:
        return False


class SaysNothing(Sound):
    def deny(self, context: Any) -> Any:
        return PolicyDecision(allowed=False)


class SaysBlank(Sound):
    def deny(self, context: Any) -> Any:
        return PolicyDecision(allowed=False, reason=" \n")


class NamesTheHost(Sound):
    def deny(self, context: Any) -> Any:
        return PolicyDecision.deny(f"{context.filesystem.root} has files that were not read")


class GivesIn(Sound):
    """Denies a call once."""

    asked = 0

    def deny(self, context: Any) -> Any:
        self.asked += 1
        return PolicyDecision.deny(SAY) if self.asked == 1 else PolicyDecision.allow()


class LosesPatience(Sound):
    """Allows a call once."""

    asked = 0

    def check(self, tool: Any, params: Any, *, context: Any) -> Any:
        if tool.name == "read":
            self.asked += 1
            if self.asked == 2:
                return PolicyDecision.deny("enough")
        return super().check(tool, params, context=context)


class LearnsInCheck(Sound):
    """Takes a call for a success when it is asked about it."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def check(self, tool: Any, params: Any, *, context: Any) -> Any:
        if tool.name == "read":
            if params.path in self.seen:
                return PolicyDecision.deny("it has been read")
            self.seen.add(params.path)
        return super().check(tool, params, context=context)


class KeepsInItself(Sound):
    def __init__(self) -> None:
        self.seen: set[str] = set()

    def known(self, params: Any, context: Any) -> bool:
        return params.path in self.seen

    def learn(self, params: Any, context: Any) -> None:
        self.seen.add(params.path)


class KeepsInLog(Sound):
    """Where nothing goes back."""

    def learn(self, params: Any, context: Any) -> None:
        context.session[Read].register(Path, lambda view, event: None, policy=SlicePolicy.LOG)
        context.session.publish(Read(params.path))


class KeepsWhatCannotBeStored(Sound):
    def known(self, params: Any, context: Any) -> bool:
        return any(one.path == params.path for one in context.session[ReadBadly].all())

    def learn(self, params: Any, context: Any) -> None:
        context.session[ReadBadly].append(ReadBadly(params.path, object()))


class KeepsBesideTheStore(Sound):
    """What is stored is there, and not equal to what was."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def known(self, params: Any, context: Any) -> bool:
        return any(one is item for one in context.session[Read].all() for item in self.items)

    def learn(self, params: Any, context: Any) -> None:
        self.items.append(Read(params.path))
        context.session[Read].append(self.items[-1])


class LooksAtEveryTool(Sound):
    def check(self, tool: Any, params: Any, *, context: Any) -> Any:
        if params.path.startswith("/"):
            return PolicyDecision.deny("not there")
        return super().check(tool, params, context=context)


class LearnsOfEveryTool(Sound):
    def on_result(self, tool: Any, params: Any, result: Any, *, context: Any) -> None:
        if params.path and tool.name == "read":
            self.learn(params, context)


def broken(make: Callable[[], Any], place: Any = "memory") -> type[PolicyContract]:
    """The contract for a policy."""

    class Broken(TestSound):
        fs = place

        @pytest.fixture
        def policy(self) -> ToolPolicy:
            return make()

    Broken.__name__ = make.__name__
    return Broken


class TestSound(PolicyContract):
    """What the broken ones are made of keeps every promise."""

    files = {"a.txt": "one"}
    steps = (denied("delete", path="a.txt"), allowed("read", path="a.txt"), allowed("delete", path="a.txt"))

    @pytest.fixture
    def policy(self) -> ToolPolicy:
        return Sound()

    @pytest.fixture
    def section(self) -> Section[Any]:
        return MarkdownSection("Files", "Read and delete.", tools=TOOLS)


class TestSoundOnDisk(TestSound):
    """On the disk as well."""

    fs = "disk"


BROKEN: list[tuple[type[PolicyContract], str]] = [
    (broken(Blank), "test_it_has_a_name_that_stays"),
    (broken(Numbered), "test_it_has_a_name_that_stays"),
    (broken(Renamed), "test_it_has_a_name_that_stays"),
    (broken(AllowsAll), "test_it_decides_as_the_story_says"),
    (broken(NeverLearns), "test_it_decides_as_the_story_says"),
    (broken(FailsToLearn), "test_it_decides_as_the_story_says"),
    (broken(Raises), "test_a_denial_says_what_to_do"),
    (broken(SaysNo), "test_a_denial_says_what_to_do"),
    (broken(SaysNothing), "test_a_denial_says_what_to_do"),
    (broken(SaysBlank), "test_a_denial_says_what_to_do"),
    (broken(NamesTheHost, "disk"), "test_a_denial_says_what_to_do"),
    (broken(GivesIn), "test_asking_changes_nothing"),
    (broken(LosesPatience), "test_asking_changes_nothing"),
    (broken(LearnsInCheck), "test_a_call_that_failed_teaches_nothing"),
    (broken(LooksAtEveryTool), "test_other_tools_are_left_alone"),
    (broken(LearnsOfEveryTool), "test_other_tools_are_left_alone"),
    (broken(KeepsInItself), "test_each_session_begins_anew"),
    (broken(KeepsInItself), "test_restoring_brings_old_decisions_back"),
    (broken(KeepsInLog), "test_restoring_brings_old_decisions_back"),
    (broken(KeepsWhatCannotBeStored), "test_another_process_goes_on"),
    (broken(KeepsBesideTheStore), "test_another_process_goes_on"),
]


@pytest.mark.timeout(600)
def test_every_broken_promise_is_found(pytester: pytest.Pytester) -> None:
    """By the test that is there for it, whose report says what was promised and what to do."""
    assert_each_is_caught(pytester, __name__, "BROKEN", [contract.__name__ for contract, _ in BROKEN])
