"""What the documents let a program write: it works, or the error says what to write instead."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal

import pytest

from wink.errors import DuplicateToolName, PromptValidationError, SessionError
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section, Tool, ToolContext, ToolResult
from wink.resources import Binding, Scope
from wink.serde import parse, schema
from wink.session import Session


@dataclass
class Params:
    text: str = ""


@dataclass
class Result:
    text: str = ""

    def render(self) -> str:
        return self.text


def annotated(params: Annotated[Params, "what to say"], *, context: ToolContext) -> Annotated[ToolResult[Result], "x"]:
    return ToolResult.ok(Result(params.text))


def inner(params: Params, *, context: Annotated[ToolContext, "y"]) -> ToolResult[Annotated[Result, "said"]]:
    return ToolResult.ok(Result(params.text))


def several(params: Params, *, context: ToolContext) -> ToolResult[list[Annotated[Result, "said"]]]:
    return ToolResult.ok([Result(params.text)])


def optional(params: Annotated[Params, "z"] | None, *, context: ToolContext) -> ToolResult[Annotated[Result, 1] | None]:
    return ToolResult.ok(Result())


def nothing(params: Literal[None], *, context: ToolContext) -> ToolResult[Literal[None]]:  # noqa: PYI061
    return ToolResult.ok(None)


def nothing_noted(params: Annotated[None, "none"], *, context: ToolContext) -> ToolResult[Annotated[None, "none"]]:
    return ToolResult.ok(None)


SPELLED = [
    (annotated, Params, Result),
    (inner, Params, Result),
    (several, Params, list[Result]),
    (optional, Params, Result),
    (nothing, None, None),
    (nothing_noted, None, None),
]


@pytest.mark.parametrize(("handler", "params", "result"), SPELLED, ids=lambda value: getattr(value, "__name__", "x"))
def test_handlers_may_be_annotated_in_any_way_that_means_the_same(handler: Any, params: Any, result: Any) -> None:
    """Parameters and results are dataclasses or None; how an annotation says so is the author's affair."""
    tool = Tool[params, result]("say", "Say it.", handler)
    assert tool.params_type is params
    if handler is not optional:
        wrapped = Tool.wrap(functools_named(handler))
        assert (wrapped.params_type, wrapped.result_type, wrapped.result_container) == (
            params,
            tool.result_type,
            tool.result_container,
        )
        wrapped.schema()


def functools_named(handler: Any) -> Any:
    handler.__doc__ = "Say it."
    return handler


def test_types_of_a_tool_may_be_annotated() -> None:
    """What a tool's brackets say is read like a handler's annotations."""
    tool = Tool[Annotated[Params, "x"], Annotated[list[Annotated[Result, "y"]], "z"]]("say", "Say it.", several)
    assert (tool.params_type, tool.result_type, tool.result_container) == (Params, Result, "array")
    assert tool.parse({"text": "a"}) == Params("a")
    assert Tool[Literal[None], Annotated[None, "x"]]("rest", "Rest.", nothing).parse("{}") is None  # noqa: PYI061


@pytest.mark.parametrize("extra", ["Forbid", "", None, "forbidden", True])
def test_unknown_option_for_extra_keys_is_an_error(extra: Any) -> None:
    """Arguments are parsed with `extra="forbid"`; a misspelt word must not let unknown keys pass."""
    for _ in range(2):
        with pytest.raises(ValueError, match="extra must be 'forbid', 'ignore' or 'allow', not"):
            parse(Params, '{"text": "a", "other": 1}', extra=extra)
        with pytest.raises(ValueError, match="extra must be"):
            parse(Params, {}, extra=extra, aliases={"text": "t"})
        with pytest.raises(ValueError, match="extra must be"):
            schema(Params, extra=extra)


def test_unknown_option_for_unknown_slices_is_an_error() -> None:
    """Somebody who means to refuse them must not lose them by a misspelling."""
    session = Session()
    with pytest.raises(SessionError, match="unknown must be 'keep' or 'refuse', not 'Refuse'"):
        session.restore(session.snapshot(), unknown="Refuse")  # type: ignore[arg-type]


def test_a_section_says_whether_it_is_enabled() -> None:
    """Sections that are disabled, by `is_enabled`, bring neither text nor tools."""
    always = MarkdownSection("A", "x")
    never = MarkdownSection("N", "x", enabled=lambda: False)
    asks = MarkdownSection[Params]("P", "x", enabled=lambda params: bool(params.text))
    session = Session()

    assert always.is_enabled()
    assert not never.is_enabled(None, session=session)
    assert asks.is_enabled(Params("a"))
    assert not asks.is_enabled(Params())


def test_a_section_of_ones_own_decides_whether_it_is_enabled() -> None:
    """Overriding the method is a way to say so, with the parameters and the session at hand."""
    seen: list[Any] = []

    class Sometimes(MarkdownSection[Params]):
        def is_enabled(self, params: Params | None = None, *, session: Session | None = None) -> bool:
            seen.append((params, session))
            return params is not None and params.text == "yes"

    tool = Tool[None, None]("look", "Look.", nothing)
    other = MarkdownSection("O", "x", tools=[tool], key="o")
    template = PromptTemplate(ns="spec", key="own", sections=[Sometimes("S", "Shown.", tools=[tool]), other.clone()])
    session = Session()
    assert Prompt(template).bind(Params("no")).render(session=session).text == "## 1. O\n\nx"
    assert seen[-1] == (Params("no"), session)
    with pytest.raises(DuplicateToolName):
        Prompt(template).bind(Params("yes")).render()


