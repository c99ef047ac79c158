"""Plugins that are tried in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from wink.errors import PluginLoadError
from wink.plugins import Catalog, Settings

POINTS = {"wink.sections": {"notes.notebook": "fake_notes:notebook"}}
BINDING = """
from wink.plugins import hookimpl
from wink.resources import Binding
from {where} import Clock

@hookimpl
def wink_resources():
    return [Binding.instance(Clock, Clock())]
"""


def test_trying_imports_nothing_here(site: Any) -> None:
    """Whoever only wants to know must not have to live with what an import did."""
    site.add(entry_points=POINTS)

    tried = site.catalog().tried()

    assert [(plugin.name, plugin.state) for plugin in tried.plugins] == [("notes", "loaded")]
    assert tried.plugins[0].seconds > 0
    assert "fake_notes" not in sys.modules
    assert tried.use("section", "notes.notebook").key == "notebook"


def test_offers_of_hooks_are_told_too(site: Any) -> None:
    """They are only known to the process that asked."""
    site.add(
        entry_points={"wink.hooks": {"notes": "fake_hooks"}},
        modules={
            "fake_hooks": "from wink.plugins import SectionOffer, hookimpl\n"
            "from wink.prompt import MarkdownSection\n"
            "def section(): return MarkdownSection(title='Late', template='x', key='late')\n"
            "@hookimpl\ndef wink_sections(): yield SectionOffer('notes.late', section, 'Later.')"
        },
    )

    tried = site.catalog().tried()
    (plugin,) = tried.plugins

    assert [(offer.name, offer.summary) for offer in plugin.offers] == [("notes.late", "Later.")]
    assert tried.use("section", "notes.late").key == "late"


def test_two_plugins_that_bind_one_type_are_in_conflict(site: Any) -> None:
    """Each is sound for itself; together no resources can be opened."""
    for name in ("one", "two"):
        source = BINDING.format(where="fake_clock")
        clock = {"fake_clock": "class Clock: ..."}
        site.add(
            f"wink-{name}",
            entry_points={"wink.hooks": {name: f"fake_{name}"}},
            modules={f"fake_{name}": source} | clock,
        )

    found = {plugin.name: (plugin.state, plugin.reason) for plugin in site.catalog().tried().plugins}

    assert found == {
        "one": ("conflict", "Clock is bound by this plugin and by 'two'; disable one of them"),
        "two": ("conflict", "Clock is bound by this plugin and by 'one'; disable one of them"),
    }


def test_only_what_may_be_used_is_tried(site: Any, tmp_path: Path) -> None:
    """A disabled plugin is not imported anywhere."""
    site.add(entry_points=POINTS, modules={"fake_notes": f"open({str(tmp_path / 'was-here')!r}, 'w')"})

    (plugin,) = site.catalog(Settings(disable={"notes"})).tried().plugins

    assert (plugin.state, plugin.seconds) == ("disabled", None)
    assert not (tmp_path / "was-here").exists()


def test_strict_settings_raise_when_it_is_used_and_not_when_it_is_tried(site: Any) -> None:
    """Trying is for being told of everything."""
    site.add(entry_points=POINTS, modules={"fake_notes": "1 / 0"})

    tried = site.catalog(Settings(strict=True)).tried()

    assert tried.plugins[0].reason == "ZeroDivisionError: division by zero"
    with pytest.raises(PluginLoadError, match="ZeroDivisionError"):
        tried.sections()


def test_a_catalog_without_plugins_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to try costs nothing."""
    monkeypatch.setattr("subprocess.Popen", None)

    assert Catalog().tried().plugins == ()


def test_no_process_survives_a_trial(site: Any, tmp_path: Path) -> None:
    """Not even of a plugin that ends the process which watches it, and goes on."""
    told = tmp_path / "pid"
    source = f"""
        import os, signal, time
        open({str(told)!r}, "w").write(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    """
    site.add(entry_points=POINTS, modules={"fake_notes": source})

    (plugin,) = site.catalog().tried().plugins

    assert (plugin.state, plugin.reason) == ("broken", "importing it ended the process that tried it")
    pid = int(told.read_text())
    end = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(pid)


def test_a_trial_ends_with_whoever_wants_to_know(site: Any, tmp_path: Path) -> None:
    """A CI job that is cancelled leaves no plugin running."""
    told = tmp_path / "pid"
    source = f"""
        import os, time
        open({str(told)!r} + "-new", "w").write(str(os.getpid()))
        os.rename({str(told)!r} + "-new", {str(told)!r})
        time.sleep(600)
    """
    site.add(entry_points=POINTS, modules={"fake_notes": source})
    program = f"import sys; sys.path.insert(0, {str(site.path)!r})\n"
    program += f"from wink.plugins import Catalog; Catalog.installed(paths=[{str(site.path)!r}]).tried()"
    asking = subprocess.Popen([sys.executable, "-c", program])
    end = time.monotonic() + 120
    while not told.exists() and time.monotonic() < end:
        time.sleep(0.01)
    asking.kill()
    asking.wait()

    pid = int(told.read_text())
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    """Whether it runs; one that has ended may wait for a parent that does not ask."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if os.path.isdir("/proc/1") else "R"
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
