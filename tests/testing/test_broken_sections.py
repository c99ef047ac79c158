"""`SectionContract` finds what is wrong: each of these sections breaks one promise."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.testing.trying import assert_each_is_caught

from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, Section
from wink.resources import Binding, ResourceRegistry
from wink.session import Session
from wink.testing import SectionContract
from wink.tools import Tool, ToolContext, ToolExample, ToolResult

pytest_plugins = ["pytester"]

numbers = itertools.count()


@dataclass(frozen=True)
class Note:
    """A sound item."""

    text: str = "first"


@dataclass(eq=False)
class Unequal:
    """Equal to nothing that was read."""

    text: str = "x"


@dataclass(frozen=True)
class Bitter:
    """Raises what nobody expects."""

    text: str

    def __post_init__(self) -> None:
        {"x": 1}[self.text]


@dataclass(frozen=True)
class Restless:
    """Says something else each time."""

    text: str = "x"

    def render(self) -> str:
        return f"{next(numbers)}"


@dataclass(frozen=True)
class Mute:
    """Says no text."""

    text: str = "x"

    def render(self) -> Any:
        return 7


@dataclass(frozen=True)
class Shouting:
    """Cannot be shown."""

    text: str = "x"

    def render(self) -> str:
        raise RuntimeError(self.text)


def do(params: Any, *, context: ToolContext) -> ToolResult[Any]:
    """Do nothing."""
    return ToolResult("done", None)


def tool(name: str = "notes_add", params: Any = Note, result: Any = None, **options: Any) -> Tool[Any, Any]:
    def handler(params: Any, *, context: Any) -> Any:
        return ToolResult("done", None)

    return Tool[params, result](name, "Add a note.", handler, **options)


class Sound(Section[Any]):
    """A sound section, for broken ones to be made of."""

    def __init__(self, *tools: Tool[Any, Any], policies: Sequence[Any] = (), summary: str | None = None) -> None:
        super().__init__("Notes", "notes", tools=tools or (tool(),), policies=policies, summary=summary)

    def render_body(self, params: Any, *, session: Session | None = None) -> str:
        return "Keep notes."


# -- text


class SaysChance(Sound):
    def render_body(self, params: Any, *, session: Session | None = None) -> str:
        return f"Note {next(numbers)}."


class SaysTheSession(Sound):
    def render_body(self, params: Any, *, session: Session | None = None) -> str:
        return f"Session {session and session.session_id}."


class SaysNoText(Sound):
    def render_body(self, params: Any, *, session: Session | None = None) -> Any:
        return 7


class WritesWhenRendered(Sound):
    def render_body(self, params: Any, *, session: Session | None = None) -> str:
        if session is not None:
            session[Note].append(Note())
        return "Keep notes."


class InstallsAgain(Sound):
    def install(self, session: Session) -> None:
        session[Note].append(Note())


class InstallReplaces(Sound):
    def install(self, session: Session) -> None:
        session[Note].seed(Note())


class LosesToolsAsClone(Sound):
    def clone(self, *, title: str | None = None, key: str | None = None) -> Any:
        return MarkdownSection(title or self.title, "Keep notes.", key or self.key)


class IsItsOwnClone(Sound):
    def clone(self, *, title: str | None = None, key: str | None = None) -> Any:
        self.title, self.key = title or self.title, key or self.key
        return self


class HasNoSummary(Sound):
    def __init__(self) -> None:
        super().__init__(summary="Notes.")

    def render_summary(self, params: Any) -> str:
        return " "


class EndsOnce(Sound):
    ended = 0

    def cleanup(self) -> None:
        self.ended += 1
        if self.ended == 2:
            raise RuntimeError("ended already")


class EndsForGood(EndsOnce):
    def cleanup(self) -> None:
        self.ended = 1

    def render_body(self, params: Any, *, session: Session | None = None) -> str:
        return "Ended." if self.ended else "Keep notes."


class NeedsWhatFails(Sound):
    def resources(self) -> Any:
        def fail(resources: Any) -> Note:
            raise RuntimeError("no such thing")

        return ResourceRegistry.of(Binding(Note, fail, eager=True))


# -- tools


class HasTwoOfOneName(Sound):
    def tools(self) -> tuple[Tool[Any, Any], ...]:
        return tool(), tool()


class HasOtherToolsEachTime(Sound):
    def tools(self) -> tuple[Tool[Any, Any], ...]:
        return (tool(f"notes_{next(numbers)}"),)


class OwnSchema(Tool[Any, Any]):
    """Says a schema of its own."""

    said: Mapping[str, Any]

    def schema(self) -> dict[str, Any]:
        return dict(self.said)


def saying(**schema: Any) -> Callable[[], Section[Any]]:
    def make() -> Section[Any]:
        cls = type("Saying", (OwnSchema,), {"said": {"type": "object", "properties": {}, **schema}})
        made = object.__new__(cls)
        for name in Tool.__slots__:
            object.__setattr__(made, name, getattr(tool(), name))
        object.__setattr__(made, "_checked", True)
        return Sound(made)

    return make


def spoilt(**values: Any) -> Section[Any]:
    """With a tool that its own class would have refused."""
    made = tool()
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return Sound(made)


def example(params: Any, result: Any) -> Section[Any]:
    return Sound(
        tool(params=type(params), result=type(result), examples=[ToolExample("As it should be.", params, result)])
    )


# -- policies


class Rule:
    """A policy that allows everything."""

    def __init__(self, name: Any = "rule") -> None:
        self.name = name

    def check(self, tool: Any, params: Any, *, context: Any) -> PolicyDecision:
        return PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: Any) -> None:
        """Nothing to learn."""


def broken(name: str, make: Callable[[], Section[Any]]) -> type[SectionContract]:
    """The contract for a section."""

    class Broken(SectionContract):
        @pytest.fixture
        def section(self) -> Section[Any]:
            return make()

    Broken.__name__ = name
    return Broken


BROKEN: list[tuple[type[SectionContract], str]] = [
    (broken(name, make), test)
    for name, make, test in [
        ("SaysChance", SaysChance, "test_its_text_is_always_the_same"),
        ("SaysTheSession", SaysTheSession, "test_its_text_is_always_the_same"),
        ("SaysNoText", SaysNoText, "test_it_fits_into_a_prompt"),
        ("NeedsWhatFails", NeedsWhatFails, "test_it_fits_into_a_prompt"),
        ("WritesWhenRendered", WritesWhenRendered, "test_rendering_changes_nothing"),
        ("InstallsAgain", InstallsAgain, "test_a_session_goes_on_in_another_process"),
        ("InstallReplaces", InstallReplaces, "test_a_session_goes_on_in_another_process"),
        ("LosesToolsAsClone", LosesToolsAsClone, "test_it_can_be_put_elsewhere"),
        ("IsItsOwnClone", IsItsOwnClone, "test_it_can_be_put_elsewhere"),
        ("HasNoSummary", HasNoSummary, "test_its_summary_stands_for_it"),
        ("EndsOnce", EndsOnce, "test_it_can_be_let_go_of_more_than_once"),
        ("EndsForGood", EndsForGood, "test_it_can_be_let_go_of_more_than_once"),
        ("HasTwoOfOneName", HasTwoOfOneName, "test_its_tools_have_names_and_descriptions"),
        ("HasOtherToolsEachTime", HasOtherToolsEachTime, "test_its_tools_have_names_and_descriptions"),
        ("NoHandler", lambda: Sound(Tool[Note, None]("a", "A.")), "test_its_tools_have_names_and_descriptions"),
        ("LongDescription", lambda: spoilt(description="x" * 300), "test_its_tools_have_names_and_descriptions"),
        ("OddName", lambda: spoilt(name="Ä b"), "test_its_tools_have_names_and_descriptions"),
        ("NoObject", saying(type="array"), "test_its_schemas_are_taken_by_providers"),
        ("LostReference", saying(properties={"a": {"$ref": "#/$defs/A"}}), "test_its_schemas_are_taken_by_providers"),
        ("OddType", saying(properties={"a": {"items": {"type": "text"}}}), "test_its_schemas_are_taken_by_providers"),
        ("RequiresUnknown", saying(required=["b"]), "test_its_schemas_are_taken_by_providers"),
        ("NoJson", saying(properties={"a": {"default": float("nan")}}), "test_its_schemas_are_taken_by_providers"),
        ("Combined", saying(anyOf=[{"required": []}]), "test_its_schemas_are_taken_by_providers"),
        ("UnequalInput", lambda: example(Unequal(), Note()), "test_its_examples_survive_json"),
        ("UnequalOutput", lambda: example(Note(), Unequal()), "test_its_examples_survive_json"),
        ("Restless", lambda: example(Note(), Restless()), "test_its_results_are_text_for_the_model"),
        ("Mute", lambda: example(Note(), Mute()), "test_its_results_are_text_for_the_model"),
        ("Shouting", lambda: example(Note(), Shouting()), "test_its_results_are_text_for_the_model"),
        ("Lenient", lambda: Sound(tool(extra="ignore")), "test_unknown_arguments_are_refused"),
        ("LenientWithoutAny", lambda: Sound(tool(params=None, extra="allow")), "test_unknown_arguments_are_refused"),
        ("Bitter", lambda: Sound(tool(params=Bitter)), "test_wrong_arguments_are_refused_with_words"),
        ("TwoPolicies", lambda: Sound(policies=[Rule(), Rule()]), "test_its_policies_have_names_of_their_own"),
        ("BlankPolicy", lambda: Sound(policies=[Rule(" ")]), "test_its_policies_have_names_of_their_own"),
        ("NumberedPolicy", lambda: Sound(policies=[Rule(7)]), "test_its_policies_have_names_of_their_own"),
    ]
]


class TestSound(SectionContract):
    """What the broken ones are made of keeps every promise."""

    @pytest.fixture
    def section(self) -> Section[Any]:
        return Sound(policies=[Rule()])


@pytest.mark.timeout(600)
def test_every_broken_promise_is_found(pytester: pytest.Pytester) -> None:
    """By the test that is there for it, whose report says what was promised and what to do."""
    assert_each_is_caught(pytester, __name__, "BROKEN", [contract.__name__ for contract, _ in BROKEN])
