"""A program in a sandbox, and a model, never learn where the state lies, nor see the key by which it is known."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.state.commands import SERVED
from tests.state.world import Forker, World, adopt

LOOK = r"""
env
cat /proc/self/mountinfo /proc/mounts /proc/self/cmdline /proc/1/cmdline /proc/self/environ
for one in /proc/[0-9]*; do cat $one/cmdline $one/environ $one/mountinfo; ls -l $one/fd $one/cwd $one/root $one/exe; done
ls -laR .wink $XDG_STATE_HOME $HOME/.local/state
cat .wink/*/record.db $XDG_STATE_HOME/wink/key $HOME/.local/state/wink/key
for fd in /proc/self/fd/*; do readlink $fd; ls -la $fd/; done
find / -xdev -name 'seal-*' -path '*.wink*'
find {base} -name key
find {base}/work -name '{name}*'
"""


@pytest.fixture
def used(template: World, forker: Forker) -> Iterator[World]:
    """A known one, with its key where XDG has it by default: in the home that programs are shown."""
    with World(forker) as made:
        made.env["XDG_STATE_HOME"] = str(made.base / "home/.local/state")
        adopt(made, template)
        yield made


@pytest.mark.parametrize("profile", ["agent", "build", "closed"])
@pytest.mark.parametrize("where", ["home", "elsewhere"])
def test_a_tried_program_sees_neither_state_nor_key(used: World, profile: str, where: str) -> None:
    """Nor their names, in all that a program can ask the system for."""
    if where == "elsewhere":
        shutil.move(used.base / "home/.local/state", used.base / "keys-elsewhere")
        used.env["XDG_STATE_HOME"] = str(used.base / "keys-elsewhere")
    (used.work / "look.sh").write_text(_look(used))
    key = (Path(used.env["XDG_STATE_HOME"]) / "wink/key").read_bytes()

    done = used.run("try", "--profile", profile, "--", "sh", "look.sh")

    assert used.state().name not in done.said
    assert "seal-" not in done.said
    assert key.decode(errors="replace") not in done.said
    assert len(done.out) > 1000, "it looked"


def test_a_models_command_sees_neither_state_nor_key(used: World) -> None:
    """What it prints is sent to the model."""
    (used.work / "look.sh").write_text(_look(used))

    key = (Path(used.env["XDG_STATE_HOME"]) / "wink/key").read_bytes()

    done = used.run(
        "call", "--section", "shell.commands", "run_command", "command=sh -c 'sh look.sh > seen.txt 2>&1; true'"
    )

    seen = (used.work / "seen.txt").read_text(errors="surrogateescape")
    assert len(seen) > 1000, done
    for text in (done.said, seen):
        assert used.state().name not in text
        assert "seal-" not in text
        assert key not in text.encode(errors="surrogateescape")


def _look(world: World) -> str:
    # The name is given in two halves: a program that is told the name knows it.
    name = world.state().name
    return LOOK.replace("{base}", str(world.base)).replace("{name}", f"{name[:8]}")


@pytest.mark.parametrize(
    "name",
    ["lease", "wal", "staged", "programs", "scratch", "record.db", "results", "spare", "tries", "store.git", "copies"],
)
@pytest.mark.parametrize("kind", ["link", "file", "fifo"])
def test_a_model_is_never_told_where_the_state_lies(used: World, name: str, kind: str) -> None:
    """Not even when there is something wrong with it."""
    state = used.state()
    place = state / name
    if os.path.lexists(place):
        place.rename(used.base / "outside" / "kept")
    if kind == "link":
        place.symlink_to(used.base / "outside")
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.write_text("rubbish")

    done = used.run("serve", "--section", "shell.commands", stdin=SERVED)

    assert state.name not in done.out
    assert ".wink/" not in done.out
    assert done.out == "" or '"tools"' in done.out
    assert done.status in (0, 1)
