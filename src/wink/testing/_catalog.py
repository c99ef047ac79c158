"""A catalog of plugins that finds nothing but what a test adds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from types import ModuleType
from typing import Any, Final

from wink.plugins import Catalog, Kind, Settings
from wink.testing._distributions import FakeDistribution, fake_distribution
from wink.trust import Trust

GROUPS: Final[Mapping[Kind, str]] = {
    "section": "wink.sections",
    "policy": "wink.policies",
    "filesystem": "wink.filesystems",
    "adapter": "wink.adapters",
    "command": "wink.commands",
    "checkup": "wink.doctor",
    "diff": "wink.diffs",
    "collection": "wink.gc",
    "standing": "wink.status",
    "explanation": "wink.explain",
    "overrides": "wink.overrides",
    "agent": "wink.agents",
}
_numbers = count(1)


class _TrustsTheTest(Trust):
    """Where a test is run says nothing of its own plugins, which nobody else has written."""

    __slots__ = ()

    def objection(self, path: str) -> str:
        """None."""
        del path
        return ""


class PluginCatalog:
    """Plugins of a test, beside which none is installed; the fixture `plugin_catalog` gives one.

    `add` offers a function of the test's own. `install` writes a whole distribution, to try what only a real one can go
    through. Both are found as installed ones are, through their metadata; `settings` are those that a user would have.

    ```python
    def test_notebook_comes_with_its_settings(plugin_catalog, harness):
        plugin_catalog.add("section", "notes.notebook", notebook_section)
        plugin_catalog.add_hooks("notes", wink_notes.hooks)
        harness.use("section", "notes.notebook")
    ```
    """

    def __init__(self, directory: str | os.PathLike[str], settings: Settings | None = None) -> None:
        self.directory = os.path.realpath(directory)
        self._settings = Settings() if settings is None else settings
        self._stack = ExitStack()
        self._modules: dict[str, ModuleType] = {}
        self._points: dict[str, dict[str, dict[str, str]]] = {}
        self._catalog: Catalog | None = None

    @property
    def settings(self) -> Settings:
        """What a user has set; setting it makes a new catalog."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings, self._catalog = settings, None

    def add(self, kind: Kind, name: str, factory: Callable[..., object]) -> None:
        """Offer what `factory` makes under `name`, such as `notes.notebook`; nothing has to be written to disk for it."""
        self._point(name.partition(".")[0], GROUPS[kind], name, factory)

    def add_hooks(self, plugin: str, hooks: object) -> None:
        """Give a plugin a hook module, or an object with hook implementations."""
        self._point(plugin, "wink.hooks", plugin, hooks)

    def install(
        self,
        name: str = "wink-notes",
        version: str = "1.0",
        *,
        entry_points: Mapping[str, Mapping[str, str]] | str | bytes | None = None,
        modules: Mapping[str, str] | None = None,
        summary: str = "",
        requires: Sequence[str] = (),
        files: Mapping[str, str | bytes] | None = None,
    ) -> FakeDistribution:
        """Write a distribution with its metadata and modules, which can be imported until the test ends.

        See `fake_distribution`.
        """
        self._catalog = None
        return self._stack.enter_context(
            fake_distribution(
                name,
                version,
                entry_points=entry_points,
                modules=modules,
                summary=summary,
                requires=requires,
                files=files,
                directory=self.directory,
            )
        )

    @property
    def catalog(self) -> Catalog:
        """The catalog of what has been added; another one after something was added."""
        if self._catalog is None:
            paths = [self.directory]
            self._catalog = Catalog.installed(self._settings, paths=paths, trust=_TrustsTheTest())
        return self._catalog

    def use(self, kind: Kind, name: str, /, **options: Any) -> Any:
        """Make what is offered, as `Catalog.use` does."""
        return self.catalog.use(kind, name, **options)

    def close(self) -> None:
        """Forget what was added."""
        self._stack.close()
        for module in self._modules.values():
            sys.modules.pop(module.__name__, None)
        self._modules.clear()

    def _point(self, plugin: str, group: str, name: str, target: object) -> None:
        self._catalog = None
        module = self._modules.get(plugin)
        if module is None:
            module = self._modules[plugin] = ModuleType(f"_wink_testing_{plugin.replace('-', '_')}_{next(_numbers)}")
            sys.modules[module.__name__] = module
        attribute = f"offer_{len(vars(module))}"
        setattr(module, attribute, target)
        points = self._points.setdefault(plugin, {})
        points.setdefault(group, {})[name] = f"{module.__name__}:{attribute}"
        with fake_distribution(f"wink-{plugin}", entry_points=points, directory=self.directory, on_path=False):
            pass  # what is written to a directory of ours stays
