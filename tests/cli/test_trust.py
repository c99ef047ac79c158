"""`wink trust`: a workspace's settings count as one's own, for exactly the content that one has looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli.settings._trust_store import TrustStore, store_file
from wink.errors import SettingsError

Cli = Callable[..., Done]
OWN = 'rules_default = "deny"\n'
LOOSE = '[[rules]]\naction = "allow"\ntools = "write_file"\n\n[plugins.shell]\nnetwork = true\nprocesses = 10\n'


@pytest.fixture
def loose(place: Path, tmp_path: Path) -> Path:
    """A workspace that asks for more than its user grants."""
    config = tmp_path / "home" / ".config" / "wink"
    config.mkdir(parents=True)
    (config / "wink.toml").write_text(OWN)
    (place / "wink.toml").write_text(LOOSE)
    return place


def writes(cli: Cli) -> bool:
    return cli("call", "write_file", "file_path=new.txt", "content=x").status == 0


def test_what_a_file_would_loosen_is_shown_and_nothing_else(cli: Cli, loose: Path) -> None:
    """What only restricts counts anyway."""
    done = cli("trust", "--show")

    assert done.status == 0
    assert done.out == (
        "wink.toml: not trusted; it would loosen:\n"
        '  wink.toml:1: allow tools = "write_file"\n'
        "  wink.toml:5: plugins.shell.network = true\n"
    )
    assert not writes(cli)


@pytest.mark.parametrize("head", ["", '[plugins]\ndisable = ["shell"]\n'])
def test_settings_that_no_plugin_can_judge_are_all_shown(cli: Cli, loose: Path, head: str) -> None:
    """A plugin may be installed, or switched on, after its settings have been agreed to."""
    name = "shell" if head else "not-installed"
    (loose / "wink.toml").write_text(f"{head}[plugins.{name}]\nservers = {{ x = 1 }}\n")

    line = f'  wink.toml:{3 if head else 1}: plugins.{name}.servers = {{"x": 1}}\n'
    assert cli("trust", "--show").out.endswith(line)


def test_a_trusted_file_counts_as_ones_own(cli: Cli, loose: Path) -> None:
    """Rules and plugins' settings alike, and nobody is told again."""
    assert not writes(cli)

    done = cli("trust")

    assert done.status == 0
    assert "wink.toml is trusted as it is now" in done.out
    assert writes(cli)
    assert cli("tools", "--section", "shell.commands").err == ""
    assert "wink.toml: trusted as it is; it loosens:" in cli("trust", "--show").out


def test_a_changed_file_is_not_trusted_any_more(cli: Cli, loose: Path) -> None:
    """Whoever changed it, and however little; the person is told in one line."""
    cli("trust")
    (loose / "wink.toml").write_text(LOOSE + "\n")

    done = cli("call", "write_file", "file_path=new.txt", "content=x")

    assert done.status == 1
    assert [line for line in done.err.splitlines() if line.startswith("wink:")] == [
        "wink: wink.toml has changed since it was trusted, so it only restricts; `wink trust --show` shows what it would loosen"
    ]
    assert "changed since, so not trusted" in cli("trust", "--list").out
    (loose / "wink.toml").write_text(LOOSE)
    assert writes(cli)


def test_trust_is_taken_back(cli: Cli, loose: Path) -> None:
    """At once, for all files of the workspace."""
    cli("trust")

    assert "is not trusted any more" in cli("trust", "--revoke").out
    assert not writes(cli)
    assert cli("trust", "--revoke").out == "nothing of this workspace was trusted\n"
    assert cli("trust", "--list").out == "no file is trusted\n"


def test_trusted_files_are_listed(cli: Cli, loose: Path) -> None:
    """Also those that are gone."""
    cli("trust")
    (row,) = json.loads(cli("trust", "--list", "--json").out)
    assert (row["path"], row["standing"]) == (os.path.realpath(loose / "wink.toml"), "trusted")

    (loose / "wink.toml").unlink()
    assert cli("trust", "--list").out.endswith("gone\n")


def test_another_workspace_with_the_same_content_is_not_trusted(cli: Cli, loose: Path, tmp_path: Path) -> None:
    """What is right for one project may be wrong for another."""
    cli("trust")
    other = tmp_path / "other"
    other.mkdir()
    (other / "wink.toml").write_text(LOOSE)

    done = cli("call", "--workspace", str(other), "write_file", "file_path=new.txt", "content=x")

    assert done.status == 1


def test_an_allow_of_a_trusted_file_still_beats_no_denial(cli: Cli, loose: Path, tmp_path: Path) -> None:
    """Trust makes its rules the user's own, and deny beats allow among those too."""
    config = tmp_path / "home" / ".config" / "wink" / "wink.toml"
    config.write_text(OWN + '[[rules]]\naction = "deny"\ntools = "write_file"\n')
    cli("trust")

    assert not writes(cli)


def test_a_trusted_default_takes_the_place_of_the_users(cli: Cli, loose: Path) -> None:
    """It is said for this workspace, the other one for all."""
    (loose / "wink.toml").write_text('rules_default = "allow"\n')
    assert 'wink.toml:1: rules_default = "allow"' in cli("trust", "--show").out
    cli("trust")

    assert writes(cli)


