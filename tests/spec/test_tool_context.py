"""The data model of `ToolContext` in the earlier form of "Tool Runtime Specification"."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest

from wink.adapters import ScriptedAdapter
from wink.adapters.core import ProviderAdapter
from wink.prompt import MarkdownSection, PromptTemplate, Tool, ToolResult
from wink.prompt import ToolContext as Ours
from wink.prompt.prompt import Prompt, RenderedPrompt
from wink.runtime import ToolCall
from wink.runtime.events import EventBus
from wink.runtime.session.protocols import SessionProtocol


@dataclass(slots=True, frozen=True)
class ToolContext:
    """As the document has it; the two names that it gives to protocols are those of our own types."""

    prompt: Prompt[Any]  # type: ignore[type-arg]
    rendered_prompt: RenderedPrompt[Any] | None  # type: ignore[type-arg]
    adapter: ProviderAdapter[Any]  # type: ignore[type-arg]
    session: SessionProtocol
    event_bus: EventBus


def test_a_handler_gets_all_that_the_data_model_names() -> None:
    """Every attribute is there and is the object that the caller holds; the older `event_bus` is kept as another name."""
    contexts: list[Ours] = []

    def look(params: None, *, context: Ours) -> ToolResult[None]:
        contexts.append(context)
        return ToolResult.ok(None)

    section = MarkdownSection("Tools", "x", tools=[Tool[None, None]("look", "Look around.", look)])
    prompt, session = Prompt(PromptTemplate("spec", "context", sections=[section])), SessionProtocol()
    adapter = ScriptedAdapter([ToolCall("look"), "Done."])
    adapter.evaluate(prompt, session=session)

    (context,) = contexts
    as_documented = ToolContext(
        **{field.name: getattr(context, field.name) for field in dataclasses.fields(ToolContext)}
    )
    assert as_documented.prompt is prompt
    assert as_documented.adapter is adapter
    assert as_documented.session is session
    assert as_documented.event_bus is session.dispatcher
    assert as_documented.rendered_prompt is not None
    assert as_documented.rendered_prompt.text == prompt.render(session=session).text


def test_the_context_is_immutable() -> None:
    """Under "Safety and Determinism": handlers must not change what they are given."""
    context = Ours(prompt=None, rendered_prompt=None, adapter=None, session=SessionProtocol())  # type: ignore[arg-type]

    with pytest.raises(dataclasses.FrozenInstanceError):
        context.session = SessionProtocol()  # type: ignore[misc]
