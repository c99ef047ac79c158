"""Commands that plugins offer: listed without an import, run by their words, and never in the way of wink's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Done

from wink import __version__
from wink.cli import COMMANDS
from wink.testing import fake_distribution

Cli = Callable[..., Done]

RECAP = '''
"""What notes adds."""
import pathlib
import click
from wink.cli import one_line, open_workspace, wrong

pathlib.Path(__file__).with_suffix(".imported").touch()

@click.command()
@click.option("--workspace", default=".")
@click.option("--fail", type=click.Choice(["wrong", "bug"]))
def recap(workspace, fail):
    """Count the calls of a workspace.

    And nothing else.
    """
    if fail == "wrong":
        raise wrong("there is nothing to count; call a tool first")
    if fail == "bug":
        raise ZeroDivisionError("oh")
    with open_workspace(workspace) as opened:
        click.echo(f"{len(list(opened.calls()))} calls")
    return 0

@click.group()
def shelf():
    """Keep books."""

@shelf.command()
def add():
    """Add one."""
    click.echo("added")

made = click.Command("made", callback=lambda: 7)
'''


class Installed:
    """Distributions of one test, and which of their modules have been imported."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path, self._stack = path, stack

    def add(self, plugin: str, commands: dict[str, str], source: str = RECAP, **options: Any) -> None:
        """A distribution `wink-PLUGIN` with a module of its name, and these commands: word → attribute."""
        module = f"fake_{plugin}"
        points = {"wink.commands": {f"{plugin}.{word}": f"{module}:{name}" for word, name in commands.items()}}
        options = {"entry_points": points, "modules": {module: source}, "directory": self.path, **options}
        self._stack.enter_context(fake_distribution(f"wink-{plugin}", "1.0", **options))

    @property
    def imported(self) -> list[str]:
        return sorted(path.stem for path in self.path.glob("*.imported"))


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installed]:
    with ExitStack() as stack:
        yield Installed(tmp_path / "site", stack)


def by_strangers(help_text: str) -> dict[str, list[str]]:
    """What the help lists of each plugin that does not come with wink."""
    found: dict[str, list[str]] = {}
    for section in help_text.split("\nCommands of ")[1:]:
        title, *lines = section.rstrip("\n").splitlines()
        found[title] = [" ".join(line.split()) for line in lines]
    return {title: lines for title, lines in found.items() if f"(wink {__version__})" not in title}


def test_help_lists_them_by_plugin_and_imports_none(cli: Cli, installed: Installed) -> None:
    """After wink's own; each with the first line of its docstring, else its module's, which are read from the source."""
    installed.add("notes", {"recap": "recap", "made": "made", "shelf": "shelf"})
    installed.add("other", {"count": "recap"}, "def recap(): 'Tell 1 from 2 \\d'\n", summary="Other things")
    installed.add("silent", {"hush": "recap"}, "this is no Python", summary="Silence itself")

    done = cli("--help")

    assert (done.status, done.err) == (0, "")
    assert list(by_strangers(done.out).items()) == [
        (
            "notes (wink-notes 1.0):",
            ["made What notes adds.", "recap Count the calls of a workspace.", "shelf Keep books."],
        ),
        ("other (wink-other 1.0):", ["count Tell 1 from 2 \\d"]),
        ("silent (wink-silent 1.0):", ["hush Silence itself"]),
    ]
    assert installed.imported == []


def test_a_word_runs_its_command_and_imports_no_other_plugin(cli: Cli, installed: Installed) -> None:
    """Also a group's, also by the full name; the exit status is the command's."""
    installed.add("notes", {"recap": "recap", "made": "made", "shelf": "shelf"})
    installed.add("other", {"count": "recap"})

    assert cli("recap", "--workspace", ".") == Done(0, "0 calls\n", "")
    assert cli("notes.recap").out == "0 calls\n"
    assert cli("shelf", "add") == Done(0, "added\n", "")
    assert cli("made").status == 7
    assert cli("recap", "--help").out.startswith("Usage: wink recap [OPTIONS]")
    assert installed.imported == ["fake_notes"]


