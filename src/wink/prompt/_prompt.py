"""A template with the parameters and resources of one use."""

from collections.abc import Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, cast, overload

from wink.errors import PromptValidationError
from wink.policies import ToolPolicy
from wink.prompt._alone import RenderedSection, SectionOutline, outlines, render_alone
from wink.prompt._answer import Out_co
from wink.prompt._checks import checked_tag
from wink.prompt._params import instance_of
from wink.prompt._render import offered_tools, render
from wink.prompt._rendered import RenderedPrompt
from wink.prompt._resources import PromptResources
from wink.prompt._section import Section
from wink.prompt._selection import chosen_visibilities, selected
from wink.prompt._template import PromptTemplate
from wink.prompt._visibility import SectionVisibility
from wink.prompt.guardrails import watch_feedback
from wink.spellings import explained
from wink.tools import Tool

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.prompt._plan import Plan
    from wink.prompt.overrides import OverriddenPlan, PromptOverridesStore
    from wink.resources import ResourceRegistry
    from wink.session import Session

__all__ = ["Prompt"]

S = TypeVar("S", bound=Section[Any])
_WRITE: Final = "write Prompt(PromptTemplate(ns=..., key=..., sections=[...]))"


class Prompt(Generic[Out_co]):
    """A template together with parameters and resources, which an adapter can evaluate.

    With a store of overrides, each rendering uses what the store keeps under the tag instead of the texts, tools'
    descriptions and examples in the code, as far as it fits them; see `wink.prompt.overrides`.

    >>> from wink.prompt import MarkdownSection, PromptTemplate
    >>> template = PromptTemplate(ns="docs", key="hello", sections=[MarkdownSection("Task", "Say hello.")])
    >>> print(Prompt(template).render().text)
    ## 1. Task
    <BLANKLINE>
    Say hello.
    """

    if not TYPE_CHECKING:  # annotations of programs name the type of its output
        __class_getitem__ = classmethod(GenericAlias)

    @explained(
        dict.fromkeys(
            ("ns", "key", "name", "sections"),
            PromptValidationError(f"a prompt is made of a template, not of sections; {_WRITE}"),
        )
    )
    def __init__(
        self,
        template: PromptTemplate[Out_co],
        overrides_store: "PromptOverridesStore | None" = None,
        overrides_tag: str = "latest",
    ) -> None:
        if not isinstance(cast("object", template), PromptTemplate):
            raise PromptValidationError(f"a prompt is made of a template, not of {template!r}; {_WRITE}")
        self.template = template
        self.overrides_store = overrides_store
        self.overrides_tag = checked_tag(overrides_tag)
        self._overridden: OverriddenPlan | None = None
        self._params: dict[type, object] = {}
        self._resources = PromptResources(template.resources, template.plan)

    @property
    def ns(self) -> str:
        """The template's namespace."""
        return self.template.ns

    @property
    def key(self) -> str:
        """The template's key."""
        return self.template.key

    @property
    def name(self) -> str:
        """What events and responses call the prompt."""
        return self.template.name

    def bind(self, *params: object, resources: "ResourceRegistry | Mapping[type, object] | None" = None) -> Self:
        """Give the prompt parameters and resources, and return the prompt itself.

        Each of `params` is an instance of a dataclass, handed to every section with parameters of exactly that type; a
        later one of the same type takes its place. `resources` are a registry, or objects and `Binding`s by their type,
        and win over those of sections and template; bind them before the prompt's resources are used.

        Raises `PromptValidationError` for parameters that no section asks for.
        """
        checked = self._checked(params)
        if resources is not None:
            self._resources.bind(resources)
        self._params.update(checked)
        return self

    def render(
        self,
        *params: object,
        session: "Session | None" = None,
        check: bool = True,
        visibility_overrides: Mapping[tuple[str, ...], SectionVisibility] | None = None,
        partial: bool = False,
    ) -> RenderedPrompt[Out_co]:
        """The text and the tools that a model is given now.

        `params` count for this rendering only and win over those that were bound. Before a session's first rendering
        every section prepares it (`Section.install`). Raises `PromptRenderError` when parameters are missing or a
        section fails, and `PromptValidationError` when a tool's examples or schema turn out to be wrong. Compiling every
        schema takes milliseconds a tool, once; without `check` each waits until its tool is called.

        `visibility_overrides` says for this rendering how sections are shown, by their paths; it wins over what
        the session says, which wins over what the sections decide themselves.

        With `partial`, sections whose parameters are missing are left out, if they bring neither tools nor policies;
        `render_section` renders one of them when there are parameters.
        """
        if session is not None:
            self.template.plan.install(session)
            watch_feedback(prompt=self, session=session)
        return render(
            self._plan_now(),
            template=self.template,
            bound=self._params | self._checked(params) if params else self._params,
            resources=self._resources,
            session=session,
            visibilities=chosen_visibilities(self.template.plan, session, visibility_overrides),
            check=check,
            partial=partial,
        )

    def outlines(self, session: "Session | None" = None) -> tuple[SectionOutline, ...]:
        """The sections that are enabled now, each as `render_section` can render it, with the parameters that it takes."""
        if session is not None:
            self.template.plan.install(session)
        return outlines(self._plan_now(), self._params, session)

    def render_section(
        self, path: tuple[str, ...], *params: object, session: "Session | None" = None
    ) -> RenderedSection:
        """One section by itself, with all that is below it and nothing summarised, such as a person may ask for.

        `path` are the keys from the root section down. Raises like `render`, and `SectionNotFound`.
        """
        if session is not None:
            self.template.plan.install(session)
        bound = self._params | self._checked(params) if params else self._params
        return render_alone(self._plan_now(), tuple(path), bound, session, self._resources)

    def tools(self, session: "Session | None" = None) -> tuple[Tool[Any, Any], ...]:
        """The tools of the sections that are enabled and shown in full now, in the order of their declaration.

        Parameters may still be missing, unless a section decides by them whether it is enabled.
        """
        plan = self._plan_now()
        return offered_tools(
            plan, selected(plan, self._params, session, chosen_visibilities(plan, session), to_render=False)
        )

    @property
    def policies(self) -> tuple[ToolPolicy, ...]:
        """Every policy of the prompt, those of its sections first, each once.

        Those of sections that are disabled now are among them; `RenderedPrompt.policies` is exact.
        """
        return self.template.plan.policies

    def policies_for_tool(self, name: str) -> tuple[ToolPolicy, ...]:
        """The policies that govern a tool: its section's, those of the sections around it, then the prompt's.

        When several sections bring a tool of that name, the policies of all of them;
        `RenderedPrompt.policies_for_tool` knows which one is enabled. All policies for an unknown tool.
        """
        return self.template.plan.governing.get(name, self.template.plan.policies)

    @property
    def resources(self) -> PromptResources:
        """The resources of this prompt's tools, to be opened for a while with `with prompt.resources:`."""
        return self._resources

    def filesystem(self) -> "Filesystem | None":
        """The filesystem among the prompt's resources, if one is bound."""
        from wink.filesystem import Filesystem

        return self._resources.get_optional(Filesystem)

    @overload
    def find_section(self, wanted: type[S]) -> S: ...
    @overload
    def find_section(self, wanted: str | tuple[str, ...]) -> Section[Any]: ...
    def find_section(self, wanted: type[S] | str | tuple[str, ...]) -> Section[Any]:
        """The one section of a type, with a key, or at a path of keys from the top.

        Raises `SectionNotFound`, also when there are several: nothing is guessed.
        """
        return self.template.plan.find(wanted)

    def cleanup(self) -> None:
        """Close the resources and let every section clean up, the last one first.

        All of them are tried; what they raise comes together in one `ExceptionGroup`.
        """
        failures: list[Exception] = []
        for act in (self._resources.close, *(node.section.cleanup for node in reversed(self.template.plan.nodes))):
            try:
                act()
            except Exception as error:  # foreign code
                failures.append(error)
        if failures:
            raise ExceptionGroup(f"cleaning up the prompt {self.name!r} failed", failures)

    def _plan_now(self) -> "Plan":
        """The template's plan, with what the store says instead of it now."""
        if self.overrides_store is None:
            return self.template.plan
        if self._overridden is None:
            from wink.prompt.overrides import OverriddenPlan

            self._overridden = OverriddenPlan(self.template, self.overrides_store, self.overrides_tag)
        return self._overridden.now()

    def _checked(self, params: tuple[object, ...]) -> dict[type, object]:
        checked: dict[type, object] = {}
        for value in params:
            cls = type(value)
            if not instance_of(value):
                raise PromptValidationError(f"parameters are instances of dataclasses, not {value!r}")
            if cls in checked:
                raise PromptValidationError("two instances were given at once", dataclass=cls)
            if cls not in self.template.plan.params_types:
                known = ", ".join(sorted(kind.__qualname__ for kind in self.template.plan.params_types))
                raise PromptValidationError(
                    f"no section has such parameters; they have {known or 'none'}", dataclass=cls
                )
            checked[cls] = value
        return checked

    def __repr__(self) -> str:
        return f"<Prompt {self.ns}:{self.key}>"
