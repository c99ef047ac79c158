"""Rules in settings: where they come from, and that a workspace's own can only restrict."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.conftest import Done

from wink.cli.settings._rules import OWN, WORKSPACE, rule_settings
from wink.errors import RulesError, SettingsError
from wink_rules import Rule, RulesPolicy

Cli = Callable[..., Done]
SECRET = '[[rules]]\naction = "deny"\npaths = "**/.env"\nreason = "it is secret"\n'
ALLOW_ALL = '[[rules]]\naction = "allow"\n'


@pytest.fixture
def own(tmp_path: Path, place: Path) -> Callable[[str], None]:
    """Write the user's own settings."""
    del place

    def write(text: str) -> None:
        file = tmp_path / "home" / ".config" / "wink" / "wink.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


Own = Callable[[str], None]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wink.toml", SECRET),
        ("wink.toml", SECRET.replace("[[rules]]", "[[tool.wink.rules]]")),
        ("pyproject.toml", '[project]\nname = "x"\n' + SECRET.replace("[[rules]]", "[[tool.wink.rules]]")),
        ("wink.toml", 'rules = [{ action = "deny", paths = "**/.env", reason = "it is secret" }]\n'),
    ],
)
def test_rules_of_the_workspace_govern_calls(cli: Cli, place: Path, name: str, text: str) -> None:
    """Both files that settings may be in, and each way to write them."""
    (place / name).write_text(text)
    (place / ".env").write_text("KEY=1")

    done = cli("call", "read_file", "file_path=./x/../.env")

    assert done.status == 1
    assert done.err == "read_file on '.env' is denied: it is secret\n"
    assert cli("call", "read_file", "file_path=a.txt").status == 0


def test_rules_of_the_user_govern_every_workspace(cli: Cli, own: Own) -> None:
    """They lie where no agent works."""
    own(SECRET)

    assert cli("call", "write_file", "file_path=.env", "content=x").err.endswith("is denied: it is secret\n")


def test_rules_govern_a_model_as_they_govern_a_person(cli: Cli, place: Path, script: Callable[[str], str]) -> None:
    """`run` composes its prompt as `call` does."""
    (place / "wink.toml").write_text(SECRET)
    call = '[[turn.call]]\ntool = "read_file"\narguments = { file_path = ".env" }\n'
    turns = script(f'[[turn]]\n{call}[[turn]]\ntext = "done"\n')
    (place / ".env").write_text("KEY=1")

    done = cli("run", "Read it.", "--model", f"scripted:{turns}", "--json")

    assert "it is secret" in done.out


def test_asking_waits_for_a_person(cli: Cli, place: Path) -> None:
    """What a rule asks about is not done, and the text says how it can be."""
    (place / "wink.toml").write_text('[[rules]]\naction = "ask"\ntools = "write_file"\nreason = "look first"\n')

    done = cli("call", "write_file", "file_path=b.txt", "content=x")

    assert done.status == 1
    assert "look first" in done.err
    assert not (place / "b.txt").exists()


@pytest.mark.parametrize("default", ["deny", "ask"])
def test_an_allow_of_the_workspace_opens_nothing(cli: Cli, place: Path, own: Own, default: str) -> None:
    """An agent that edits `wink.toml` must not be able to let itself do more."""
    own(f'rules_default = "{default}"\n[[rules]]\naction = "allow"\ntools = "ls"\n')
    (place / "wink.toml").write_text('rules_default = "allow"\n' + ALLOW_ALL)

    done = cli("call", "write_file", "file_path=b.txt", "content=x")

    assert done.status == 1
    assert not (place / "b.txt").exists()
    assert "wink.toml:2 (and 1 more) is not heeded: a workspace's settings only restrict" in done.err
    assert len(done.err.splitlines()) == 2


@pytest.mark.parametrize("action", ["deny", "ask"])
def test_an_allow_of_the_workspace_beats_no_rule_of_the_user(cli: Cli, place: Path, own: Own, action: str) -> None:
    """Deny beats ask beats allow, whoever says it."""
    own(f'[[rules]]\naction = "{action}"\ntools = "write_file"\n')
    (place / "wink.toml").write_text(ALLOW_ALL)

    assert cli("call", "write_file", "file_path=b.txt", "content=x").status == 1


def test_a_workspace_may_hold_itself_to_a_list(cli: Cli, place: Path) -> None:
    """Its `allow` lifts what it holds back itself, and that is not loosening."""
    (place / "wink.toml").write_text('rules_default = "deny"\n[[rules]]\naction = "allow"\ntools = "read_file"\n')

    allowed = cli("call", "read_file", "file_path=a.txt")
    assert (allowed.status, allowed.err) == (0, "")
    assert cli("call", "write_file", "file_path=b.txt", "content=x").status == 1


