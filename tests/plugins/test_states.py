"""Every state that a plugin can be in, each from real metadata on a real path."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wink.errors import PluginLoadError, UnknownPlugin
from wink.plugins import STATES, Catalog, PluginWarning, Quarantine, Settings, Step, Table

NOTES = {"wink.sections": {"notes.notebook": "fake_notes:notebook"}}
HOOKED = NOTES | {"wink.hooks": {"notes": "fake_hooks"}}


def available(site: Any) -> Catalog:
    site.add(entry_points=NOTES)
    return site.catalog()


def loaded(site: Any) -> Catalog:
    catalog = available(site)
    catalog.use("section", "notes.notebook")
    return catalog


def disabled(site: Any) -> Catalog:
    site.add(entry_points=NOTES)
    return site.catalog(Settings(disable={"notes"}))


def not_allowed(site: Any) -> Catalog:
    site.add(entry_points=NOTES)
    return site.catalog(Settings(allow={"other"}))


def incompatible(site: Any) -> Catalog:
    site.add(entry_points=NOTES, requires=["wink>=99,<100"])
    return site.catalog()


def requires_nonsense(site: Any) -> Catalog:
    site.add(entry_points=NOTES, requires=["wink>=newest"])
    return site.catalog()


def conflict(site: Any) -> Catalog:
    site.add("wink-notes", entry_points=NOTES)
    site.add("other-notes", entry_points=NOTES)
    return site.catalog()


def broken_import(site: Any) -> Catalog:
    site.add(entry_points=NOTES, modules={"fake_notes": "import nowhere_to_be_found"})
    catalog = site.catalog()
    catalog.load_all()
    return catalog


def broken_name(site: Any) -> Catalog:
    site.add(entry_points={"wink.sections": {"notes.Note Book": "fake_notes:notebook"}})
    return site.catalog()


def stale(site: Any) -> Catalog:
    project = site.path.parent / "project one"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[project]\nname = "wink-notes"\n[project.entry-points."wink.sections"]\n'
        '"notes.notebook" = "fake_notes:notebook"\n"notes.list" = "fake_notes:list_section"\n'
    )
    origin = f'{{"url": "{project.as_uri()}", "dir_info": {{"editable": true}}}}'
    site.add(entry_points=NOTES, files={"direct_url.json": origin})
    return site.catalog()


def quarantined(site: Any) -> Catalog:
    """A process ends in the middle of an import, as `os._exit` ends it."""
    site.add(entry_points=NOTES, modules={"fake_notes": "import os\nos._exit(7)"})
    notes = str(site.path.parent / "notes")
    assert subprocess.run([sys.executable, "-c", DYING, str(site.path), notes], check=False).returncode == 7
    return site.catalog(quarantine=Quarantine(lambda: notes, print))


DYING = """
import subprocess
import sys
sys.path.insert(0, sys.argv[1])
from wink.plugins import Catalog, Quarantine
Catalog.installed(paths=[sys.argv[1]], quarantine=Quarantine(lambda: sys.argv[2], print)).load_all()
"""

CASES = [
    # how it comes about, state, what the reason says
    (available, "available", ""),
    (loaded, "loaded", ""),
    (disabled, "disabled", 'Settings disable = ["notes"]'),
    (not_allowed, "disabled", 'Settings allow = ["other"]'),
    (incompatible, "incompatible", "requires wink>=99,<100, this is"),
    (requires_nonsense, "incompatible", "not a range of versions"),
    (conflict, "conflict", "is also used by distribution"),
    (
        quarantined,
        "quarantined",
        "a process died or hung while it was imported or made; it is left out until `wink plugins retry notes`",
    ),
    (broken_import, "broken", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
    (broken_name, "broken", "'Note Book' must be lower-case words"),
    (stale, "stale", "pyproject.toml adds section notes.list; run `pip install -e` again"),
]


@pytest.mark.parametrize(("arrange", "state", "reason"), CASES, ids=[case[0].__name__ for case in CASES])
def test_each_state_comes_with_a_reason_a_person_can_act_on(
    site: Any, arrange: Callable[[Any], Catalog], state: str, reason: str
) -> None:
    """The table of states is a promise: none may be reached without saying why."""
    for plugin in arrange(site).plugins:
        assert (plugin.name, plugin.state) == ("notes", state)
        assert reason in plugin.reason
        assert bool(plugin.reason) == bool(reason)


def test_every_state_is_reached_by_a_case() -> None:
    """A state that no test reaches would be a state that nobody has seen."""
    assert {state for _, state, _ in CASES} == set(STATES)


def test_metadata_says_who_a_plugin_is(site: Any) -> None:
    """The list must be complete without importing anything."""
    site.add(version="1.4.2", entry_points=HOOKED, summary="Keeps notes", requires=["wink>=0.1,<2", "click"])

    plugin = site.only()

    assert (plugin.distribution, plugin.version, plugin.summary) == ("wink-notes", "1.4.2", "Keeps notes")
    assert (plugin.requires_wink, plugin.hooks, plugin.editable) == (">=0.1,<2", "fake_hooks", False)
    assert [(offer.kind, offer.name) for offer in plugin.offers] == [("section", "notes.notebook")]


def test_nothing_is_imported_to_list(site: Any) -> None:
    """A plugin that is slow to import must not make the list slow, nor a broken one break it."""
    site.add(entry_points=HOOKED, modules={"fake_notes": "raise SystemExit(3)", "fake_hooks": "raise SystemExit(3)"})

    assert site.only().state == "available"
    assert "fake_notes" not in sys.modules


def test_a_requirement_under_a_marker_is_the_installers_business(site: Any) -> None:
    """Whether an extra or another platform applies was decided when the plugin was installed."""
    site.add(entry_points=NOTES, requires=["wink>=99; extra == 'next'", "wink-something>=99"])

    assert site.only().state == "available"


def test_the_user_chooses_between_two_distributions(site: Any) -> None:
    """Only a person knows which of two packages with one plugin name is meant."""
    site.add("wink-notes", entry_points=NOTES)
    site.add("other-notes", entry_points=NOTES)

    catalog = site.catalog(Settings(plugins={"notes": {"distribution": "Wink_Notes"}}))

    states = {plugin.distribution: plugin.state for plugin in catalog.plugins}
    assert states == {"wink-notes": "available", "other-notes": "disabled"}
    assert catalog.use("section", "notes.notebook").key == "notebook"


def test_a_workspace_cannot_choose_between_two_distributions(site: Any) -> None:
    """Choosing makes something usable that was not, and an agent can edit the workspace's files."""
    site.add("wink-notes", entry_points=NOTES)
    site.add("other-notes", entry_points=NOTES)
    table = Table("notes", {"distribution": "other-notes"}, "wink.toml:1", tighten_only=True)

    catalog = site.catalog(Settings(tables=(table,)))

    assert {plugin.state for plugin in catalog.plugins} == {"conflict"}


