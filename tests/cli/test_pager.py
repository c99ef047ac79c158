"""Long output goes to a pager that the environment names, and to nothing that a workspace has a say in; colours where they are wanted."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]
Terminal = Callable[..., str]
COMMANDS = (("diff",), ("diff", "--stat"), ("log",), ("log", "--story"), ("show", "c1"), ("show", "r1"))
OURS = ("WINK_PAGER", "PAGER", "LESS", "NO_COLOR", "FORCE_COLOR", "TERM")


@pytest.fixture
def worked(cli: Cli, place: Path, script: Callable[[str], str]) -> Path:
    """A workspace with a run in which a file was written."""
    call = 'tool = "write_file"\narguments = { file_path = "b.txt", content = "new\\n" }'
    path = script(f'[[turn]]\n[[turn.call]]\n{call}\n\n[[turn]]\ntext = "done"\n')
    assert cli("run", "Write it", "--model", f"scripted:{path}", "--no-input").status == 0
    return place


def environment(**variables: str) -> dict[str, str]:
    """This one, with nothing in it that is about pagers and colours but these."""
    return {**{name: value for name, value in os.environ.items() if name not in OURS}, **variables}


@pytest.fixture
def on_terminal(worked: Path) -> Terminal:
    """What a terminal gets of a command, with these variables."""

    def run(*words: str, cwd: Path = worked, **variables: str) -> str:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "wink", *words]
        with subprocess.Popen(
            command, cwd=cwd, env=environment(**variables), stdout=theirs, stderr=subprocess.PIPE
        ) as process:
            os.close(theirs)
            shown = b""
            with suppress(OSError):  # which Linux says where nobody has the other end any more
                while piece := os.read(ours, 65536):
                    shown += piece
            os.close(ours)
            assert process.stderr is not None
            said = process.stderr.read()
        assert (process.returncode, said) == (0, b"")
        return shown.decode().replace("\r\n", "\n")

    return run


@pytest.mark.parametrize("words", COMMANDS)
def test_the_pager_of_the_environment_gets_what_a_terminal_would(on_terminal: Terminal, words: tuple[str, ...]) -> None:
    """The one for wink before the one for everything, and none where there is none."""
    plain = on_terminal(*words)
    assert plain

    paged = on_terminal(*words, PAGER="sed s/^/paged:/")
    assert paged == "".join(f"paged:{line}" for line in plain.splitlines(keepends=True))
    assert on_terminal(*words, PAGER="false", WINK_PAGER="sed s/^/mine:/") == paged.replace("paged:", "mine:")
    assert on_terminal(*words, PAGER="sed s/^/paged:/", WINK_PAGER="") == plain
    for nothing in ("cat", "", "'unbalanced", "./sed p", "no-such-program-anywhere"):
        assert on_terminal(*words, PAGER=nothing) == plain


@pytest.mark.parametrize("words", COMMANDS)
def test_without_a_terminal_there_is_no_pager(worked: Path, words: tuple[str, ...]) -> None:
    """Somebody else reads it."""
    done = subprocess.run(
        [sys.executable, "-m", "wink", *words], cwd=worked, env=environment(PAGER="sed s/^/paged:/"),
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip

    assert b"paged:" not in done.stdout
    assert b"\x1b" not in done.stdout


def test_json_is_for_machines(on_terminal: Terminal) -> None:
    """Also on a terminal."""
    for words in (("diff", "--json"), ("log", "--json"), ("log", "--story", "--json"), ("show", "c1", "--json")):
        assert on_terminal(*words, PAGER="sed s/^/paged:/").startswith("{")


def test_whoever_has_seen_enough_leaves(on_terminal: Terminal) -> None:
    """No error, and nobody waits."""
    assert on_terminal("show", "c1", PAGER="head -n 1").startswith("c1  write_file")
    assert on_terminal("log", PAGER="true") == ""


def test_a_workspace_names_no_pager_and_none_in_it_is_started(on_terminal: Terminal, worked: Path) -> None:
    """Not by a setting, not by a name on a path that leads into it, and not by a link to a shell, which would run what it is shown."""
    inside = worked / "node_modules/.bin"
    inside.mkdir(parents=True)
    program = inside / "less"
    program.write_text("#!/bin/sh\necho evil\n")
    program.chmod(0o755)
    (inside / "more").symlink_to("/bin/sh")
    outside = worked.parent / "bin"
    outside.mkdir()
    (outside / "most").symlink_to(program)
    (worked / ".git").mkdir()
    (worked / ".git/config").write_text(f"[core]\n\tpager = {program}\n")
    (worked / "deep").mkdir()
    plain = on_terminal("diff")
    path = os.pathsep.join((os.fspath(inside), "node_modules/.bin", "", ".", os.fspath(outside), os.environ["PATH"]))

    for pager in ("less", "more", "most", os.fspath(program), os.fspath(inside / "more"), "node_modules/.bin/less"):
        for cwd in (worked, worked / "deep"):
            shown = on_terminal("diff", cwd=cwd, PATH=path, PAGER=pager)
            assert "evil" not in shown
            assert shown.replace("../", "") == plain.replace("../", ""), pager
    (worked / "wink.toml").write_text(f'pager = "{program}"\n')
    refused = subprocess.run(
        [sys.executable, "-m", "wink", "diff"],
        cwd=worked,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "evil" not in refused.stdout


@pytest.mark.parametrize("words", [("diff",), ("diff", "--stat"), ("show", "c1")])
def test_colours_come_by_themselves_on_a_terminal_alone(
    on_terminal: Terminal, worked: Path, words: tuple[str, ...]
) -> None:
    """A variable says otherwise, and an option more than that; a pager gets what its terminal would."""
    for more in ({}, {"PAGER": "sed p"}):
        assert "\x1b[32m" in on_terminal(*words, **more)
        assert "\x1b" not in on_terminal(*words, NO_COLOR="1", FORCE_COLOR="1", **more)
        assert "\x1b" not in on_terminal(*words, "--color", "never", **more)
        assert "\x1b[32m" in on_terminal(*words, "--color", "always", NO_COLOR="1", **more)
        assert "\x1b[32m" in on_terminal(*words, NO_COLOR="", **more)


@pytest.mark.parametrize("words", [("diff", "--stat"), ("show", "c1")])
def test_colours_come_into_a_pipe_where_they_are_asked_for(cli: Cli, worked: Path, words: tuple[str, ...]) -> None:
    """By the option or the variable."""
    with pytest.MonkeyPatch.context() as patch:
        for name in OURS:
            patch.delenv(name, raising=False)
        assert "\x1b" not in cli(*words).out
        assert "\x1b[32m" in cli(*words, "--color", "always").out
        patch.setenv("FORCE_COLOR", "1")
        assert "\x1b[32m" in cli(*words).out
        assert "\x1b" not in cli(*words, "--color", "never").out
        patch.setenv("NO_COLOR", "1")
        assert "\x1b" not in cli(*words).out


def test_a_diff_in_a_pipe_can_be_applied_whatever_the_variables_say(cli: Cli, worked: Path) -> None:
    """`git apply` is behind it; only who asks for colours gets a diff for people."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        plain = cli("diff").out
        patch.setenv("FORCE_COLOR", "1")
        assert cli("diff").out == plain
        assert plain.startswith("diff --git a/b.txt b/b.txt\n")
        assert "\x1b[32m+new\x1b[0m" in cli("diff", "--color", "always").out
