"""`wink rewind --run`: what a provider is asked next does not hold what was taken back, in whole processes over loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plugins.models.tests.server import Server, serving
from plugins.models.tests.speaking import Say
from plugins.models.tests.test_command import KEY, URLS, wink


def says(number: int) -> Say:
    """A turn that writes a file."""
    arguments = json.dumps({"file_path": f"file-{number}.txt", "content": f"content-{number}"})
    return Say(f"I write number {number}.", calls=(("write_file", arguments, f"id-{number}"),))


def run(place: Path, server: Server, kind: str, *arguments: str) -> str:
    """`wink run`, which has to succeed."""
    options = ("--base-url", server.url + URLS[kind], "--no-input")
    done = wink(place, "run", *arguments, *options, OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
    assert (done.returncode, server.problems) == (0, []), done.stderr
    return done.stdout


def files(place: Path) -> list[str]:
    return sorted(path.name for path in place.glob("*.txt"))


@pytest.mark.parametrize(("kind", "fork"), [("openai", False), ("openai-chat", True), ("anthropic", False)])
def test_a_run_goes_on_from_an_earlier_turn(tmp_path: Path, kind: str, fork: bool) -> None:
    """Files and conversation are those of the moment; undoing it brings the files forward."""
    with serving([says(1), says(2), says(3), Say("Done."), says(4), Say("Done otherwise.")]) as server:
        run(tmp_path, server, kind, "Write files", "--model", f"{kind}:m")
        assert files(tmp_path) == ["file-1.txt", "file-2.txt", "file-3.txt"]
        (tmp_path / "mine.txt").write_text("mine")

        shown = wink(tmp_path, "rewind", "--run", "r1", "--to", "1", "--dry-run", *(("--fork",) if fork else ()))
        assert "turn 2 would go: I write number 2." in shown.stdout
        assert len(files(tmp_path)) == 4
        done = wink(tmp_path, "rewind", "--run", "r1", "--to", "1", "--json", *(("--fork",) if fork else ()))
        told = json.loads(done.stdout)
        name = "r2" if fork else "r1"
        assert (told["run"], told["turns"], told["ready"]) == (name, [2, 3, 4], True)
        assert told["command"] == ["wink", "run", "--resume", name]
        assert files(tmp_path) == ["file-1.txt", "mine.txt"]
        run(tmp_path, server, kind, "--resume", name)

    asked = json.dumps(server.bodies[4])
    assert "number 1" in asked
    assert "file-1.txt" in asked
    assert not any(word in asked for word in ("number 2", "file-2.txt", "number 3", "id-3", "Done."))
    assert "number 4" in json.dumps(server.bodies[5])
    assert files(tmp_path) == ["file-1.txt", "file-4.txt", "mine.txt"]
    listed = wink(tmp_path, "runs", "--all").stdout
    assert ("  r2  ended" in listed) is fork
    assert ("(from turn 1 of r1)" in listed) is fork
    wink(tmp_path, "redo")
    assert files(tmp_path) == ["file-1.txt", "file-2.txt", "file-3.txt", "file-4.txt", "mine.txt"]


def test_go_starts_the_run_there_at_once(tmp_path: Path) -> None:
    """One command back and on; its arguments are those of `wink run`."""
    with serving([says(1), says(2), Say("Done."), Say("Enough.")]) as server:
        run(tmp_path, server, "openai", "Write files", "--model", "openai:m")
        url = f"{server.url}/v1"
        done = wink(tmp_path, "rewind", "--run", "r1", "--to", "0", "--go", "--", "--base-url", url, OPENAI_API_KEY=KEY)
    assert (done.returncode, server.problems) == (0, []), done.stderr
    assert "Enough." in done.stdout
    assert "number 1" not in json.dumps(server.bodies[3])
    assert files(tmp_path) == []
