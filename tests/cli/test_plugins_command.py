"""`wink plugins`, as people and machines see it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from wink.cli._main import run
from wink.testing import fake_distribution

MODULE = """
from wink.policies import SequentialDependencyPolicy
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolResult

def ls(params: None, *, context) -> ToolResult[None]:
    return ToolResult.ok(None)

def section():
    '''Let the agent look around.'''
    return ToolsSection("Shop", [Tool[None, None]("shop_ls", "List the shelves.", ls)])

def order():
    '''Look before you buy.'''
    return SequentialDependencyPolicy({"shop_buy": ["shop_ls"]}, name="look-first")
"""
HOOKS = """
from dataclasses import dataclass
from wink.plugins import hookimpl

@dataclass(frozen=True)
class ShopSettings:
    shelves: int = 3

@hookimpl
def wink_settings():
    return ShopSettings
"""
POINTS = {
    "wink.sections": {"shop.look": "fake_shop:section", "shop.gone": "fake_shop:section"},
    "wink.policies": {"shop.order": "fake_shop:order"},
    "wink.hooks": {"shop": "fake_shop_hooks"},
}

Wink = Callable[..., tuple[int, str, str]]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "WINK_PLUGINS", "WINK_DISABLE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def wink(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Wink:
    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(["plugins", *arguments])
        output, complaint = capsys.readouterr()
        return status, output, complaint

    return call


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[..., None]]:
    with ExitStack() as stack:

        def add(name: str, **options: Any) -> None:
            stack.enter_context(fake_distribution(name, directory=tmp_path / name, **options))

        yield add


@pytest.fixture
def shop(install: Callable[..., None]) -> None:
    install("fake-shop", entry_points=POINTS, modules={"fake_shop": MODULE, "fake_shop_hooks": HOOKS})


@pytest.fixture
def bad(install: Callable[..., None]) -> None:
    install(
        "fake-bad", entry_points={"wink.sections": {"bad.steps": "fake_bad:f"}}, modules={"fake_bad": "import nowhere"}
    )


def row(output: str, plugin: str) -> list[str]:
    """The words of one plugin's line."""
    return next(line.split() for line in output.splitlines() if line.split()[:1] == [plugin])


def test_the_list_says_what_each_plugin_offers(wink: Wink, shop: None) -> None:
    """One line a plugin: who, which version, in which state, with what."""
    status, output, _ = wink()

    assert status == 0
    assert row(output, "PLUGIN") == ["PLUGIN", "DISTRIBUTION", "VERSION", "STATE", "OFFERS"]
    assert row(output, "shop")[:4] == ["shop", "fake-shop", "1.0", "available"]
    assert "policy order; sections gone, look; hooks" in output
    assert "`available` plugins have not been imported; use --load to try them." in output


def test_loading_shows_what_is_broken_and_why(wink: Wink, shop: None, bad: None) -> None:
    """`available` only means that nobody has looked."""
    status, output, _ = wink("--load")

    assert status == 0
    assert row(output, "bad")[3] == "broken"
    assert "ModuleNotFoundError: No module named 'nowhere'" in output
    assert row(output, "shop")[3] == "loaded"


def test_a_disabled_plugin_says_which_line_did_it(wink: Wink, workspace: Path, shop: None) -> None:
    """Whoever looks for the plugin need not know the order of settings."""
    (workspace / "pyproject.toml").write_text('[tool.wink.plugins]\ndisable = ["shop"]\n')

    _, output, _ = wink()

    assert row(output, "shop")[3] == "disabled"
    assert 'pyproject.toml:2 disable = ["shop"]' in output


def test_json_has_the_same_facts(wink: Wink, shop: None) -> None:
    """Machines should not parse a table."""
    status, output, _ = wink("--json")
    listing = json.loads(output)
    shop_facts = next(one for one in listing["plugins"] if one["name"] == "shop")

    assert status == 0
    assert listing["ignored"] == []
    assert (shop_facts["state"], shop_facts["distribution"], shop_facts["hooks"]) == (
        "available",
        "fake-shop",
        "fake_shop_hooks",
    )
    assert {"kind": "policy", "name": "shop.order", "target": "fake_shop:order"} in shop_facts["offers"]


@pytest.mark.parametrize("arguments", [("list", "--json"), ("--json", "list")])
def test_list_is_the_default_command(wink: Wink, arguments: tuple[str, ...]) -> None:
    """Both spellings mean the same, wherever the option stands."""
    assert wink(*arguments) == wink("--json")


