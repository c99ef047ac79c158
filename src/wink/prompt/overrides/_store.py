"""What a prompt needs of the place where overrides are kept."""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from wink.prompt._prompt import Prompt
    from wink.prompt._template import PromptTemplate
    from wink.prompt.overrides._descriptor import PromptDescriptor
    from wink_overrides import PromptOverride, SectionOverride, TaskExampleOverride, ToolOverride

__all__ = ["PromptOverridesStore", "TaggedOverridesStore"]


@runtime_checkable
class PromptOverridesStore(Protocol):
    """Where overrides are kept; a prompt calls `resolve` at each rendering.

    Whatever `resolve` gives is checked again, so a store cannot make a prompt use what does not fit.
    """

    def resolve(self, descriptor: "PromptDescriptor", tag: str = "latest") -> "PromptOverride | None":
        """What is kept under a tag and fits the template as it is now; `None` when there is nothing."""
        ...

    def upsert(self, descriptor: "PromptDescriptor", override: "PromptOverride") -> "PromptOverride":
        """Keep what `override` says, beside what its tag says of other parts; gives all that the tag says now.

        Raises `PromptOverrideError`, and changes nothing, when a part does not fit the template.
        """
        ...

    def delete(self, *, ns: str, prompt_key: str, tag: str) -> bool | None:
        """Forget all that a tag says; nothing happens when it says nothing."""
        ...

    def store(
        self,
        prompt: "Prompt[Any] | PromptTemplate[Any] | PromptDescriptor",
        override: "PromptOverride | SectionOverride | ToolOverride | TaskExampleOverride",
        *,
        tag: str = "latest",
    ) -> "PromptOverride":
        """Keep one part, for what the code says now; otherwise like `upsert`."""
        ...

    def seed(self, prompt: "Prompt[Any] | PromptTemplate[Any]", *, tag: str = "latest") -> "PromptOverride":
        """Keep what the code says now, as a starting point; what the tag says already stays."""
        ...


@runtime_checkable
class TaggedOverridesStore(PromptOverridesStore, Protocol):
    """A store that tells which tags it has, for people who name one on the command line."""

    def tags(self, *, ns: str, prompt_key: str) -> tuple[str, ...]:
        """The tags under which something is kept for a template, in order of the alphabet; raises `PromptOverrideError`."""
        ...
