"""`llms.txt`: what a model reads first, a line for each page with its title and first sentence (https://llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath
from typing import Final

INDEX: Final = "docs/index.md"
_FENCE: Final = re.compile(r"^(`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^\1$", re.MULTILINE | re.DOTALL)
_END: Final = re.compile(r"[.?](?:\s|$)|:$")

Read = Callable[[str], str]
"""The text of a page, by its path in the repository."""


def text(read: Read) -> str:
    """The file: the first page's first paragraph, and a list for each section of the pages in it."""
    lines = ["# wink", "", f"> {_plain(_paragraph(read(INDEX)))}", ""]
    for section in _entries(INDEX, read):
        lines += [f"## {title(read(section))}", ""]
        for page in list(_entries(section, read)) or [section]:
            lines += [_line(one, read) for one in (page, *_entries(page, read))]
        lines.append("")
    return "\n".join(lines)


def title(page: str) -> str:
    """A page's title, without marks.

    >>> title("# `wink.tools`\\n\\nText.\\n")
    'wink.tools'
    """
    return _plain(page.partition("\n")[0].removeprefix("# "))


def first_sentence(page: str) -> str:
    """The sentence that a page begins with, or nothing where it begins with something else.

    >>> first_sentence("# T\\n\\nA [tool](t.md) of `wink.tools`\\nruns. More.\\n")
    'A tool of wink.tools runs'
    >>> first_sentence("# T\\n\\n* a list\\n")
    ''
    """
    return _END.split(_plain(_paragraph(page)), maxsplit=1)[0]


def _line(page: str, read: Read) -> str:
    said = first_sentence(read(page))
    return f"- [{title(read(page))}]({page}){f': {said}' if said else ''}"


def _paragraph(page: str) -> str:
    without = re.sub(r"<!--.*?-->", "", _FENCE.sub("", page), flags=re.DOTALL)
    paragraphs = [part.strip() for part in without.split("\n\n")[1:]]
    return next((part for part in paragraphs if re.match(r"[\w`*\[“\"]", part) and not part.startswith("* ")), "")


def _plain(text: str) -> str:
    without_links = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(without_links.replace("**", "").replace("`", "").replace("*", "").split())


def _entries(page: str, read: Read) -> Iterator[str]:
    """The pages that a page's tables of contents name, in their order; those by a pattern are listed on the page itself."""
    for found in _FENCE.finditer(read(page)):
        if found["language"] == "{toctree}":
            names = [
                line.strip() for line in found["text"].splitlines() if line.strip() and not re.search(r"^:|\*", line)
            ]
            yield from (f"{normpath(join(dirname(page), name))}.md" for name in names)
