"""The text section of wink's first days: a template whose parameters are named by an argument."""

from collections.abc import Sequence
from typing import Any

from wink.policies import ToolPolicy
from wink.prompt._enablement import Enabled
from wink.prompt._markdown_section import MarkdownSection
from wink.prompt._params import type_and_default
from wink.prompt._section import P, Section
from wink.prompt._visibility import Visibility
from wink.tools import Attachment, Tool

__all__ = ["TextSection"]


class TextSection(MarkdownSection[P]):
    """A `MarkdownSection` whose template is called `body`, and whose parameters are given as `params`.

    `params` is the dataclass, or an instance of it to use when the prompt is given none.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Guidance:
    ...     primary_tool: str
    >>> TextSection("Guidance", "Prefer ${primary_tool}.", Guidance).params_type is Guidance
    True
    """

    def __init__(
        self,
        title: str,
        body: str,
        params: type[P] | P | None = None,
        *,
        key: str | None = None,
        children: Sequence[Section[Any]] | None = (),
        enabled: Enabled | None = None,
        tools: Sequence[Tool[Any, Any]] | None = (),
        policies: Sequence[ToolPolicy] | None = (),
        accepts_overrides: bool = True,
        summary: str | None = None,
        visibility: Visibility | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> None:
        self.params_type, default_params = type_and_default(params, self.params_type)
        super().__init__(
            title,
            body,
            key,
            default_params=default_params,
            children=children,
            enabled=enabled,
            tools=tools,
            policies=policies,
            accepts_overrides=accepts_overrides,
            summary=summary,
            visibility=visibility,
            attachments=attachments,
        )
