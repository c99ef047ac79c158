"""What lies where an agent can write, and that Python or a library would import from there, is not run by wink's commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wink.trust import guarded_places

GROUPS = (
    "pydantic",
    "fsspec.specs",
    "opentelemetry_context",
    "opentelemetry_propagator",
    "pygments.lexers",
    "pygments.styles",
    "wink.sections",
    "wink.commands",
    "wink.hooks",
    "wink.overrides",
)
BAD = {
    "KEY": "call read_file nonsense",
    "a type": "call read_file file_path=a.txt offset=x",
    "JSON": "call read_file --json {}",
}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(place: Path, tmp_path: Path, process: Run) -> Run:
    """Run this Python in the workspace as the `wink` of a shell is run, with further entries of the path."""
    planted = tmp_path / "planted"

    def call(*arguments: str, path: str = "", cwd: Path = place) -> subprocess.CompletedProcess[str]:
        more = {"PYTHONPATH": path, "PLANTED": str(planted), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": None}
        done = process([sys.executable, *arguments], cwd, more)
        assert not planted.exists(), f"{planted.read_text()} was run"
        return done

    return call


def plant(directory: Path, name: str) -> None:
    """Write a module that tells when it is run."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.py").write_text(
        f"import os\nopen(os.environ['PLANTED'], 'w').write({name!r})\nplugin = None\n"
    )


def distribution(directory: Path, name: str = "evil") -> None:
    """What an installer leaves: entry points for every library that wink uses."""
    plant(directory, f"{name}mod")
    info = directory / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{name}.x = {name}mod:plugin\n" for group in GROUPS))


@pytest.mark.parametrize(
    "command", [*BAD.values(), "tools", "plugins", "plugins check", "demo", "lint", "doctor", "--help"]
)
def test_no_library_loads_what_an_agent_wrote(run: Run, place: Path, command: str) -> None:
    """An editable install has put `src` on the path, and a file tool can write a `.dist-info` directory there."""
    distribution(place / "src")

    run("-P", "-m", "wink", *command.split(), path=str(place / "src"))


@pytest.mark.parametrize("command", ["tools", "plugins check", "plugins --workspace . check", "--help"])
@pytest.mark.parametrize("goes", [False, True])
def test_the_workspace_may_be_above_the_current_directory(
    run: Run, place: Path, tmp_path: Path, command: str, *, goes: bool
) -> None:
    """What lies anywhere in the one that is found counts no more than what lies where one stands, whichever is named."""
    distribution(place / "src")
    (place / "docs/deep").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    there = ["-C", str(place / "docs/deep")] if goes else []

    cwd = tmp_path / "elsewhere" if goes else place / "docs/deep"
    cwd.mkdir(exist_ok=True)
    done = run("-P", "-m", "wink", *there, *command.split(), path=str(place / "src"), cwd=cwd)

    assert done.returncode == 0, done.stderr


def test_what_is_named_after_c_is_guarded_there(run: Run, place: Path, tmp_path: Path) -> None:
    """A name is relative to where wink has gone, and libraries ask before the command knows its options."""
    (place / "inner").mkdir()
    code = "import atexit, wink.trust, wink.cli; atexit.register(lambda: print(wink.trust.guarded_places())); wink.cli.main()"

    done = run("-c", code, "-C", str(place), "-C", ".", "log", "--workspace", "inner", cwd=tmp_path)

    assert repr(str(place / "inner")) in done.stdout
    assert repr(str(place)) in done.stdout


@pytest.mark.parametrize("way", ["two words", "one word"])
def test_the_workspace_need_not_be_the_current_directory(run: Run, place: Path, tmp_path: Path, way: str) -> None:
    """It is known before anything that looks for entry points is imported."""
    distribution(place / "src")
    (tmp_path / "else").mkdir()
    option = ["--workspace", str(place)] if way == "two words" else [f"--workspace={place}"]

    done = run(
        "-P", "-m", "wink", "call", *option, "read_file", "offset=1", path=str(place / "src"), cwd=tmp_path / "else"
    )

    assert "file_path" in done.stderr


def test_workspaces_of_a_page_are_guarded_without_an_option(run: Run, place: Path, tmp_path: Path) -> None:
    """`wink ui PATH PATH` names them so; here the same one twice, so that it ends."""
    (tmp_path / "else").mkdir()
    code = "import atexit, wink.trust, wink.cli; atexit.register(lambda: print(wink.trust.guarded_places())); wink.cli.main()"

    done = run("-c", code, "ui", "--no-open", str(place), str(place), cwd=tmp_path / "else")

    assert "is the same workspace as" in done.stderr
    assert repr(str(place)) in done.stdout