def test_show_tells_what_a_model_would_get(wink: Wink, shop: None) -> None:
    """Summaries, tools, settings: what decides whether one wants to use it."""
    status, output, _ = wink("show", "shop")

    assert status == 0
    assert "section shop.look - Let the agent look around." in output
    assert "  shop_ls - List the shelves." in output
    assert "policy shop.order - Look before you buy." in output
    assert "  shelves = 3" in output


def test_show_tells_settings_that_differ_from_their_defaults(wink: Wink, shop: None, tmp_path: Path) -> None:
    """The value in force and the default, so that nobody has to look it up."""
    own = tmp_path / "home" / ".config" / "wink"
    own.mkdir(parents=True)
    (own / "wink.toml").write_text("[plugins.shop]\nshelves = 9\n")

    _, output, _ = wink("show", "shop")

    assert "shelves = 9 (default 3)" in output


def test_show_of_a_broken_plugin_explains_and_fails(wink: Wink, bad: None) -> None:
    """Status 1: the question was right, the plugin is not."""
    status, output, _ = wink("show", "bad")

    assert status == 1
    assert "section bad.steps - ModuleNotFoundError: No module named 'nowhere'" in output


def test_show_as_json(wink: Wink, shop: None) -> None:
    """The same, for machines."""
    _, output, _ = wink("show", "shop", "--json")
    (found,) = json.loads(output)

    assert found["settings"] == {"shelves": {"value": 3, "default": 3}}
    look = next(offer for offer in found["offers"] if offer["name"] == "shop.look")
    assert look["tools"] == [{"name": "shop_ls", "description": "List the shelves."}]


