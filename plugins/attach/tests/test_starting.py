"""Where a helper works, where it does not, and what a hook answers then: the agent goes on, or its call is denied with the reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plugins.attach.tests.conftest import AGENT, Project

from wink_attach._place import oddity

DENYING = '[[rules]]\naction = "deny"\ntools = "run_command"\nreason = "no"\n'


def payload(event: str) -> bytes:
    """An event of a call that reads."""
    told = {"hook_event_name": event, "session_id": "s", "tool_name": "Read", "tool_input": {}, "tool_use_id": "t"}
    return json.dumps(told).encode()


@pytest.fixture
def everywhere(project: Project) -> Iterator[Callable[[str, Path], tuple[int, str]]]:
    """An agent attached for all projects: runs the hook of an event in a directory, and gives its status and what it complains of."""
    project.wink("attach", AGENT, "--user")
    hooks = json.loads((project.home / ".claude/settings.json").read_text())["hooks"]

    def run(event: str, place: Path) -> tuple[int, str]:
        done = project.run(hooks[event][0]["hooks"][0]["command"], payload(event), place)
        return done.returncode, done.stderr.decode()

    yield run
    project.wink("detach", AGENT, "--user")


def plant(place: Path, what: str, elsewhere: Path) -> None:
    """Put something at `.wink` that came with a clone."""
    elsewhere.mkdir()
    match what:
        case "a link":
            (place / ".wink").symlink_to(elsewhere)
        case "a file":
            (place / ".wink").write_text("x")
        case "a pipe":
            os.mkfifo(place / ".wink")
        case "a record":
            (place / ".wink").mkdir()
            (place / ".wink/record.db").write_bytes(b"x" * 4096)
        case _:
            (place / ".wink" / ("a" * 32)).mkdir(parents=True)


@pytest.mark.parametrize("what", ["a link", "a file", "a pipe", "a record", "a state"])
def test_a_planted_state_lets_no_call_run(
    project: Project, everywhere: Callable[[str, Path], tuple[int, str]], tmp_path: Path, what: str
) -> None:
    """A clone must not be able to switch off that its calls are judged; what is to be done is said, and done it works."""
    plant(project.root, what, tmp_path / "elsewhere")

    status, said = everywhere("PreToolUse", project.root)

    assert status == 2
    assert "no call is judged" in said
    assert ".wink" in said
    assert "tell the user to run `wink doctor`" in said
    assert len(said.splitlines()) == 1
    assert everywhere("PostToolUse", project.root) == (0, "")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    project.wink("recover", "--set-aside")
    assert everywhere("PreToolUse", project.root) == (0, "")


@pytest.mark.parametrize("denies", [False, True])
def test_a_helper_that_cannot_start_is_told_at_once(
    project: Project, rules: Callable[[str], None], denies: bool
) -> None:
    """A hook that waited for it would hold up the agent at each call, and would not say what is wrong."""
    rules(DENYING if denies else "")
    project.wink("attach", AGENT)
    client = project.home / ".local/state/wink/attach/client.py"
    source = client.read_text()
    broken = project.home / "broken"
    broken.write_text("#!/bin/sh\necho no such module >&2\nexit 1\n")
    broken.chmod(0o755)
    known = next(line for line in source.splitlines() if line.startswith("known = "))
    python = eval(known.removeprefix("known = "))["python"]
    client.write_text(source.replace(known, known.replace(repr(python), repr(str(broken)))))

    done = project.raw("PreToolUse", payload("PreToolUse"))

    assert done.returncode == (2 if denies else 0)
    assert (b"it cannot be started: no such module" in done.stderr) == denies
    assert "cannot start: no such module" in project.wink("doctor")


def test_the_home_is_not_kept(
    project: Project, everywhere: Callable[[str, Path], tuple[int, str]], rules: Callable[[str], None]
) -> None:
    """An agent attached for all projects may work there too, where keys and everything else of a person's are."""
    (project.home / ".ssh").mkdir()
    (project.home / ".ssh/id").write_text("a private key")

    status, said = everywhere("SessionStart", project.home)

    assert status == 1
    assert "holds more than a project" in said
    assert everywhere("UserPromptSubmit", project.home) == (0, "")
    assert everywhere("PreToolUse", project.home) == (0, "")
    assert not (project.home / ".wink").exists()
    assert not (project.home / ".local/state/wink/attach/baselines").exists()
    rules(DENYING)
    assert everywhere("UserPromptSubmit", project.home) == (0, "")
    status, said = everywhere("PreToolUse", project.home)
    assert status == 2
    assert "holds more than a project" in said