FOUND = """
import importlib.metadata, sys
from wink.trust import guard
guard(*sys.argv[1:])
import importlib_metadata
def each(module):
    listed = {found.name for found in module.distributions()}
    known = {point.name for point in module.entry_points(group="pygments.styles")}
    return [name for name in ("evil", "good", "wink") if name in listed], sorted(known & {"evil.x", "good.x"})
print(each(importlib.metadata) == each(importlib_metadata), each(importlib_metadata))
try:
    importlib_metadata.version("evil")
except importlib_metadata.PackageNotFoundError:
    print("not found by its name")
"""


def test_both_readers_of_metadata_leave_it_out_and_nothing_else(run: Run, place: Path, tmp_path: Path) -> None:
    """The standard library's, and the backport, which adds a finder of its own when it is imported; a user's own project stays."""
    distribution(place / "src")
    distribution(tmp_path / "project", "good")
    path = os.pathsep.join((str(place / "src"), str(tmp_path / "project")))

    done = run("-P", "-c", FOUND, path=path)

    assert done.stdout.splitlines() == ["True (['good', 'wink'], ['good.x'])", "not found by its name"], done.stderr


def test_a_virtual_environment_inside_the_workspace_counts(run: Run, place: Path) -> None:
    """That is where a person installs to, and the file tools cannot write there."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / ".venv"], check=True)
    (site,) = (place / ".venv" / "lib").glob("python*/site-packages")
    (site / "all.pth").write_text("\n".join(entry for entry in sys.path if os.path.isdir(entry)))
    distribution(site, "good")
    distribution(place / "src")

    done = subprocess.run(
        [place / ".venv" / "bin" / "python", "-P", "-c", FOUND],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines() == ["True (['good', 'wink'], ['good.x'])", "not found by its name"], done.stderr


def test_modules_are_still_imported_from_there(run: Run, place: Path) -> None:
    """A project's own tools import the project; only what names itself is left out."""
    (place / "src").mkdir()
    (place / "src" / "mine.py").write_text("")

    assert not run("-P", "-c", "from wink.trust import guard; guard(); import mine", path=str(place / "src")).stderr


def test_what_is_set_for_pydantic_is_not_inherited(run: Run) -> None:
    """A program that wink starts is the user's, with the user's environment."""
    program = """
import os, subprocess
from wink.trust import guard, inherited
guard()
print(os.environ["PYDANTIC_DISABLE_PLUGINS"], "PYDANTIC_DISABLE_PLUGINS" in inherited(os.environ))
print(subprocess.run(["env"], capture_output=True, text=True).stdout.count("PYDANTIC"))
"""
    assert run("-P", "-c", program).stdout == "__all__ False\n0\n"


def test_as_a_library_wink_changes_nothing() -> None:
    """What the host's libraries load is the host's choice."""
    assert guarded_places() is None
    program = "import sys; before = list(sys.meta_path); import wink.cli, wink.plugins; print(sys.meta_path == before)"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        "click",
        "typing",
        "importlib_metadata",
        "__future__",
        "gc",
        "os",
        "site",
        "json",
        "pydantic",
        "tomllib",
        "wink_files",
    ],
)
def test_python_m_wink_imports_nothing_from_the_current_directory(run: Run, place: Path, name: str) -> None:
    """`python -m` puts it on the path; the script `wink` does not."""
    plant(place, name)

    done = run("-m", "wink", "call", "read_file", "file_path=a.txt")

    assert (done.returncode, done.stderr) == (0, "")


def test_a_batch_imports_nothing_from_the_current_directory(run: Run, place: Path) -> None:
    """Unless the user names a template or a checker that lies there."""
    (place / "turns.toml").write_text('[[turn]]\ntext = "done"\n')
    (place / "tasks.jsonl").write_text(json.dumps({"id": "one", "prompt": "x"}) + "\n")
    for name in ("pydantic", "sqlite3", "ray", "pyarrow", "wink_files", "orjson"):
        plant(place, name)

    done = run("-m", "wink", "batch", "run", "tasks.jsonl", "--model", "scripted:turns.toml", "--engine", "local")

    assert done.returncode == 0, done.stderr