def test_a_limit_of_the_workspace_restricts_even_as_an_allow(cli: Cli, place: Path) -> None:
    """`allow` with `at_most` says that no more than that is allowed."""
    (place / "wink.toml").write_text('[[rules]]\naction = "allow"\ntools = "ls"\nat_most = 1\n')

    assert [cli("call", "ls").status for _ in range(2)] == [0, 1]


ACTIONS = ["allow", "deny", "ask"]
FILES = st.tuples(
    st.none() | st.sampled_from(ACTIONS),
    st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from("ab*")), max_size=3),
)


def written(file: tuple[str | None, list[tuple[str, str]]]) -> str:
    default, rules = file
    head = "" if default is None else f'rules_default = "{default}"\n'
    return head + "".join(f'[[rules]]\naction = "{action}"\ntools = "{tools}"\n' for action, tools in rules)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILES, FILES, FILES)
def test_whatever_a_workspace_says_nothing_opens(tmp_path: Path, own: object, wink: object, project: object) -> None:
    """For any rules of the user and any of the workspace: every call is held back at least as much as without these."""
    workspace, home = tmp_path / "w", tmp_path / "h"
    (home / ".config" / "wink").mkdir(parents=True, exist_ok=True)
    workspace.mkdir(exist_ok=True)
    environ = {"HOME": str(home)}
    (home / ".config" / "wink" / "wink.toml").write_text(written(own))  # type: ignore[arg-type]
    for name in ("wink.toml", "pyproject.toml"):
        (workspace / name).unlink(missing_ok=True)
    alone = rule_settings(str(workspace), environ).policies
    (workspace / "wink.toml").write_text(written(wink))  # type: ignore[arg-type]
    text = written(project).replace("[[rules]]", "[[tool.wink.rules]]")  # type: ignore[arg-type]
    (workspace / "pyproject.toml").write_text(f"[tool.wink]\n{text}" if text else "")
    together = rule_settings(str(workspace), environ).policies

    for tool in "abc":
        assert _rank(together, tool) >= _rank(alone, tool)


def _rank(policies: tuple[RulesPolicy, ...], name: str) -> int:
    from wink.filesystem import Filesystem, InMemoryFilesystem
    from wink.prompt import Prompt, PromptTemplate
    from wink.session import Session
    from wink.tools import Tool, ToolContext

    prompt = Prompt(PromptTemplate(ns="t", key="k")).bind(resources={Filesystem: InMemoryFilesystem()})
    tool = Tool[None, None](name, "Do it.")
    context = ToolContext(prompt, None, None, Session())  # type: ignore[arg-type]
    decisions = [policy.check(tool, None, context=context) for policy in policies]
    return max((0 if one.allowed else 1 if one.asks else 2 for one in decisions), default=0)


def test_everything_wrong_in_every_file_is_said_at_once(cli: Cli, place: Path, own: Own) -> None:
    """With the file and the line of the rule, wherever it is."""
    (place / "wink.toml").write_text('[[rules]]\naction = "deny"\n\n[[rules]]\naction = "dny"\ntool = "rm"\n')
    (place / "pyproject.toml").write_text('[tool.wink]\nrules_default = "no"\n')
    own('\n\n[[rules]]\naction = "deny"\npaths = "/etc"\n')

    done = cli("call", "ls")

    assert done.status == 2
    assert done.out == ""
    for problem in (
        "wink.toml:4: action must be 'allow', 'deny' or 'ask', not 'dny'",
        "wink.toml:4: a rule has no key 'tool'; did you mean 'tools'?",
        "pyproject.toml:2: tool.wink.rules_default must be 'allow', 'deny' or 'ask', not 'no'",
        "~/.config/wink/wink.toml:3: '/etc' begins with '/'",
    ):
        assert problem in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[rule]]\naction = "deny"', "$.rule: there is no such setting; did you mean 'rules'?"),
        ('[[tool.wink.ruls]]\naction = "deny"', "$.tool.wink.ruls: there is no such setting; did you mean 'rules'?"),
        ('rule_default = "deny"', "did you mean 'rules_default'?"),
        ('rules-default = "deny"', "did you mean 'rules_default'?"),
        ('action = "deny"', "$.action: there is no such setting; did you mean 'action' in [[rules]]?"),
        ('[rule]\naction = "deny"', "did you mean 'rules'?"),
        (
            '[tool.wink.wink]\nrules_default = "deny"',
            "$.tool.wink.wink: there is no such setting; what a plugin is told",
        ),
        ("[shell]\ncheck = 3", "stands in [plugins.shell], and else there are plugins, rules, "),
        *(
            (f"{one.name} = 3", f"did you mean '{one.name}' in [[rules]]?")
            for one in fields(Rule)
            if one.name != "origin"
        ),
        ('[[rules]]\naction = "deny"\n[[tool.wink.rules]]\naction = "deny"', "has both [rules] and [tool.wink.rules]"),
    ],
)
def test_misspelt_rules_are_not_taken_for_none(tmp_path: Path, text: str, problem: str) -> None:
    """Going on without them would let through what they deny."""
    (tmp_path / "wink.toml").write_text(text)

    with pytest.raises(SettingsError) as raised:
        rule_settings(str(tmp_path), {"HOME": str(tmp_path / "home")})

    assert problem in str(raised.value)


