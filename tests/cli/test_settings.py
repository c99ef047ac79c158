"""Where a command's settings come from, and which source wins."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from wink.cli.settings._settings import installed_catalog, load_settings
from wink.cli.settings._sources import user_file
from wink.errors import SettingsError, UnknownPlugin


class Place:
    """A workspace and a home directory to write settings into."""

    def __init__(self, path: Path) -> None:
        self.workspace, self.home = path / "work", path / "home"
        self.workspace.mkdir()
        (self.home / ".config" / "wink").mkdir(parents=True)

    def write(self, name: str, text: str) -> None:
        (self.workspace / name).write_text(text)

    def write_own(self, text: str) -> None:
        (self.home / ".config" / "wink" / "wink.toml").write_text(text)

    def load(self, environ: Mapping[str, str] | None = None, **flags: Sequence[str]):
        return load_settings(self.workspace, environ={"HOME": str(self.home), **(environ or {})}, **flags).settings


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def on(place: Place, environ: Mapping[str, str] | None = None, **flags: Sequence[str]) -> str:
    settings = place.load(environ, **flags)
    return "".join(name for name in "abcd" if settings.is_on(name))


def test_without_any_settings_everything_is_on(place: Place) -> None:
    """Installing a plugin is enough to make its offers usable; using them is another matter."""
    assert on(place) == "abcd"


PYPROJECT = '[project]\nname = "x"\n\n[tool.wink.plugins]\ndisable = ["a"]\n'


@pytest.mark.parametrize(
    ("pyproject", "wink", "own", "environ", "flags", "expected"),
    [
        # each source alone
        (PYPROJECT, "", "", {}, {}, "bcd"),
        ("", '[plugins]\ndisable = ["a"]', "", {}, {}, "bcd"),
        ("", '[tool.wink.plugins]\ndisable = ["a"]', "", {}, {}, "bcd"),
        ("", "", '[plugins]\nallow = ["a", "b"]', {}, {}, "ab"),
        ("", "", "", {"WINK_PLUGINS": "a, b"}, {}, "ab"),
        ("", "", "", {"WINK_PLUGINS": ""}, {}, ""),
        ("", "", "", {"WINK_DISABLE_PLUGINS": "a,b"}, {}, "cd"),
        ("", "", "", {"WINK_DISABLE_PLUGINS": ""}, {}, "abcd"),
        ("", "", "", {}, {"disable": ["a"]}, "bcd"),
        # later beats earlier
        (PYPROJECT, "", "", {}, {"enable": ["a"]}, "abcd"),
        (PYPROJECT, "", "", {"WINK_PLUGINS": "a"}, {}, "a"),
        ("", "", '[plugins]\ndisable = ["a"]', {"WINK_PLUGINS": "a,b"}, {}, "ab"),
        ("", "", "", {"WINK_PLUGINS": "a,b", "WINK_DISABLE_PLUGINS": "a"}, {}, "b"),
        ("", "", "", {"WINK_DISABLE_PLUGINS": "a"}, {"enable": ["a"]}, "abcd"),
        ("", "", "", {"WINK_PLUGINS": ""}, {"enable": ["a"]}, "a"),
        # a minus takes away, and alone leaves the others on
        ("", "", "", {"WINK_PLUGINS": "-a"}, {}, "bcd"),
        ("", "", "", {"WINK_PLUGINS": "a,b,-b"}, {}, "a"),
        ("", "", "", {"WINK_PLUGINS": "a,-b"}, {"enable": ["b"]}, "ab"),
        ("", "", "", {}, {"enable": ["a"], "disable": ["a"]}, "bcd"),
        # within one file, what is disabled is taken from what is allowed
        ("", '[plugins]\nallow = ["a", "b"]\ndisable = ["a"]', "", {}, {}, "b"),
        # two files of the workspace add up
        (PYPROJECT, '[plugins]\nallow = ["a", "b"]', "", {}, {}, "b"),
    ],
)
def test_the_order_of_the_sources(
    place: Place,
    pyproject: str,
    wink: str,
    own: str,
    environ: dict[str, str],
    flags: dict[str, list[str]],
    expected: str,
) -> None:
    """Workspace, user, environment, flags: the order is the whole rule."""
    place.write("pyproject.toml", pyproject)
    place.write("wink.toml", wink)
    place.write_own(own)

    assert on(place, environ, **flags) == expected


def test_every_step_knows_where_it_was_said(place: Place) -> None:
    """`wink plugins why` must lead to the line that is to be changed."""
    place.write("pyproject.toml", PYPROJECT)
    place.write("wink.toml", '# ours\n[plugins]\nallow = [\n  "a",\n  "b",\n]\n')
    place.write_own('[plugins]\n\ndisable = ["b"]\n')

    settings = place.load({"WINK_DISABLE_PLUGINS": "a"}, enable=["a"])

    assert [str(step) for step in settings.chain] == [
        'pyproject.toml:5 disable = ["a"]',
        'wink.toml:3 allow = ["a", "b"]',
        '~/.config/wink/wink.toml:3 disable = ["b"]',
        "WINK_DISABLE_PLUGINS = 'a'",
        "--plugin a",
    ]


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("[tool.wink]\nplugins.a.limit = 3\n", "pyproject.toml:2"),
        ("[tool.wink.plugins.a]\nlimit = 3\n", "pyproject.toml:1"),
        ("[ tool . wink . plugins . a ]\nlimit = 3\n", "pyproject.toml:1"),
        ("[tool.wink.plugins]\na = {limit = 3}\n", "pyproject.toml:2"),
        ("[tool.wink.plugins]\na.limit = 3\n", "pyproject.toml:2"),
        ("[tool]\nwink = {plugins = {a = {limit = 3}}}\n", "pyproject.toml"),
    ],
)
def test_a_plugins_own_table_knows_where_it_is(place: Place, text: str, origin: str) -> None:
    """However TOML lets one write it; the file alone is still right where the line is hard to tell."""
    place.write("pyproject.toml", text)

    (table,) = place.load().tables_of("a")

    assert (table.values, table.origin, table.tighten_only) == ({"limit": 3}, origin, True)


def test_the_users_own_tables_may_loosen(place: Place) -> None:
    """The user's settings are outside of what an agent can write."""
    place.write_own("[plugins.a]\nlimit = 3\n")

    (table,) = place.load().tables_of("a")

    assert not table.tighten_only


