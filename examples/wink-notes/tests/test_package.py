"""The package as wink finds it when it is installed."""

import pytest
from wink import Catalog, Settings
from wink.errors import PluginError
from wink.testing import assert_import_light

from wink_notes import NotesSettings


def test_it_is_installed_with_all_that_it_offers() -> None:
    """A change of entry points counts when the package has been installed again."""
    catalog = Catalog.installed()
    catalog.load_all()
    (plugin,) = catalog.plugin("notes")

    assert plugin.state == "loaded", plugin.reason
    assert [(offer.kind, offer.name) for offer in plugin.offers] == [
        ("policy", "notes.say-why"),
        ("section", "notes.notebook"),
    ]


def test_it_is_cheap_to_import() -> None:
    """Whoever uses the plugin pays for its import, also when no tool is ever called."""
    assert_import_light("wink_notes", forbid={"pydantic", "fsspec", "git"})


def test_settings_have_defaults_and_are_checked() -> None:
    """A wrong setting is an error that names the plugin, no surprise."""

    def own(**values: object) -> object:
        return Catalog.installed(Settings(plugins={"notes": values})).own_settings("notes")

    assert own() == NotesSettings()
    assert own(file="docs/notes.md", shown=0) == NotesSettings(file="docs/notes.md", shown=0)
    for wrong in ({"max_characters": 0}, {"shown": -1}, {"colour": "red"}, {"deleting": 1}):
        with pytest.raises(PluginError):
            own(**wrong)
