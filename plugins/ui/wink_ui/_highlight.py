"""Colour source text, line by line, for the languages that Pygments is asked for by a file's name."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, Final

from markupsafe import Markup

from wink_ui._text import shown

LARGEST: Final = 24_000
"""So many characters are coloured at once; colouring more takes longer than looking at it is worth."""
_LONGEST_LINE: Final = 1000
_LEXERS: Final = {
    # suffix or name: lexer; only these, since a lexer runs over text that anybody may have written
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "typescript", ".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml",
    ".ini": "ini", ".cfg": "ini", ".html": "html", ".css": "css", ".sh": "bash", ".bash": "bash", ".c": "c",
    ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".rs": "rust", ".go": "go", ".java": "java",
    ".kt": "kotlin", ".rb": "ruby", ".php": "php", ".sql": "sql", ".xml": "xml", ".md": "markdown", ".cs": "csharp",
    ".swift": "swift", ".lua": "lua", "dockerfile": "docker", "makefile": "make",
}  # fmt: skip
_CLASSES: Final = (
    # the first kind that a token is of
    ("Comment", "c"),
    ("Keyword", "k"),
    ("Literal.String", "s"),
    ("Literal.Number", "m"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Decorator", "f"),
    ("Name.Tag", "k"),
    ("Name.Attribute", "f"),
    ("Name.Builtin", "b"),
    ("Operator.Word", "k"),
    ("Generic.Heading", "k"),
    ("Generic.Subheading", "k"),
)


def coloured(path: str, text: str) -> list[Markup] | None:
    """Each line of `text` as HTML; None where nothing is known of the language, or there is too much."""
    name = os.path.basename(path).lower()
    language = _LEXERS.get(os.path.splitext(name)[1]) or _LEXERS.get(name)
    if language is None or len(text) > LARGEST or any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        return None
    return list(_lines(language, text))


@lru_cache(maxsize=128)
def _lines(language: str, text: str) -> tuple[Markup, ...]:
    done: list[list[str]] = [[]]
    for _, kind, value in _lexer(language).get_tokens_unprocessed(text):
        style = _style_of(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                done.append([])
            if part:
                done[-1].append(f'<i class="t-{style}">{shown(part)}</i>' if style else str(shown(part)))
    return tuple(Markup("".join(parts)) for parts in done)  # noqa: S704  of escaped parts


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]

    return get_lexer_by_name(language)


@lru_cache(maxsize=512)
def _style_of(kind: Any) -> str:
    name = ".".join(kind)
    return next((style for prefix, style in _CLASSES if name == prefix or name.startswith(f"{prefix}.")), "")
