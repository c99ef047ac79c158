"""Names that Windows cannot hold: taken by `wink accept`, unless `portable_names` is set."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

NAMES = ("CON", "a:b", "dot.", "space ", "aux.d", "aux.d/x", "lpt1.txt", "q?")
_MAKE = "mkdir aux.d; for name in CON a:b dot. 'space ' aux.d/x lpt1.txt 'q?' fine.txt; do echo x > \"$name\"; done; ln -s a.txt nul"
_REASON = "has a name that no Windows can hold, and portable_names is set; rename it in the try"


def _own(place: Path, text: str) -> None:
    file = place.parent / "home/.config/wink/wink.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_such_names_are_taken_with_a_note(wink: Wink, place: Path) -> None:
    """They are good names on this system, and a program made them on purpose."""
    tried = wink("try", "--", "sh", "-c", _MAKE)
    accepted = wink("accept")

    assert accepted.returncode == 0, accepted.stderr
    assert all((place / name).exists() for name in (*NAMES, "nul", "fine.txt"))
    for said in (tried.stderr, accepted.stdout):
        assert "  lpt1.txt has a name in it that no Windows can hold\n" in said


@pytest.mark.parametrize("whose", ["user", "workspace"])
def test_with_the_setting_an_accept_refuses_them_once_and_the_ways_on_work(wink: Wink, place: Path, whose: str) -> None:
    """The reason stands once; what is beneath such a directory is not said again."""
    if whose == "user":
        _own(place, "portable_names = true\n")
    else:
        (place / "wink.toml").write_text("portable_names = true\n")
    tried = wink("try", "--", "sh", "-c", _MAKE)
    assert f"wink: 8 paths cannot be accepted:\n  {_REASON}:\n    CON\n" in tried.stderr

    refused = wink("accept")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.splitlines() == [
        "wink: nothing was accepted, 8 paths cannot be:",
        f"  {_REASON}:",
        *(f"    {name}" for name in ("CON", "a:b", "aux.d", "dot.", "lpt1.txt", "nul", "q?", "space ")),
        "  `wink accept --rest` accepts everything else",
    ]
    assert not (place / "fine.txt").exists()
    wink("try", "--", "sh", "-c", "mv lpt1.txt printer.txt; rm 'dot.' 'space '")
    rest = wink("accept", "--rest")
    assert rest.returncode == 1
    assert (place / "fine.txt").read_text() == (place / "printer.txt").read_text() == "x\n"
    assert not any((place / name).is_symlink() or (place / name).exists() for name in (*NAMES, "nul"))
    if whose == "user":
        _own(place, "")
    else:
        (place / "wink.toml").unlink()
    assert wink("accept").returncode == 0
    assert (place / "aux.d/x").read_text() == "x\n"


def test_what_has_such_a_name_already_can_be_changed_moved_and_deleted(wink: Wink, place: Path) -> None:
    """Only new names are refused, in `.git` none: a branch may be called so, and no Windows checks that out."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    (place / "aux").mkdir()
    for name in ("CON", "aux/x", "prn"):
        (place / name).write_text("x\n")
    _own(place, "portable_names = true\n")
    git = "git -c user.name=n -c user.email=e@x"
    script = f"echo 2 >> CON; echo 3 >> aux/new; mv prn printer; rm aux/x; ln -sf a.txt CON; {git} add a.txt; {git} commit -qm x; git branch aux"

    tried = wink("try", "--keep-on-success", "--", "sh", "-c", script)

    assert "cannot be" not in tried.stderr, tried.stderr
    assert (place / "CON").is_symlink()
    assert (place / "aux/new").read_text() == "3\n"
    assert not (place / "prn").exists()
    assert (place / ".git/refs/heads/aux").exists()


def test_keeping_on_success_and_picking_refuse_them_too(wink: Wink, place: Path) -> None:
    """Every way in is the same."""
    _own(place, "portable_names = true\n")

    done = wink("try", "--keep-on-success", "--", "sh", "-c", "echo x > CON; echo 2 > a.txt")
    picked = wink("accept", "CON")
    shown = wink("accept", "--dry-run")

    assert f"  {_REASON}:\n    CON\n" in done.stderr
    assert (picked.returncode, shown.returncode) == (2, 2)
    assert picked.stderr.splitlines()[-1] == "  `wink drop CON` forgets what was tried"
    assert (place / "a.txt").read_text() == "one\n"
    assert wink("accept", "--without", "CON").returncode == 0
    assert (place / "a.txt").read_text() == "2\n"


def test_a_setting_that_nobody_understands_ends_a_try_before_it_begins(wink: Wink, place: Path) -> None:
    """And an accept: guessing might let in what was to stay out."""
    wink("try", "--", "touch", "CON")
    _own(place, 'portable_names = "yes"\n')

    for words in (("try", "--", "touch", "ran"), ("accept",)):
        done = wink(*words)
        assert done.returncode == 2
        assert "portable_names: must be true or false" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (place / "CON").exists()
    _own(place, "")
    assert "ran" not in wink("diff").stdout
