"""The section that most prompts consist of: a template in Markdown."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from wink.prompt._params import refuse_unknown
from wink.prompt._section import P, Section, SectionOptions
from wink.prompt._text import Text
from wink.tools import Tool

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["MarkdownSection"]


class MarkdownSection(Section[P]):
    """A section whose text is a template: indentation taken off, `$name` and `${name}` replaced by parameters.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Task:
    ...     issue: str
    >>> section = MarkdownSection[Task](title="Task", template="Fix ${issue}; a coffee costs $$2.")
    >>> section.render_body(Task("the crash on start"))
    'Fix the crash on start; a coffee costs $2.'

    A placeholder that `P` has no field or property for is refused when the section is built, as is a stray dollar sign.
    The other arguments are those of `Section`.
    """

    def __init__(
        self,
        title: str,
        template: str,
        key: str | None = None,
        *,
        default_params: P | None = None,
        tools: Sequence[Tool[Any, Any]] | None = (),
        accepts_overrides: bool = True,
        **options: Unpack[SectionOptions],
    ) -> None:
        super().__init__(
            title, key, default_params=default_params, tools=tools, accepts_overrides=accepts_overrides, **options
        )
        self._text = Text(template, (self.key,))
        if self.params_type is not None:
            refuse_unknown(self._text.placeholders, self.params_type, (self.key,))

    def placeholders(self) -> frozenset[str]:
        """The names in the template."""
        return self._text.placeholders

    def template_text(self) -> str:
        """The template, without its indentation."""
        return self._text.source

    def with_template_text(self, text: str) -> Self:
        """The same section with another template."""
        twin = copy.copy(self)
        twin._text = Text(text, (self.key,))
        return twin

    def render_body(self, params: P | None, *, session: "Session | None" = None) -> str:  # noqa: ARG002
        """The template, filled in."""
        return self._text.fill(params)
