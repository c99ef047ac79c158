"""Messages and pages use the field's words, as the glossary says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.docs.pages import DOCS, ROOT, every_page, text_of

GLOSSARY = DOCS / "glossary.md"


def avoided() -> re.Pattern[str]:
    """The words in the first column of the glossary's table of words to avoid."""
    table = text_of(GLOSSARY).partition("## Words to avoid")[2]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")][2:]
    words = [word.strip() for cell in cells for word in cell.split(",")]
    assert len(words) > 5
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


def texts() -> Iterator[tuple[str, str]]:
    """Every page, every template, and every string of the code, docstrings included, each with where it is."""
    for page in every_page():
        if page != GLOSSARY:
            yield str(page.relative_to(ROOT)), text_of(page)
    for above in (ROOT / "src", *(path for path in ROOT.glob("plugins/*/*") if path.name.startswith("wink_"))):
        for path in above.rglob("*"):
            where = str(path.relative_to(ROOT))
            if path.suffix == ".py":
                for node in ast.walk(ast.parse(path.read_bytes())):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield f"{where}:{node.lineno}", node.value
            elif path.suffix in (".html", ".tmpl", ".toml", ".js"):
                yield where, path.read_text()


def test_words_to_avoid_are_in_no_message_and_on_no_page() -> None:
    words = avoided()

    assert [(where, found[0]) for where, text in texts() if (found := words.search(text))] == []


def test_a_word_to_avoid_is_found() -> None:
    assert avoided().search("Mend it, and try again")
    assert avoided().search("2 came to nothing")
    assert not avoided().search("amended")
