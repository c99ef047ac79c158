"""Reading what is installed: both readers, and what listing loads."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import importlib_metadata
import pytest

from wink.plugins import Catalog
from wink.plugins._entry_points import entry_points, header
from wink.plugins._metadata import Distribution, distributions
from wink.testing import fake_distribution

NOTES = {"wink.sections": {"notes.notebook": "fake_notes:notebook"}}
FILES = ("METADATA", "entry_points.txt", "direct_url.json", "RECORD")


def test_directories_are_read_as_importlib_metadata_reads_them() -> None:
    """Our own reader exists to be faster, and must not be different: here, on everything that is installed."""
    ours = {dist.location: {file: dist.read(file) for file in FILES} for dist in distributions()}

    theirs = {
        os.path.join(str(found.locate_file("")), os.path.basename(str(found._path))): {
            file: None if (text := found.read_text(file)) is None else text for file in FILES
        }
        for found in importlib_metadata.distributions()
    }

    assert ours.keys() == theirs.keys()
    for location, files in ours.items():
        read = {file: None if data is None else data.decode().replace("\r\n", "\n") for file, data in files.items()}
        assert read == theirs[location]


def test_entry_points_are_read_as_importlib_metadata_reads_them() -> None:
    """Group, name and target of every entry point that is installed."""
    ours = {
        (point.group, point.name, point.target)
        for dist in distributions()
        for point in entry_points((dist.read("entry_points.txt") or b"").decode())
    }
    theirs = {
        (point.group, point.name, point.value.partition("[")[0].strip())
        for found in importlib_metadata.distributions()
        for point in found.entry_points
    }

    assert ours == theirs


def test_headers_are_read_as_importlib_metadata_reads_them() -> None:
    """Without `email`, which takes longer to import than all of the reading."""
    for found in importlib_metadata.distributions():
        ours = header(found.read_text("METADATA") or "")
        assert (ours.name, ours.version) == (found.name, found.version)
        assert list(ours.requires) == (found.metadata.get_all("Requires-Dist") or [])


def test_a_zip_file_on_the_path_may_bring_plugins(tmp_path: Path) -> None:
    """Python imports from zip files, so what they offer counts."""
    archive = tmp_path / "site" / "packages.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("wink_notes-2.0.dist-info/METADATA", "Name: wink-notes\nVersion: 2.0\n")
        opened.writestr("wink_notes-2.0.dist-info/entry_points.txt", "[wink.sections]\nnotes.notebook = a:b\n")

    (plugin,) = Catalog.installed(paths=[str(archive)]).plugins

    assert (plugin.name, plugin.version, plugin.state) == ("notes", "2.0", "available")


def test_another_packages_finder_may_bring_plugins(monkeypatch: pytest.MonkeyPatch, site: Any) -> None:
    """A frozen application finds its distributions through a finder of its own."""
    site.add(entry_points=NOTES)

    class Finder:
        @staticmethod
        def find_spec(*args: object) -> None:
            return None

        @staticmethod
        def find_distributions(context: Any) -> list[Any]:
            return [importlib_metadata.Distribution.at(next(site.path.glob("*.dist-info")))]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])

    assert [plugin.name for plugin in Catalog.installed(paths=[]).plugins] == ["notes"]


def test_a_finder_that_fails_is_passed_over(monkeypatch: pytest.MonkeyPatch, site: Any) -> None:
    """It is not a plugin's fault, nor the user's."""
    site.add(entry_points=NOTES)

    class Finder:
        @staticmethod
        def find_spec(*args: object) -> None:
            return None

        @staticmethod
        def find_distributions(context: Any) -> list[Distribution]:
            raise RuntimeError

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])

    assert [plugin.name for plugin in site.catalog().plugins] == ["notes"]


def test_what_pip_is_about_to_remove_is_not_installed(site: Any) -> None:
    """pip renames to `~ame` before it deletes, and may be killed in between."""
    site.add(entry_points=NOTES)
    info = next(site.path.glob("*.dist-info"))
    info.rename(info.with_name("~" + info.name[1:]))

    assert site.catalog().plugins == ()


def test_old_egg_info_directories_count(site: Any) -> None:
    """setuptools' develop mode of old leaves nothing else."""
    site.add(entry_points=NOTES)
    info = next(site.path.glob("*.dist-info"))
    (info / "METADATA").rename(info / "PKG-INFO")
    info.rename(info.with_suffix(".egg-info"))

    assert [(plugin.name, plugin.version) for plugin in site.catalog().plugins] == [("notes", "1.0")]


def test_listing_loads_neither_plugins_nor_what_they_need(site: Any) -> None:
    """The list must be quick where hundreds of packages are installed, and safe where one of them is broken."""
    site.add(
        entry_points=NOTES | {"wink.hooks": {"notes": "fake_notes"}}, modules={"fake_notes": "raise SystemExit(9)"}
    )
    program = (
        "import sys; from wink.plugins import Catalog\n"
        "assert any(plugin.name == 'notes' for plugin in Catalog.installed().plugins)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(site.path)},
    )
    unwanted = {"fake_notes", "wink_planning", "wink_files", "wink_read_before_write", "wink.prompt", "wink.tools"}
    unwanted |= {"pydantic", "pluggy", "importlib_metadata", "importlib.metadata", "email", "difflib", "asyncio"}

    assert not unwanted & set(done.stdout.split())


def test_listing_two_hundred_plugins_imports_none_of_them(tmp_path: Path) -> None:
    """The whole command, in a fresh process: every one is listed, and no module of theirs is there at its end."""
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    for number in range(200):
        with fake_distribution(
            f"many-{number}",
            entry_points={
                "wink.sections": {f"many-{number}.a": f"many_{number}:f"},
                "wink.hooks": {f"many-{number}": f"many_{number}"},
            },
            modules={f"many_{number}": f"raise SystemExit({number})"},
            directory=site,
            on_path=False,
        ):
            pass
    program = (
        "import sys; from wink.cli import run\n"
        "status = run(['plugins'])\n"
        "print('imported:', *sys.modules)\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    listed, imported = done.stdout.rsplit("imported:", 1)

    assert sum(line.startswith("many-") and "available" in line for line in listed.splitlines()) == 200
    assert not [name for name in imported.split() if name.startswith(("many_", "wink_", "pluggy", "pydantic", "rich"))]


@pytest.mark.parametrize("kind", ["fifo", "device", "sparse"])
def test_metadata_that_are_no_file_are_none(tmp_path: Path, kind: str) -> None:
    """An agent can write what lies beside its editable project, and the listing looks at all of the path."""
    planted = tmp_path / "evil-1.0.dist-info" / "entry_points.txt"
    planted.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(planted)
    elif kind == "device":
        planted.symlink_to("/dev/zero")
    else:
        with planted.open("wb") as file:
            file.truncate(8 << 30)
    os.mkfifo(tmp_path / "lib.zip")

    (found,) = distributions([str(tmp_path), str(tmp_path / "lib.zip")])

    assert found.read("entry_points.txt") is None


def test_importlib_metadata_is_loaded_for_zip_files_only(tmp_path: Path) -> None:
    """The page on dependencies says so: it takes a quarter of the time that a list of plugins may take."""
    code = "import sys; from wink.plugins import Catalog; tuple(Catalog.installed().plugins); print('importlib_metadata' in sys.modules)"
    archive = tmp_path / "some.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("some-1.0.dist-info/METADATA", "Name: some\nVersion: 1.0\n")
    for path, loaded in ((str(tmp_path), "False"), (str(archive), "True")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert done.stdout.strip() == loaded
