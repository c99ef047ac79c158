"""The text section of wink's first days: a template whose parameters are named by an argument."""

from collections.abc import Sequence
from typing import Any, Unpack

from wink.prompt._params import type_and_default
from wink.prompt._section import P, SectionOptions
from wink.prompt.sections._markdown import MarkdownSection
from wink.tools import Tool

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
        tools: Sequence[Tool[Any, Any]] | None = (),
        accepts_overrides: bool = True,
        **options: Unpack[SectionOptions],
    ) -> None:
        self.params_type, default_params = type_and_default(params, self.params_type)
        super().__init__(
            title, body, key, default_params=default_params, tools=tools, accepts_overrides=accepts_overrides, **options
        )