def test_the_newest_of_two_versions_in_one_directory_wins(site: Any) -> None:
    """An interrupted upgrade leaves both, and the order of a directory depends on the machine."""
    site.add(version="1.9", entry_points=NOTES)
    site.add(version="1.10", entry_points=NOTES)

    catalog = site.catalog()

    assert [plugin.version for plugin in catalog.plugins] == ["1.10"]
    assert ["hidden by" in one.reason for one in catalog.ignored] == [True]


def test_the_first_directory_on_the_path_wins(site: Any, tmp_path: Path) -> None:
    """As it does for imports, so that what is listed is what is imported."""
    site.add(version="1.0", entry_points=NOTES)
    site.add(version="2.0", entry_points=NOTES, directory=tmp_path / "later")

    catalog = site.catalog(paths=[str(site.path), str(tmp_path / "later")])

    assert [plugin.version for plugin in catalog.plugins] == ["1.0"]


def test_plugins_are_sorted_whatever_the_path(site: Any, tmp_path: Path) -> None:
    """A prompt must not depend on the order in which things were installed."""
    site.add("b", entry_points={"wink.sections": {"zebra.a": "m:f", "alpha.b": "m:f"}})
    site.add("a", entry_points={"wink.sections": {"middle.c": "m:f"}}, directory=tmp_path / "second")
    paths = [str(site.path), str(tmp_path / "second")]

    there, back = site.catalog(paths=paths), site.catalog(paths=paths[::-1])

    assert [plugin.name for plugin in there.plugins] == ["alpha", "middle", "zebra"]
    assert there.plugins == back.plugins


ODD_METADATA: dict[str, tuple[str | bytes, str]] = {
    "not UTF-8": (b"[wink.sections]\nnotes.\xff = a:b\n", "not UTF-8"),
    "no target": ("[wink.sections]\nnotes.a =\n", "has no target"),
    "no equals sign": ("[wink.sections]\nnotes.a\n", "has no target"),
    "not a target": ("[wink.sections]\nnotes.a = b/c d\n", "not <module>:<attribute>"),
    "a module as the target of an offer": ("[wink.sections]\nnotes.a = b.c\n", "not <module>:<attribute>"),
    "no dot": ("[wink.policies]\nnotes = a:b\n", "must be <plugin>.<name>"),
    "two dots": ("[wink.policies]\nnotes.a.b = a:b\n", "must be lower-case words"),
    "reserved": ("[wink.policies]\nwink.a = a:b\n", "is reserved"),
    "too long": (f"[wink.policies]\n{'a' * 41}.a = a:b\n", "at most 40 characters"),
    "twice": ("[wink.sections]\nnotes.a = b:c\nnotes.a = d:e\n", "declared twice, as b:c and as d:e"),
    "hooks twice": ("[wink.hooks]\nnotes = a\nnotes = b\n", "hooks are declared twice"),
    "no name": ("[wink.sections]\n= a:b\n", "must be <plugin>.<name>"),
}


