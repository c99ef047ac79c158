"""What an agent makes of the workspace's settings keeps nobody from looking and going back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli._opening import whatever_makes_sense
from wink.cli.settings import masking_for

Cli = Callable[..., Done]
BROKEN = {
    "no TOML": ("wink.toml", b"[[rules\n", "is not TOML"),
    "no text": ("wink.toml", b"\xff\xfe", "is not TOML"),
    "a key misspelt": ("wink.toml", b"rulez = []\n", "did you mean 'rules'?"),
    "a mask that is none": ("pyproject.toml", b"[tool.wink.mask]\npatterns = 3\n", "must be a list"),
    "a bound that is none": ("wink.toml", b"max_file_bytes = 'all'\n", "must be a number of bytes"),
    "a link that leads to itself": ("wink.toml", None, "cannot be read"),
}
LOOKING = (
    "log",
    "log --json",
    "show c1",
    "diff",
    "status",
    "runs",
    "approvals",
    "tries",
    "undo --dry-run",
    "undo",
    "redo",
)


def break_settings(place: Path, how: str) -> str:
    """What a command has to say of it."""
    name, data, complaint = BROKEN[how]
    if data is None:
        (place / name).symlink_to(name)
    else:
        (place / name).write_bytes(data)
    return complaint


@pytest.mark.parametrize("how", BROKEN)
def test_commands_that_look_and_go_back_work_and_say_why_others_do_not(cli: Cli, place: Path, how: str) -> None:
    assert cli("call", "write_file", "file_path=b.txt", "content=x").status == 0
    complaint = break_settings(place, how)

    for command in LOOKING:
        done = cli(*command.split())
        assert done.status == 0, (command, done)
        (told,) = [line for line in (done.out + done.err).splitlines() if complaint in line]
        assert told.endswith("what it says does not count here, and no tool runs until it is fixed"), (command, done)

    for command in ("call ls", "explain ls", "tools"):
        done = cli(*command.split())
        assert done.status == 2
        assert complaint in done.err


def test_undo_takes_back_what_broke_the_settings(cli: Cli, place: Path) -> None:
    cli("call", "write_file", "file_path=wink.toml", "content=[[rules")
    assert cli("call", "ls").status == 2

    assert cli("undo").status == 0

    assert not (place / "wink.toml").exists()
    assert cli("call", "ls").status == 0


def test_masks_of_files_that_make_sense_still_hold(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those of the broken file itself, where another of its settings is the one that makes no sense."""
    (place / "pyproject.toml").write_text("[tool.wink.mask]\npatterns = ['hush-[0-9]+']\n")
    wrong = place / "wink.toml"
    wrong.write_text("max_file_bytes = -1\n[mask]\npatterns = ['quiet-[0-9]+']\n")

    masking = whatever_makes_sense(partial(masking_for, str(place)))

    assert masking.text("hush-1234 quiet-1234") == "[masked] [masked]"
    assert not capsys.readouterr().err

    wrong.write_text("[[rules")
    masking = whatever_makes_sense(partial(masking_for, str(place)))

    assert masking.text("hush-1234 quiet-1234") == "[masked] quiet-1234"
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_own_settings_that_make_no_sense_stop_everything(cli: Cli, place: Path) -> None:
    """Nobody else wrote them, and they may hold masks."""
    own = place.parent / "home/.config/wink"
    own.mkdir(parents=True)
    (own / "wink.toml").write_text("[[rules")

    assert cli("log").status == 2
