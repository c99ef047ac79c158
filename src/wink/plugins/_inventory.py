"""Keep each plugin's state while its offers and hooks are loaded, each at most once."""

import threading
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

from wink.errors import PluginLoadError, PluginWarning, SettingsError
from wink.plugins._guard import Failed, guarded
from wink.plugins._info import BY_HOOK, Loaded, Offer, PluginInfo
from wink.plugins._load import load, load_target
from wink.plugins._names import Kind
from wink.plugins._quarantine import Quarantine
from wink.plugins._settings import Settings
from wink.plugins._stale import Project, staleness
from wink.plugins._values import plugin_settings
from wink.trust import Trust

if TYPE_CHECKING:
    from wink.plugins._hooks import Hooks
    from wink.plugins._hookspecs import RuntimeOffer


class Inventory:
    """The plugins of one catalog, what they offer, and what has been loaded of it.

    Of the plugins that share a name at most one is usable, which selection saw to; so names identify those.
    """

    def __init__(
        self, plugins: Iterable[PluginInfo], settings: Settings, trust: Trust | None, quarantine: Quarantine | None
    ) -> None:
        self._plugins = {(plugin.name, plugin.distribution): plugin for plugin in plugins}
        self._settings, self._trust, self._quarantine = settings, trust, quarantine
        self._offers = {
            (offer.kind, offer.name): offer for plugin in self.usable() for offer in plugin.offers
            if not offer.is_late
        }  # fmt: skip
        self._lock = threading.RLock()
        self._hooks: Hooks | None = None
        self._started: dict[str, Failed | None] = {}
        self._own_settings: dict[str, Any] = {}
        self._loaded: dict[tuple[Kind, str], Loaded] = {}
        self._warned: set[tuple[str, str]] = set()
        self._projects: dict[str, Project] = {}

    @property
    def plugins(self) -> tuple[PluginInfo, ...]:
        """Every plugin in its present state, sorted by name."""
        return tuple(self._with_staleness(self._plugins[key]) for key in sorted(self._plugins))

    def usable(self) -> list[PluginInfo]:
        """Plugins that may be used, sorted by name."""
        return [self._plugins[key] for key in sorted(self._plugins) if self._plugins[key].usable]

    def named(self, name: str) -> list[PluginInfo]:
        """Every plugin of this name, the usable one first if there is one."""
        found = [plugin for (own, _), plugin in sorted(self._plugins.items()) if own == name]
        return sorted(found, key=lambda plugin: not plugin.usable)

    def offer(self, kind: Kind, name: str) -> Offer | None:
        """The offer of a usable plugin."""
        return self._offers.get((kind, name))

    def offers(self, kind: Kind | None = None) -> tuple[Offer, ...]:
        """The offers of usable plugins, as far as their hook modules have been started, sorted by kind and name."""
        return tuple(self._offers[key] for key in sorted(self._offers) if kind is None or key[0] == kind)

    def start(self, plugin: PluginInfo) -> None:
        """Import a plugin's hook module, read its settings and take its run-time offers; raises `Failed`."""
        with self._lock:
            if plugin.name not in self._started:
                # Set before anything of the plugin's runs: code of its own that comes back here finds it started.
                self._started[plugin.name] = None
                try:
                    with self.watching(plugin):
                        self._start(plugin)
                except Failed as failed:
                    self._started[plugin.name] = failed
                    self._mark_broken(plugin, failed)
            if (failure := self._started[plugin.name]) is not None:
                raise Failed(failure.reason) from failure.__cause__

    def load(self, offer: Offer) -> Loaded:
        """Import an offer's factory; raises `Failed`."""
        with self._lock:
            key = offer.kind, offer.name
            if key not in self._loaded:
                plugin = self.named(offer.plugin)[0]
                self.start(plugin)
                try:
                    # A hook that has just run may have put the offer in conflict.
                    with self.watching(plugin):
                        self._loaded[key] = load(plugin, self._offers.get(key, offer), self._trust)
                except Failed as failed:
                    self._mark_broken(plugin, failed)
                    raise
                self._mark_loaded(plugin)
            return self._loaded[key]

    def load_plugin(self, plugin: PluginInfo) -> None:
        """Import a plugin's hook module and all that it offers; failures end in its state, and nothing is raised."""
        if not plugin.usable:
            return
        try:
            self.start(plugin)
        except Failed:
            pass  # its offers are tried nevertheless, and fail alike
        for offer in self.offers():
            if offer.plugin == plugin.name:
                try:
                    self.load(offer)
                except Failed:
                    continue

    def own_settings(self, plugin: str) -> Any:
        """The settings of a plugin that has been started, None if it declares none."""
        return self._own_settings.get(plugin)

    def call(self, plugin: PluginInfo, hook: str, **arguments: Any) -> list[Any]:
        """What a started plugin's implementations of a hook return; raises `Failed`."""
        if self._hooks is None or not plugin.hooks:
            return []
        try:
            with self.watching(plugin), guarded():
                return self._hooks.call(plugin.name, hook, settings=self.own_settings(plugin.name), **arguments)
        except Failed as failed:
            self._mark_broken(plugin, failed)
            raise

    def leave_out(self, plugin: PluginInfo, reason: str, cause: BaseException | None = None) -> None:
        """Say once that something of a plugin is left out, or raise `PluginLoadError` when the settings are strict."""
        if self._settings.strict:
            raise PluginLoadError(plugin.name, plugin.distribution, reason) from cause
        if (plugin.name, plugin.distribution) not in self._warned:
            self._warned.add((plugin.name, plugin.distribution))
            self._warn(f"plugin {plugin.name!r} of {plugin.installed_as} is left out: {reason}")

    def watching(self, plugin: PluginInfo) -> AbstractContextManager[None]:
        """Where it is known what to do about code that never comes back, that is done for this plugin's."""
        return nullcontext() if self._quarantine is None else self._quarantine.watching(plugin)

    def fail(self, plugin: PluginInfo, failed: Failed) -> None:
        """Note that something of a plugin turned out not to work."""
        self._mark_broken(plugin, failed)

    def _start(self, plugin: PluginInfo) -> None:
        cls: type[Any] | None = None
        if plugin.hooks:
            hooks = load_target(plugin, plugin.hooks, self._trust)
            with guarded():
                if self._hooks is None:
                    from wink.plugins._hooks import Hooks

                    self._hooks = Hooks()
                implemented = self._hooks.register(plugin.name, hooks)
                cls = _settings_class(self._hooks.call(plugin.name, "wink_settings"))
            if not implemented:
                self._update(plugin, notes=(*plugin.notes, f"{plugin.hooks} implements no hook of wink"))
            self._mark_loaded(plugin)
        try:
            with guarded():
                own, notes = plugin_settings(cls, plugin.name, self._settings.tables_of(plugin.name))
        except Failed as failed:
            if isinstance(failed.__cause__, SettingsError):
                raise Failed(f"settings: {failed.__cause__}") from failed.__cause__
            raise
        self._own_settings[plugin.name] = own
        if notes:
            self._update(plugin, notes=(*self._current(plugin).notes, *notes))
            for note in notes:
                self._warn(f"plugin {plugin.name!r}: {note}")
        if plugin.hooks and self._hooks is not None:
            with guarded():
                offers = self._hooks.offers(plugin.name, own)
                for offer in sorted(offers, key=lambda offer: (offer.kind, offer.name)):
                    self._add(plugin, offer)

    def _add(self, plugin: PluginInfo, made: "RuntimeOffer") -> None:
        from wink.plugins._names import problem_with_offer_name

        if problem := problem_with_offer_name(made.name):
            raise ValueError(problem)
        if made.name.partition(".")[0] != plugin.name:
            raise ValueError(f"a hook of {plugin.name!r} offers {made.name!r}, which is another plugin's name")
        offer = Offer(
            made.kind, made.name, plugin.distribution, f"{BY_HOOK}{plugin.hooks}", "", made.summary, made.factory
        )
        if (twin := self._offers.get((made.kind, made.name))) is not None:
            problem = (
                f"{made.kind} {made.name!r} comes from {twin.target} and from {offer.target} of {plugin.distribution}"
            )
            offer = replace(offer, problem=problem, factory=None)
            self._update(plugin, state="conflict" if plugin.state != "broken" else "broken", reason=problem)
        self._offers[made.kind, made.name] = offer

    def _mark_loaded(self, plugin: PluginInfo) -> None:
        if self._current(plugin).state == "available":
            self._update(plugin, state="loaded")

    def _mark_broken(self, plugin: PluginInfo, failed: Failed) -> None:
        # The first failure is the one to fix first; later ones may only follow from it.
        if self._current(plugin).state not in ("broken", "conflict"):
            self._update(plugin, state="broken", reason=failed.reason, error=failed.__cause__ or failed)

    def _current(self, plugin: PluginInfo) -> PluginInfo:
        return self._plugins[plugin.name, plugin.distribution]

    def _update(self, plugin: PluginInfo, **facts: Any) -> None:
        self._plugins[plugin.name, plugin.distribution] = replace(self._current(plugin), **facts)

    def _with_staleness(self, plugin: PluginInfo) -> PluginInfo:
        if plugin.state in ("available", "loaded") and (reason := staleness(plugin, self._projects)):
            return replace(plugin, state="stale", reason=reason)
        return plugin

    def _warn(self, text: str) -> None:
        warnings.warn(text, PluginWarning, stacklevel=4)


def _settings_class(declared: list[Any]) -> type[Any] | None:
    if not declared:
        return None
    cls: Any = declared[-1]
    if not isinstance(cls, type) or not is_dataclass(cls):
        raise TypeError(f"wink_settings returned {cls!r}, not a dataclass")
    return cls
