"""The section for tools that need a line of guidance at most."""

from collections.abc import Sequence
from typing import Any, Unpack

from wink.prompt._section import P, SectionOptions
from wink.prompt.sections._text import TextSection
from wink.tools import Tool

__all__ = ["ToolsSection"]


class ToolsSection(TextSection[P]):
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
        super().__init__(
            title, description or "", params, key=key, tools=tools, accepts_overrides=accepts_overrides, **options
        )
