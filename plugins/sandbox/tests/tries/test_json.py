"""`--json` of `wink try`, `accept` and `drop`: one object each, and what the program prints stays its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plugins.sandbox.tests.tries.conftest import Wink


def said(wink: Wink, *words: str, status: int = 0) -> Any:
    """The only line of standard output."""
    done = wink(*words, "--json")
    assert done.returncode == status, done.stderr
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def test_a_try_is_told_in_the_last_line_of_standard_error(wink: Wink, place: Path) -> None:
    """Standard output is the program's, and so is the exit status."""
    done = wink("try", "--json", "--", "sh", "-c", "echo hello; echo two > a.txt; exit 3")
    told = json.loads(done.stderr.splitlines()[-1])

    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert told == {
        "try": "default",
        "status": 3,
        "changes": [{"path": "a.txt", "kind": "modified"}],
        "cannot_be_accepted": [],
        "notes": [],
        "hidden": told["hidden"],  # what this machine has of its user's credentials
        "home": [],
        "accepted": None,
    }
    assert (place / "a.txt").read_text() == "one\n"


def test_what_is_accepted_at_once_is_told_with_its_call(wink: Wink, place: Path) -> None:
    done = wink("try", "--keep-on-success", "--json", "--", "sh", "-c", "echo two > a.txt")
    told = json.loads(done.stderr.splitlines()[-1])["accepted"]

    assert (told["call"], told["changes"], told["over"]) == ("c1", [{"path": "a.txt", "kind": "modified"}], True)
    assert (place / "a.txt").read_text() == "two\n"


def test_accept_tells_the_call_and_what_is_left(wink: Wink, place: Path) -> None:
    wink("try", "--", "sh", "-c", "echo two > a.txt; echo new > n.txt; rm src/b.txt")

    would = said(wink, "accept", "n.txt", "--dry-run")
    assert (would["call"], would["dry_run"], [one["path"] for one in would["changes"]]) == (None, True, ["n.txt"])
    done = said(wink, "accept", "n.txt")
    assert (done["try"], done["call"], done["over"], done["left"]) == ("default", "c1", False, [])

    (place / "a.txt").write_text("mine\n")
    rest = said(wink, "accept", "--rest", status=1)
    assert (rest["call"], [one["path"] for one in rest["left"]]) == ("c2", ["a.txt"])
    assert rest["changes"] == [{"path": "src/b.txt", "kind": "deleted"}]


def test_a_refused_accept_tells_what_is_in_the_way(wink: Wink, place: Path) -> None:
    """The same object with nothing accepted: each path that is in the way with the reason, and the try stays."""
    wink("try", "--", "sh", "-c", "echo two > a.txt; echo new > n.txt")
    (place / "a.txt").write_text("mine\n")

    for words in ((), ("--dry-run",), ("a.txt",)):
        refused = said(wink, "accept", *words, status=2)
        assert (refused["call"], refused["changes"], refused["over"]) == (None, [], False)
        assert [(one["path"], bool(one["reason"])) for one in refused["left"]] == [("a.txt", True)]
    assert "nothing was accepted" in wink("accept", "--json").stderr
    assert (place / "a.txt").read_text() == "mine\n"
    assert not (place / "n.txt").exists()


def test_drop_tells_what_is_forgotten_and_brought_back(wink: Wink) -> None:
    wink("try", "--", "sh", "-c", "echo two > a.txt")
    changed = [{"path": "a.txt", "kind": "modified"}]

    assert said(wink, "drop", "--dry-run")["changes"] == changed
    done = said(wink, "drop")
    assert (done["try"], done["changes"], done["over"]) == ("default", changed, True)
    assert said(wink, "drop", "--undo") == {"changes": changed, "dry_run": False, "try": "default"}


def test_which_try_is_meant_is_said_the_same_everywhere(wink: Wink) -> None:
    """`--name` and `--try` are one option, whatever the command."""
    for option in ("--name", "--try"):
        assert wink("try", option, "other", "--", "sh", "-c", "echo two > a.txt").returncode == 0
        assert "+two" in wink("diff", option, "other").stdout
        assert said(wink, "accept", option, "other", "--dry-run")["try"] == "other"
        assert said(wink, "drop", option, "other")["over"] is True
