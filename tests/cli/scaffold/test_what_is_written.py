"""A package of every kind, installed as it was written: what its README promises holds.

Its own tests, types and style are tried with a built wheel by `nox -s scaffold`.
"""

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from wink import Catalog, Prompt, Settings, __version__
from wink.cli import run
from wink.cli.scaffold import KINDS, Package, files_of
from wink.testing import fake_distribution

PACKAGE = Package("git-tools", tuple(KINDS), __version__)
FILES = files_of(PACKAGE)
README = FILES["README.md"]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package on `sys.path`, with its entry points, and an empty directory to work in."""
    sources = f"src/{PACKAGE.module}/"
    modules = {
        path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", "."): text
        for path, text in FILES.items()
        if path.startswith(sources) and path.endswith(".py")
    }
    points = tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"]
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with fake_distribution(PACKAGE.distribution, entry_points=points, modules=modules):
        yield


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_every_program_in_the_readme_runs(tmp_path: Path) -> None:
    """Whoever copies one has it work."""
    programs = blocks("python")
    assert len(programs) == len(KINDS) - 2  # the adapter and the command are shown at a shell
    for text in programs:
        names: dict[str, object] = {}
        exec(text, names)
        if "over" in names:
            with ZipFile(tmp_path / "a.zip", "w") as archive:
                archive.writestr("a.txt", "one")
            prompt = names["over"](str(tmp_path / "a.zip"))  # type: ignore[operator]
            assert isinstance(prompt, Prompt)
            assert prompt.filesystem().read("a.txt").content == "one"


def test_every_command_in_the_readme_does_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of wink; those that install need an index."""
    commands = [line for text in blocks("console") for line in text.splitlines() if line.startswith("$ wink ")]
    outputs: dict[str, tuple[int, str]] = {}
    (model,) = [text for text in blocks("console") if "model.py" in text]
    program = model.partition("$ cat model.py\n")[2].partition("$ ")[0]
    Path("model.py").write_text(program)
    for command in commands:
        words = [word.replace("python model.py", f"{sys.executable} model.py") for word in shlex.split(command)[2:]]
        outputs[command] = run(words), "".join(capsys.readouterr())
    said = list(outputs.values())
    assert [status for status, _ in said] == [0, 0, 0, 0, 0, 1, 0, 0, 0], outputs
    assert "slow_seconds = 10.0" in said[0][1]
    assert "git_tools_add_note" in said[1][1]
    assert "[tests] The tests need a database" in said[2][1]
    assert "1 of 1 notes" in said[3][1]
    assert "undone c1" in said[4][1]
    assert "nothing is to be changed here" in said[5][1]
    assert "I looked around." in said[6][1]
    assert "ls" in said[7][1]
    assert "git-tools" in said[8][1]


def test_the_settings_in_the_readme_are_taken() -> None:
    """The table is what the plugin declares."""
    (table,) = blocks("toml")
    values = tomllib.loads(table)["tool"]["wink"]["plugins"]["git-tools"]
    own = Catalog.installed(Settings(plugins={"git-tools": values})).own_settings("git-tools")
    assert own.slow_seconds == 2.5


def test_every_offer_can_be_had_by_its_name(tmp_path: Path) -> None:
    """Together in one catalog, as a template would."""
    catalog = Catalog.installed()
    with ZipFile(tmp_path / "a.zip", "w"):
        pass

    assert [tool.name for tool in catalog.use("section", "git-tools.notebook").tools()] == [
        "git_tools_add_note",
        "git_tools_find_notes",
    ]
    assert catalog.use("policy", "git-tools.read-only").name == "git-tools.read-only"
    files = catalog.use("filesystem", "git-tools.zip", path=str(tmp_path / "a.zip"))
    assert [entry.path for entry in files.list("")] == []
    assert catalog.use("adapter", "git-tools.command", model="cat") is not None
    assert catalog.use("command", "git-tools.git-tools").name == "recap"
    catalog.load_all()
    (plugin,) = catalog.plugin("git-tools")
    assert (plugin.state, plugin.reason) == ("loaded", "")


def test_the_check_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """As in the CI of its author."""
    assert run(["plugins", "check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["plugins"]
    assert [one["state"] for one in found if one["name"] == "git-tools"] == ["loaded"]
