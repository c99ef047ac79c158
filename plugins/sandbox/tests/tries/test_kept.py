"""What of the machine a try hides: credentials in the home and in the environment, but for what is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

from wink_sandbox.hiding import USUALLY_HIDDEN, kept_from, problem_with

LOOK = "cat ~/.ssh/id ~/.ssh/config ~/.aws/credentials ~/.npmrc ~/.netrc ~/elsewhere/netrc ~/.config/gh/hosts.yml; env"


@pytest.fixture
def home(place: Path, environment: dict[str, str]) -> Path:
    """With what programs log in with, some of it through links, and variables."""
    home = place.parent / "home"
    for name in (
        ".ssh/id",
        ".ssh/config",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        "elsewhere/netrc",
        ".claude/.credentials.json",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"secret-{name}\n")
    (home / ".netrc").symlink_to("elsewhere/netrc")
    (home / ".npmrc").write_text("registry=https://example.org/\n")
    for name in kept_from("/nowhere", [], environment, USUALLY_HIDDEN).variables:
        del environment[name]
    environment |= {"GH_TOKEN": "secret-gh", "ANTHROPIC_API_KEY": "key-of-the-agent", "ACME": "secret-acme"}
    return home


def own(home: Path, text: str) -> None:
    (home / ".config/wink").mkdir(parents=True, exist_ok=True)
    (home / ".config/wink/wink.toml").write_text(text)


@pytest.mark.parametrize("profile", ["agent", "build", "claude"])
def test_credentials_are_hidden_and_named(wink: Wink, home: Path, profile: str) -> None:
    """What a link leads to as well; settings without a credential, and what agents log in with, are there."""
    done = wink("try", "--profile", profile, "--", "sh", "-c", LOOK)

    assert "secret" not in done.stdout.replace("secret-acme", ""), done.stdout
    assert "registry=https://example.org/" in done.stdout
    assert "ANTHROPIC_API_KEY=key-of-the-agent" in done.stdout
    assert "\nwink: also hidden: ~/.ssh, " in done.stderr
    hidden = json.loads(wink("try", "--json", "--profile", profile, "--", "true").stderr.splitlines()[-1])["hidden"]
    # This machine's user has another home, too.
    named = [one for one in hidden if not one.startswith("/")]
    assert named == ["~/.ssh", "~/.netrc", "~/.aws", "~/.config/gh", "$GH_TOKEN"]


def test_settings_with_a_credential_are_hidden(wink: Wink, home: Path) -> None:
    """`~/.npmrc` says where packages come from, and may say who one is there."""
    (home / ".npmrc").write_text("//example.org/:_authToken=secret-npm\n")

    assert "secret-npm" not in wink("try", "--", "sh", "-c", LOOK).stdout


def test_what_is_asked_for_is_shown_for_this_run(wink: Wink, home: Path) -> None:
    """A file of a directory alone, too, and a variable."""
    some = wink("try", "--read", f"{home}/.ssh/config", "--read", "$GH_TOKEN", "--", "sh", "-c", LOOK)
    assert "secret-.ssh/config" in some.stdout
    assert "GH_TOKEN=secret-gh" in some.stdout
    assert "secret-.ssh/id" not in some.stdout
    assert "secret-.aws" not in some.stdout

    assert "secret-.ssh/id" in wink("try", "--read", f"{home}/.ssh", "--", "sh", "-c", LOOK).stdout
    assert "secret-.ssh" not in wink("try", "--", "sh", "-c", LOOK).stdout
    assert "names no variable that is set" in wink("try", "--read", "$NOTHING", "--", "true").stderr


def test_the_users_settings_hide_more_and_less(wink: Wink, home: Path) -> None:
    """A workspace's file has no say in it; what is kept in the home for real is shown."""
    own(home, 'hide = ["~/elsewhere/more", "$ACME", "!~/.aws", "!$GH_*"]\npersist = ["~/.config/gh/hosts.yml"]\n')
    (home / "elsewhere/more").write_text("secret-more\n")
    (home.parent / "project/wink.toml").write_text('hide = ["!~/.ssh"]\n')

    done = wink("try", "--", "sh", "-c", f"cat ~/elsewhere/more; {LOOK}")

    assert "hide is not heeded in a file of the workspace" in done.stderr
    for shown in ("secret-.aws", "secret-.config/gh/hosts.yml", "GH_TOKEN=secret-gh"):
        assert shown in done.stdout
    for hidden in ("secret-more", "secret-acme", "secret-.ssh"):
        assert hidden not in done.stdout


@pytest.mark.parametrize("entry", ["relative", "~", "~/", "/", "$", "~/../other", "!"])
def test_an_entry_that_names_nothing_is_refused(wink: Wink, home: Path, entry: str) -> None:
    """With where it stands, before any program runs."""
    own(home, f"hide = [{json.dumps(entry)}]\n")

    done = wink("try", "--", "touch", "ran")

    assert done.returncode == 2
    assert "$.hide[0]: " in done.stderr
    assert problem_with(entry) is not None
    assert wink("diff").stdout == ""


def test_the_usual_list_is_well_formed() -> None:
    """Each entry can be hidden, and none twice."""
    assert [entry for entry in USUALLY_HIDDEN if problem_with(entry) is not None] == []
    assert len(set(USUALLY_HIDDEN)) == len(USUALLY_HIDDEN)


def test_a_workspace_in_a_hidden_place_is_shown(tmp_path: Path) -> None:
    """To hide it would hide the workspace; what lies beside it is hidden by its own name."""
    (tmp_path / ".config/gh/project").mkdir(parents=True)
    (tmp_path / ".ssh").mkdir()

    kept = kept_from(f"{tmp_path}/.config/gh/project", [str(tmp_path)], {}, USUALLY_HIDDEN)

    assert kept.places == (f"{tmp_path}/.ssh",)


def test_what_is_hidden_can_neither_be_replaced_nor_kept_for_real(wink: Wink, home: Path) -> None:
    """A key that a program would put there is not there for the next one."""
    done = wink(
        "try",
        "--",
        "sh",
        "-c",
        "echo mine > ~/.ssh/authorized_keys; rm -rf ~/.ssh; mv ~/.aws ~/aws; ls -A ~/.ssh ~/aws",
    )
    assert "authorized_keys" not in done.stdout
    assert (home / ".ssh/id").read_text() == "secret-.ssh/id\n"
    assert "secret" not in wink("try", "--", "sh", "-c", "cat ~/aws/*").stdout