def test_what_goes_wrong_in_one_is_a_line_as_everywhere(cli: Cli, installed: Installed) -> None:
    """Wrong input has status 2, whether click sees it or the command; a mistake has status 1."""
    installed.add("notes", {"recap": "recap"})

    assert cli("recap", "--fail", "wrong") == Done(2, "", "wink: there is nothing to count; call a tool first\n")
    assert (
        cli("recap", "--fail").err
        == "wink: option '--fail' requires an argument; `wink recap --help` shows what it takes\n"
    )
    done = cli("recap", "--fail", "bug")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("wink: ZeroDivisionError: oh; the plugin's command recap failed, ")


def test_wink_s_own_words_cannot_be_taken(cli: Cli, installed: Installed) -> None:
    """Such a command is listed, and runs, under its full name alone."""
    installed.add("notes", {"log": "recap", "doctor": "shelf"})

    assert cli("log") == Done(0, "no calls yet\n", "")
    assert installed.imported == []
    (listed,) = by_strangers(cli("--help").out).values()
    assert [line.split()[0] for line in listed] == ["notes.doctor", "notes.log"]
    assert cli("notes.log").out == "0 calls\n"


def test_two_strangers_with_one_word_are_both_named_and_neither_runs(cli: Cli, installed: Installed) -> None:
    """Whoever meant one of them must not get the other. The full name, or switching one off, says which."""
    installed.add("notes", {"recap": "recap"})
    installed.add("other", {"recap": "shelf"})

    done = cli("recap")

    assert done == Done(
        2,
        "",
        "wink: `wink recap` is offered by notes.recap of wink-notes 1.0 and by other.recap of wink-other 1.0, and runs "
        "neither; give the full name, or disable one of them\n",
    )
    assert installed.imported == []
    assert cli("notes.recap").out == "0 calls\n"
    assert [word for word in cli("--help").out.split() if word.endswith("recap")] == ["notes.recap", "other.recap"]


def test_one_that_is_switched_off_is_in_nobody_s_way(
    cli: Cli, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is not run itself, which is said."""
    installed.add("notes", {"recap": "recap", "sum": "recap"})
    installed.add("other", {"recap": "shelf"})
    monkeypatch.setenv("WINK_DISABLE_PLUGINS", "notes")

    assert cli("recap", "add") == Done(0, "added\n", "")
    done = cli("sum")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("wink: command 'notes.sum' is disabled: WINK_DISABLE_PLUGINS = 'notes'; ")
    assert "sum" not in cli("--help").out.split()
    assert installed.imported == ["fake_other"]


HAS_TRIES = pytest.mark.skipif(find_spec("wink_sandbox") is None, reason="taken out, and then nobody's words")


@HAS_TRIES
@pytest.mark.parametrize("said", ['allow = ["files"]', 'allow = []\ndisable = ["sandbox"]', "allow = 3", "]["])
def test_no_workspace_takes_wink_s_own_commands_away(cli: Cli, installed: Installed, place: Path, said: str) -> None:
    """What was tried can be accepted whatever a workspace says that nobody trusts; nobody gets the word in their place."""
    installed.add("notes", {"recap": "recap", "tries": "recap"})
    (place / "wink.toml").write_text(f"[plugins]\n{said}\n")

    assert cli("tries").status == 0
    assert cli("accept", "--help").status == 0
    assert cli("recap").status == 2
    assert installed.imported == []


@HAS_TRIES
def test_no_settings_hand_a_word_of_wink_s_own_plugins_to_another(
    cli: Cli, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person may switch `wink tries` off, and does not get another package's in its place."""
    installed.add("notes", {"tries": "recap"})
    monkeypatch.setenv("WINK_DISABLE_PLUGINS", "sandbox")

    done = cli("tries")

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("wink: command 'sandbox.tries' is disabled: ")
    assert installed.imported == []


@HAS_TRIES
def test_what_a_program_is_given_says_nothing_of_the_workspace(cli: Cli, installed: Installed, tmp_path: Path) -> None:
    """The option `--workspace` after `--` is the program's."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "wink.toml").write_text("][")

    assert cli("tries", "--", "--workspace", str(tmp_path / "other")).err.startswith("wink: got unexpected extra arg")


@pytest.mark.parametrize("wink", [[str(Path(sys.executable).with_name("wink"))], [sys.executable, "-m", "wink"]])
def test_help_is_there_where_the_directory_is_gone(tmp_path: Path, wink: list[str]) -> None:
    """It lists wink's own, and says why no others."""
    words = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"', *wink, "--help"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "  undo " in done.stdout
    assert "it has been deleted" in done.stdout


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            (
                "import click, sys\nclass C(click.Command):\n    @property\n    def help(self): sys.exit(7)\n"
                "    @help.setter\n    def help(self, text): pass\nrecap = C('recap')"
            ),
            "SystemExit: 7",
        ),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys; print('hello'); sys.exit(0)", "SystemExit: 0"),
        ("recap = 7", "fake_notes:recap is int, not a command or group of click"),
        ("def recap(): pass", "fake_notes:recap is function, not a command or group of click"),
        ("", "AttributeError: module 'fake_notes' has no attribute 'recap'"),
    ],
)
def test_a_broken_one_costs_one_line(cli: Cli, installed: Installed, source: str, reason: str) -> None:
    """Whatever its module does; and `wink plugins check` finds it."""
    installed.add("notes", {"recap": "recap"}, source)

    done = cli("recap")

    assert (done.status, done.out) == (2, "")
    assert done.err.removeprefix("hello\n") == f"wink: command 'notes.recap' of wink-notes is broken: {reason}\n"
    checked = cli("plugins", "check")
    assert checked.status == 1
    assert reason in checked.out