def test_why_prints_every_setting_that_had_a_say(
    wink: Wink, workspace: Path, shop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order in which they apply, so that the last line is the answer."""
    (workspace / "wink.toml").write_text('[plugins]\ndisable = ["shop"]\n')
    monkeypatch.setenv("WINK_PLUGINS", "shop,planning")

    status, output, _ = wink("--no-plugin", "shop", "why", "shop")

    assert status == 0
    assert output.splitlines()[0] == "shop 1.0 is disabled: --no-plugin shop"
    assert [line.strip() for line in output.splitlines()[2:]] == [
        'wink.toml:2 disable = ["shop"]: off',
        "WINK_PLUGINS = 'shop,planning': on",
        "--no-plugin shop: off",
    ]


def test_why_nothing_was_said(wink: Wink, shop: None) -> None:
    """A default is an answer too."""
    _, output, _ = wink("why", "shop")

    assert "shop 1.0 is available: found and enabled; nothing imported yet" in output
    assert "no setting says anything about it: on" in output


def test_a_plugin_in_the_workspace_is_said_to_be_ignored(
    wink: Wink, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An author who installs into the wrong place must learn why nothing happens."""
    with fake_distribution("fake-planted", entry_points={"wink.sections": {"planted.a": "m:f"}}, directory=workspace):
        _, listed, _ = wink()
        status, explained, _ = wink("why", "planted")

    assert f"ignored: fake-planted at {workspace}" in listed
    assert "planted" not in [line.split()[0] for line in listed.splitlines() if line and not line.startswith("ignored")]
    assert status == 0
    assert "planted is ignored: lies inside" in explained


@pytest.mark.parametrize(
    ("options", "status", "state"),
    [
        ({}, 0, "loaded"),
        ({"modules": {"fake_shop": "1 / 0"}}, 1, "broken"),
        ({"requires": ["wink>=99"]}, 1, "incompatible"),
    ],
)
def test_check_fails_for_what_ci_should_not_let_pass(
    wink: Wink,
    install: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    status: int,
    state: str,
) -> None:
    """Status 1 for broken, in conflict or incompatible."""
    monkeypatch.setenv("WINK_PLUGINS", "shop")
    install(
        "fake-shop",
        entry_points={"wink.sections": POINTS["wink.sections"]},
        **({"modules": {"fake_shop": MODULE}} | options),
    )

    found, output, _ = wink("check")

    assert (found, row(output, "shop")[3]) == (status, state)


def test_check_fails_for_a_conflict(wink: Wink, install: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both packages are named, so that one can be removed."""
    monkeypatch.setenv("WINK_PLUGINS", "shop")
    for name in ("fake-shop", "fake-shop-two"):
        install(name, entry_points={"wink.sections": {"shop.look": "fake_shop:section"}}, modules={"fake_shop": MODULE})

    status, output, _ = wink("check", "--json")

    assert status == 1
    states = {one["distribution"]: one for one in json.loads(output)["plugins"] if one["name"] == "shop"}
    assert {one["state"] for one in states.values()} == {"conflict"}
    assert "fake-shop-two" in states["fake-shop"]["reason"]


@pytest.mark.parametrize(
    "arguments", [("show", "plannin"), ("why", "plannin"), ("--no-plugin", "plannin"), ("--plugin", "plannin", "list")]
)
def test_an_unknown_plugin_is_a_usage_error(wink: Wink, arguments: tuple[str, ...]) -> None:
    """One line that says what to do, status 2, nothing on standard output."""
    status, output, complaint = wink(*arguments)

    assert (status, output) == (2, "")
    assert complaint == "wink: no plugin 'plannin' is installed; did you mean 'planning'?\n"


def test_a_settings_file_that_makes_no_sense_is_a_usage_error(wink: Wink, workspace: Path) -> None:
    """The file and the place in it are named."""
    (workspace / "wink.toml").write_text("[plugins]\ndisable = 3\n")

    status, _, complaint = wink()

    assert status == 2
    assert complaint == "wink: wink.toml: $.plugins.disable: must be a list of plugin names\n"


def test_a_terminal_gets_the_same_words(wink: Wink, shop: None, bad: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """rich draws the table there; what it says is the same."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    _, output, _ = wink("--load")

    assert row(output, "bad")[3] == "broken"
    assert "ModuleNotFoundError: No module named 'nowhere'" in " ".join(output.split())
    assert "policy order; sections gone, look; hooks" in " ".join(output.split())


def test_schemas_are_exported_with_where_they_come_from(wink: Wink, shop: None, bad: None) -> None:
    """For a review of what models will be shown, or for a host that is not written in Python."""
    status, output, _ = wink("export-schema", "shop")
    found = json.loads(output)

    assert status == 0
    assert [(tool["plugin"], tool["offer"], tool["name"], tool["effects"]) for tool in found["tools"]] == [
        ("shop", "shop.gone", "shop_ls", "workspace"),
        ("shop", "shop.look", "shop_ls", "workspace"),
    ]
    assert found["tools"][0]["parameters"]["type"] == "object"
    assert found["left_out"] == []


def test_what_cannot_be_exported_is_said(wink: Wink, shop: None, bad: None) -> None:
    """A list with a hole in it must not look complete."""
    status, output, _ = wink("export-schema")
    found = json.loads(output)

    assert status == 1
    assert "shop_ls" in [tool["name"] for tool in found["tools"]]
    assert "No module named 'nowhere'" in next(one["reason"] for one in found["left_out"] if one["plugin"] == "bad")


@pytest.mark.parametrize("plugin", ["shop", "nowhere"])
def test_a_named_plugin_that_may_not_be_used_is_a_problem(wink: Wink, shop: None, plugin: str) -> None:
    """Whoever asks for one gets it, or an answer."""
    status, output, complaint = wink("--no-plugin", "shop", "export-schema", plugin)

    assert status == (1 if plugin == "shop" else 2)
    assert "disabled" in output if plugin == "shop" else "no plugin 'nowhere'" in complaint


@pytest.mark.parametrize("arguments", [("show", "loud", "--json"), ("export-schema", "loud"), ("--load", "--json")])
def test_a_plugin_that_prints_spoils_no_json(
    wink: Wink, install: Callable[..., None], arguments: tuple[str, ...]
) -> None:
    """A greeting belongs on standard error."""
    install(
        "fake-loud",
        entry_points={"wink.sections": {"loud.look": "fake_loud:section"}},
        modules={"fake_loud": "print('hello')\nimport os; os.write(1, b'hello')\n" + MODULE},
    )

    status, output, _ = wink(*arguments)

    assert status == 0
    assert json.loads(output)


def test_a_misspelt_variable_is_a_usage_error(wink: Wink, shop: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the plugin that was to be switched off would be on."""
    monkeypatch.setenv("WINK_DISABLE_PLUGIN", "shop")

    assert wink() == (
        2,
        "",
        "wink: environment: WINK_DISABLE_PLUGIN: there is no such variable; did you mean WINK_DISABLE_PLUGINS?\n",
    )


def test_why_names_the_chosen_distribution(
    wink: Wink, install: Callable[..., None], shop: None, tmp_path: Path
) -> None:
    """Which of two packages is meant was said in one line of one file."""
    install("fake-shop-two", entry_points={"wink.sections": {"shop.look": "fake_shop:section"}})
    own = tmp_path / "home" / ".config" / "wink"
    own.mkdir(parents=True)
    (own / "wink.toml").write_text('\n[plugins.shop]\ndistribution = "fake-shop"\n')

    status, output, _ = wink("why", "shop")

    assert status == 0
    assert "shop 1.0 is available" in output
    assert 'shop 1.0 is disabled: ~/.config/wink/wink.toml:2 distribution = "fake-shop"' in output
    assert '~/.config/wink/wink.toml:2 [shop] distribution = "fake-shop"' in output
