"""A directory of fake distributions, and catalogs that see nothing else."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from wink.plugins import Catalog, PluginInfo, Settings
from wink.testing import fake_distribution

SECTION = """
from wink.prompt import MarkdownSection

def notebook(*, title="Notebook"):
    '''Let the agent keep notes.'''
    return MarkdownSection(title=title, template="Keep notes.", key="notebook")
"""


class Site:
    """A directory of distributions, and catalogs that see nothing else."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path, self._stack = path, stack

    def add(self, name: str = "wink-notes", version: str = "1.0", **options: Any) -> None:
        options.setdefault("modules", {"fake_notes": SECTION})
        options.setdefault("directory", self.path)
        self._stack.enter_context(fake_distribution(name, version, **options))

    def catalog(self, settings: Settings | None = None, **options: Any) -> Catalog:
        options.setdefault("paths", [str(self.path)])
        return Catalog.installed(settings, **options)

    def only(self, settings: Settings | None = None) -> PluginInfo:
        (plugin,) = self.catalog(settings).plugins
        return plugin


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(tmp_path / "site", stack)
