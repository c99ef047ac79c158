"""A part of a prompt: a heading, some text, and the tools and rules that belong to it."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, get_origin
from weakref import WeakValueDictionary

from wink.errors import DuplicateToolName, PromptValidationError
from wink.policies import ToolPolicy
from wink.prompt._checks import all_of, checked_attachments, checked_key, checked_title
from wink.prompt._enablement import Enabled, Enablement
from wink.prompt._installing import install_once
from wink.prompt._params import instance_of, refuse_unknown
from wink.prompt._text import Text
from wink.prompt._visibility import SectionVisibility, Visibility, VisibilityChoice
from wink.tools import Attachment, Tool

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from wink.resources import ResourceRegistry
    from wink.session import Session

    P = TypeVar("P", default=Any)
else:
    from typing import TypeVar

    P = TypeVar("P")

__all__ = ["P", "Section", "SectionOptions"]

_specialised: "WeakValueDictionary[tuple[type, type], type]" = WeakValueDictionary()


class SectionOptions(TypedDict, total=False):
    """What sections of every kind can be given by name and hand on to `Section`, which says what each is."""

    children: "Sequence[Section[Any]] | None"
    enabled: Enabled | None
    policies: Sequence[ToolPolicy] | None
    summary: str | None
    visibility: Visibility | None
    attachments: Sequence[Attachment]


class Section(Generic[P]):
    """A node of a prompt's tree.

    A bare `Section` is a heading that groups its children and may bring tools; subclasses add text by overriding
    `render_body`. `Section[P]` says that the parameters come as an instance of the dataclass `P`, which is bound to the
    prompt by its type; a section that says nothing shares the parameters of the section around it.

    * `key` names the section in paths and errors; left out, it is the title in lower case with dashes. Siblings need
      different keys.
    * `default_params` are used when the prompt was given none of that type.
    * `enabled` decides at each rendering whether the section takes part, with all that is below it. It is called with
      the parameters, with `session=`, with both or with nothing, as its signature asks; the session is `None` when
      there is none.
    * `tools` are offered to the model while the section is enabled; `policies` govern them, and those of the sections
      below.
    * `accepts_overrides` says whether people may replace the section's text without touching the code.
    * `summary` is a template like the text of `MarkdownSection`. It is shown in place of everything else, the tools and
      the children too, while the section's visibility is `SectionVisibility.SUMMARY`; the model can then open it.
    * `visibility` is how much is shown as long as nobody has opened or closed the section: a `SectionVisibility`, `FULL`
      by default, or what decides it at each rendering, called as `enabled` is.
    * `attachments` are images, sounds and resources that the text speaks of; models are shown them at the beginning.

    Raises `PromptValidationError` for what cannot work.
    """

    params_type: type[Any] | None = None
    """The dataclass of the section's parameters; `None` when it shares those of the section around it."""

    offered_by: str = ""
    """Plugin, distribution and version, with spaces between them, where a catalog has made the section; calls of its
    tools are recorded with that."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, params_type: Any) -> Any:
            """`Section[P]` for a dataclass `P` is a subclass that knows `P`: the check of placeholders needs it."""
            if params_type is None:
                return cls
            if params_type is Any or isinstance(params_type, TypeVar):
                return super().__class_getitem__(params_type)
            return _for_params(cls, params_type)

    def __init__(
        self,
        title: str,
        key: str | None = None,
        default_params: P | None = None,
        children: Sequence["Section[Any]"] | None = (),
        enabled: Enabled | None = None,
        tools: Sequence[Tool[Any, Any]] | None = (),
        policies: Sequence[ToolPolicy] | None = (),
        accepts_overrides: bool = True,
        summary: str | None = None,
        visibility: Visibility | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> None:
        self.title = checked_title(title)
        self.key = checked_key(key, self.title)
        self.default_params = default_params
        self._check_default_params()
        self.children = all_of(Section, children, "children", (self.key,))
        self.enablement = None if enabled is None else Enablement(enabled, (self.key,))
        self.accepts_overrides = accepts_overrides
        self.summary = summary
        self.visibility = visibility
        self._summary = None if summary is None else Text(summary, (self.key,))
        self.choice = None if visibility is None else VisibilityChoice(visibility, (self.key,))
        self._check_summary()
        self._tools = all_of(Tool, tools, "tools", (self.key,))
        self._attachments = checked_attachments(attachments, (self.key,))
        self._policies = all_of(ToolPolicy, policies, "policies", (self.key,))
        self._refuse_equal_tool_names()

    # What subclasses override.

    def render_body(self, params: P | None, *, session: "Session | None" = None) -> str:  # noqa: ARG002
        """The text under the heading, without the children's; empty for a section that only groups.

        Must depend on nothing but its arguments. `params` are those bound to the prompt, `None` for a section without. An
        override may take less, such as `(self, params)`, and `path`, the keys from the root section down.
        """
        return ""

    def attachments(self, params: P | None) -> Sequence[Attachment]:  # noqa: ARG002
        """What the section shows besides its text. Like that, it must depend on nothing but the parameters.

        Resources that are text become a part of the text.
        """
        return self._attachments

    def is_enabled(self, params: P | None = None, *, session: "Session | None" = None) -> bool:
        """Whether the section takes part in a rendering with these parameters: what `enabled` says, else yes.

        A subclass may decide by itself. One around it that is disabled takes the section with it.
        """
        if self.enablement is None:
            return True
        return self.enablement(self.default_params if params is None else params, session)

    def placeholders(self) -> frozenset[str]:
        """The names that the text takes from the parameters; checked when the template is built."""
        return frozenset()

    def render_summary(self, params: P | None) -> str:
        """What is shown while the section is summarised: `summary`, filled in."""
        return "" if self._summary is None else self._summary.fill(params)

    def summary_placeholders(self) -> frozenset[str]:
        """The names that the summary takes from the parameters; checked when the template is built."""
        return frozenset() if self._summary is None else self._summary.placeholders

    def template_text(self) -> str | None:
        """The template that the text is made of, as its author wrote it; `None` when the text is made in another way.

        Only a section that has one can be overridden. A section of your own that has one returns it here, and takes
        another in `with_template_text`.
        """
        return None

    def with_template_text(self, text: str) -> Self:  # noqa: ARG002
        """A copy for the same place, with the same children, whose text is made of another template."""
        raise PromptValidationError("the text of this section is not made of a template", (self.key,))

    def with_summary(self, summary: str) -> Self:
        """A copy for the same place, with the same children and another summary."""
        twin = copy.copy(self)
        twin.summary, twin._summary = summary, Text(summary, (self.key,))
        return twin

    def shown(self, *, summary: str | None = None, visibility: Visibility | None = None) -> Self:
        """A copy for the same place, with the same children and what is given of another summary and visibility.

        Raises `PromptValidationError` for one that can be summarised and has no summary.
        """
        twin = copy.copy(self) if summary is None else self.with_summary(summary)
        if visibility is not None:
            twin.visibility, twin.choice = visibility, VisibilityChoice(visibility, (self.key,))
        twin._check_summary()
        return twin

    def tools(self) -> tuple[Tool[Any, Any], ...]:
        """The tools that this section brings, in order. Asked once, when a template is built from the section."""
        return self._tools

    def current_tools(self) -> Sequence[Tool[Any, Any]] | None:
        """The tools as they are now, asked at each rendering that shows the section; for tools that come and go.

        `None`, as here, says that they are always those of `tools`.
        """
        return None

    def policies(self) -> tuple[ToolPolicy, ...]:
        """The policies that govern the tools of this section and below. Asked once, when a template is built."""
        return self._policies

    def resources(self) -> "ResourceRegistry | Mapping[type, object] | None":
        """What the section's tools need to find in `context.resources`: bindings, or objects by their type."""
        return None

    def default_resources(self) -> "ResourceRegistry | Mapping[type, object] | None":
        """Like `resources`, for what gives way to the template's and to what other sections bring."""
        return None

    def install(self, session: "Session") -> None:
        """Prepare a session: register the reducers and first values of the section's slices.

        Called once for each session, before its first rendering, whether the section is enabled then or not.
        """

    def cleanup(self) -> None:
        """Let go of what the section holds outside of any session; called by `Prompt.cleanup`."""

    def clone(self, *, title: str | None = None, key: str | None = None) -> Self:
        """A copy with copies of all children, to be put into another place; it may get a title or key of its own."""
        twin = copy.copy(self)
        twin.title = self.title if title is None else checked_title(title)
        twin.key = self.key if key is None and title is None else checked_key(key, twin.title)
        twin.children = tuple(child.clone() for child in self.children)
        return twin

    def install_once(self, session: "Session") -> None:
        """Call `install` unless this section has prepared `session` before; prompts do, before a first rendering."""
        install_once(self, session)

    # What the constructor checks.

    def _check_default_params(self) -> None:
        params: object = self.default_params
        if params is None:
            return
        if not instance_of(params):
            raise PromptValidationError(
                f"default_params must be an instance of a dataclass, not {params!r}",
                (self.key,),
                dataclass=self.params_type,
            )
        if self.params_type is None:
            self.params_type = type(params)
        elif not isinstance(params, self.params_type):
            raise PromptValidationError(
                f"default_params is a {type(params).__qualname__}", (self.key,), dataclass=self.params_type
            )

    def _check_summary(self) -> None:
        if self._summary is None:
            if self.choice is not None and self.choice.fixed is not SectionVisibility.FULL:
                raise PromptValidationError(
                    "the section can be summarised, but has no summary; pass summary='what it is about'", (self.key,)
                )
            return
        if not self._summary.source:
            raise PromptValidationError("the summary is empty; say in a line what the section is about", (self.key,))
        if self.params_type is not None:
            refuse_unknown(self._summary.placeholders, self.params_type, (self.key,))

    def _refuse_equal_tool_names(self) -> None:
        names = [tool.name for tool in self._tools]
        for name in names:
            if names.count(name) > 1:
                raise DuplicateToolName(name, f"section {self.key!r}", "itself", (self.key,))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key!r}>"


def _for_params(cls: type[Any], params_type: Any) -> type[Any]:
    """The subclass of `cls` whose parameters are `params_type`; always the same one, so that types compare equal."""
    params_type = get_origin(params_type) or params_type
    if not (isinstance(params_type, type) and dataclasses.is_dataclass(params_type)):
        raise PromptValidationError(f"the parameters of {cls.__name__}[...] are a dataclass, not {params_type!r}")
    if cls.params_type is not None:
        raise PromptValidationError(f"{cls.__name__} has its parameters already", dataclass=cls.params_type)
    found = _specialised.get((cls, params_type))
    if found is None:
        body = {"params_type": params_type, "__module__": cls.__module__, "__doc__": cls.__doc__}
        found = type(f"{cls.__name__}[{params_type.__name__}]", (cls,), body)
        found = _specialised.setdefault((cls, params_type), found)
    return found