def test_nothing_may_be_given_as_no_tools() -> None:
    """The sequence of tools is optional, for a section that passes on what it was given too."""
    section = MarkdownSection("A", "x", tools=None, policies=None, children=None)
    assert (section.tools(), section.policies(), section.children) == ((), (), ())
    assert PromptTemplate(ns="spec", key="none", sections=None, policies=None).plan.nodes == ()
    assert Tool[None, None]("look", "Look.", nothing, examples=None).examples == ()


def test_tools_of_one_name_are_told_with_their_section() -> None:
    """The error carries the path, the tool's name and the dataclass as facts."""
    tool = Tool[None, None]("look", "Look.", nothing)
    inside = MarkdownSection("Inside", "x", tools=[tool])
    with pytest.raises(PromptValidationError) as caught:
        PromptTemplate(ns="spec", key="twice", sections=[MarkdownSection("A", "x", tools=[tool], children=[inside])])
    assert (caught.value.section_path, caught.value.tool) == (("a", "inside"), "look")
    assert pickle.loads(pickle.dumps(caught.value)).section_path == ("a", "inside")
    with pytest.raises(PromptValidationError) as caught:
        MarkdownSection("A", "x", tools=[tool, tool])
    assert caught.value.section_path == ("a",)


@pytest.mark.parametrize("method", ["tools", "policies"])
@pytest.mark.parametrize("given", [lambda: ["look"], lambda: None, lambda: "look", lambda: 5, lambda: [Tool]])
def test_section_that_gives_something_else_than_tools_is_refused(method: str, given: Any) -> None:
    """Prompts validate what sections contribute when they are put together."""
    wrong = type("Wrong", (Section,), {method: lambda self: given()})("A")
    with pytest.raises(PromptValidationError) as caught:
        PromptTemplate(ns="spec", key="wrong", sections=[wrong])
    assert caught.value.section_path == ("a",)


def test_bindings_do_not_change() -> None:
    """A registry has sorted them by what they say."""
    binding = Binding(int, lambda _resolver: 5)
    for name, value in (("scope", Scope.TOOL_CALL), ("provider", None), ("other", 1)):
        with pytest.raises(AttributeError, match="a binding cannot be changed"):
            setattr(binding, name, value)
    with pytest.raises(AttributeError, match="a binding cannot be changed"):
        del binding.scope
    assert Binding.instance(int, 5).is_instance


def test_older_ways_to_make_a_prompt_say_what_to_write_instead() -> None:
    """The earlier documents write `Prompt(ns=, key=, name=, sections=)` and `Prompt(name=, sections=)`."""
    for old in ({"ns": "a", "key": "b", "name": "c", "sections": []}, {"name": "c", "sections": []}):
        with pytest.raises(PromptValidationError, match=r"write Prompt\(PromptTemplate\(ns=.*, key=.*, sections="):
            Prompt(**old)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nonsense"):
        Prompt(PromptTemplate(ns="a", key="b"), nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="template"):
        Prompt()  # type: ignore[call-arg]


def test_older_name_of_a_result_value_says_what_to_write_instead() -> None:
    """The first document writes `ToolResult(message=, payload=)`."""
    for make in (ToolResult, ToolResult[Result]):
        with pytest.raises(TypeError, match="write value= for payload="):
            make(message="x", payload=Result())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nonsense"):
        ToolResult("x", nonsense=1)  # type: ignore[call-arg]
    copy = pickle.loads(pickle.dumps(ToolResult("x", 5)))
    assert copy == ToolResult("x", 5)


MODULES = {
    "wink.adapters.core": "ProviderAdapter PromptResponse PromptEvaluationError",
    "wink.prompt.prompt": "Prompt RenderedPrompt PromptTemplate",
    "wink.runtime.events": "EventBus InProcessDispatcher Dispatcher DispatchResult ToolInvoked PromptExecuted PromptRendered",
    "wink.runtime.session": "Session",
    "wink.runtime.session.protocols": "SessionProtocol",
    "wink.contrib.tools": "PlanningToolsSection Plan VfsToolsSection PodmanSandboxSection AstevalSection",
    "wink.prompts": "Prompt TextSection Tool ToolResult ToolsSection",
}


@pytest.mark.parametrize("module", MODULES)
def test_documented_modules_can_be_imported(module: str) -> None:
    """Programs import these names from these places; they are the same things as elsewhere."""
    found = import_module(module)
    for name in MODULES[module].split():
        assert getattr(found, name) is not None
        assert name in dir(found)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = found.nonsense


def test_documented_modules_give_what_the_packages_give() -> None:
    """An `isinstance` must not depend on where a name was imported from."""
    import wink.adapters
    import wink.prompt
    import wink.session
    import wink_planning

    assert import_module("wink.adapters.core").ProviderAdapter is wink.adapters.ProviderAdapter
    assert import_module("wink.prompt.prompt").Prompt is import_module("wink.prompts").Prompt is wink.prompt.Prompt
    assert import_module("wink.runtime.events").EventBus is wink.session.Dispatcher
    assert import_module("wink.runtime.session.protocols").SessionProtocol is wink.session.Session
    assert import_module("wink.contrib.tools").Plan is wink_planning.Plan


def test_importing_wink_loads_none_of_them() -> None:
    """Whoever does not ask for the older places pays nothing for them."""
    code = f"import sys, wink, wink.prompt, wink.runtime; print([name for name in {[*MODULES]} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
