"""A process that is killed at any point leaves a run that goes on, and executes nothing twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

WORKING = Path(__file__).with_name("working.py")
WRITTEN = ["first", "ask-one", "second", "ask-three", "third"]


@pytest.mark.parametrize("steps", ["go", "go,answer", "go,answer,go"])
def test_killed_at_any_point_a_run_goes_on_and_nothing_runs_twice(tmp_path: Path, steps: str) -> None:
    """Before and after everything that is stored, and inside the handlers: while it runs, is answered, and is resumed.

    What is sent and not known to have been is told to the model, and not sent again.
    """
    done = subprocess.run(
        [sys.executable, str(WORKING), "kill", str(tmp_path), steps],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["points"]

    assert len(points) > (3 if steps.endswith("answer") else 20)
    for number, point in enumerate(points, 1):
        assert sorted(point["ran"]) == sorted(WRITTEN), number
        assert len(point["sent"]) == len(set(point["sent"])), number
        missing = {"ask-two", "freely"} - set(point["sent"])
        assert missing <= set(point["unknown"]), number
        assert len(point["unknown"]) <= 1, number
    assert points[-1]["unknown"] == []
    assert sorted(points[-1]["sent"]) == ["ask-two", "freely"]
    if steps == "go,answer,go":
        assert any(point["unknown"] for point in points)


@pytest.mark.parametrize("point", ["in send", "sent", "relayed"])
def test_what_a_call_inside_a_call_has_sent_is_not_sent_again(tmp_path: Path, point: str) -> None:
    """The call around it could be made again as if nothing had happened; a message cannot be called back."""
    done = subprocess.run(
        [sys.executable, str(WORKING), "nested", str(tmp_path), point],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    came = json.loads(done.stdout)

    assert came["sent"] == ([] if point == "in send" else ["word"])
    assert came["ran"] == []
    assert "the outcome of send is not known" in came["texts"]["word"]
