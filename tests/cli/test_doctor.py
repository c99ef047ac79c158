"""`wink doctor`, on this machine and on one that has nothing."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink import __version__
from wink.testing import fake_distribution
from wink_sandbox import Feature, Report

Cli = Callable[..., Done]


def test_it_says_what_this_machine_has(cli: Cli) -> None:
    """The tests of programs need all of it, so it must be there."""
    done = cli("doctor")
    assert done.status == 0, done.out
    assert "programs are run under the overlay guard" in done.out
    assert {row["name"]: row["ok"] for row in cli("doctor", "--json").rows}["bubblewrap"]


def test_what_is_missing_comes_with_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words that can be typed."""
    features = (
        Feature("linux", True, "6.1"),
        Feature("bubblewrap", False, "", "apt-get install bubblewrap"),
        Feature("user namespaces", True),
        Feature("overlayfs", True),
    )
    monkeypatch.setattr("wink_sandbox.commands._asked.probe", lambda: Report(features))
    done = cli("doctor")
    assert done.status == 1
    assert "apt-get install bubblewrap" in done.out
    assert "not run" in done.out


def test_a_workspace_that_is_none_is_one_line(cli: Cli) -> None:
    """Nothing else is looked at."""
    done = cli("doctor", "--workspace", "nowhere")
    assert (done.status, "nowhere" in done.err) == (2, True)


def test_a_report_of_a_bug_has_what_its_reader_asks_for(cli: Cli, place: Path) -> None:
    """Versions, what files and programs can do, extras, plugins: each as a line that a program can read."""
    rows = {(row["group"], row["name"]): row for row in cli("doctor", "--json").rows}

    assert all(set(row) == {"group", "name", "ok", "detail", "remedy"} for row in rows.values())
    assert rows["wink", "wink"]["detail"] == __version__
    assert platform.python_version() in rows["wink", "python"]["detail"]
    assert rows["workspace", "paths"]["detail"].partition(":")[0] in ("openat2", "walk")
    assert rows["workspace", "exchange"]["ok"]
    assert rows["workspace", "git"]["ok"]
    assert rows["programs", "sandbox"]["detail"] == "the overlay guard"
    assert rows["plugins", "plugins"]["detail"].endswith("available")
    assert sorted(path.name for path in place.iterdir()) == ["a.txt"]


def test_an_extra_that_is_missing_comes_with_its_command(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As wink's own metadata name it, so that no list can be out of date."""
    requires = [
        "click>=8",
        "openai>=3; extra == 'openai'",
        'nowhere-at-all>=1 ; python_version > "3" and extra == "far"',
    ]
    monkeypatch.setattr("importlib.metadata.requires", {"wink": requires}.get)
    rows = {row["name"]: row for row in cli("doctor", "--json").rows if row["group"] == "extras"}

    assert set(rows) == {"openai", "far"}
    assert (rows["openai"]["ok"], rows["openai"]["detail"].split()[0]) == (True, "openai")
    assert (rows["far"]["detail"], rows["far"]["remedy"]) == ("without nowhere-at-all", "pip install 'wink[far]'")


def test_plugins_that_cannot_be_used_are_named_and_not_imported(cli: Cli, tmp_path: Path) -> None:
    """A doctor that imports what is ill might not survive it."""
    points = {"wink.sections": {"ill.a": "fake_ill:section", "ill.B": "fake_ill:section"}}
    with fake_distribution(
        "fake-ill", entry_points=points, modules={"fake_ill": "raise SystemExit"}, directory=tmp_path / "site"
    ):
        done = cli("doctor")

    assert done.status == 0
    assert "--  ill: fake-ill 1.0, broken: offer name 'ill.B'" in done.out
    assert "wink plugins why ill" in done.out
    assert "fake_ill" not in sys.modules


def test_it_tells_no_secrets_and_no_home(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made to be pasted where everybody reads it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("WINK_PLUGINS", "planning,files")
    monkeypatch.setenv("HOME", str(place.parent))
    (place / "planted-1.0.dist-info").mkdir()
    (place / "planted-1.0.dist-info" / "entry_points.txt").write_text("[wink.sections]\nplanted.a = a:b\n")
    monkeypatch.setattr("sys.path", [*sys.path, str(place)])
    (place / "wink.toml").write_text('[plugins.openai]\napi_key = "sk-other"\n')

    done = cli("doctor")

    assert "planted: ignored: lies inside ~/place" in done.out
    assert "ok  WINK_PLUGINS: 'planning,files'" in done.out
    assert "sk-" not in done.out
    assert str(place.parent) not in done.out


def test_it_counts_what_is_kept_from_tries_and_names_none_of_it(
    cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of hosts and paths may be secrets; what is wrong with the settings is told elsewhere."""
    settings = place.parent / "home/.config/wink/wink.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('network = ["a.example", "b.example"]\nhide = ["~/acme"]\n')
    (place.parent / "home/acme").mkdir()
    (place / ".env").write_text("K\n")
    (place / "wink.toml").write_text('[[rules]]\naction = "deny"\npaths = "**/.env"\n')
    monkeypatch.setenv("ACME_TOKEN", "K")

    found = {row["name"]: row for row in cli("doctor", "--json").rows}

    assert found["network of tries"]["detail"] == "2 hosts"
    assert found["hidden from tries"]["ok"]
    assert re.fullmatch(
        r"\d+ places?, \d+ variables?, by rules 1 path of the workspace", found["hidden from tries"]["detail"]
    )
    settings.write_text("hide = 3\n")
    rows = cli("doctor", "--json").rows
    assert not [row for row in rows if row["name"] == "hidden from tries"]


def test_settings_that_make_no_sense_are_a_finding(cli: Cli, place: Path) -> None:
    """The rest is told all the same."""
    (place / "wink.toml").write_text("[plugins]\ndisable = 3\n")

    done = cli("doctor")

    assert "--  settings: wink.toml: $.plugins.disable: must be a list of plugin names" in done.out
    assert "ok  git" in done.out


def test_a_workspace_that_cannot_exchange_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo then takes several steps, which is slower and no less safe."""

    def refuse(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("wink.filesystem.disk._syscalls.renameat2", refuse)

    assert "exchange: files change places in several steps" in cli("doctor").out