def test_one_without_a_proper_target_is_listed_as_that(cli: Cli, installed: Installed) -> None:
    """A list with a hole in it would have people look elsewhere."""
    installed.add("notes", {}, entry_points={"wink.commands": {"notes.recap": "fake_notes"}})

    assert "is not <module>:<attribute>" in " ".join(cli("--help").out.split())
    assert cli("recap").status == 2


def test_a_word_that_nobody_offers_is_compared_with_all(cli: Cli, installed: Installed) -> None:
    """Plugins' words are as good as wink's."""
    installed.add("notes", {"recap": "recap"})

    assert cli("recup") == Done(2, "", "wink: there is no command 'recup'; did you mean 'recap'?\n")


def test_settings_that_make_no_sense_do_not_take_help_away(cli: Cli, installed: Installed, place: Path) -> None:
    """A plugin's command does not run, since they may well switch it off; wink's own are listed still."""
    installed.add("notes", {"recap": "recap"})
    (place / "wink.toml").write_text("plugins = 7")

    done = cli("--help")

    assert done.status == 0
    assert all(command in done.out.split() for command in COMMANDS)
    assert "not listed: " in done.out
    assert cli("recap").status == 2
    assert installed.imported == []


def test_the_workspace_s_settings_can_switch_one_off(cli: Cli, installed: Installed, place: Path) -> None:
    """Those of the workspace that the command is to work on, as for every offer."""
    installed.add("notes", {"recap": "recap"})
    (place / "there").mkdir()
    (place / "there" / "wink.toml").write_text('plugins.disable = ["notes"]')

    assert cli("recap", "--workspace", "there").status == 2
    assert installed.imported == []
    assert cli("recap").status == 0


def test_what_lies_in_the_workspace_offers_nothing(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent can write a distribution there, and the directory may be on the path."""
    with fake_distribution(
        "wink-notes", entry_points={"wink.commands": {"notes.recap": "fake_notes:recap"}}, modules={"fake_notes": RECAP},
        directory=place,
    ):  # fmt: skip
        assert "recap" not in cli("--help").out.split()
        assert cli("recap").status == 2
        assert not (place / "fake_notes.imported").exists()
        monkeypatch.chdir("/")
        assert cli("recap", "--workspace", str(place)).status == 2
        assert cli("recap", f"--workspace={place}").status == 2
        assert not (place / "fake_notes.imported").exists()


def test_wink_s_own_commands_look_for_no_plugins(place: Path) -> None:
    """They start as fast with a thousand distributions as with none."""
    program = (
        "import sys; from wink.cli import run; status = run(['log']); "
        "print(status, *sorted(name for name in sys.modules if name.startswith(('wink.plugins._find', 'wink.cli._offered'))))"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, text=True, check=True)

    assert done.stdout == "no calls yet\n0\n"


def test_they_are_listed_among_the_offers(cli: Cli, installed: Installed) -> None:
    """As a kind of their own, and shown with what they say."""
    installed.add("notes", {"recap": "recap", "shelf": "shelf"})

    assert "commands recap, shelf" in cli("plugins").out
    shown = cli("plugins", "show", "notes")
    assert "command notes.recap - Count the calls of a workspace." in shown.out
    assert cli("plugins", "check").status == 0
