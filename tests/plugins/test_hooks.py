"""What plugins do at run time, through hooks."""

from contextlib import nullcontext
from typing import Any

import pytest

from wink.errors import BindingConflict, OfferBroken, OfferUnavailable, PluginLoadError
from wink.plugins import HOOK_API, PluginWarning, Settings, Table

HEAD = """
from dataclasses import dataclass, field
from wink.plugins import FilesystemOffer, PolicyOffer, SectionOffer, hookimpl
from wink.prompt import MarkdownSection
from wink.resources import Binding

def section(*, settings=None):
    return MarkdownSection(title="Remote", template=f"{settings}", key="remote")
"""
SETTINGS = """
@dataclass(frozen=True)
class RemoteSettings:
    host: str = "localhost"
    limit: int = field(default=100, metadata={"tighten": "lower"})

@hookimpl
def wink_settings():
    return RemoteSettings
"""
OFFER = """
@hookimpl
def wink_sections(settings):
    yield SectionOffer("remote.tools", section, "Tools of a server.")
"""


def add(site: Any, source: str, *, plugin: str = "remote", offers: dict[str, str] | None = None) -> None:
    points = {"wink.hooks": {plugin: f"fake_{plugin}"}, "wink.sections": offers or {}}
    site.add(f"wink-{plugin}", entry_points=points, modules={f"fake_{plugin}": HEAD + source})


def test_offers_of_a_hook_are_offers_like_others(site: Any) -> None:
    """A server's tools are known only when it has been asked."""
    add(site, SETTINGS + OFFER)
    catalog = site.catalog()

    assert [(offer.name, offer.summary) for offer in catalog.offers("section")] == [
        ("remote.tools", "Tools of a server.")
    ]
    assert catalog.use("section", "tools").key == "remote"
    assert catalog.plugins[0].state == "loaded"


def test_a_factory_gets_its_plugins_settings(site: Any) -> None:
    """Every implementation sees its own plugin's settings and nobody else's."""
    add(site, SETTINGS + OFFER)
    settings = Settings(plugins={"remote": {"host": "example.org"}})

    section = site.catalog(settings).use("section", "remote.tools")

    assert "host='example.org', limit=100" in section.render_body(None)


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"hots": "x"}, r"\$\.hots"), ({"limit": "many"}, r"\$\.limit")],
)
def test_settings_that_do_not_fit_break_the_plugin(site: Any, values: dict[str, Any], reason: str) -> None:
    """A misspelt limit must not silently be no limit."""
    add(site, SETTINGS + OFFER)

    with pytest.raises(OfferBroken, match=reason):
        site.catalog(Settings(plugins={"remote": values})).use("section", "remote.tools")


def test_settings_for_a_plugin_without_any_are_an_error(site: Any) -> None:
    """Whoever wrote them believes that they do something."""
    add(site, OFFER)

    with pytest.raises(OfferBroken, match="plugin 'remote' has no settings; remove 'host'"):
        site.catalog(Settings(plugins={"remote": {"host": "x"}})).use("section", "remote.tools")


@pytest.mark.parametrize(
    ("user", "workspace", "heeded", "limit", "host"),
    [
        ({}, {"limit": 50}, True, 50, "localhost"),
        ({}, {"limit": 500}, False, 100, "localhost"),
        ({"limit": 1000}, {"limit": 500}, True, 500, "localhost"),
        ({}, {"host": "evil.example"}, False, 100, "localhost"),
        ({"host": "example.org"}, {"limit": 100}, True, 100, "example.org"),
    ],
)
def test_a_workspace_can_only_tighten(
    site: Any, user: dict[str, Any], workspace: dict[str, Any], *, heeded: bool, limit: int, host: str
) -> None:
    """An agent can edit the workspace's files, so they must not give it more than it has."""
    add(site, SETTINGS + OFFER)
    tables = (Table("remote", workspace, "wink.toml:1", tighten_only=True), Table("remote", user, "~/wink.toml:1"))
    catalog = site.catalog(Settings(tables=tables))

    with nullcontext() if heeded else pytest.warns(PluginWarning, match="a file of the workspace can only tighten"):
        own = catalog.own_settings("remote")

    assert (own.limit, own.host) == (limit, host)


