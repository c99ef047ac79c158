"""The part of a prompt that is written once: its sections, its rules and what they need."""

import re
from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, Generic, Self, cast

from wink.errors import PromptValidationError
from wink.policies import ToolPolicy
from wink.prompt._answer import Answer, Container, Out_co, answer_of
from wink.prompt._checks import KEY, all_of
from wink.prompt._plan import Plan
from wink.prompt._section import Section
from wink.prompt.examples import TaskExamplesSection
from wink.prompt.guardrails import FeedbackProviderConfig, TaskCompletionChecker, checked_checker

if TYPE_CHECKING:
    from wink.resources import ResourceRegistry

__all__ = ["PromptTemplate"]

_NAMESPACE: Final = re.compile(rf"{KEY.pattern}(/{KEY.pattern})*")


class PromptTemplate(Generic[Out_co]):
    """A tree of sections with policies and resources, ready to be rendered by any number of prompts.

    `ns` (such as `repo` or `examples/tools`) and `key` name the template; `name` is what events and responses call it,
    by default its key. `policies` govern every tool. `resources` are a registry, or objects and bindings by their type;
    sections may replace them, and `Prompt.bind` may replace both.

    `PromptTemplate[Answer](...)` asks the model for an answer that is an instance of the dataclass `Answer`, and
    `PromptTemplate[list[Finding]](...)` for any number of `Finding`s; see `parse_structured_output`. `allow_extra_keys`
    passes over keys that the dataclass does not have, which are mistakes otherwise.

    `feedback_providers` say something to the model while it works, and `task_completion_checker` decides whether it may
    stop; see `wink.prompt.guardrails`.

    Building it checks everything that does not depend on a session: keys, placeholders against the dataclasses of the
    parameters, and names of tools, except between sections that decide for themselves if they are enabled. Raises
    `PromptValidationError`, which says where. A template never changes.
    """

    ns: str
    key: str
    name: str
    sections: tuple[Section[Any], ...]
    policies: tuple[ToolPolicy, ...]
    feedback_providers: tuple[FeedbackProviderConfig, ...]
    task_completion_checker: TaskCompletionChecker | None
    resources: "ResourceRegistry | Mapping[type, object] | None"
    answer: Answer
    """What the answer is to be, taken apart; for `Prompt`."""
    plan: Plan
    """The sections laid out; for `Prompt`."""

    __slots__ = (
        "__weakref__",
        "answer",
        "feedback_providers",
        "key",
        "name",
        "ns",
        "plan",
        "policies",
        "resources",
        "sections",
        "task_completion_checker",
    )

    def __init__(
        self,
        ns: str,
        key: str,
        name: str | None = None,
        sections: Sequence[Section[Any]] | None = (),
        policies: Sequence[ToolPolicy] | None = (),
        feedback_providers: Sequence[FeedbackProviderConfig] | None = (),
        task_completion_checker: TaskCompletionChecker | None = None,
        allow_extra_keys: bool = False,
        resources: "ResourceRegistry | Mapping[type, object] | None" = None,
        *,
        _output: Any = None,
    ) -> None:
        if not _NAMESPACE.fullmatch(ns):
            raise PromptValidationError(f"{ns!r} cannot be a namespace; use keys with '/' between them")
        if not KEY.fullmatch(key):
            raise PromptValidationError(
                f"{key!r} cannot be a template's key; use lower-case letters, digits, '.', '_', '-'"
            )
        checked_sections = all_of(Section, sections, "sections", ())
        checked_policies = all_of(ToolPolicy, policies, "policies", ())
        values: dict[str, object] = {
            "ns": ns,
            "key": key,
            "name": name or key,
            "sections": checked_sections,
            "policies": checked_policies,
            "feedback_providers": all_of(FeedbackProviderConfig, feedback_providers, "feedback_providers", ()),
            "task_completion_checker": checked_checker(task_completion_checker),
            "resources": resources,
            "answer": answer_of(_output, allow_extra_keys=allow_extra_keys),
            "plan": Plan.of(checked_sections, checked_policies),
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)
        for node in self.plan.nodes:
            if isinstance(node.section, TaskExamplesSection):
                node.section.check_outcomes(self.answer, node.path)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, output):
            """`PromptTemplate[Answer]`, which makes templates with this output when called."""
            return _TypedTemplate(cls, output)

        def __setattr__(self, name, value):
            """Templates are shared by prompts and threads, and never change."""
            raise AttributeError(f"a template cannot be changed; build another one with another {name}")

        def __delattr__(self, name):
            """Templates never change."""
            raise AttributeError(f"a template cannot be changed; {name!r} stays")

    @property
    def output_type(self) -> "type[Any] | None":
        """The dataclass of the answer, or of an array's items; `None` when the answer is plain text."""
        return self.answer.type

    @property
    def container(self) -> Container | None:
        """Whether the answer is one `object` or an `array` of them; `None` when it is plain text."""
        return self.answer.container

    @property
    def allow_extra_keys(self) -> bool:
        """Whether the answer may have keys that `output_type` does not."""
        return self.answer.allow_extra_keys

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<PromptTemplate {self.ns}:{self.key}>"


class _TypedTemplate(GenericAlias):
    """`PromptTemplate[Answer]`: hands the type on when it is called, which `typing.Generic` does too late."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("_output", self.__args__[0])
        return cast("Any", self.__origin__)(*args, **kwargs)
