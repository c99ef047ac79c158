"""What the model is sent."""

import logging
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest

from wink.tools import ToolRenderableResult, ToolResult, render_value
from wink.tools import _result as module


@dataclass(frozen=True)
class Said:
    text: str

    def render(self) -> str:
        return self.text


@dataclass(frozen=True)
class Silent:
    text: str
    note: str | None = None


@pytest.fixture(autouse=True)
def _unwarned() -> Iterator[None]:
    module._warned.clear()
    yield
    module._warned.clear()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("plain", "plain"),
        (Said("hello"), "hello"),
        (Silent("x"), '{"text":"x"}'),
        ({"a": 1, "b": None}, '{"a":1,"b":null}'),
        ([1, "a"], '[1,"a"]'),
        ([], "[]"),
        ([Said("a"), Said("b")], "a\n\nb"),
        ((Said("a"), Silent("b")), '[{"text":"a"},{"text":"b"}]'),
        (5, "5"),
    ],
)
def test_values_are_rendered_by_themselves_or_as_compact_json(value: object, text: str) -> None:
    """The rules of the specification, one row each."""
    assert render_value(value) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult("Done."), "Done."),
        (ToolResult("Done.", Said("value")), "Done.\n\nvalue"),
        (ToolResult("", Said("value")), "value"),
        (ToolResult("Done.", Said("")), "Done."),
        (ToolResult("Done.", Said("value"), exclude_value_from_context=True), "Done."),
        (ToolResult("Bad.", Said("value"), success=False), "Bad.\n\nvalue"),
        (ToolResult("", None), ""),
    ],
)
def test_the_model_is_sent_message_and_value(result: ToolResult[Any], text: str) -> None:
    """A blank line between, either alone, the message alone when the value is excluded."""
    assert result.text == text


def test_a_result_renders_its_value() -> None:
    """The message is the tool's own words; `render()` is about the value, and nothing for none."""
    assert ToolResult("Done.", Said("value")).render() == "value"
    assert ToolResult("Done.", Said("value"), exclude_value_from_context=True).render() == "value"
    assert ToolResult("Done.", None).render() == ToolResult.error("no").render() == ""


def test_a_dataclass_without_render_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The author should know that models read JSON, and need not hear it at every call."""
    with caplog.at_level(logging.WARNING, logger="wink.tools"):
        render_value(Silent("a"))
        render_value([Silent("b")])
        render_value({"plain": 1})

    assert [record.getMessage() for record in caplog.records] == [
        "Silent has no render() and is sent to models as JSON; give it a `render(self) -> str`"
    ]


def test_a_render_that_gives_no_text_is_an_error() -> None:
    """Naming the class, since the value is the handler's."""

    class Odd:
        def render(self) -> Any:
            return 5

    with pytest.raises(TypeError, match=r"Odd\.render\(\) returned 'int'; it must return a string"):
        ToolResult("x", Odd()).render()


def test_factories_make_successes_and_failures() -> None:
    """The two words that handlers use."""
    assert ToolResult.ok(Said("x")) == ToolResult("OK", Said("x"), True, False)
    assert ToolResult.error("no") == ToolResult("no", None, False, False)
    assert ToolResult.ok(Said("x")).payload == Said("x")


def test_results_are_frozen_and_slotted_and_can_be_subscripted() -> None:
    """`ToolResult[Said](...)` works too, which generic frozen slotted dataclasses cannot do by themselves."""
    result = ToolResult[Said]("x", Said("y"))

    assert result == ToolResult("x", Said("y"))
    assert not hasattr(result, "__dict__")
    with pytest.raises(FrozenInstanceError):
        result.message = "z"  # type: ignore[misc]


def test_renderable_results_are_recognised() -> None:
    """By their method, without a base class."""
    assert isinstance(Said("x"), ToolRenderableResult)
    assert not isinstance(Silent("x"), ToolRenderableResult)
