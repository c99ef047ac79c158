"""A plugin that ends or hangs a process is met once; whoever only waits, is interrupted or is killed loses nothing for good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from wink.plugins import Catalog, PluginInfo, Quarantine

POINTS = {"wink.sections": {"notes.notebook": "fake_notes:notebook"}}
LOADING = """
import os, sys
site, notes, patience, *names = sys.argv[1:]
sys.path.insert(0, site)
from wink.plugins import Catalog, Quarantine
say = lambda text: os.write(1, f"{text}\\n".encode())
catalog = Catalog.installed(paths=[site], quarantine=Quarantine(lambda: notes, say, patience=float(patience)))
for name in names:
    catalog.use("section", name)
print("done", flush=True)
"""


class Place:
    """A directory for notes, and processes that load plugins with it."""

    def __init__(self, site: Any) -> None:
        self.site, self.notes = site, site.path.parent / "notes"

    def catalog(self) -> Catalog:
        catalog: Catalog = self.site.catalog(quarantine=Quarantine(lambda: str(self.notes), print))
        return catalog

    def only(self) -> PluginInfo:
        (plugin,) = self.catalog().plugins
        return plugin

    def start(self, *names: str, patience: float = 60) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", LOADING, str(self.site.path), str(self.notes), str(patience)]
        return subprocess.Popen(
            [*command, *(names or ["notes.notebook"])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def left(self) -> Sequence[str]:
        return sorted(os.listdir(self.notes)) if self.notes.exists() else []


@pytest.fixture
def place(site: Any) -> Place:
    return Place(site)


DIES = "import os\nos._exit(3)"


def begun(place: Place, **options: Any) -> subprocess.Popen[str]:
    """A process in the middle of an import."""
    place.site.add(
        entry_points=POINTS, modules={"fake_notes": "import time\nprint('here', flush=True)\ntime.sleep(600)"}
    )
    process = place.start(**options)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def test_an_import_under_way_elsewhere_is_no_death(place: Place) -> None:
    """Several servers start at once, and one looks while another imports."""
    with begun(place) as process:
        seen = place.only().state
        process.kill()

    assert seen == "available"


def test_a_killed_process_leaves_its_note_until_somebody_says_otherwise(place: Place) -> None:
    """Nobody can tell who sent SIGKILL; the way back is named."""
    with begun(place) as process:
        process.kill()

    (plugin,) = place.catalog().plugins
    assert plugin.state == "quarantined"
    assert "`wink plugins retry notes`" in plugin.reason
    catalog = place.catalog()
    assert catalog.quarantine is not None
    assert catalog.quarantine.release(catalog.plugin("notes"))
    assert place.only().state == "available"
    assert not catalog.quarantine.release(catalog.plugin("notes"))


def test_ctrl_c_in_the_middle_of_an_import_bans_nobody(place: Place) -> None:
    """The user lost patience, and nothing else happened."""
    with begun(place) as process:
        process.send_signal(signal.SIGINT)
        process.wait()

    assert process.returncode != 0
    assert place.left() == []


def test_who_is_asked_to_end_at_once_bans_nobody(place: Place) -> None:
    """Clients start servers only to see whether they start."""
    with begun(place) as process:
        process.terminate()
        process.wait()

    assert process.returncode == -signal.SIGTERM
    assert place.left() == []


def test_a_hang_ends_with_a_line_that_names_it(place: Place) -> None:
    """Nothing can stop an import but the end of its process."""
    with begun(place, patience=0.2) as process:
        said, _ = process.communicate()

    assert process.returncode == 1
    assert "plugin 'notes' of wink-notes 1.0 has not come back for 0.2 s" in said
    assert place.only().state == "quarantined"


def test_code_of_c_that_holds_the_interpreter_is_ended_too(place: Place) -> None:
    """No thread of Python runs meanwhile; what ends it is written in C."""
    place.site.add(entry_points=POINTS, modules={"fake_notes": 'import re\nre.match("(a+)+$", "a" * 60 + "b")'})

    with place.start(patience=0.2) as process:
        _, complaints = process.communicate()

    assert process.returncode == 1
    assert "fake_notes.py" in complaints
    assert place.only().state == "quarantined"


def test_another_version_begins_anew(place: Place) -> None:
    """What died was the other one."""
    with begun(place) as process:
        process.kill()
    info = place.site.path / "wink_notes-1.0.dist-info"
    info.rename(place.site.path / "wink_notes-1.1.dist-info")
    metadata = place.site.path / "wink_notes-1.1.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))

    assert place.only().state == "available"


def test_the_innermost_plugin_is_to_blame(place: Place) -> None:
    """A factory may use other plugins' offers, and is not worse for what they do."""
    outer = "def section(*, catalog):\n    return catalog.use('section', 'inner.a')\n"
    place.site.add(
        "outer-dist", entry_points={"wink.sections": {"outer.a": "fake_outer:section"}}, modules={"fake_outer": outer}
    )
    place.site.add(
        "inner-dist", entry_points={"wink.sections": {"inner.a": "fake_inner:section"}}, modules={"fake_inner": DIES}
    )

    with place.start("outer.a") as process:
        process.communicate()

    assert {plugin.name: plugin.state for plugin in place.catalog().plugins} == {
        "inner": "quarantined",
        "outer": "available",
    }


def test_nothing_is_written_where_all_goes_well(place: Place) -> None:
    """A note goes when its code comes back; with an exception too, and after `sys.exit`."""
    place.site.add(entry_points=POINTS)
    with place.start() as process:
        assert process.communicate()[0] == "done\n"
    assert place.left() == []

    place.site.add(
        "bad-dist",
        entry_points={"wink.sections": {"bad.a": "fake_bad:section"}},
        modules={"fake_bad": "raise SystemExit(3)"},
    )
    with place.start("bad.a") as process:
        process.communicate()

    assert place.left() == []


def test_a_directory_that_cannot_be_made_is_no_reason_to_stop(place: Place, tmp_path: Path) -> None:
    """Then nothing is remembered, and everything works."""
    (tmp_path / "file").write_text("")
    place.notes = tmp_path / "file" / "notes"
    place.site.add(entry_points=POINTS)

    with place.start() as process:
        assert process.communicate()[0] == "done\n"
    assert place.only().state == "available"


def test_odd_things_among_the_notes_are_passed_over(place: Place) -> None:
    """Links, FIFOs and files of others keep nobody waiting, and ban nobody."""
    place.site.add(entry_points=POINTS)
    place.notes.mkdir()
    os.mkfifo(place.notes / "a.running")
    (place.notes / "b.running").symlink_to("b.running")
    (place.notes / "c.running").write_bytes(b"\xff\xfe")
    (place.notes / "d.running").mkdir()
    (place.notes / "e").write_text("notes wink-notes 1.0")

    assert place.only().state == "available"


def test_plugins_of_winks_own_are_not_noted(place: Place, tmp_path: Path) -> None:
    """They cost nothing, and a process that dies in them takes none of them away."""
    catalog = Catalog.installed(quarantine=Quarantine(lambda: str(place.notes), print))

    catalog.use("section", "planning.plan")

    assert not place.notes.exists()
