"""The pages hang together: nothing is out of reach, no link is dead, every snippet is run."""

from pathlib import Path

import pytest
from docs.check import picture_problem
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser
from tests.docs.pages import DOCS, ROOT, anchors, contents, every_page, fences, links, name, text_of

PAGES = pytest.mark.parametrize("page", every_page(), ids=name)
LANGUAGES = {"", "console", "json", "python", "text", "toml", "yaml", "diff", "ini", "sh", "{toctree}", "{eval-rst}"}
"""A snippet of Python under any other name would not be run."""


def test_every_page_is_reached_from_the_index() -> None:
    """A page that no table of contents names is found by nobody."""
    reached, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        assert page.is_file(), f"a table of contents names {name(page)}, which is not there"
        if page not in reached:
            reached.add(page)
            waiting += contents(page)

    lost = [name(page) for page in every_page()[1:] if page not in reached]
    assert lost == [], "name these in the index of their section, in its list and in its toctree"


@PAGES
def test_every_entry_of_a_table_of_contents_is_told_of(page: Path) -> None:
    """Tables of contents are hidden, and do not show on GitHub; the text above has a line for each page."""
    linked = {(page.parent / target.partition("#")[0]).resolve() for target in links(page)}

    assert [name(entry) for entry in contents(page) if entry.resolve() not in linked] == []


@PAGES
def test_every_link_leads_somewhere(page: Path) -> None:
    """On GitHub too, where the pages are read as files."""
    for target in links(page):
        path, _, place = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{name(page)} links to {target}, which is not there"
        inside = page == ROOT / "README.md" or file.is_relative_to(DOCS)
        assert inside, f"{name(page)} links to {target}, which is no page; name the file without a link"
        if place and file.suffix == ".md":
            assert place in anchors(file), f"{name(page)} links to {target}, and no heading there is called so"


@PAGES
def test_every_snippet_of_python_is_run(page: Path) -> None:
    """What nobody runs is wrong sooner or later."""
    found = [language for language, _ in fences(page)]
    assert set(found) <= LANGUAGES, "use one of these names for the language of a block"

    document = Document(text_of(page), str(page))
    regions = list(PythonCodeBlockParser()(document))
    assert len(regions) == found.count("python")
    assert page == ROOT / "README.md" or DOCS in page.parents


def test_pictures_are_pictures_and_load_nothing() -> None:
    """Nothing on a page comes from another place, and nothing is broken."""
    pictures = [path for path in DOCS.rglob("*") if path.suffix in (".svg", ".png", ".jpg", ".gif")]

    assert pictures
    assert {name(path): problem for path in pictures if (problem := picture_problem(path))} == {}
    used = {(page.parent / target).resolve() for page in every_page() for target in links(page)}
    assert [name(path) for path in pictures if path not in used] == [], "no page shows these"


@PAGES
def test_a_page_has_one_title_and_says_nothing_of_where_it_was_written(page: Path) -> None:
    """Paths of one person's home mean nothing to a reader."""
    text = text_of(page)
    assert text.startswith("# ")
    assert text.count("\n# ") == sum(block.count("\n# ") + block.startswith("# ") for _, block in fences(page))
    for word in ("/root/", "TODO", "TBD"):
        assert word not in text
