"""Names of the specification that plugins bring."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import wink.prompt
from wink.policies import ToolPolicy


def write_distribution(where: Path, name: str, module: str) -> None:
    """An installed distribution, as far as its metadata goes."""
    info = where / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[wink.policies]\nread-before-write.files = {module}:factory\n")
    (where / f"{module}.py").write_text("class ReadBeforeWritePolicy:\n    name = 'mine'\n")


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A place that holds everything which is installed."""
    where = tmp_path / "installed"
    where.mkdir()
    monkeypatch.setattr(sys, "path", [str(where)])
    return where


def test_it_is_the_plugins_own_class() -> None:
    """Programs written for the specification import it from here, and get what the plugin has."""
    from wink.prompt import ReadBeforeWritePolicy
    from wink_read_before_write import ReadBeforeWritePolicy as Own

    assert ReadBeforeWritePolicy is Own
    assert isinstance(ReadBeforeWritePolicy(), ToolPolicy)


def test_the_plugin_is_not_imported_before_it_is_asked_for() -> None:
    """Nobody pays for a policy that is not used."""
    program = "import sys, wink.prompt; sys.exit('wink_read_before_write' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_the_plugin_the_import_says_what_is_missing(only: Path) -> None:
    """`cannot import name` would send people looking for a spelling mistake."""
    with pytest.raises(
        ImportError, match=r"comes from the plugin that offers 'read-before-write.files'.*; install wink"
    ):
        from wink.prompt import ReadBeforeWritePolicy  # noqa: F401


def test_it_comes_from_whatever_is_installed(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point decides, not the name of a module in wink."""
    write_distribution(only, "somebody", "somebody_read_first")
    monkeypatch.setitem(sys.modules, "somebody_read_first", ModuleType("gone"))
    monkeypatch.delitem(sys.modules, "somebody_read_first")

    assert wink.prompt.ReadBeforeWritePolicy.name == "mine"  # type: ignore[attr-defined]


def test_two_that_offer_it_are_refused(only: Path) -> None:
    """Both are named; nothing is guessed."""
    write_distribution(only, "somebody", "somebody_read_first")
    write_distribution(only, "another", "another_read_first")

    with pytest.raises(ImportError, match="another_read_first:factory and somebody_read_first:factory"):
        _ = wink.prompt.ReadBeforeWritePolicy


def test_what_lies_in_the_current_directory_is_not_installed(
    only: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent can write there; a policy must not be replaced by the one that it restrains."""
    here = tmp_path / "work"
    write_distribution(here, "planted", "planted_policy")
    monkeypatch.chdir(here)
    sys.path.insert(0, str(here))

    assert len(metadata.entry_points(group="wink.policies")) == 1
    with pytest.raises(ImportError, match="none is installed"):
        _ = wink.prompt.ReadBeforeWritePolicy


def test_other_names_are_unknown_as_everywhere() -> None:
    """Only the names of the specification are forwarded."""
    module: Any = wink.prompt

    with pytest.raises(AttributeError, match="has no attribute 'ReadAfterWritePolicy'"):
        _ = module.ReadAfterWritePolicy
    assert not hasattr(module, "planning")
