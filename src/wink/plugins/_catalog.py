"""Everything that installed plugins offer, to be used by name."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from wink.errors import BindingConflict, InvalidOption, OfferBroken, OfferUnavailable, UnknownPlugin
from wink.plugins._guard import Failed, guarded
from wink.plugins._info import Ignored, Loaded, Offer, PluginInfo
from wink.plugins._inventory import Inventory
from wink.plugins._metadata import distributions
from wink.plugins._names import Kind, close_matches
from wink.plugins._quarantine import Quarantine
from wink.plugins._resolve import broken, owner_of, resolve
from wink.plugins._settings import Settings
from wink.plugins._stale import undeclared
from wink.trust import Trust

if TYPE_CHECKING:
    import click

    from wink.adapters import ProviderAdapter
    from wink.filesystem import Filesystem
    from wink.policies import ToolPolicy
    from wink.prompt import Section, Visibility
    from wink.prompt.overrides import TaggedOverridesStore
    from wink.resources import Binding, ResourceRegistry
    from wink.session import Session

_SHOWN: Final = ("summary", "visibility")
"""Options that every section can be used with."""


class Catalog:
    """What plugins offer. Being installed changes nothing: a template uses offers by name.

    ```python
    catalog = Catalog.installed(Settings(disable={"git-tools"}))
    template = PromptTemplate(ns="repo", key="fix", sections=[catalog.use("section", "planning.plan")])
    ```

    A plugin is imported when the first of its offers is used, or when its hooks are needed. One that fails is left out
    with a `PluginWarning`, or, when the settings are strict, a `PluginLoadError`; a policy is never left out.
    """

    def __init__(
        self,
        plugins: Iterable[PluginInfo] = (),
        settings: Settings | None = None,
        *,
        ignored: Iterable[Ignored] = (),
        trust: Trust | None = None,
        paths: Sequence[str] | None = None,
        quarantine: Quarantine | None = None,
    ) -> None:
        """A catalog of these plugins, each in the state that it is in; `Catalog.installed` finds and judges them."""
        self.settings = Settings() if settings is None else settings
        self.ignored = tuple(ignored)
        self._paths, self._trust, self.quarantine = paths, trust, quarantine
        self._inventory = Inventory(plugins, self.settings, trust, quarantine)

    @classmethod
    def installed(
        cls,
        settings: Settings | None = None,
        *,
        paths: Sequence[str] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        quarantine: Quarantine | None = None,
        trust: Trust | None = None,
    ) -> "Catalog":
        """The plugins on `paths`, which is `sys.path` unless given; nothing of theirs is imported.

        Plugins that lie inside the current directory or inside `workspace` are ignored, because an agent could have
        written them, unless that is where the interpreter's own packages are; `Catalog.ignored` says which. Another
        `trust` decides that in another way.

        With a `quarantine` plugins in which a process died before are `quarantined`, and one that never comes back
        ends this process. wink's commands have one; a program that uses wink as a library decides itself.
        """
        from wink import __version__
        from wink.plugins._find import find
        from wink.plugins._select import select

        settings = Settings() if settings is None else settings
        trust = trust or Trust(() if workspace is None else (workspace,))
        found = find(paths, trust=trust)
        plugins = select(found.plugins, settings, version=__version__)
        if quarantine is not None:
            plugins = quarantine.judged(plugins)
        return cls(plugins, settings, ignored=found.ignored, trust=trust, paths=paths, quarantine=quarantine)

    @property
    def plugins(self) -> tuple[PluginInfo, ...]:
        """Every plugin in its present state, sorted by name; asking imports nothing."""
        return self._inventory.plugins

    def plugin(self, name: str) -> tuple[PluginInfo, ...]:
        """The plugins of this name, more than one when distributions share it; raises `UnknownPlugin`."""
        found = tuple(plugin for plugin in self.plugins if plugin.name == name)
        if not found:
            hint = undeclared(name, distributions(self._paths))
            raise UnknownPlugin(name, close_matches(name, [plugin.name for plugin in self.plugins]), hint)
        return found

    def offers(self, kind: Kind | None = None) -> tuple[Offer, ...]:
        """The offers that may be used, sorted by kind and name, those that are only known at run time among them.

        Imports the hook modules of plugins that have one.
        """
        self._start_all()
        return self._inventory.offers(kind)

    def offers_of(self, plugin: str) -> tuple[Offer, ...]:
        """The offers of one plugin, as far as it has been loaded: its hooks may know of more."""
        return tuple(offer for offer in self._inventory.offers() if offer.plugin == plugin)

    @overload
    def use(
        self,
        kind: Literal["section"],
        name: str,
        /,
        *,
        rename: Mapping[str, str] | None = None,
        summary: str | None = ...,
        visibility: "Visibility | None" = ...,
        **options: Any,
    ) -> "Section[Any]": ...
    @overload
    def use(self, kind: Literal["policy"], name: str, /, **options: Any) -> "ToolPolicy": ...
    @overload
    def use(self, kind: Literal["filesystem"], name: str, /, **options: Any) -> "Filesystem": ...
    @overload
    def use(self, kind: Literal["adapter"], name: str, /, **options: Any) -> "ProviderAdapter": ...
    @overload
    def use(self, kind: Literal["overrides"], name: str, /, *, root_path: str) -> "TaggedOverridesStore": ...
    @overload
    def use(self, kind: Literal["command"], name: str, /) -> "click.Command": ...
    @overload
    def use(
        self,
        kind: Literal["checkup", "diff", "collection", "standing", "explanation", "history", "agent"],
        name: str,
        /,
        **options: Any,
    ) -> Any: ...

    def use(self, kind: Kind, name: str, /, *, rename: Mapping[str, str] | None = None, **options: Any) -> Any:
        """Make what is offered under `name`, passing `options` to its factory.

        `name` is `<plugin>.<name>`, or the part after the dot where only one enabled offer of that kind ends so. A
        factory that asks for `settings` by name gets its plugin's settings, one that asks for `catalog` this catalog, so
        that it can use other plugins' offers.

        A command is what click has made of it, and has no options here. A checkup, a diff, a collection, a standing or an explanation is called with
        `options`, and may give anything: the commands that ask for them look at it.

        `rename={"status": "git_status"}` gives a section's own tools other names. The section's policies go on working;
        its text is not rewritten. `summary` and `visibility` say how a section is shown, as they do for `Section`,
        also where its factory has no such options.

        Raises `OfferNotFound`, `AmbiguousOffer`, `OfferUnavailable` when the plugin is disabled, incompatible or in
        conflict, `OfferBroken` from the original error, and `InvalidOption`.
        """
        offer = resolve(self._inventory, kind, name, ignored=self.ignored, paths=self._paths)
        try:
            loaded = self._inventory.load(offer)
            shown = _split_off(loaded, options)
            made = self._make(loaded, options)
        except Failed as failed:
            raise broken(offer, failed) from failed.__cause__
        if shown:
            made = made.shown(**shown)
        return made if rename is None else _renamed(offer, made, rename)

    def sections(self, names: Iterable[str] | None = None) -> "tuple[Section[Any], ...]":
        """The sections of these names, or every enabled one, made with their defaults.

        What another package's plugin cannot give is left out with a `PluginWarning`, and so is a section of its that no
        template could hold: one such package must not take away what the others offer. Of wink's own plugins, those that
        were named have to be there, and a name that nobody offers raises `OfferNotFound`.
        """
        sections: list[Section[Any]] = []
        if names is not None:
            for name in names:
                if (section := self._section(name, sections)) is not None:
                    sections.append(section)
            return tuple(sections)
        self._start_all()
        for plugin in self._inventory.plugins:
            if plugin.state in ("incompatible", "conflict", "quarantined"):
                self._inventory.leave_out(plugin, plugin.reason)
        for offer in self._inventory.offers("section"):
            try:
                sections.append(self.use("section", offer.name))
            except OfferBroken as broken:
                self._inventory.leave_out(self._owner(offer), broken.reason, broken.__cause__)
        return tuple(sections)

    def policies(self) -> "tuple[ToolPolicy, ...]":
        """Every policy that the settings do not switch off; raises for one that cannot be had, instead of going without."""
        self._start_all()
        wanted = {
            offer.name for plugin in self._inventory.plugins if plugin.state != "disabled" for offer in plugin.offers
            if offer.kind == "policy"
        }  # fmt: skip
        wanted |= {offer.name for offer in self._inventory.offers("policy")}
        return tuple(self.use("policy", name) for name in sorted(wanted))

    def session(self, session: "Session | None" = None) -> "Session":
        """A session, a new one unless given, that the enabled plugins have subscribed to."""
        from wink.session import Session

        session = Session() if session is None else session
        self._start_all()
        for plugin in self._inventory.usable():
            try:
                self._inventory.call(plugin, "wink_subscribe", session=session)
            except Failed as failed:
                self._inventory.leave_out(plugin, failed.reason, failed.__cause__)
        return session

    def resources(self) -> "ResourceRegistry":
        """The resources that the enabled plugins bind; raises `BindingConflict` when two bind the same type."""
        from wink.resources import Binding, ResourceRegistry

        bindings: dict[Any, tuple[str, Binding[Any]]] = {}
        self._start_all()
        for plugin in self._inventory.usable():
            for binding in self._bindings(plugin):
                first = bindings.setdefault(binding.protocol, (plugin.name, binding))
                if first[1] is not binding:
                    raise BindingConflict(binding.protocol.__name__, first[0], plugin.name)
        return ResourceRegistry.of(*(binding for _, binding in bindings.values()))

    def own_settings(self, plugin: str) -> Any:
        """A plugin's own settings as read from `Settings`, None if it declares none; imports its hook module.

        Raises `UnknownPlugin`, and `OfferUnavailable` or `PluginLoadError` when it cannot be asked.
        """
        from wink.errors import PluginLoadError

        info = self._inventory.named(self.plugin(plugin)[0].name)[0]
        if not info.usable:
            raise OfferUnavailable("plugin", plugin, info.state, info.reason)
        try:
            self._inventory.start(info)
        except Failed as failed:
            raise PluginLoadError(plugin, info.distribution, failed.reason) from failed.__cause__
        return self._inventory.own_settings(plugin)

    def load(self, offer: Offer) -> Loaded:
        """Import an offer without making anything of it; raises `OfferBroken` from the original error."""
        try:
            return self._inventory.load(offer)
        except Failed as failed:
            raise broken(offer, failed) from failed.__cause__

    def summary(self, offer: Offer) -> str:
        """What an offer says of itself in a line, as far as that can be known without importing anything of it.

        It is read from the source: the docstring of the function or class that it leads to, else the one of its module;
        where neither can be had, it is the summary of its distribution.
        """
        from wink.plugins._source import summary_in_source

        plugin = self._owner(offer)
        return offer.summary or summary_in_source(plugin, offer, self._trust) or plugin.summary

    def load_all(self, names: Iterable[str] | None = None) -> None:
        """Import every enabled plugin, or those of these names; failures end in their states, and nothing is warned of."""
        wanted = None if names is None else set(names)
        for plugin in self._inventory.usable():
            if wanted is None or plugin.name in wanted:
                self._inventory.load_plugin(plugin)

    def tried(self, *, seconds: float = 60) -> "Catalog":
        """The same plugins, each in the state in which importing it in a process of its own ended; nothing of theirs
        is imported here.

        One that takes longer than `seconds`, or ends its process, is `broken`. Sections and policies are also made with
        their defaults, and the hooks asked; what a plugin leaves behind in its process, such as a thread or a handler of
        a signal, is among its `notes`, and `PluginInfo.seconds` says how long its imports took. The catalog that is
        returned can still be used: it imports as this one would.
        """
        from wink.plugins.trial import tried

        plugins = tried(self.plugins, self.settings, self._trust, seconds)
        return Catalog(
            plugins,
            self.settings,
            ignored=self.ignored,
            trust=self._trust,
            paths=self._paths,
            quarantine=self.quarantine,
        )

    def _make(self, loaded: Loaded, options: Mapping[str, Any]) -> Any:
        from wink.plugins._factory import make

        provided = {"settings": self._inventory.own_settings(loaded.offer.plugin), "catalog": self}
        plugin = self._owner(loaded.offer)
        with self._inventory.watching(plugin):
            made = make(loaded, options, provided)
            if loaded.offer.kind == "section":
                with guarded(loaded.offer.target):
                    made.offered_by = f"{plugin.name} {plugin.installed_as}"
        return made

    def _section(self, name: str, beside: "Sequence[Section[Any]]") -> "Section[Any] | None":
        """The section of this name, None where another package's plugin is to give it and cannot."""
        try:
            section = self.use("section", name)
            namesakes = self._inventory.named(section.offered_by.partition(" ")[0])
            if namesakes and namesakes[0].is_foreign:
                self._check(namesakes[0], section, beside)
            for other in namesakes[1:]:
                if other.state == "conflict":
                    self._inventory.leave_out(other, other.reason)
        except (OfferBroken, OfferUnavailable, InvalidOption) as error:
            owner = owner_of(self._inventory, "section", error.name)
            if owner is None or not owner.is_foreign or owner.state == "disabled":
                raise
            reason = str(error) if isinstance(error, InvalidOption) else error.reason
            self._inventory.leave_out(owner, reason, error.__cause__)
            return None
        return section

    def _check(self, plugin: PluginInfo, section: "Section[Any]", beside: "Sequence[Section[Any]]") -> None:
        from wink.plugins._soundness import check_section

        try:
            with self._inventory.watching(plugin):
                check_section(section, beside)
        except Failed as failed:
            self._inventory.fail(plugin, failed)
            raise OfferBroken("section", f"{plugin.name}.{section.key}", plugin.distribution, failed.reason) from failed

    def _start(self, plugin: PluginInfo) -> None:
        try:
            self._inventory.start(plugin)
        except Failed as failed:
            self._inventory.leave_out(plugin, failed.reason, failed.__cause__)

    def _start_all(self) -> None:
        for plugin in self._inventory.usable():
            self._start(plugin)

    def _owner(self, offer: Offer) -> PluginInfo:
        return self._inventory.named(offer.plugin)[0]

    def _bindings(self, plugin: PluginInfo) -> "list[Binding[Any]]":
        from wink.plugins._hooks import items
        from wink.resources import Binding

        try:
            results = self._inventory.call(plugin, "wink_resources")
            with guarded():
                return [item for result in results for item in items("wink_resources", result, Binding)]
        except Failed as failed:
            self._inventory.fail(plugin, failed)
            self._inventory.leave_out(plugin, failed.reason, failed.__cause__)
            return []


def _split_off(loaded: Loaded, options: dict[str, Any]) -> dict[str, Any]:
    """Take out of a section's options those on how it is shown which its factory does not know."""
    from wink.plugins._factory import takes

    if loaded.offer.kind != "section":
        return {}
    return {name: options.pop(name) for name in _SHOWN if name in options and not takes(loaded, name)}


def _renamed(offer: Offer, made: Any, rename: Mapping[str, str]) -> Any:
    if offer.kind != "section":
        raise InvalidOption(offer.kind, offer.name, "only a section's tools can be renamed")
    from wink.plugins._rename import with_renamed_tools

    try:
        return with_renamed_tools(made, rename)
    except KeyError as error:
        names = [tool.name for tool in made.tools()]
        raise InvalidOption("section", offer.name, f"no tool {', '.join(map(repr, error.args))}", names) from None
