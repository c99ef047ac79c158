"""The section for tools that need a line of guidance at most."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from wink.prompt._params import refuse_unknown, type_and_default
from wink.prompt._section import P, Section, SectionOptions
from wink.prompt._text import Text
from wink.tools import Tool

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["ToolsSection"]


class ToolsSection(Section[P]):
    """A section that brings tools and does not list them: the model is told of each through its schema.

    `description` is a template for guidance that no single tool's description can hold. `params` is the dataclass of
    its parameters, or an instance of it to use when the prompt is given none; left out, the section shares those of the
    section around it.
    """

    def __init__(
        self,
        title: str,
        tools: Sequence[Tool[Any, Any]],
        description: str | None = None,
        params: type[P] | P | None = None,
        *,
        key: str | None = None,
        accepts_overrides: bool = True,
        **options: Unpack[SectionOptions],
    ) -> None:
        self.params_type, default_params = type_and_default(params, self.params_type)
        super().__init__(
            title,
            key,
            default_params=default_params,
            tools=tools,
            accepts_overrides=accepts_overrides,
            **options,
        )
        self._text = Text(description or "", (self.key,))
        if self.params_type is not None:
            refuse_unknown(self._text.placeholders, self.params_type, (self.key,))

    def placeholders(self) -> frozenset[str]:
        """The names in the description."""
        return self._text.placeholders

    def template_text(self) -> str:
        """The description, without its indentation."""
        return self._text.source

    def with_template_text(self, text: str) -> Self:
        """The same section with another description."""
        twin = copy.copy(self)
        twin._text = Text(text, (self.key,))
        return twin

    def render_body(self, params: P | None, *, session: "Session | None" = None) -> str:  # noqa: ARG002
        """The description, filled in; nothing about the single tools."""
        return self._text.fill(params)
