"""`wink run --record` and `wink replay`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done

Cli = Callable[..., Done]
Write = Callable[[str], str]

EDIT = """
[[turn]]
text = "I look first."
[[turn.call]]
tool = "read_file"
arguments = { file_path = "a.txt" }

[[turn]]
[[turn.call]]
tool = "edit_file"
arguments = { file_path = "a.txt", old_string = "two", new_string = "three" }

[[turn]]
text = "Three it is."
"""


def test_a_recorded_run_is_played_again_without_its_model(cli: Cli, script: Write, place: Path, tmp_path: Path) -> None:
    """The calls are executed anew; on a workspace that is as it was it comes to the same end."""
    recording = str(tmp_path / "run.jsonl")
    before = (place / "a.txt").read_text()
    path = script(EDIT)
    done = cli("run", "Make it three", "--model", f"scripted:{path}", "--record", recording)
    assert done.status == 0, done.err
    Path(path).unlink()
    cli("undo", "1")
    (place / "a.txt").write_text(before)

    done = cli("replay", recording, "--session", "again")
    assert (done.status, done.err) == (0, "")
    assert "Three it is." in done.out
    assert "three" in (place / "a.txt").read_text()

    done = cli("replay", recording, "--session", "once-more")
    assert done.status == 1
    assert "the replay went another way: before turn 2 of the model: the reply to call 1 (read_file)" in done.err


def test_what_cannot_be_played_is_one_line(cli: Cli, script: Write, place: Path, tmp_path: Path) -> None:
    """And nothing is changed."""
    (tmp_path / "bad").write_text("nonsense")
    done = cli("replay", str(tmp_path / "bad"))
    assert (done.status, len(done.err.splitlines())) == (2, 1)
    assert "line 1: it is not JSON" in done.err
    (tmp_path / "other").write_text('{"wink recording": 1, "about": {"mine": true}}\n')
    assert "was not recorded with `wink run --record`" in cli("replay", str(tmp_path / "other")).err
    assert cli("replay", str(tmp_path / "missing")).status == 2
    done = cli("run", "--resume", "--record", "x", "--model", f"scripted:{script(EDIT)}")
    assert "leave out --record, or --resume" in done.err
