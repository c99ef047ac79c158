"""The reference says what the code says, all of it."""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.generator import api, commands, errors, events, hooks
from docs.generator.source import signature
from tests.docs.pages import DOCS, ROOT, anchors, text_of

from docs import generate
from wink.errors import WinkError
from wink.plugins import HOOK_API

REFERENCE = DOCS / "reference"


def test_every_generated_page_is_fresh() -> None:
    """`python -m docs.generate` writes them anew."""
    generate.check()


def test_a_stale_page_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes the code must not have to look for how pages are made."""
    wanted = {
        "docs/reference/hooks.md": "# Hooks\n\nwink_resources\n",
        "docs/reference/api/wink.tools.md": "# `wink.tools`\n",
    }

    def pages(root: Path) -> dict[str, str]:
        return wanted

    monkeypatch.setattr(generate, "pages", pages)
    for path, text in wanted.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    generate.check(tmp_path)

    hooks_page, old = tmp_path / "docs/reference/hooks.md", tmp_path / "docs/reference/api/wink.gone.md"
    hooks_page.write_text(
        hooks_page.read_text(encoding="utf-8").replace("wink_resources", "wink_things"), encoding="utf-8"
    )
    old.write_text("# gone\n", encoding="utf-8")

    with pytest.raises(generate.Stale) as raised:
        generate.check(tmp_path)
    assert raised.value.problems == (
        "docs/reference/hooks.md does not say what the code says; `python -m docs.generate` writes it anew",
        "docs/reference/api/wink.gone.md is about nothing that there is; delete it",
    )


def test_a_block_of_something_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person has to take out what was written around it."""
    place = tmp_path / "docs/reference/hooks.md"
    place.parent.mkdir(parents=True)
    place.write_text("# Hooks\n\n<!-- generated: wink_gone -->\n<!-- end -->\n", encoding="utf-8")
    monkeypatch.setattr(generate, "PAGES", {"hooks.md": hooks.blocks})

    with pytest.raises(generate.Stale, match=r"hooks\.md: nothing is called 'wink_gone' any more"):
        generate.pages(tmp_path)


@pytest.mark.parametrize("name", [name for name, _ in hooks.specifications()])
def test_every_hook_has_a_heading_with_its_signature(name: str) -> None:
    """An argument that the page does not have is one that nobody uses."""
    page = text_of(REFERENCE / "hooks.md")
    function = dict(hooks.specifications())[name]

    assert f"### `{signature(function)}`\n" in page
    assert "Called " in page.partition(f"### `{name}(")[2].partition("###")[0], "say when it is called"
    assert HOOK_API >= (1, 0)


def test_every_public_name_is_in_the_reference() -> None:
    """Of every package, and every package is there."""
    found = {
        ".".join(("wink", *path.relative_to(ROOT / "src/wink").with_suffix("").parts)) for path in _public_modules()
    }
    found = {name.removesuffix(".__init__") for name in found}
    aliases = {
        *(
            "wink.adapters.core",
            "wink.adapters.remote",
            "wink.batch",
            "wink.contrib",
            "wink.contrib.tools",
            "wink.filesystem.fsspec",
            "wink.filesystem.overlay",
            "wink.mcp",
            "wink.mcp.clients",
            "wink.prompt.prompt",
            "wink.history",
            "wink.http",
            "wink.prompts",
            "wink.ui",
            "wink.sandbox",
            "wink.tries",
            "wink.workspace.bundles",
        ),
        *("wink.runtime.events", "wink.runtime.session", "wink.runtime.session.protocols"),
    }
    rooms = {  # faces among themselves
        *(f"wink.cli.{room}" for room in ("past", "settings", "setup", "work")),
        *(f"wink.filesystem.{room}" for room in ("diffs", "disk", "memory", "search", "undo")),
        *(f"wink.prompt.{room}" for room in ("examples", "output", "sections")),
        *(f"wink.record.{room}" for room in ("masking", "runs")),
        "wink.plugins.trial",
    }
    assert found - set(api.PACKAGES) == {"wink.errors", *aliases, *rooms}
    for package in api.PACKAGES:
        page = text_of(REFERENCE / "api" / f"{package}.md")
        for name in importlib.import_module(package).__all__:
            home = api.home(package, name)
            where = f"`{name} <{home}.{name}>`"
            if home == "wink.errors":
                where = f"[`{name}`](../errors.md#{name.lower()})"
            elif home == f"{package}.{name}":  # a module
                where = f"[`{name}`]({home}.md)"
            assert where in page, f"{package}.{name}"
            if where.startswith("`"):
                described = text_of(REFERENCE / "api" / f"{home}.md")
                assert re.search(rf":: {re.escape(f'{home}.{name}')}$", described, re.MULTILINE), f"{home}.{name}"


def test_every_error_is_in_the_reference() -> None:
    """Also those of a part of wink that somebody adds."""
    from wink import errors as package

    places = anchors(REFERENCE / "errors.md")
    assert {name for name in package.__all__ if name.lower() not in places} == set()
    public = errors.public()
    of_ours = {cls for cls in _below(WinkError) if cls.__module__.startswith("wink.errors")}
    assert {cls.__name__ for cls in of_ours if not cls.__name__.startswith("_")} <= set(public)


def test_every_event_is_in_the_reference() -> None:
    """Whatever the code publishes, by the name of its class."""
    places = anchors(REFERENCE / "events.md")
    listed = {cls.__name__ for cls in (*events.TOLD, *events.DISPATCHED)}
    assert {cls.lower() for cls in listed} <= places
    published = {name for path in (ROOT / "src/wink").rglob("*.py") for name in _published(path)}
    assert {"ToolInvoked", "PromptRendered"} - published == {"ToolInvoked"}  # that one is made elsewhere
    assert published - listed == set(), "add them to docs/generator/events.py"


@pytest.mark.parametrize("name", commands.every_command())
def test_every_command_and_option_is_in_the_reference(name: str) -> None:
    """With what it is for."""
    page = text_of(REFERENCE / "commands.md")
    section = re.search(rf"^##+ `{re.escape(name)}`\n(.*?)(?=^##+ `wink|\Z)", page, re.MULTILINE | re.DOTALL)

    assert section is not None
    for option in commands.options_of(name):
        assert all(f"`{spelt}" in section[1] or f", {spelt}" in section[1] for spelt in option.opts), option.opts


def test_every_offer_of_wink_is_in_the_directory_of_plugins() -> None:
    """The table is kept by hand."""
    page = text_of(REFERENCE / "plugin-directory.md")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    offers = {name for group, names in groups.items() if group.startswith("wink.") for name in names}

    assert {name for name in offers if f"`{name}`" not in page} == set()


def _public_modules() -> Iterator[Path]:
    """Packages and modules without an underscore in front of any of their names."""
    for path in (ROOT / "src/wink").rglob("*.py"):
        parts = path.relative_to(ROOT / "src/wink").parts
        is_private = any(part.startswith("_") for part in parts if part != "__init__.py")
        if not is_private and parts[:2] not in (("cli", "demo"), ("cli", "scaffold")):
            yield path


def _published(path: Path) -> Iterator[str]:
    """The classes of which a module tells, or which it dispatches, where it makes them."""
    text = path.read_text(encoding="utf-8")
    if "publish(" not in text and "dispatch(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        made = node.args[0]
        is_told = node.func.attr in ("publish", "_publish", "dispatch")
        if is_told and isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id[:1].isupper():
            yield made.func.id


def _below(cls: type) -> Iterator[type]:
    for below in cls.__subclasses__():
        yield below
        yield from _below(below)