def test_a_table_in_place_of_a_list_is_refused(tmp_path: Path) -> None:
    """`[rules]` is easily typed for `[[rules]]`."""
    (tmp_path / "wink.toml").write_text('\n[rules]\naction = "deny"\n')

    with pytest.raises(RulesError, match=r"wink\.toml.*: rules must be tables, each beginning with \[\[rules\]\]"):
        rule_settings(str(tmp_path), {"HOME": str(tmp_path / "home")})


def test_a_rule_that_may_be_meant_for_another_name_is_pointed_out(cli: Cli, place: Path) -> None:
    """A name that no tool has is no error: its plugin may be used another time. One that looks like another is said."""
    (place / "wink.toml").write_text(
        '[[rules]]\naction = "deny"\ntools = "wite_file"\n'
        '[[rules]]\naction = "deny"\ntools = "kubectl"\n'
        '[[rules]]\ntools = "rm"\nrequires = "read_fil"\n'
        '[[rules]]\naction = "deny"\ntools = "grep"\narguments.patern = "x"\n'
    )

    done = cli("call", "ls")

    assert done.status == 0
    assert done.err.splitlines() == [
        "wink: wink.toml:1: there is no tool 'wite_file' here; did you mean 'write_file'?",
        "wink: wink.toml:7: there is no tool 'read_fil' here; did you mean 'read_file'?",
        "wink: wink.toml:10: grep takes no argument 'patern', so this rule never fits",
    ]


def test_settings_of_a_plugin_that_are_not_heeded_are_said_in_a_line(cli: Cli, place: Path) -> None:
    """Not as a warning of Python's, with the line of its source."""
    (place / "wink.toml").write_text("[plugins.shell]\nnetwork = true\n")

    done = cli("tools", "--section", "shell.commands")

    assert done.status == 0
    assert done.err == (
        "wink: plugin 'shell': wink.toml:1: network is not heeded, a file of the workspace can only tighten; "
        "set it in your own settings, or trust the file with `wink trust`\n"
    )


def test_the_policies_have_names_to_be_known_by(tmp_path: Path) -> None:
    """The record and `wink explain` say who denied."""
    workspace, config = tmp_path / "w", tmp_path / "home" / ".config" / "wink"
    config.mkdir(parents=True)
    workspace.mkdir()
    for directory in (workspace, config):
        (directory / "wink.toml").write_text(SECRET)

    found = rule_settings(str(workspace), {"HOME": str(tmp_path / "home")})

    assert [policy.name for policy in found.policies] == [OWN, WORKSPACE] == ["rules", "workspace-rules"]


def test_the_users_file_inside_the_workspace_only_restricts(tmp_path: Path) -> None:
    """Whoever works on their home directory lets an agent edit what is in it."""
    config = tmp_path / ".config" / "wink"
    config.mkdir(parents=True)
    (config / "wink.toml").write_text(SECRET + ALLOW_ALL)

    (policy,) = rule_settings(str(tmp_path), {"HOME": str(tmp_path)}).policies

    assert policy.name == WORKSPACE


def test_the_demo_is_not_governed(cli: Cli, own: Own) -> None:
    """It works on a copy, by a script that is known."""
    own('rules_default = "deny"\n')

    assert cli("demo", "--json").status == 0


def test_settings_without_rules_load_none(place: Path) -> None:
    """Starting a command must not get slower by what is not used."""
    (place / "wink.toml").write_text('[plugins]\ndisable = ["demo"]\n')
    source = "import sys; from wink.cli._main import run; run(['call', 'ls']); print('wink_rules' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=place, env=dict(os.environ), capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "False"


def test_rules_that_nothing_is_installed_for_are_not_passed_over(place: Path) -> None:
    """Without the plugin that judges by them no call is let through, and settings without rules need none."""
    source = (
        "import sys; sys.modules['wink_rules'] = None; from wink.cli._main import run; sys.exit(run(['call', 'ls']))"
    )

    def call() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", source], cwd=place, env=dict(os.environ), capture_output=True, text=True, check=False
        )

    assert call().returncode == 0
    (place / "wink.toml").write_text('[[rules]]\naction = "deny"\ntools = "rm"\n')
    refused = call()
    assert refused.returncode == 2
    assert "there are rules in the settings, and" in refused.stderr