@pytest.mark.parametrize(("text", "reason"), ODD_METADATA.values(), ids=ODD_METADATA)
def test_odd_metadata_is_one_explained_line(site: Any, text: str | bytes, reason: str) -> None:
    """A plugin that somebody else wrote badly must not stop wink."""
    site.add(entry_points=text)

    plugin = site.only()

    assert plugin.state == "broken"
    assert reason in plugin.reason


def test_a_group_of_a_later_wink_is_noted_and_not_an_error(site: Any) -> None:
    """A plugin that also serves a newer wink must go on serving this one."""
    site.add(entry_points=NOTES | {"wink.dreams": {"notes.night": "a:b"}})

    plugin = site.only()

    assert plugin.state == "available"
    assert plugin.notes == ("group 'wink.dreams' means nothing to this version of wink",)


@pytest.mark.parametrize(
    "files",
    [
        {"METADATA": b"Name: wink-notes\nVersion: 1.0\nSummary: caf\xe9\n"},
        {"METADATA": ""},
        {"direct_url.json": "{not json"},
        {"direct_url.json": '{"url": 3, "dir_info": {"editable": true}}'},
    ],
    ids=["Latin-1", "empty", "bad JSON", "odd JSON"],
)
def test_metadata_that_says_little_is_enough(site: Any, files: dict[str, str | bytes]) -> None:
    """Name and version are in the directory's name too; the rest is only shown."""
    site.add(entry_points=NOTES, files=files)

    plugin = site.only()

    assert (plugin.state, plugin.distribution, plugin.version) == ("available", "wink-notes", "1.0")


def test_a_directory_that_cannot_be_read_is_passed_over(site: Any, tmp_path: Path) -> None:
    """`sys.path` holds whatever people put on it."""
    site.add(entry_points=NOTES)
    (tmp_path / "text").write_text("not a zip file")

    catalog = site.catalog(paths=[str(tmp_path / "gone"), str(tmp_path / "text"), str(site.path)])

    assert [plugin.name for plugin in catalog.plugins] == ["notes"]


def test_an_unknown_plugin_is_told_from_a_misspelt_one(site: Any) -> None:
    """The remedy for a typing error is the right name."""
    site.add(entry_points=NOTES)

    with pytest.raises(UnknownPlugin, match=r"no plugin 'note' is installed; did you mean 'notes'\?"):
        site.catalog().plugin("note")


def test_something_left_out_is_said_once(site: Any) -> None:
    """One broken plugin is one line, however often a catalog is asked."""
    site.add(entry_points=NOTES, modules={"fake_notes": "1 / 0"})
    catalog = site.catalog()

    with pytest.warns(PluginWarning, match="'notes' of wink-notes 1.0 is left out: ZeroDivisionError") as said:
        assert catalog.sections() == catalog.sections() == ()

    assert len(said) == 1


def test_strict_settings_leave_nothing_out(site: Any) -> None:
    """In CI a plugin that is silently missing is worse than a failure."""
    site.add(entry_points=NOTES, modules={"fake_notes": "1 / 0"})

    with pytest.raises(PluginLoadError) as raised:
        site.catalog(Settings(strict=True)).sections()

    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_later_sources_beat_earlier_ones() -> None:
    """The order of the sources is the whole rule."""
    steps = (
        Step("disable", frozenset({"a", "b"}), "pyproject.toml:3", ""),
        Step("allow", frozenset({"a"}), "WINK_PLUGINS", ""),
        Step("enable", frozenset({"c"}), "--plugin", ""),
        Step("disable", frozenset({"a"}), "--no-plugin", ""),
    )
    settings = Settings(steps=steps)

    assert [name for name in "abcd" if settings.is_on(name)] == ["c"]
    assert [(step.origin, on) for step, on in settings.verdicts("a")] == [
        ("pyproject.toml:3", False),
        ("WINK_PLUGINS", True),
        ("--no-plugin", False),
    ]


def test_one_text_is_not_taken_for_a_set_of_letters() -> None:
    """`disable="git"` would otherwise switch off `g`, `i` and `t`."""
    with pytest.raises(TypeError, match="not one text"):
        Settings(disable="git")
