"""Sections whose tools come and go between renderings."""

from collections.abc import Sequence
from typing import Any

import pytest

from wink.errors import DuplicateToolName, PromptRenderError, PromptValidationError
from wink.prompt import Prompt, PromptTemplate, Section, ToolsSection
from wink.tools import Tool


class Remote(Section[Any]):
    """A section that has the tools that it is given at any time."""

    now: Any = ()

    def current_tools(self) -> Sequence[Tool[Any, Any]] | None:
        if isinstance(self.now, Exception):
            raise self.now
        return self.now


def tool(name: str) -> Tool[Any, Any]:
    return Tool[None, None](name, "Do it.")


def prompt_of(*sections: Section[Any]) -> Prompt:
    return Prompt(PromptTemplate(ns="test", key="now", sections=sections))


def names(prompt: Prompt) -> list[str]:
    return [each.name for each in prompt.render().tools]


def test_each_rendering_has_the_tools_of_its_moment() -> None:
    """An earlier rendering keeps those that it had: the model was told of them."""
    section = Remote("Remote")
    prompt = prompt_of(section)
    assert names(prompt) == []

    section.now = [tool("one"), tool("two")]
    first = prompt.render()
    section.now = [tool("two")]

    assert [each.name for each in first.tools] == ["one", "two"]
    assert names(prompt) == ["two"]
    assert [each.name for each in prompt.tools()] == ["two"]
    assert prompt.render().tool("one") is None


def test_policies_of_the_section_govern_tools_that_came_later() -> None:
    """Who wrote the policy did not know the tools either."""
    from wink.policies import SequentialDependencyPolicy

    policy = SequentialDependencyPolicy({"late": {"early"}})
    section = Remote("Remote", policies=[policy])
    prompt = prompt_of(section)
    section.now = [tool("early"), tool("late")]

    assert prompt.render().policies_for_tool("late") == (policy,)


def test_a_disabled_section_is_not_asked() -> None:
    """Asking may start a server."""
    section = Remote("Remote", enabled=lambda: False)
    section.now = RuntimeError("asked")

    assert names(prompt_of(section)) == []


def test_two_tools_of_one_name_are_refused_when_they_meet() -> None:
    """As when a template is built."""
    section = Remote("Remote")
    prompt = prompt_of(section, ToolsSection("Mine", [tool("same")]))
    section.now = [tool("same")]

    with pytest.raises(DuplicateToolName, match="'remote' and section 'mine'"):
        prompt.render()


@pytest.mark.parametrize(
    ("now", "error"), [(RuntimeError("gone"), PromptRenderError), (["text"], PromptValidationError)]
)
def test_what_is_no_list_of_tools_names_the_section(now: Any, error: type[Exception]) -> None:
    """Foreign code may do anything."""
    section = Remote("Remote")
    prompt = prompt_of(section)
    section.now = now

    with pytest.raises(error, match="remote"):
        prompt.render()