def test_what_only_restricts_needs_no_trust(cli: Cli, loose: Path) -> None:
    """Nothing is recorded for it."""
    (loose / "wink.toml").write_text('[[rules]]\naction = "deny"\ntools = "rm"\n')

    assert cli("trust").out == "wink.toml: only restricts, so it counts as it is; there is nothing to trust\n"
    assert cli("trust", "--list").out == "no file is trusted\n"


def test_a_workspace_without_settings_has_nothing_to_trust(cli: Cli) -> None:
    """And that is no error."""
    assert "there is nothing to trust" in cli("trust").out


def test_it_comes_as_json(cli: Cli, loose: Path) -> None:
    """What would be loosened, for programs."""
    assert json.loads(cli("trust", "--show", "--json").out) == [
        {
            "file": "wink.toml",
            "standing": "unknown",
            "loosens": ['wink.toml:1: allow tools = "write_file"', "wink.toml:5: plugins.shell.network = true"],
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(["--list", "--revoke"], "not both"), (["--workspace", "missing"], "there is no directory 'missing'")],
)
def test_wrong_input_is_refused(cli: Cli, place: Path, arguments: list[str], problem: str) -> None:
    """In a line, as everywhere."""
    done = cli("trust", *arguments)

    assert done.status == 2
    assert problem in done.err


def test_rules_that_make_no_sense_are_not_trusted(cli: Cli, loose: Path) -> None:
    """Nobody can agree to what nobody can read."""
    (loose / "wink.toml").write_text('[[rules]]\naction = "alow"\n')

    assert cli("trust").status == 2
    assert cli("trust", "--list").out == "no file is trusted\n"


# -- where the store is, and who can write it


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/home/a"}, "/home/a/.local/state/wink/trust.json"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": "/var/a"}, "/var/a/wink/trust.json"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": "relative"}, "/home/a/.local/state/wink/trust.json"),
        ({}, None),
    ],
)
def test_where_the_store_is(environ: dict[str, str], expected: str | None) -> None:
    """As the XDG base directory specification has it."""
    assert store_file(environ) == expected


def test_only_the_user_can_read_and_write_the_store(cli: Cli, loose: Path, tmp_path: Path) -> None:
    """It says which of one's projects one trusts."""
    cli("trust")
    file = tmp_path / "home" / ".local" / "state" / "wink" / "trust.json"

    assert file.stat().st_mode & 0o077 == 0
    assert list(file.parent.iterdir()) == [file]


def test_a_store_inside_the_workspace_counts_for_nothing(
    cli: Cli, loose: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An agent could have written it."""
    cli("trust")
    kept = (tmp_path / "home" / ".local" / "state" / "wink" / "trust.json").read_text()
    inside = loose / "state" / "wink"
    inside.mkdir(parents=True)
    (inside / "trust.json").write_text(kept)
    monkeypatch.setenv("XDG_STATE_HOME", str(loose / "state"))

    assert not writes(cli)
    done = cli("trust")
    assert done.status == 2
    assert "lies in this workspace, where an agent can write it" in done.err


def test_a_link_does_not_hide_that_the_store_is_inside(
    cli: Cli, loose: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where it really is counts."""
    (loose / "state").mkdir()
    os.symlink(loose / "state", tmp_path / "state")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    assert cli("trust").status == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"files": 3}'])
def test_a_store_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    """Going on as if nothing were trusted would only be found out by chance."""
    file = tmp_path / "trust.json"
    file.write_text(text)

    with pytest.raises(SettingsError, match="delete it to trust nothing"):
        TrustStore(str(file)).standing("a", b"")


def test_file_tools_cannot_reach_the_store(cli: Cli, loose: Path, tmp_path: Path) -> None:
    """It lies outside, and no path and no link leads there."""
    cli("trust")
    file = tmp_path / "home" / ".local" / "state" / "wink" / "trust.json"
    os.symlink(file.parent, loose / "link")
    before = file.read_bytes()

    for path in (str(file), f"../home/.local/state/wink/{file.name}", f"link/{file.name}"):
        assert cli("call", "write_file", f"file_path={path}", "content={}").status == 1
    assert file.read_bytes() == before


def test_a_program_in_the_sandbox_cannot_trust_for_the_user(loose: Path, tmp_path: Path) -> None:
    """It sees neither the store nor the home directory, whatever it runs: wink itself, too."""
    (loose / "wink.toml").write_text("[plugins.shell]\nnetwork = true\n")
    (tmp_path / "home" / ".config" / "wink" / "wink.toml").write_text("")
    state = tmp_path / "home" / ".local" / "state" / "wink"
    state.mkdir(parents=True)
    command = (
        f"mkdir -p {state}; echo '{{}}' > {state}/trust.json; {sys.executable} -P -m wink trust --yes; "
        "mkdir -p ~/.local/state/wink && echo '{}' > ~/.local/state/wink/trust.json; true"
    )

    done = subprocess.run(
        [sys.executable, "-m", "wink", "call", "--section", "shell.commands", "run_command", f"command={command}"],
        cwd=loose,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done
    assert sorted(path.name for path in state.iterdir()) == ["key", "known"]