def test_the_users_file_inside_the_workspace_is_the_workspaces(place: Place) -> None:
    """Whoever works on their home directory lets an agent edit what is in it."""
    place.write_own("[plugins.a]\nlimit = 3\n")

    settings = load_settings(place.home, environ={"HOME": str(place.home)}).settings

    assert [table.tighten_only for table in settings.tables_of("a")] == [True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[plugins", "is not TOML"),
        ("plugins = 3", "$.plugins: must be a table"),
        ('[plugins]\ndisable = "a"', "$.plugins.disable: must be a list of plugin names"),
        ("[plugins]\nallow = [1]", "$.plugins.allow: must be a list of plugin names"),
        ("[plugins]\nstrict = 1", "$.plugins.strict: must be true or false"),
        ('[plugins]\ndisabel = ["a"]', "$.plugins.disabel: must be a plugin's table"),
        ("[plugins.a]\ndistribution = 1", "$.plugins.a.distribution: must be the name of a distribution"),
        ("[plugins]\n[tool.wink.plugins]", "has both [plugins] and [tool.wink.plugins]"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(place: Place, text: str, problem: str) -> None:
    """Going on without it might use what it switches off."""
    place.write("wink.toml", text)

    with pytest.raises(SettingsError) as raised:
        place.load()

    assert str(raised.value).startswith("wink.toml: ")
    assert problem in str(raised.value)


def test_every_problem_of_a_file_is_reported_at_once(place: Place) -> None:
    """Nobody wants to fix a file one error at a time."""
    place.write("wink.toml", "[plugins]\ndisable = 1\nallow = 2\nstrict = 3\nother = 4\n")

    with pytest.raises(SettingsError) as raised:
        place.load()

    assert len(raised.value.problems) == 4


@pytest.mark.parametrize("content", [b"\xff\xfewink", b"tool.wink = ["])
def test_a_pyproject_that_cannot_be_read_is_refused(place: Place, content: bytes) -> None:
    """It may well have been meant to switch something off."""
    (place.workspace / "pyproject.toml").write_bytes(content)

    with pytest.raises(SettingsError, match=r"pyproject\.toml: is not TOML"):
        place.load()


def test_a_directory_in_place_of_a_file_is_refused(place: Place) -> None:
    """A file that is there and cannot be read is not the same as none."""
    (place.workspace / "wink.toml").mkdir()

    with pytest.raises(SettingsError, match="cannot be read"):
        place.load()


def test_strict_can_be_asked_for_by_any_file(place: Place) -> None:
    """Being strict only tightens, so the workspace may; the user may take it back."""
    place.write("wink.toml", "[plugins]\nstrict = true")
    assert place.load().strict

    place.write_own("[plugins]\nstrict = false")
    assert not place.load().strict


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/home/a"}, "/home/a/.config/wink/wink.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "/etc/a"}, "/etc/a/wink/wink.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "relative"}, "/home/a/.config/wink/wink.toml"),
        ({}, None),
    ],
)
def test_where_the_users_file_is(environ: dict[str, str], expected: str | None) -> None:
    """As the XDG base directory specification has it."""
    assert user_file(environ) == expected


@pytest.mark.parametrize(
    ("environ", "flags"),
    [
        ({"WINK_PLUGINS": "plannin"}, {}),
        ({"WINK_DISABLE_PLUGINS": "plannin"}, {}),
        ({}, {"enable": ["plannin"]}),
        ({}, {"disable": ["plannin"]}),
    ],
)
def test_a_misspelt_name_for_this_run_is_an_error(
    place: Place, environ: dict[str, str], flags: dict[str, list[str]]
) -> None:
    """Whoever misspells a plugin that is to be switched off must not go on with it."""
    with pytest.raises(UnknownPlugin, match="did you mean 'planning'"):
        installed_catalog(place.workspace, environ={"HOME": str(place.home), **environ}, **flags)


def test_a_file_may_name_plugins_that_are_not_installed(place: Place) -> None:
    """One file serves many machines."""
    place.write("wink.toml", '[plugins]\ndisable = ["not-installed"]\n[plugins.other]\nlimit = 3\n')

    catalog = installed_catalog(place.workspace, environ={"HOME": str(place.home)})

    assert "planning" in [plugin.name for plugin in catalog.plugins]


@pytest.mark.parametrize(
    ("environ", "ours", "theirs"),
    [
        ({"WINK_PLUGINS": "mine"}, True, False),
        ({"WINK_PLUGINS": ""}, True, False),
        ({"WINK_PLUGINS": "theirs"}, True, True),
        ({"WINK_PLUGINS": "mine,-ours"}, False, False),
        ({"WINK_PLUGINS": "-ours"}, False, True),
        ({"WINK_DISABLE_PLUGINS": "ours"}, False, True),
    ],
)
def test_naming_another_packages_plugins_leaves_winks_own_on(
    place: Place, environ: dict[str, str], ours: bool, theirs: bool
) -> None:
    """Whoever wants one more plugin does not want to go without files; to be rid of ours, one says so."""
    settings = place.load(environ)

    assert settings.is_on("ours", is_foreign=False) == ours
    assert settings.is_on("theirs") == theirs