BAD_HOOKS = {
    "misspelt": ("@hookimpl\ndef wink_section(settings): return []", "unknown hook 'wink_section'"),
    "unmarked": ("def wink_sections(settings): return []", "put @hookimpl on it"),
    "unknown argument": ("@hookimpl\ndef wink_sections(setings): return []", "setings"),
    "generator that raises": (
        "@hookimpl\ndef wink_sections(settings):\n    yield from ()\n    1 / 0",
        "ZeroDivisionError",
    ),
    "exits": ("@hookimpl\ndef wink_sections(settings): raise SystemExit", "SystemExit"),
    "not an iterable": ("@hookimpl\ndef wink_sections(settings): return 3", "returned int, not an iterable"),
    "wrong items": ("@hookimpl\ndef wink_sections(settings): return ['a']", "yielded str, not SectionOffer"),
    "wrong kind": (
        "@hookimpl\ndef wink_sections(settings): return [PolicyOffer('remote.a', section)]",
        "yielded PolicyOffer, not SectionOffer",
    ),
    "another's name": (
        "@hookimpl\ndef wink_sections(settings): return [SectionOffer('planning.plan', section)]",
        "is another plugin's name",
    ),
    "a bad name": (
        "@hookimpl\ndef wink_sections(settings): return [SectionOffer('remote', section)]",
        "<plugin>.<name>",
    ),
    "settings are no dataclass": ("@hookimpl\ndef wink_settings(): return dict", "not a dataclass"),
    "no such module": ("raise ImportError('no server')", "ImportError: no server"),
}


@pytest.mark.parametrize(("source", "reason"), BAD_HOOKS.values(), ids=BAD_HOOKS)
def test_a_bad_hook_module_is_one_explained_line(site: Any, source: str, reason: str) -> None:
    """pluggy raises a dozen things; the user needs one sentence."""
    add(site, source)
    catalog = site.catalog()

    with pytest.warns(PluginWarning, match=f"(?s){reason}") as said:
        assert catalog.offers() == ()

    assert len(said) == 1
    assert catalog.plugins[0].state == "broken"
    assert reason in catalog.plugins[0].reason


@pytest.mark.parametrize(("source", "reason"), BAD_HOOKS.values(), ids=BAD_HOOKS)
def test_a_bad_hook_module_leaves_others_alone(site: Any, source: str, reason: str) -> None:
    """Each failure has one owner."""
    add(site, source)
    add(site, OFFER.replace("remote.", "good."), plugin="good")

    with pytest.warns(PluginWarning, match=f"(?s){reason}"):
        offers = site.catalog().offers()

    assert [offer.name for offer in offers] == ["good.tools"]


def test_a_plugin_whose_hooks_fail_is_broken_as_a_whole(site: Any) -> None:
    """Its settings could not be read, so none of its offers would be what the user configured."""
    add(site, "1 / 0", offers={"remote.plain": "fake_other:section"})

    with pytest.raises(OfferBroken, match="ZeroDivisionError"):
        site.catalog().use("section", "remote.plain")


def test_an_offer_made_twice_is_a_conflict(site: Any) -> None:
    """Neither of the two is the right one."""
    add(site, OFFER, offers={"remote.tools": "fake_remote:section"})
    catalog = site.catalog()

    with pytest.raises(OfferUnavailable, match="comes from fake_remote:section and from hook of fake_remote"):
        catalog.use("section", "remote.tools")
    assert catalog.plugins[0].state == "conflict"


def test_strict_settings_raise_for_a_bad_hook_module(site: Any) -> None:
    """Nothing is left out when nothing may be."""
    add(site, "1 / 0")

    with pytest.raises(PluginLoadError, match="ZeroDivisionError"):
        site.catalog(Settings(strict=True)).offers()


RESOURCE = """
class Clock: pass

@hookimpl
def wink_resources(settings):
    return [Binding.instance(Clock, Clock())]
"""


def test_resources_of_plugins_are_bound(site: Any) -> None:
    """A plugin's tools find what they need without the template naming it."""
    add(site, RESOURCE)

    registry = site.catalog().resources()

    import fake_remote  # pyright: ignore[reportMissingImports]

    assert registry.binding_for(fake_remote.Clock) is not None


def test_two_bindings_of_one_type_are_a_conflict(site: Any) -> None:
    """Which of two clocks a tool gets must not depend on the order of installation."""
    add(site, RESOURCE)
    add(site, RESOURCE.replace("class Clock: pass", "from fake_remote import Clock"), plugin="other")

    with pytest.raises(BindingConflict, match="Clock is bound by plugin 'other' and by 'remote'; disable one"):
        site.catalog().resources()


def test_a_session_of_the_catalog_has_the_plugins_subscriptions(site: Any) -> None:
    """A bare session runs no plugin's code; one that was asked of the catalog does."""
    add(site, "seen = []\n@hookimpl\ndef wink_subscribe(session): seen.append(session)")
    catalog = site.catalog()

    session = catalog.session()

    import fake_remote  # pyright: ignore[reportMissingImports]

    assert fake_remote.seen == [session]
    assert catalog.session(session) is session


def test_a_plugin_that_cannot_subscribe_is_left_out(site: Any) -> None:
    """A watcher that fails must not take the run with it."""
    add(site, "@hookimpl\ndef wink_subscribe(session): raise RuntimeError('no log')")

    with pytest.warns(PluginWarning, match="RuntimeError: no log"):
        assert site.catalog().session() is not None


def test_the_hook_api_says_its_version() -> None:
    """A plugin can ask which hooks there are."""
    assert HOOK_API == (1, 0)
