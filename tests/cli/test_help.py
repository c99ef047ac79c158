"""The list of commands, `wink help`, and what shells complete."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli import COMMANDS
from wink.testing import fake_distribution

Cli = Callable[..., Done]

WORDS = {
    # what stands before the cursor, and some and none of what is offered
    "wink sta": ({"status"}, {"log", "try"}),
    "wink acc": ({"accept"}, {"drop"}),
    "wink log --ses": ({"--session"}, {"--json"}),
    "wink log --outcome r": ({"raised", "refused"}, {"ok"}),
    "wink completion ": ({"bash", "zsh", "fish"}, set[str]()),
    "wink show --no-such": (set[str](), {"--json"}),
}


def test_every_command_stands_in_a_group_once(cli: Cli) -> None:
    lines = [line.split()[0] for line in cli("--help").out.splitlines() if line.startswith("  ") and line[2] != " "]

    for name in COMMANDS:
        assert lines.count(name) == 1, name
    assert {"try", "accept", "serve", "ui"} <= set(lines)
    assert "Commands of sandbox" not in cli("--help").out


def test_a_stranger_stands_under_its_own_name(cli: Cli) -> None:
    """Also where its word is one that wink groups."""
    with fake_distribution(
        "wink-odd",
        entry_points={"wink.commands": {"odd.update": "wink_odd:update"}},
        modules={"wink_odd": "import click\n@click.command()\ndef update():\n    'Do odd things.'\n"},
    ):
        text = cli("--help").out

    assert "Commands of odd (wink-odd 1.0):\n  " in text


def test_help_is_the_same_by_either_way(cli: Cli) -> None:
    assert cli("help").out == cli("--help").out
    assert cli("help", "log").out == cli("log", "--help").out
    assert cli("help", "accept").out == cli("accept", "--help").out


@pytest.mark.parametrize(("word", "hint"), [("lgo", "did you mean 'log'?"), ("--x", "--x")])
def test_help_for_what_is_no_command_is_wrong_input(cli: Cli, word: str, hint: str) -> None:
    done = cli("help", word)

    assert (done.status, done.out) == (2, "")
    assert hint in done.err


def test_nonsense_from_a_shell_is_answered_by_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in ("bash_source", "tcsh_complete", "bash", "bash_complete"):  # the last lacks what bash sets
        monkeypatch.setenv("_WINK_COMPLETE", asked)
        monkeypatch.delenv("COMP_WORDS", raising=False)
        done = cli()
        assert (done.status, done.out) == (1, "")


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a shell that finds this wink."""
    found = tmp_path / "bin"
    found.mkdir()
    (found / "wink").write_text(f'#!/bin/sh\nexec {sys.executable} -m wink "$@"\n')
    (found / "wink").chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "PATH": f"{found}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize("line", WORDS)
def test_bash_completes(shell: dict[str, str], place: Path, line: str) -> None:
    script = """
        eval "$(wink completion bash)"
        COMP_WORDS=($LINE); [ "${LINE% }" = "$LINE" ] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
        _wink_completion wink
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    offered = words_of(["bash", "--norc", "-c", script], {**shell, "LINE": line})

    some, none = WORDS[line]
    assert some <= offered
    assert not none & offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize("line", WORDS)
def test_fish_completes(shell: dict[str, str], place: Path, line: str) -> None:
    script = 'wink completion fish | source; complete -C "$LINE"'
    offered = words_of(["fish", "--no-config", "-c", script], {**shell, "LINE": line})

    some, none = WORDS[line]
    assert some <= offered
    assert not none & offered


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
@pytest.mark.parametrize("line", WORDS)
def test_zsh_completes(shell: dict[str, str], place: Path, line: str) -> None:
    """What the function hands to zsh's own, which would show it in a terminal."""
    script = """
        compdef() { : }
        _describe() { print -rl -- $completions_with_descriptions }
        compadd() { print -rl -- $completions }
        _path_files() { : }
        source <(wink completion zsh)
        words=(${=LINE}); [[ $LINE == *' ' ]] && words+=("")
        CURRENT=$#words
        _wink_completion
    """
    offered = words_of(["zsh", "-f", "-c", script], {**shell, "LINE": line})

    some, none = WORDS[line]
    assert some <= {word.partition(":")[0] for word in offered}
    assert not none & {word.partition(":")[0] for word in offered}


def words_of(command: list[str], environment: dict[str, str]) -> set[str]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert "rror" not in done.stderr, done.stderr
    return {line.split("\t")[0] for line in done.stdout.splitlines()}
