"""Plugins that pip has installed into a virtual environment that lies in the workspace, as people have it."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.plugins.wild import GOOD

from wink.plugins import Catalog

HATCHLING = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0"
description = "Keeps notes"
dependencies = ["wink>=0.1,<2"]

[project.entry-points."wink.sections"]
"{plugin}.notebook" = "{module}:section"

[project.entry-points."wink.commands"]
"{plugin}.greet-{plugin}" = "{module}.commands:greet"

[tool.hatch.build.targets.wheel]
packages = ["src/{module}"]
"""
SETUPTOOLS = (
    HATCHLING.partition("\n[tool.")[0]
    .replace('"hatchling"', '"setuptools"')
    .replace("hatchling.build", "setuptools.build_meta")
)
COMMAND = '''
import click

@click.command()
def greet():
    """Greet whoever asks, from {module}."""
    click.echo("hello from {module}")
'''
CALL = """
from wink.plugins import Catalog
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
for name in {names!r}:
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[Catalog.installed(workspace=".").use("section", name)]))
    session = Session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    print(executor.execute(ToolCall("healthy_say", {{}})).text)
"""


class Place(NamedTuple):
    """A workspace with a virtual environment in it."""

    root: Path

    @property
    def python(self) -> str:
        return str(self.root / ".venv" / "bin" / "python")

    def project(self, plugin: str, template: str) -> Path:
        """A project in the workspace that offers a section."""
        module = f"{plugin}_package"
        project = self.root / plugin
        (project / "src" / module).mkdir(parents=True)
        (project / "src" / module / "__init__.py").write_text(GOOD)
        (project / "src" / module / "commands.py").write_text(COMMAND.format(module=module))
        names = {"name": f"wink-{plugin}", "plugin": plugin, "module": module}
        (project / "pyproject.toml").write_text(template.format(**names))
        return project

    def run(self, *arguments: str, status: int = 0) -> str:
        # The workspace is on the path, as a careless `PYTHONPATH=.` puts it there.
        done = subprocess.run(
            [self.python, *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONPATH": str(self.root), "HOME": str(self.root.parent)},
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    def plugins(self, *arguments: str, status: int = 0) -> dict[str, Any]:
        """What `wink plugins --json` says, by plugin, and what was ignored."""
        said = json.loads(self.run("-P", "-m", "wink", "plugins", *arguments, "--json", status=status))
        return {one["name"]: one for one in said["plugins"]} | {"ignored": said["ignored"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two editable installs and an ordinary one, made by pip; and a distribution that nobody installed."""
    root = tmp_path_factory.mktemp("workspace").resolve() / "work"
    venv.create(root / ".venv", symlinks=True, with_pip=False)
    (own,) = (root / ".venv" / "lib").glob("python3*/site-packages")
    # What the tests run with, wink and pip among it, is seen from in there too.
    outside = "".join(f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages())
    (own / "outside.pth").write_text(outside)
    found = Place(root)
    editable = [found.project("hatched", HATCHLING), found.project("setup", SETUPTOOLS)]
    plain = found.project("plain", HATCHLING)
    found.run(
        *("-m", "pip", "--isolated", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"),
        *("--no-build-isolation", *(word for project in editable for word in ("-e", str(project))), str(plain)),
    )
    # As older versions of setuptools, and every build, leave it; the project's `src` is on the path.
    subprocess.run(
        [found.python, "-c", "import setuptools; setuptools.setup()", "-q", "egg_info"], cwd=editable[1], check=True
    )
    planted = root / "planted-1.0.dist-info"
    planted.mkdir()
    (planted / "entry_points.txt").write_text(
        "[wink.sections]\nplanted.notes = planted:section\n[wink.commands]\nplanted.plant = planted:command\n"
    )
    (root / "planted.py").write_text("open('imported', 'w')\n" + GOOD)
    return found


def test_an_environment_in_the_workspace_is_trusted(place: Place) -> None:
    """A person installs there; that it lies in the workspace changes nothing. What lies beside it is another matter."""
    said = place.plugins()

    assert {name: said[name]["state"] for name in ("hatched", "setup", "plain")} == dict.fromkeys(
        ("hatched", "setup", "plain"), "available"
    )
    assert [said[name]["editable"] for name in ("hatched", "setup", "plain")] == [True, True, False]
    assert said["plain"]["location"].startswith(str(place.root / ".venv"))
    assert (said["plain"]["distribution"], said["plain"]["summary"]) == ("wink-plain", "Keeps notes")
    assert (said["plain"]["version"], said["plain"]["requires_wink"]) == ("1.0", "<2,>=0.1")
    assert "planted" not in said


def test_what_was_not_installed_is_ignored_and_said_so(place: Place) -> None:
    """Only that: the `.egg-info` that setuptools leaves in a project is the same installation as the editable one."""
    assert (place.root / "setup" / "src" / "wink_setup.egg-info").is_dir()

    (ignored,) = place.plugins("list")["ignored"]

    assert ignored["distribution"] == "planted"
    assert ignored["reason"] == f"lies inside {place.root}, where an agent could have written it"
    assert not (place.root / "imported").exists()
    assert "planted is ignored: lies inside" in place.run("-P", "-m", "wink", "plugins", "why", "planted")


def test_each_of_them_can_be_used(place: Place) -> None:
    """Through the whole pipeline, in a fresh process."""
    names = ["hatched.notebook", "setup.notebook", "plain.notebook"]

    assert place.run("-P", "-c", CALL.format(names=names)).split() == ["well"] * 3
    states = {name: one["state"] for name, one in place.plugins("check").items() if name != "ignored"}
    assert {states["hatched"], states["setup"], states["plain"]} == {"loaded"}


def test_an_editable_install_goes_stale_and_says_how_to_mend_it(place: Place) -> None:
    """Entry points are copied when a project is installed, and its author changes them afterwards."""
    pyproject = place.root / "hatched" / "pyproject.toml"
    before = pyproject.read_text()
    more = (
        '\n[project.entry-points."wink.policies"]\n"hatched.strict" = "hatched_package:strict"\n"late.strict" = "a:b"\n'
    )
    pyproject.write_text(before.replace("\n[tool.", more + "\n[tool."))
    try:
        said = place.plugins()["hatched"]
        unknown = subprocess.run(
            [place.python, "-P", "-m", "wink", "plugins", "why", "late"],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=place.root,
            check=False,
        )
    finally:
        pyproject.write_text(before)

    assert said["state"] == "stale"
    assert said["reason"] == "pyproject.toml adds policy hatched.strict; run `pip install -e` again"
    assert unknown.returncode == 2
    assert f"{pyproject} declares it, and what is installed does not; run `pip install -e` again" in unknown.stderr


def test_a_wheel_on_the_path_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python imports from zip files, and so must what is found in them."""
    wheel = tmp_path / "wink_zipped-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as opened:
        opened.writestr("zipped_package.py", GOOD)
        opened.writestr("wink_zipped-1.0.dist-info/METADATA", "Name: wink-zipped\nVersion: 1.0\n")
        opened.writestr(
            "wink_zipped-1.0.dist-info/entry_points.txt", "[wink.sections]\nzipped.a = zipped_package:section\n"
        )
        opened.writestr("bad-1.0.dist-info/entry_points.txt", b"[wink.sections]\nbad.caf\xe9 = a:b\n")
    (tmp_path / "broken.whl").write_bytes(b"PK\x03\x04 and no more")
    monkeypatch.setattr(sys, "path", [str(wheel), *sys.path])

    catalog = Catalog.installed(paths=[str(tmp_path / "broken.whl"), str(wheel)])

    assert {plugin.name: plugin.state for plugin in catalog.plugins} == {"bad": "broken", "zipped": "available"}
    assert catalog.use("section", "zipped.a").key == "section"
    sys.modules.pop("zipped_package")


def test_their_commands_are_wink_s_too(place: Place) -> None:
    """Listed with what their sources say, however they are installed, and run by their words; what was planted is neither."""
    said = place.run("-P", "-m", "wink", "--help")

    for plugin in ("hatched", "plain", "setup"):
        heading, listed = (
            f"Commands of {plugin} (wink-{plugin} 1.0):",
            f"greet-{plugin}  Greet whoever asks, from {plugin}_package.",
        )
        assert heading in said
        assert listed in said
        assert place.run("-P", "-m", "wink", f"greet-{plugin}") == f"hello from {plugin}_package\n"
    assert "plant " not in said
    place.run("-P", "-m", "wink", "plant", status=2)
    place.run("-P", "-m", "wink", "planted.plant", status=2)
    assert not (place.root / "imported").exists()
