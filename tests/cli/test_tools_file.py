"""`--tools FILE`: the functions of a file are tools, because the user says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]

WORDS = '''
"""Words cost $5."""
import dataclasses
from wink import tool, ToolContext
from wink.tools import Tool

@dataclasses.dataclass
class Count:
    words: int

@tool(effects="read")
def count_words(path: str, context: ToolContext) -> Count:
    """Count the words of a file.

    Blank lines do not count.
    """
    return Count(len(context.filesystem.read(path).content.split()))

@tool
def shout(text: str, times: int = 1) -> str:
    """Shout."""
    return text.upper() * times

def no_tool(text: str) -> str:
    return text
'''


@pytest.fixture
def words(tmp_path: Path) -> Path:
    file = tmp_path / "my_words.py"
    file.write_text(WORDS)
    return file


def test_a_file_is_enough(cli: Cli, words: Path) -> None:
    """No package, no entry point: a function with a decorator."""
    done = cli("call", "--tools", str(words), "count_words", "path=a.txt")

    assert (done.status, done.out, done.err) == (0, '{"words":2}\n', "")
    assert cli("call", "--tools", str(words), "shout", "text=a", "times=2").out == "AA\n"
    assert not list(words.parent.glob("__pycache__"))


def test_the_file_is_a_section(cli: Cli, words: Path) -> None:
    """Its docstring is the text, and what a function's says beyond a description is in it."""
    shown = cli("tools", "--tools", str(words)).out

    assert "count_words" in shown
    assert "no_tool" not in shown
    from wink.cli._tools_file import tools_section

    section = tools_section(str(words), str(words.parent / "place"))
    assert section.title == "My words"
    assert section.template_text() == "Words cost $$5.\n\n`count_words`: Blank lines do not count."


def test_a_run_is_given_the_file_again_to_go_on(cli: Cli, words: Path, script: Callable[[str], str]) -> None:
    """What a workspace has recorded cannot start a program."""
    turns = script('[[turn]]\n[[turn.call]]\ntool = "shout"\narguments = { text = "a" }\n\n[[turn]]\ntext = "Done."\n')

    done = cli("run", "Shout", "--tools", str(words), "--model", f"scripted:{turns}")

    assert (done.status, "Done." in done.out) == (0, True)
    assert cli("log").out.count("shout") == 1


def test_a_file_of_the_workspace_runs_only_as_the_user_trusted_it(cli: Cli, place: Path) -> None:
    """The agent that it is for could have written it."""
    file = place / "words.py"
    file.write_text(WORDS)
    call = ("call", "--tools", "words.py", "shout", "text=a")

    refused = cli(*call)
    assert refused.status == 2
    assert "wink trust --tools words.py" in refused.err
    assert cli("trust", "--tools", "words.py").status == 0
    assert cli(*call).out == "A\n"
    file.write_text(WORDS + "raise SystemExit(3)\n")
    changed = cli(*call)
    assert changed.status == 2
    assert "has changed since it was trusted" in changed.err
    assert cli("trust", "--tools", "words.py", "--revoke").status == 0
    file.write_text(WORDS)
    assert cli(*call).status == 2


def test_a_link_does_not_hide_where_a_file_lies(cli: Cli, place: Path, tmp_path: Path) -> None:
    """Neither one that leads into the workspace, nor one in it."""
    (place / "words.py").write_text(WORDS)
    (tmp_path / "outside.py").symlink_to(place / "words.py")
    (tmp_path / "real.py").write_text(WORDS)
    (place / "link.py").symlink_to(tmp_path / "real.py")

    assert "lies in the workspace" in cli("call", "--tools", str(tmp_path / "outside.py"), "shout", "text=a").err
    assert cli("call", "--tools", "link.py", "shout", "text=a").status == 2


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = (\n", "line 1: '(' was never closed"),
        ("\nx = 1 / 0\n", "ZeroDivisionError in line 2: division by zero"),
        ("raise SystemExit(1)\n", "SystemExit in line 1"),
        ("x = 1\n", "there is no tool in"),
        ("from wink import tool\n@tool\ndef f(a): ...\n", "there is no description"),
        ("from wink import tool\n@tool\ndef f(a): ...\n", "parameter 'a' has no type"),
        ("\0", "null bytes"),
    ],
)
def test_a_file_that_cannot_be_used_ends_with_one_line(cli: Cli, tmp_path: Path, source: str, said: str) -> None:
    """That says what to do."""
    file = tmp_path / "odd.py"
    file.write_text(source)

    done = cli("call", "--tools", str(file), "f")

    assert done.status == 2
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("path", ["missing.py", "a.txt", ".", "/dev/zero"])
def test_what_is_no_python_file_is_refused(cli: Cli, path: str) -> None:
    """Without reading it to its end."""
    assert cli("call", "--tools", path, "f").status == 2


def test_two_files_of_one_name_are_refused(cli: Cli, words: Path, tmp_path: Path) -> None:
    """Their sections would be one."""
    other = tmp_path / "other"
    other.mkdir()
    (other / words.name).write_text(WORDS)

    done = cli("tools", "--tools", str(words), "--tools", str(other / words.name))

    assert done.status == 2
    assert "have the same name" in done.err


def test_a_served_file_is_in_what_clients_are_told(cli: Cli, words: Path) -> None:
    """With its whole path: clients start servers anywhere."""
    done = cli("serve", str(words), "--print-config", "codex")

    assert f'"--tools", "{words}"' in done.out


def test_progress_is_told_while_a_run_goes_on(cli: Cli, tmp_path: Path, script: Callable[[str], str]) -> None:
    """A line for each, where nothing moves."""
    file = tmp_path / "walk.py"
    file.write_text(
        "from wink import tool\n@tool\ndef walk(n: int):\n"
        '    "Walk."\n    for i in range(1, n + 1):\n        yield i, n, "walking\x1b[31m"\n'
    )
    turns = script('[[turn]]\n[[turn.call]]\ntool = "walk"\narguments = { n = 2 }\n\n[[turn]]\ntext = "Done."\n')

    done = cli("run", "Walk", "--tools", str(file), "--model", f"scripted:{turns}")

    assert "(1 of 2)" in done.out + done.err
    assert "\x1b[31m" not in done.out + done.err


def test_the_users_own_settings_name_files_for_every_workspace(
    cli: Cli, words: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the workspace does not, nor a trusted one; a path that is neither absolute nor of the home is refused."""
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = tmp_path / "config/wink/wink.toml"
    settings.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (place / "wink.toml").write_text(f'tools_files = ["{words}"]\n')
    refused = cli("call", "shout", "text=a")
    assert refused.status == 2
    assert (
        "wink.toml:1: tools_files is not heeded in a file of the workspace; say it in your own settings" in refused.err
    )

    settings.write_text('tools_files = ["~/my_words.py"]\n')
    assert cli("call", "shout", "text=a").out == "A\n"
    assert cli("call", "--tools", str(words), "shout", "text=a").out == "A\n"
    settings.write_text('tools_files = ["my_words.py"]\n')
    done = cli("call", "shout", "text=a")
    assert done.status == 2
    assert "'my_words.py' must be absolute, or begin with ~/" in done.err
