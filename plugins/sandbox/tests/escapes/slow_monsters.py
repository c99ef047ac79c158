"""What takes minutes: `nox -s escapes` runs it."""

from __future__ import annotations

import pytest
from plugins.sandbox.tests.conftest import Place
from plugins.sandbox.tests.escapes.conftest import World, by_run_command, by_try, wink
from plugins.sandbox.tests.escapes.test_plants import PLANTS
from tests.states import state_of

from wink.errors import MergeRefused
from wink_sandbox import MIB

PYTHON = "exec /usr/bin/python3 -c "
DEEP = PYTHON + "\"import os\nfor _ in range(5000): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').close()\""
DEEP_BELOW_MANY = PYTHON + (
    '"import os\nfor n in range(20):\n os.mkdir(str(n)); os.chdir(str(n))\n'
    " for _ in range(400): os.mkdir('d' * 100); os.chdir('d' * 100)\n os.chdir(os.environ['PWD'])\""
)


@pytest.mark.parametrize("script", [DEEP, DEEP_BELOW_MANY])
def test_tree_that_has_no_paths_is_refused_and_removed(place: Place, script: str) -> None:
    """Four thousand levels break no walk, neither the one that reads nor the one that removes."""
    with pytest.raises(MergeRefused, match="so deep"):
        place.run(script)

    assert list(place.root.glob("[0-9d]*")) == []
    assert list((state_of(place.root) / "programs").glob("*/upper/*")) == []


def test_tree_that_has_no_paths_is_dropped_when_its_program_fails(world: World) -> None:
    """The reply tells of the failure, not of the tree."""
    ended = by_run_command(world, DEEP.removeprefix("exec ") + "; exit 3")

    assert "exit code 3" in ended.text, ended.text
    assert len(ended.text) < 300_000
    assert world.leftovers() == []


def test_hundred_thousand_files_are_carried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many are not too many: they become the workspace's in one call, and go with its undo."""
    monkeypatch.setenv("HOME", str(world.home))  # as for the command that undoes it
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    workspace = world.workspace()
    script = (
        PYTHON
        + "\"import os\nfor n in range(100000):\n if n % 1000 == 0: os.mkdir(f'd{n}')\n open(f'd{n // 1000 * 1000}/{n}', 'w').close()\""
    )

    ended = by_run_command(world, script, timeout_seconds=300.0)

    assert ended.status == 0, ended.text[:2000]
    assert sum(1 for _ in world.root.glob("d[0-9]*/*")) == 100_000
    undone = wink(world, "undo")
    assert undone.status == 0, undone.text[:2000]
    assert world.workspace() == workspace


def test_directories_without_end_are_ended(place: Place) -> None:
    """Names take room where bytes do not."""
    script = PYTHON + "'import itertools, os\nfor n in itertools.count(): os.mkdir(str(n))'"

    ran = place.run(
        script, commit=False, sandbox=place.limited(wall_seconds=120, written_bytes=1000 * MIB, made_files=3000)
    )

    assert ran.ended.reason == "wrote too much"


@pytest.mark.parametrize("plant", PLANTS)
def test_plant_is_refused_when_it_is_accepted(world: World, plant: str) -> None:
    """For a person as for a model."""
    before, workspace = world.snapshot(), world.workspace()
    tried = by_try(world, PLANTS[plant], profile="closed")
    assert tried.status == 0, tried.text[:2000]

    accepted = wink(world, "accept")

    assert accepted.status != 0
    assert len(accepted.text) < 6000
    assert wink(world, "drop").status == 0
    assert world.workspace() == workspace
    assert world.snapshot() == before
