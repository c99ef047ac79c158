"""The fixtures of `pytest_plugins = ["wink.testing"]`."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from wink.testing._catalog import PluginCatalog
from wink.testing._harness import Harness

_MARKER = (
    "wink(fs='memory', audit=True, allow=()): the files of the fixture `harness`, 'memory' or 'disk', whether a tool that does "
    "more than its effects declare fails the test, and what paths it may use all the same."
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, so that it can be used with `--strict-markers`."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Generator[Harness]:
    """Calls tools through the real executor; see `wink.testing.Harness` and the marker `wink`."""
    options = _options(request)
    catalog: PluginCatalog | None = None
    if "plugin_catalog" in request.fixturenames:
        catalog = request.getfixturevalue("plugin_catalog")
    root: Path | None = None
    if options["fs"] == "disk":
        root = Path(request.getfixturevalue("tmp_path"), "workspace")
        root.mkdir()
    made = Harness(root=root, catalog=catalog, audit=bool(options["audit"]), allow=options["allow"])
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def plugin_catalog(tmp_path_factory: pytest.TempPathFactory) -> Generator[PluginCatalog]:
    """Plugins of the test, beside which none is installed; the fixture `harness` takes its offers from here."""
    made = PluginCatalog(tmp_path_factory.mktemp("plugins"))
    try:
        yield made
    finally:
        made.close()


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the nearest markers say."""
    options: dict[str, Any] = {"fs": "memory", "audit": True, "allow": ()}
    for marker in reversed(list(request.node.iter_markers("wink"))):
        unknown = marker.kwargs.keys() - options.keys()
        if unknown or marker.args:
            raise pytest.UsageError(
                f"@pytest.mark.wink takes fs=, audit= and allow=, not {sorted(unknown) or marker.args}"
            )
        options |= marker.kwargs
    if options["fs"] not in ("memory", "disk"):
        raise pytest.UsageError(f"@pytest.mark.wink(fs={options['fs']!r}): fs is 'memory' or 'disk'")
    return options
