"""The example plugin of the page about hooks, installed and used as anybody's would be."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from wink import Filesystem, InMemoryFilesystem, Prompt, PromptTemplate, ToolCall, ToolExecutor
from wink.plugins import Catalog, Settings
from wink.resources import ResourceRegistry
from wink.testing import fake_distribution

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """The installed example, with settings."""
    source = (ROOT / "docs/examples/release_notes.py").read_text(encoding="utf-8")
    with fake_distribution(
        "wink-release-notes",
        "1.0",
        entry_points={"wink.hooks": {"release-notes": "release_notes_example"}},
        modules={"release_notes_example": source},
        directory=tmp_path,
    ):
        settings = Settings(plugins={"release-notes": {"areas": ["api", "cli"], "longest": 20}})
        yield Catalog.installed(settings, paths=[str(tmp_path)])


def test_the_example_does_what_the_page_says(catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """A hook page whose example does not work teaches mistakes."""
    assert [offer.name for offer in catalog.offers("section")] == ["release-notes.api", "release-notes.cli"]
    template = PromptTemplate(ns="docs", key="hooks", sections=[catalog.use("section", "release-notes.api")])
    files, session = InMemoryFilesystem(), catalog.session()
    resources = catalog.resources().merge(ResourceRegistry.build({Filesystem: files}))
    prompt = Prompt(template).bind(resources=resources)
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)

    with caplog.at_level(logging.INFO, logger="release_notes"):
        noted = executor.execute(ToolCall("note_api", {"text": "faster"}))
        refused = executor.execute(ToolCall("note_api", {"text": "faster than ever before"}))

    assert noted.text == "noted under api"
    assert not refused.success
    assert "at most 20 characters" in refused.text
    assert files.read("notes/api.md").content == "* faster\n"
    assert caplog.records[0].getMessage() == "note_api: noted under api"
