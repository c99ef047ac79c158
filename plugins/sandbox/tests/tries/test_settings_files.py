"""Settings that a program leaves: with those that no command could read, nothing would be left to undo them with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree

from wink.cli import settings_problem
from wink.errors import MergeRefused
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Picked, Try, Unit

BROKEN: Final = {
    "no TOML": ("echo '[[rules' > wink.toml", "is not TOML: "),
    "no text": (r"printf '\377' > wink.toml", "is not TOML: "),
    "a setting that is misspelt": ("echo 'max_file_byte = 1' > wink.toml", "did you mean 'max_file_bytes'?"),
    "a bound of another kind": ("echo 'max_file_bytes = \"x\"' > wink.toml", "must be a number of bytes"),
    "names of another kind": ("echo 'portable_names = 1' > wink.toml", "must be true or false"),
    "plugins of another kind": ("echo 'plugins = 1' > wink.toml", "must be a table"),
    "a rule that is none": ("printf '[[rules]]\ntool = \"x\"\n' > wink.toml", "did you mean 'tools'?"),
    "a mask that is none": ("printf '[mask]\npatterns = [\"(\"]\n' > wink.toml", "$.mask.patterns[0]: "),
    "history of another kind": ("echo 'history = 1' > wink.toml", "$.history: must be a table"),
    "another file": ("printf '[tool.wink]\nportable_names = 1\n' > pyproject.toml", "must be true or false"),
    "too large": ("echo '# x' > wink.toml; truncate -s 2M wink.toml", "it is longer than 1048576 bytes"),
    "a directory": ("mkdir wink.toml", "it is no regular file"),
    "a link that leads out": ("ln -s ../x wink.toml", "it is a link that leads out"),
    "an absolute link": ('ln -s "$PWD/a.txt" wink.toml', "it is a link that leads out"),
    "a link to a link": ("ln -s / src/up; ln -s src/up/etc/passwd wink.toml", "or to another one"),
    "a link to what is none": ("ln -s run.sh wink.toml", "is not TOML: "),
    "a link to what was tried": ("echo '[[' > src/t; ln -s src/t wink.toml", "is not TOML: "),
    "a second name": ("echo '[[' > x; ln x wink.toml", "is not TOML: "),
}
"""What a program does, and what is said of it."""


@pytest.mark.parametrize(
    ("link", "script", "path"),
    [
        ("conf/w.toml", "echo '[[' > conf/w.toml", "conf/w.toml"),
        ("conf/w.toml", "mv conf conf2; mkdir conf; echo '[[' > conf/w.toml", "conf/w.toml"),
        ("conf/w.toml", "mkdir x; echo '[[' > x/w.toml; mv conf conf2; ln -s x conf", "conf"),
        ("conf/link", "ln -s w.toml conf/link; echo '[[' > conf/w.toml", "conf/link"),
    ],
)
def test_settings_that_are_a_link_are_judged_where_they_lead(
    wink: Wink, place: Path, link: str, script: str, path: str
) -> None:
    """The link was there before, of a person or accepted as long as it led to something readable."""
    (place / "conf").mkdir()
    (place / "conf/w.toml").write_text("")
    (place / "wink.toml").symlink_to(link)
    before = tree(place)

    wink("try", "--", "sh", "-c", f"echo two > a.txt; {script}")
    refused = wink("accept")

    assert refused.returncode == 2
    assert "would stop every wink command: " in refused.stderr
    assert f"    {path}\n" in refused.stderr
    assert tree(place) == before
    assert wink("accept", "--without", "conf").returncode == 0
    assert wink("undo").returncode == 0


def test_closed_settings_stop_no_command(wink: Wink, place: Path) -> None:
    """Nor are they accepted later, by root or by an ordinary user, who could not read them either."""
    before = tree(place)

    done = wink("try", "--keep-on-success", "--", "sh", "-c", "echo two > a.txt; echo > wink.toml; chmod 0 wink.toml")

    assert done.returncode == 2
    assert "would stop every wink command: its owner may not read it:\n    wink.toml\n" in done.stderr
    assert tree(place) == before
    assert wink("accept").returncode == 2
    assert wink("log").returncode == 0
    assert tree(place) == before


@pytest.mark.parametrize("broken", BROKEN)
def test_settings_that_no_command_could_read_are_refused(wink: Wink, place: Path, broken: str) -> None:
    """`wink undo` reads them too: whoever accepted them would have to find out alone how to go back."""
    script, reason = BROKEN[broken]
    name = "pyproject.toml" if "pyproject" in script else "wink.toml"
    before = tree(place)

    tried = wink("try", "--", "sh", "-c", f"echo two > a.txt; {script}")
    refused = wink("accept")

    assert tried.returncode == 0
    assert "wink: 1 path cannot be accepted:\n  would stop every wink command: " in tried.stderr
    assert refused.returncode == 2
    told, path, way = refused.stderr.splitlines()[-3:]
    assert told.startswith("  would stop every wink command: ")
    assert reason in told
    assert (path, way) == (f"    {name}", "  `wink accept --rest` accepts everything else")
    assert tree(place) == before

    assert wink("accept", "--without", name).returncode == 0
    assert (place / "a.txt").read_text() == "two\n"
    assert wink("undo").returncode == 0
    assert not (place / name).exists()


READABLE: Final = {
    "rules": 'printf \'[[rules]]\naction = "deny"\ntools = "write_file"\n\' > wink.toml',
    "another program's": "echo '[project' > pyproject.toml",
    "a link": "echo 'portable_names = true' > src/t; ln -s src/t wink.toml",
    "a link to nothing": "ln -s src/none wink.toml",
    "elsewhere": "echo '[[' > src/wink.toml",
}


@pytest.mark.parametrize("readable", READABLE)
def test_settings_that_commands_can_read_are_taken(wink: Wink, place: Path, readable: str) -> None:
    """What they say only restricts, and undo takes it back."""
    before = tree(place)
    wink("try", "--", "sh", "-c", READABLE[readable])

    accepted = wink("accept")

    assert accepted.returncode == 0, accepted.stderr
    assert tree(place) != before
    assert wink("undo").returncode == 0
    assert tree(place) == before


def test_what_mends_settings_is_accepted_and_so_is_their_deletion(wink: Wink, place: Path) -> None:
    """The try shows what was tried before: the next program can fix it."""
    wink("try", "--", "sh", "-c", "echo '[[rules' > wink.toml")
    assert wink("accept").returncode == 2

    wink("try", "--", "sh", "-c", "echo 'portable_names = true' > wink.toml")
    assert wink("accept").returncode == 0
    wink("try", "--", "rm", "wink.toml")
    assert wink("accept").returncode == 0

    assert not (place / "wink.toml").exists()


def test_keeping_on_success_does_not_keep_broken_settings(wink: Wink, place: Path) -> None:
    """Nobody looks at them before."""
    before = tree(place)

    done = wink("try", "--keep-on-success", "--", "sh", "-c", "echo '[[rules' > wink.toml")

    assert done.returncode == 2
    assert "would stop every wink command: is not TOML: " in done.stderr
    assert tree(place) == before


def test_a_part_of_settings_is_judged_by_what_they_become(place: Path) -> None:
    """Of two hunks the one that breaks them can be left."""
    lines = [f"# {number}\n" for number in range(20)]
    (place / "wink.toml").write_text("".join(lines))

    def first(units: Iterable[Unit]) -> list[Picked]:
        return [Picked(unit, unit.hunks[:1]) for unit in units]

    def last(units: Iterable[Unit]) -> list[Picked]:
        return [Picked(unit, unit.hunks[1:]) for unit in units]

    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        with one.use() as overlay:
            edit = Command(
                ("/bin/sed", "-i", "-e", "1s/.*/portable_names = true/", "-e", "$s/.*/[[rules/", "wink.toml")
            )
            assert Sandbox().run(edit, overlay).status == 0
        with pytest.raises(MergeRefused, match="would stop every wink command"):
            one.accept(pick=last, settings=settings_problem)
        one.accept(pick=first, settings=settings_problem)

        assert (place / "wink.toml").read_text() == "".join(["portable_names = true\n", *lines[1:]])
        assert [change.path for change in one.differences().changes()] == ["wink.toml"]
