"""The pages as text: fenced blocks, links, headings, tables of contents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(?P<marks>`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=marks)[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (?P<text>.+)$", re.MULTILINE)


def every_page() -> list[Path]:
    """The README and everything below docs."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name(page: Path) -> str:
    """How a page is called in messages."""
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    """A page's text."""
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", text_of(page))


def fences(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each fenced block."""
    for found in FENCE.finditer(text_of(page)):
        yield found["language"].strip(), found["text"]


def links(page: Path) -> Iterator[str]:
    """Where a page's links and pictures lead, apart from what is on the web."""
    without_code = re.sub(r"``.+?``|`[^`\n]*`", "code", prose(page))
    for found in _LINK.finditer(without_code):
        if not found["target"].startswith(("https://", "http://", "mailto:")):
            yield found["target"]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The places on a page that a link can name, as GitHub and MyST make them of headings."""
    made: set[str] = set()
    for found in _HEADING.finditer(prose(page)):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found["text"]).strip().lower()).replace(
            " ", "-"
        )
        number, unique = 0, slug
        while unique in made:
            number += 1
            unique = f"{slug}-{number}"
        made.add(unique)
    return frozenset(made)


def contents(page: Path) -> Iterator[Path]:
    """The pages that a page's tables of contents name."""
    for language, text in fences(page):
        if language != "{toctree}":
            continue
        is_glob = ":glob:" in text
        for line in text.splitlines():
            if not line.strip() or line.startswith(":"):
                continue
            entry = line.strip()
            if is_glob:
                yield from (path for path in sorted(page.parent.glob(f"{entry}.md")) if path != page)
            else:
                yield page.parent / f"{entry}.md"
