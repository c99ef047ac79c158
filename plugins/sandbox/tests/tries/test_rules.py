"""What rules deny programs to change is not accepted of a try either: else it would be the way around them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

DENIED = "is denied to programs by a rule: it stays"
EVERYTHING = """
set -e
echo x >> .env; rm -r conf; mkdir secrets; echo s > secrets/s; echo b >> a.txt; rm src/b.txt; ln -s /etc out; chmod 755 live
mkdir odd; cd odd; touch C:x "$(printf 'a\\nb')" 'back\\slash' "$(printf 'caf\\351')" '~x'
"""


def rules(place: Path, *tables: str) -> None:
    """Rules that deny to change something, and not to read it, which would hide it."""
    head = '[[rules]]\naction = "deny"\nreason = "it stays"\n'
    text = "\n".join(
        f"{head}{table}" + ("" if "tools" in table or "effects" in table else '\ntools = ["*", "!read_file"]')
        for table in tables
    )
    (place / "wink.toml").write_text(text)


def _name(said: object) -> str:
    """A path as JSON has it: one that is no text is quoted, as git does."""
    text = str(said)
    return (
        os.fsdecode(text.strip('"').encode("latin-1").decode("unicode_escape").encode("latin-1"))
        if text[0] == '"'
        else text
    )


@pytest.fixture
def filled(place: Path) -> Path:
    """With what rules are about."""
    (place / "conf").mkdir()
    for name in (".env", "conf/.env", "live"):
        (place / name).write_text("K\n")
    return place


@pytest.mark.parametrize(
    ("table", "denied"),
    [
        ('paths = "**/.env"', [".env", "conf"]),
        ('paths = ["secrets/**", "src/b.txt"]', ["secrets/s", "src/b.txt"]),
        ('paths = "live"\ntools = "run_command"', ["live"]),
        ('paths = "out"\neffects = "process"', ["out"]),
        ('paths = "**"\ntools = "write_file"', []),
        ('paths = "**"\narguments = { command = "*forbidden*" }', []),
        ('paths = ["**/.env", "!conf/**"]', [".env"]),
        ('paths = "etc/**"', []),
        ('paths = "odd/**"', ["odd/C:x", "odd/a\nb", "odd/back\\slash", "odd/caf\udce9", "odd/~x"]),
    ],
)
def test_what_rules_deny_is_named_left_out_and_nothing_else(
    wink: Wink, filled: Path, table: str, denied: list[str]
) -> None:
    """When the program ends, by accept, and with --rest all else is accepted."""
    rules(filled, table)
    before = {name: (filled / name).read_text() for name in (".env", "conf/.env", "src/b.txt")}

    tried = wink("try", "--json", "--", "sh", "-c", EVERYTHING)
    told = json.loads(tried.stderr.splitlines()[-1])["cannot_be_accepted"]
    assert [_name(one["path"]) for one in told] == denied
    assert {one["reason"] for one in told} <= {DENIED}
    if denied:
        refused = wink("accept")
        assert refused.returncode == 2
        assert DENIED in refused.stderr
        assert {name: (filled / name).read_text() for name in before} == before
    done = wink("accept", "--rest", "--json")

    assert [_name(one["path"]) for one in json.loads(done.stdout)["left"]] == denied
    assert done.returncode == (1 if denied else 0)
    assert (filled / "a.txt").read_text() == "one\nb\n"


def test_a_check_a_part_and_keeping_on_success_are_no_way_around(wink: Wink, filled: Path) -> None:
    """Nor is the try's own version of the rules."""
    rules(filled, 'paths = "**/.env"')
    script = "echo x > .env; rm -f wink.toml"

    kept = wink("try", "--keep-on-success", "--", "sh", "-c", script)

    assert (kept.returncode, (filled / ".env").read_text()) == (2, "K\n")
    for words in (("--check", "true"), (".env",), ("--conflicts", "try")):
        refused = wink("accept", *words)
        assert (refused.returncode, DENIED in refused.stderr) == (2, True), refused.stderr
    assert wink("accept", "wink.toml").returncode == 0
    assert wink("accept").returncode == 0  # a person has accepted first that the rules go


def test_rules_that_cannot_be_read_deny_all(wink: Wink, filled: Path) -> None:
    """One line, and the try is as it was."""
    assert wink("try", "-q", "--", "sh", "-c", "echo x > .env").returncode == 0
    (filled / "wink.toml").write_text("[[rules")

    refused = wink("accept")

    assert (refused.returncode, refused.stderr.count("\n"), (filled / ".env").read_text()) == (2, 1, "K\n")
    (filled / "wink.toml").unlink()
    assert wink("accept").returncode == 0
