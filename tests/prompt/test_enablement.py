"""Sections decide at each rendering whether they take part."""

import functools
from dataclasses import dataclass
from typing import Any

import pytest

from wink.errors import PromptRenderError, PromptValidationError
from wink.policies import SequentialDependencyPolicy
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section, Tool
from wink.session import Session


@dataclass(frozen=True)
class Mode:
    careful: bool = True


@dataclass(frozen=True)
class Seen:
    name: str


def tool(name: str) -> Tool[None, None]:
    return Tool[None, None](name=name, description="Do it.", handler=None)


def prompt_of(*sections: Section[Any]) -> Prompt:
    return Prompt(PromptTemplate("ns", "key", sections=sections))


class Carefulness:
    """An object that is called like a function."""

    def __call__(self, params: Mode) -> bool:
        return params.careful


def _with_extra(extra: str, params: Mode) -> bool:
    return extra == "x" and params.careful


def _session_without_star(session: Session) -> bool:
    return session is not None


@pytest.mark.parametrize(
    "enabled",
    [
        lambda: True,
        lambda *, session: session is not None,
        lambda params: params.careful,
        lambda params, *, session: params.careful and session is not None,
        lambda params=None: params is not None,
        lambda *args: len(args) == 0,
        _session_without_star,
        Carefulness(),
        functools.partial(_with_extra, "x"),
    ],
)
def test_it_is_called_as_its_signature_asks(enabled: Any) -> None:
    """The four signatures of the specification, and the usual ways to write a callable."""
    prompt = prompt_of(MarkdownSection[Mode]("Care", "Be careful.", enabled=enabled))

    assert "Be careful." in prompt.render(session=Session()).text


@pytest.mark.parametrize("enabled", [lambda a, b: True, lambda *, other: True, lambda params, *, session, x: True])
def test_a_signature_that_nobody_can_serve_is_refused(enabled: Any) -> None:
    """It would fail at the first rendering, far from where it was written."""
    with pytest.raises(PromptValidationError, match="enabled cannot be given"):
        MarkdownSection[Mode]("Care", "x", enabled=enabled)


def test_a_callable_without_a_signature_is_refused() -> None:
    """Some built-ins have none that could be read, and a wrong guess would surface at a rendering."""

    class Unreadable:
        __signature__ = "none"

        def __call__(self) -> bool:
            return True

    with pytest.raises(PromptValidationError, match="cannot be read; wrap it"):
        Section("Care", enabled=Unreadable())


def test_a_section_without_parameters_cannot_be_asked_about_them() -> None:
    """There is nothing to hand over, and `None` would only move the error."""
    with pytest.raises(PromptValidationError, match="enabled asks for parameters, but the section has none"):
        prompt_of(Section("Care", enabled=lambda params: params.careful))


def test_a_section_that_shares_parameters_is_asked_about_them() -> None:
    """Sharing is sharing: for text and for enablement."""
    inner = Section("Inner", enabled=lambda params: params.careful)
    prompt = prompt_of(Section[Mode]("Outer", children=[inner]))

    assert "Inner" in prompt.render().text
    assert "Inner" not in prompt.render(Mode(careful=False)).text


def test_a_disabled_section_leaves_no_trace() -> None:
    """Neither text nor number, neither tools nor policies, and nothing of what is below it."""
    rule = SequentialDependencyPolicy({"b": ["a"]})
    prompt = prompt_of(
        MarkdownSection("First", "1"),
        Section(
            "Gone",
            enabled=lambda: False,
            tools=[tool("a")],
            policies=[rule],
            children=[Section("Below", tools=[tool("b")])],
        ),
        MarkdownSection("Second", "2"),
    )

    rendered = prompt.render()

    assert rendered.text == "## 1. First\n\n1\n\n## 2. Second\n\n2"
    assert rendered.tools == prompt.tools() == ()
    assert rendered.policies == ()
    assert rendered.tool("b") is None


def test_children_of_a_disabled_section_are_not_asked() -> None:
    """What they would answer may depend on the parent being there."""
    asked: list[str] = []
    below = Section("Below", enabled=lambda: asked.append("below") is None)

    prompt_of(Section("Gone", enabled=lambda: False, children=[below])).render()

    assert asked == []


def test_enablement_may_follow_the_session() -> None:
    """One prompt, and another text once something has happened."""
    prompt = prompt_of(Section("Later", enabled=lambda *, session: bool(session[Seen].all())), Section("Always"))
    session = Session()

    before = prompt.render(session=session).text
    session[Seen].append(Seen("x"))

    assert before == "## 1. Always"
    assert prompt.render(session=session).text == "## 1. Later\n\n## 2. Always"


def test_without_a_session_it_is_told_so() -> None:
    """Listing tools for a person needs no session."""
    got: list[object] = []
    prompt_of(Section("Any", enabled=lambda *, session: got.append(session) is None)).render()

    assert got == [None]


def test_one_that_raises_is_named() -> None:
    """It is the author's code; the error says whose."""
    prompt = prompt_of(Section("Outer", children=[Section("Bad", enabled=lambda: 1 / 0 > 1)]))

    with pytest.raises(PromptRenderError, match="enabled raised ZeroDivisionError") as caught:
        prompt.render()

    assert caught.value.section_path == ("outer", "bad")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_two_alternatives_may_bring_the_same_tool() -> None:
    """Names have to be unique in a rendering, not in a template."""
    careful, quick = tool("act"), tool("act")
    prompt = prompt_of(
        Section[Mode]("Careful", tools=[careful], enabled=lambda mode: mode.careful),
        Section[Mode]("Quick", tools=[quick], enabled=lambda mode: not mode.careful),
    )

    assert prompt.render(Mode(careful=True)).tool("act") is careful
    assert prompt.render(Mode(careful=False)).tool("act") is quick
