"""Every kind of thing at every name of a known state: a part of all combinations. `nox -s planted` tries them all."""

from __future__ import annotations

import os
import random
from importlib import import_module

import pytest
from tests.state.commands import COMMANDS, OPEN_NO_STATE
from tests.state.kinds import HUGE, KINDS
from tests.state.matrix import Attacked, Case, Report
from tests.state.world import NOBODY, World, complaint

SEED = 7


def a_part_of(attacked: Attacked) -> list[Case]:
    """Every name, every kind and every command at least once; the same each time."""
    chance = random.Random(SEED)
    kinds, commands = list(attacked.kinds), list(COMMANDS)
    cases: list[Case] = []
    for number, name in enumerate(attacked.names):
        kind = kinds[(number + chance.randrange(len(kinds))) % len(kinds)] if number >= len(kinds) else kinds[number]
        cases.append(Case(name, kind, commands[number % len(commands)]))
    return cases


def checked(attacked: Attacked) -> Report:
    """All went as it must."""
    report = attacked.run(a_part_of(attacked))
    assert report.failures == []
    assert attacked.unusual() == []
    assert set(report.left_out) <= {"closed", "another owner", "device", "hard link", "huge", "socket", "deletion"}, (
        report.left_out
    )
    assert report.names | {one.split("/")[0] for one in report.names} >= {"lease", "wal", "record.db", "tries"}
    assert report.commands == {one.name for one in COMMANDS}
    assert report.cases > len(attacked.names) * 3 // 4
    return report


@pytest.mark.timeout(600)
def test_no_name_of_a_known_state_is_a_trap() -> None:
    """As whoever runs the tests: nothing outside changes, nothing hangs, and whatever fails says so in a line."""
    attacked = Attacked()
    try:
        report = checked(attacked)
        assert report.kinds >= set(KINDS) - {"closed", "device", "another owner"}
    finally:
        attacked.close()


@pytest.mark.timeout(600)
def test_no_name_of_a_known_state_is_a_trap_when_git_checks_it_out() -> None:
    """The worst case: its name is known to whoever wrote the branch, and git writes what they please over what wink has."""
    attacked = Attacked(by="git")
    try:
        report = checked(attacked)
        assert report.kinds == set(attacked.kinds)
    finally:
        attacked.close()


def test_every_command_is_in_the_matrix_or_opens_no_state() -> None:
    """Whoever adds one decides which it is."""
    from click import Context, Group

    from wink.cli import wink

    assert isinstance(wink, Group)
    there = set(wink.list_commands(Context(wink, **wink.context_settings)))

    tried = {command.argv[0] for command in COMMANDS}
    assert tried | OPEN_NO_STATE.keys() == there
    assert not tried & OPEN_NO_STATE.keys()


def test_a_journal_with_a_tebibyte_of_nothing_is_not_read_whole(world: World) -> None:
    """It begins like one of a process that was killed, so that recovery has to look into it."""
    world.ok("call", "write_file", "file_path=n.txt", "content=n")
    with open(world.state() / "wal/tx", "wb") as file:
        file.write(import_module("wink.filesystem.disk._journal").header(b"12345678"))
        file.truncate(HUGE)
    world.seal()
    for argv in (("recover",), ("call", "write_file", "file_path=o.txt", "content=o"), ("log",)):
        done = world.run(*argv)

        assert world.harm(done) == []
        assert (done.status, complaint(done)) == (0, None)


@pytest.mark.timeout(600)
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else; then the test above is this one")
def test_no_name_of_a_known_state_is_a_trap_for_an_ordinary_user() -> None:
    """To whom doors can be closed, and files of others can belong."""
    attacked = Attacked(NOBODY)
    try:
        report = checked(attacked)
        assert "closed" in report.kinds
    finally:
        attacked.close()
