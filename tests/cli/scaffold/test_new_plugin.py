"""`wink new-plugin`: what it writes, and that it writes all of it or nothing."""

import itertools
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from wink import __version__
from wink.cli import run
from wink.cli.scaffold import KINDS, Package, files_of, write_all
from wink.cli.setup._new_plugin import _installing
from wink.plugins import LONGEST, problem_with_offer_name
from wink.testing import fake_distribution

NAMES = ["notes", "x", "git-tools", "a" * LONGEST]
EVERY = tuple(KINDS)


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def new(*arguments: str) -> int:
    return run(["new-plugin", *arguments])


def offers(*kinds: str) -> list[str]:
    return [word for kind in kinds for word in ("--offer", kind)]


def test_it_says_what_it_wrote_and_what_comes_next(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The first lines are what a stranger sees of wink's plugins."""
    assert new("notes", *offers("section", "policy")) == 0

    *wrote, following = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in wrote] == ["wrote ", *["      "] * (len(wrote) - 1)]
    assert [line[6:] for line in wrote] == [
        "wink-notes/pyproject.toml",
        "wink-notes/README.md",
        "wink-notes/CHANGELOG.md",
        "wink-notes/noxfile.py",
        "wink-notes/.gitignore",
        "wink-notes/src/wink_notes/__init__.py",
        "wink-notes/src/wink_notes/_policy.py",
        "wink-notes/src/wink_notes/_section.py",
        "wink-notes/src/wink_notes/py.typed",
        "wink-notes/tests/conftest.py",
        "wink-notes/tests/test_notebook.py",
        "wink-notes/tests/test_package.py",
        "wink-notes/tests/test_read_only.py",
    ]
    assert following.startswith("next: cd wink-notes && ")
    assert following.endswith("pip install -e . --group test && pytest")
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == {
        line[6:] for line in wrote
    }


def test_json_has_the_same_with_stable_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Editors and scripts read it."""
    (tmp_path / "plugins").mkdir()
    assert new("git-tools", "--offer", "policy", "--directory", "plugins", "--json") == 0

    said = json.loads(capsys.readouterr().out)
    assert (said["plugin"], said["distribution"]) == ("git-tools", "wink-git-tools")
    assert (said["package"], said["offers"], said["dry_run"]) == ("wink_git_tools", ["policy"], False)
    assert said["directory"] == str(tmp_path / "plugins" / "wink-git-tools")
    assert all(Path(path).is_file() for path in said["files"])
    assert said["next"].startswith("cd plugins/wink-git-tools && ")


def test_a_dry_run_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """And says what would be written."""
    assert new("notes", "--offer", "policy", "--dry-run") == 0
    would = capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []

    assert new("notes", "--offer", "policy") == 0
    wrote = capsys.readouterr().out
    assert would.split()[2:] == wrote.split("next:")[0].split()[1:]


@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_package_is_two_files_and_works(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A function is enough for a tool, and one module with its project file for a plugin."""
    assert new(name) == 0
    out = capsys.readouterr().out
    package, module, prefix = f"wink-{name}", f"wink_{name}".replace("-", "_"), name.replace("-", "_")
    text = (tmp_path / package / f"{module}.py").read_text()
    project = tomllib.loads((tmp_path / package / "pyproject.toml").read_text())
    assert sorted(os.listdir(tmp_path / package)) == ["pyproject.toml", f"{module}.py"]
    assert out.splitlines()[-1].startswith(f"next: cd {package} && ")
    assert out.endswith(f"wink call {prefix}_count_words path=pyproject.toml --section {name}.tools\n")
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["include"] == [f"{module}.py"]

    (tmp_path / "a.txt").write_text("one two\n")
    with fake_distribution(package, entry_points=project["project"]["entry-points"], modules={module: text}):
        call = ["--section", f"{name}.tools"]
        assert run(["call", f"{prefix}_add_line", "path=a.txt", "line=three", *call]) == 0
        assert run(["call", f"{prefix}_count_words", "path=a.txt", *call]) == 0
        assert "3 words" in capsys.readouterr().out
        assert run(["undo"]) == 0
    assert (tmp_path / "a.txt").read_text() == "one two\n"


