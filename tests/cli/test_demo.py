"""`wink demo`: the main job, on the project that ships and on any other."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink_sandbox import Feature, Report

Cli = Callable[..., Done]
Write = Callable[[str], str]

MEND = """
task = "Make one and one two."

[[turn]]
text = "Reading sums.py."
[[turn.call]]
tool = "read_file"
arguments = { file_path = "sums.py" }

[[turn]]
[[turn.call]]
tool = "edit_file"
arguments = { file_path = "sums.py", old_string = "- b", new_string = "+ b" }
expect = { success = true }

[[turn]]
text = "That was a sign."
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that is not wink's, with a bug that one edit fixes."""
    directory = tmp_path / "sums"
    directory.mkdir()
    (directory / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    (directory / "test_sums.py").write_text(
        "import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(add(1, 1), 2)\n"
    )
    return directory


def git(directory: Path, *arguments: str) -> str:
    """What git says of a repository."""
    return subprocess.run(["git", "-C", directory, *arguments], capture_output=True, text=True, check=True).stdout


def test_the_demo_shows_the_main_job(cli: Cli, tmp_path: Path) -> None:
    """Refused, planned, read, edited, rolled back, fixed: in this order, and the tests fail before and pass after."""
    done = cli("demo", "--into", str(tmp_path / "copy"))

    assert (done.status, done.err) == (0, "")
    words = [line.split("  ")[0] for line in done.out.splitlines() if line[:1].isalpha() or line.startswith(".git")]
    assert [word for word in words if word not in {"model", "ok"}] == [
        "A small project",
        "tests fail",
        "denied",
        "rolled back",
        "tests pass",
        "changed",
        ".git",
        "diff --git a/invoice/money.py b/invoice/money.py",
        "Try next",
    ]
    assert "taken back; nothing of this stayed:\n             invoice/report.py  +1 -1\n" in done.out
    assert "5 + Line = namedtuple" in done.out
    assert ".git         untouched\n" in done.out
    assert not any(line != line.rstrip() for line in done.out.splitlines())
    assert max(map(len, done.out.splitlines())) <= 100 + len(str(tmp_path))


def test_only_the_bug_is_different_afterwards(cli: Cli, tmp_path: Path) -> None:
    """One commit, one modified file, and wink's own directory is ignored."""
    copy = tmp_path / "copy"
    cli("demo", "--into", str(copy))

    assert git(copy, "status", "--porcelain") == " M invoice/money.py\n"
    assert git(copy, "log", "--format=%an %s") == "wink demo A project with a bug\n"
    assert "amount-cents" not in git(copy, "diff")


def test_another_project_and_script_give_another_story(cli: Cli, tmp_path: Path, project: Path, script: Write) -> None:
    """Nothing of what is shown is canned: it follows the project and the script."""
    copy = tmp_path / "copy"

    done = cli("demo", "--project", str(project), "--script", script(MEND), "--into", str(copy))

    assert (done.status, done.err) == (0, "")
    assert "Make one and one two." in done.out
    assert "FAIL: test_two" in done.out
    assert "model        That was a sign." in done.out
    assert "tests pass   Ran 1 test in the sandbox: OK" in done.out
    assert "-    return a - b\n+    return a + b\n" in done.out
    assert "wink call read_file file_path=sums.py " in done.out
    assert "wink call write_file file_path=test_sums.py content=hi " in done.out
    assert "invoice" not in done.out
    assert (project / "sums.py").read_text() == "def add(a, b):\n    return a - b\n"


def test_a_script_that_does_not_fit_the_project_is_told_and_fails(cli: Cli, project: Path, tmp_path: Path) -> None:
    """wink's own script on a project that it was not written for."""
    done = cli("demo", "--project", str(project), "--into", str(tmp_path / "copy"))

    assert done.status == 1
    assert done.err.startswith("wink: the run ended early: the demo's script, turn 1, call 1 (write_file): expected")
    assert done.err.count("\n") == 1


def test_a_bug_that_stays_fails(cli: Cli, project: Path, script: Write, tmp_path: Path) -> None:
    """The exit status is the word of the project's tests, not the model's."""
    turns = script('[[turn]]\ntext = "All is well."\n')

    done = cli("demo", "--project", str(project), "--script", turns, "--into", str(tmp_path / "copy"))

    assert done.status == 1
    assert done.out.count("tests fail") == 2


def test_json_tells_machines_the_same(cli: Cli, tmp_path: Path) -> None:
    """One object a line, from the failing tests to the passing ones."""
    done = cli("demo", "--json", "--into", str(tmp_path / "copy"))

    assert done.status == 0
    assert [row["passed"] for row in done.rows if row["event"] == "tests"] == [False, True]
    outcomes = [row["outcome"] for row in done.rows if row["event"] == "call"]
    assert outcomes == ["denied", "ok", "ok", "ok", "ok", "ok", "rolled back", "ok", "ok", "ok"]
    undone = next(row for row in done.rows if row.get("rolled_back"))
    assert [change["path"] for change in undone["changes"]] == [
        "invoice/report.py",
        "invoice/lines.py",
        "invoice/money.py",
    ]
    end = done.rows[-1]
    assert (end["event"], end["git"], end["changed"]) == ("end", "untouched", ["invoice/money.py"])


def test_without_git_there_is_no_repository(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main job does not depend on git; it says that there is none."""
    monkeypatch.setenv("PATH", str(tmp_path))

    done = cli("demo", "--into", str(tmp_path / "copy"))

    assert done.status == 0
    assert "no git here, so no repository" in done.out
    assert not (tmp_path / "copy" / ".git").exists()


def test_a_repository_in_the_environment_is_left_alone(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git sets GIT_DIR for its hooks; whoever runs the demo there must not find a commit in the wrong place."""
    subprocess.run(["git", "init", "-q", tmp_path / "mine"], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "mine" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "mine" / "index"))

    assert cli("demo", "--into", str(tmp_path / "copy")).status == 0

    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert git(tmp_path / "mine", "count-objects").startswith("0 objects")
    assert git(tmp_path / "copy", "log", "--format=%s") == "A project with a bug\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--project", "gone"), "the project 'gone' is not a directory; name the one to copy"),
        (("--project", "a.txt"), "the project 'a.txt' is not a directory"),
        (("--project", ""), "the project '' is not a directory"),
        (("--script", "gone"), "cannot read the script 'gone': No such file or directory"),
        (("--script", "a.txt"), "a.txt: not valid TOML"),
        (("--into", "."), "'.' is not empty; name a directory that is new or empty with --into"),
        (("--into", "a.txt"), "cannot put the copy into 'a.txt': Not a directory"),
        (("--into", "a.txt/b"), "cannot put the copy into 'a.txt/b': Not a directory"),
        (("--into", "new", "--project", "."), "is inside the project; name another place with --into"),
        (("extra",), "got unexpected extra argument (extra)"),
    ],
)
def test_wrong_input_gets_one_line_and_changes_nothing(
    cli: Cli, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], complaint: str
) -> None:
    """Exit status 2; no half a copy and no temporary directory is left behind."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    done = cli("demo", *arguments)

    assert (done.status, done.out) == (2, "")
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in place.iterdir()] == ["a.txt"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_cannot_be_copied_is_said(cli: Cli, project: Path, tmp_path: Path) -> None:
    """A socket or a pipe in a project has no copy."""
    import os

    os.mkfifo(project / "pipe")

    done = cli("demo", "--project", str(project), "--into", str(tmp_path / "copy"))

    assert done.status == 2
    assert "pipe" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "copy").exists()


def test_a_terminal_gets_colours_and_the_same_words(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """rich draws there; what it says is the same."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)

    done = cli("demo", "--into", str(tmp_path / "copy"))

    assert done.status == 0
    assert "\x1b[1;31mrolled back" in done.out
    assert "\x1b[32m   7 +" in done.out


def test_without_a_sandbox_the_tests_run_all_the_same(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the user's own project, and the user who runs the demo."""
    monkeypatch.setattr("wink_sandbox._guard._can_mount", lambda _: False)
    monkeypatch.setattr("wink_sandbox._probe.probe", lambda: Report((Feature("linux", False),)))
    done = cli("demo", "--into", str(tmp_path / "copy"))
    assert done.status == 0, done.err
    assert "tests pass   Ran 6 tests: OK" in done.out