def test_what_holds_more_than_a_project_is_no_place_for_a_helper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that holds what wink keeps out of workspaces' reach, nor another user's that nobody chose."""
    home, state = tmp_path / "all/home", tmp_path / "state"
    project = home / "work/project"
    project.mkdir(parents=True)
    state.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))

    for odd in (Path("/"), home, home.parent, tmp_path, state, state / "wink"):
        assert "holds more than a project" in oddity(str(odd), is_chosen=True)
    for plain in (project, home / "work", tmp_path / "all/home-of-another"):
        plain.mkdir(exist_ok=True)
        assert oddity(str(plain), is_chosen=False) == ""
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert "another user's" in oddity(str(project), is_chosen=False)
    assert oddity(str(project), is_chosen=True) == ""


def test_how_much_is_kept_is_a_setting_of_the_users(project: Project, rules: Callable[[str], None]) -> None:
    """What does not fit says so when it has changed; a file of the workspace, which the agent may write, has no say."""
    rules("[plugins.attach]\nbudget_bytes = 2_000_000\n")
    (project.root / "wink.toml").write_text("[plugins.attach]\nbudget_bytes = 1_048_576\n")
    for name, size in (("large", 2_500_000), ("fits", 1_200_000)):
        (project.root / name).write_bytes(b"x" * size)
    project.attach()
    project.bash("t1", "echo y >> fits; echo y >> a.txt")
    project.bash("t2", "echo y >> large")

    assert "not kept" not in project.wink("show", "c1")
    assert "not kept as it was before, and cannot be undone: large" in project.wink("show", "c2")


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("budget_bytes = 1000", "budget_bytes: must be at least 1048576"),
        ("budget_bytes = -1", "budget_bytes: must be at least 1048576"),
        ("budget_bytes = 1_152_921_504_606_846_976", "budget_bytes: must be at most 1125899906842624"),
        ("budget_bytes = '1 GB'", "budget_bytes: "),
        ("budget_bytes = 1.5", "budget_bytes: "),
        ("budget_bytes = true", "budget_bytes: "),
        ("budget = 1", "budget: "),
    ],
)
def test_a_budget_that_is_none_is_refused(
    project: Project, rules: Callable[[str], None], setting: str, problem: str
) -> None:
    """Where an agent is attached, with the file, the key and what it may be; nothing is written then."""
    rules(f"[plugins.attach]\n{setting}\n")

    said = project.wink("attach", AGENT, fails=True)

    assert "wink.toml" in said
    assert problem in said
    assert not project.settings.exists()


def test_a_damaged_baseline_is_set_aside_and_begun_anew(attached: Project) -> None:
    """Calls go on, the log and `wink doctor` say it, and what is recorded from now on can be undone."""
    attached.kill_helper()
    database = attached.baseline / "baseline.db"
    database.write_bytes(b"damaged" * 1000)
    for name in ("baseline.db-wal", "baseline.db-shm"):
        (attached.baseline / name).unlink(missing_ok=True)
    assert "the copies of files are damaged" in attached.wink("doctor")

    attached.prompt("Go")
    attached.bash("t1", "echo two >> a.txt")

    assert attached.changed() == [("Bash", ["a.txt"])]
    assert "begun anew" in attached.wink("show", "c1")
    assert "another one was begun" in attached.wink("doctor")
    assert (attached.baseline / "damaged/baseline.db").read_bytes().startswith(b"damaged")
    attached.wink("undo", "--turn")
    assert (attached.root / "a.txt").read_text() == "one\n"


def test_a_baseline_that_turns_out_to_be_damaged_is_begun_anew_by_the_next_helper(attached: Project) -> None:
    """Not all of it is read when a helper starts."""
    attached.kill_helper()
    with (attached.baseline / "baseline.db").open("ab") as stream:
        stream.write(b"\0")
    (attached.baseline / "distrusted").touch()

    attached.prompt("Go")
    attached.bash("t1", "echo two >> a.txt")

    assert attached.changed() == [("Bash", ["a.txt"])]
    assert not (attached.baseline / "distrusted").exists()


def check_undo_of_another_file(attached: Project) -> None:
    """With other content at the path, a call that adds to it is recorded, and its undo gives that content back."""
    (attached.root / "a.txt").write_text("another\n")

    attached.prompt("Go")
    attached.bash("t1", "echo two >> a.txt")

    assert attached.changed() == [("Bash", ["a.txt"])]
    attached.wink("undo", "--turn")
    assert (attached.root / "a.txt").read_text() == "another\n"


def test_the_baseline_of_a_directory_that_is_gone_is_nobodys(attached: Project) -> None:
    """What lay at the same path before would be found to have changed, and an undo would bring it back."""
    attached.kill_helper()
    os.rename(attached.root / ".wink", attached.home / "gone")
    check_undo_of_another_file(attached)


def test_another_directory_at_the_same_path_is_followed(attached: Project) -> None:
    """A helper that watched on what was deleted would see nothing of what is done in what was cloned in its place."""
    settings = attached.settings.read_text()
    os.rename(attached.root, attached.home / "gone")
    attached.settings.parent.mkdir(parents=True)
    attached.settings.write_text(settings)
    check_undo_of_another_file(attached)