@pytest.mark.parametrize(
    ("arguments", "problem", "remedy"),
    [
        (["Notes"], "plugin name 'Notes' must be lower-case words", "try 'notes'"),
        (["git_tools"], "plugin name 'git_tools' must be", "try 'git-tools'"),
        (["a" * 41], "at most 40 characters", "choose another"),
        (["notes.txt"], "plugin name", "try 'notes-txt'"),
        (["../notes"], "plugin name", ""),
        (["1st"], "plugin name", "choose another"),
        (["-"], "plugin name", "choose another"),
        ([""], "plugin name ''", "choose another"),
        (["ñandú"], "plugin name", "choose another"),
        (["notes\n"], "plugin name", "try 'notes'"),
        (["My Notes"], "plugin name", "try 'my-notes'"),
        (["wink"], "plugin name 'wink' is reserved", "choose another"),
        (["wink-notes"], "gets its wink- by itself", "call the plugin 'notes'"),
        (["log", "--offer", "command"], "`wink log` is a command of wink's own", "choose another name"),
        (["planning"], "brings a plugin 'planning' already", "choose another name"),
        (
            ["notes", "--offer", "tool"],
            "there is no kind of offer 'tool'",
            "section, policy, filesystem, adapter, command, hooks",
        ),
        (["notes", "--offer", "sections"], "there is no kind of offer 'sections'", "did you mean 'section'?"),
        (["notes", "--offer", "section,policy"], "there is no kind of offer 'section,policy'", "?"),
        (["notes", "--directory", "nowhere"], "'nowhere' does not exist", "name a directory"),
        (["notes", "--directory", "a-file"], "'a-file' is no directory", "name a directory"),
        (["notes", "--directory", "a-file/below"], "'a-file/below' does not exist", "name a directory"),
        (["taken"], "'wink-taken' exists; nothing was written", "--directory"),
        (["linked"], "'wink-linked' exists; nothing was written", "--directory"),
        ([], "missing argument 'NAME'", "--help"),
        (["notes", "more"], "unexpected extra argument", "--help"),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(
    arguments: list[str], problem: str, remedy: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is wrong, and what to do; the exit status says that it was the input."""
    (tmp_path / "a-file").write_text("")
    (tmp_path / "wink-taken").mkdir()
    (tmp_path / "wink-linked").symlink_to("nowhere-at-all")
    before = sorted(os.listdir(tmp_path))

    assert new(*arguments) == 2

    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert problem in line
    assert remedy in line
    assert sorted(os.listdir(tmp_path)) == before
    assert list((tmp_path / "wink-taken").iterdir()) == []


def test_a_directory_that_may_not_be_written_to_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where packages are installed for everybody; the superuser, who runs these tests at times, may write everywhere."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    assert new("notes") == 2
    assert "'.' cannot be written to; name another place" in capsys.readouterr().err


@pytest.mark.parametrize("at", range(14))
def test_nothing_is_left_when_the_disk_is_full_at_any_file(
    at: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All the files get their place at once, so that half a package is never met."""
    numbers = itertools.count()
    really_open = open

    def full(*arguments: object, **options: object) -> object:
        if next(numbers) == at:
            raise OSError(28, "No space left on device")
        return really_open(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("wink.cli.scaffold._writing.open", full, raising=False)
    if at == 13:
        monkeypatch.setattr(os, "rename", lambda *_: full())
    status = new("notes", *offers("section", "policy"))

    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert "cannot write 'wink-notes': No space left on device; nothing was written" in capsys.readouterr().err


def test_a_directory_that_appears_meanwhile_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Somebody else's files are not replaced, however late they come."""
    rename = os.rename

    def late(draft: str, directory: str) -> None:
        os.mkdir(directory)
        Path(directory, "theirs.txt").write_text("theirs")
        rename(draft, directory)

    monkeypatch.setattr(os, "rename", late)
    with pytest.raises(OSError):
        write_all("wink-notes", {"a.txt": "ours"})

    assert [path.name for path in tmp_path.rglob("*")] == ["wink-notes", "theirs.txt"]


def test_what_is_written_may_be_read_as_other_files(tmp_path: Path) -> None:
    """The draft is its writer's alone; the package follows the umask, as `mkdir` does."""
    (tmp_path / "usual").mkdir()
    write_all("package", {"src/a.py": ""})

    assert (tmp_path / "package").stat().st_mode == (tmp_path / "usual").stat().st_mode


def combinations() -> list[tuple[str, ...]]:
    return [kinds for size in range(1, len(EVERY) + 1) for kinds in itertools.combinations(EVERY, size)]


@pytest.mark.parametrize("kinds", combinations(), ids="+".join)
def test_every_combination_fits_together(kinds: tuple[str, ...]) -> None:
    """Each offer leads to something that is there, and nothing is public that no file has."""
    files = files_of(Package("git-tools", kinds, __version__))

    project = tomllib.loads(files["pyproject.toml"])
    groups = project["project"]["entry-points"]
    assert set(groups) == {KINDS[kind].group for kind in kinds}
    for group, points in groups.items():
        ((name, target),) = points.items()
        if group != "wink.hooks":
            assert problem_with_offer_name(name) == ""
        module, _, attribute = target.partition(":")
        where = "src/" + module.replace(".", "/")
        text = files[f"{where}.py"] if f"{where}.py" in files else files[f"{where}/__init__.py"]
        assert attribute in text
    for path, text in files.items():
        assert "$" not in text or path == "README.md", path
        if path.endswith(".py"):
            compile(text, path, "exec")
        assert text == "" or (text.endswith("\n") and not text.endswith("\n\n")), path
        assert "  \n" not in text
        assert "\t" not in text


@pytest.mark.parametrize("name", NAMES)
def test_style_and_format_are_right_for_any_name(name: str, tmp_path: Path) -> None:
    """A long name must not make a line too long, nor a short one a line that ruff would join."""
    for kinds in [(), EVERY, *((kind,) for kind in EVERY)]:
        write_all(str(tmp_path / ("-".join(kinds) or "smallest")), files_of(Package(name, kinds, __version__)))
    for command in (["check"], ["format", "--check", "--diff"]):
        done = subprocess.run(
            [*ruff(), *command, "--no-cache", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def ruff() -> Sequence[str]:
    return [sys.executable, "-m", "ruff"]


def test_the_requirement_follows_the_version() -> None:
    """What works with this wink works until the next major version."""
    assert Package("notes", (), wink="0.1.0").requirement == "wink>=0.1,<1"
    assert Package("notes", (), wink="2.13.1rc1").requirement == "wink>=2.13,<3"


@pytest.mark.parametrize(
    ("version", "steps"),
    [
        ("25.1", ["pip install -e . --group test"]),
        ("26.0.1", ["pip install -e . --group test"]),
        ("25.0.1", ["pip install --upgrade pip", "pip install -e . --group test"]),
        ("23.2.1", ["pip install --upgrade pip", "pip install -e . --group test"]),
        (None, ["uv pip install -e . --group test"]),
    ],
)
def test_what_comes_next_works_with_the_pip_that_is_there(
    version: str | None, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old pip knows no dependency groups, and an environment of uv's has no pip."""
    from importlib import metadata

    def found(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", found)
    assert list(_installing(" --group test")) == steps
