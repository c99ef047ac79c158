"""Text with `$name` placeholders that stand for the fields of a dataclass."""

from string import Template
from textwrap import dedent
from typing import Any

from wink.errors import PromptValidationError

__all__ = ["Text"]


class Text:
    """A `string.Template` without its indentation, which knows what it needs before it is filled in.

    >>> text = Text("  Fix $issue, but spend at most $$5.  ", ("task",))
    >>> sorted(text.placeholders)
    ['issue']

    `$name` and `${name}` are placeholders, `$$` is a dollar sign; any other dollar sign is refused with its line.
    """

    __slots__ = ("_template", "_whole", "placeholders", "source")

    placeholders: frozenset[str]
    source: str
    """The template as it was written, without its indentation."""

    def __init__(self, source: str, section_path: tuple[str, ...]) -> None:
        self.source = source = dedent(source).strip()
        self._template = Template(source)
        if not self._template.is_valid():
            raise PromptValidationError(_stray_dollar(self._template), section_path)
        self.placeholders = frozenset(self._template.get_identifiers())
        self._whole = None if self.placeholders else self._template.substitute()

    def fill(self, params: Any) -> str:
        """The text with each placeholder replaced by `str()` of the attribute of that name."""
        if self._whole is not None:
            return self._whole
        return self._template.substitute({name: getattr(params, name) for name in self.placeholders})


def _stray_dollar(template: Template) -> str:
    """Where the first dollar sign is that starts no placeholder."""
    text = template.template
    stray = next(match for match in template.pattern.finditer(text) if match.group("invalid") is not None)
    number = text.count("\n", 0, stray.start()) + 1
    line = text.splitlines()[number - 1].strip()
    return f"line {number}, {line!r}, has a '$' that starts no placeholder; write '$$' for a dollar sign"
