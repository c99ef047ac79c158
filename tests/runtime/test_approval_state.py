"""The state that an answer is bound to covers what the call is about, and nothing that has no say in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.runtime._approval_state import differences, facts_of, noted_in
from wink.session import Session
from wink.workspace import Workspace


@pytest.fixture(params=["memory", "disk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    """A few files."""
    filesystem = InMemoryFilesystem() if request.param == "memory" else HostFilesystem(tmp_path)
    filesystem.write("a.txt", "a")
    filesystem.write("dir/b.txt", "b")
    filesystem.write("dir/deep/c.txt", "c")
    filesystem.write(".gitignore", "*.log\n")
    filesystem.write("noise.log", "x")
    return filesystem


def facts(files: Filesystem, arguments: object, *, effects: str = "workspace", position: int | None = 7) -> str:
    """The state for a call with these arguments, where there is a record."""
    text = json.dumps(arguments)
    return facts_of(files, Session(), arguments=text, effects=effects, position=position, place="")


CHANGES: list[tuple[str, Callable[[Filesystem], object]]] = [
    ("a.txt has changed", lambda files: files.write("a.txt", "z")),
    ("a.txt has gone", lambda files: files.delete("a.txt")),
    ("new.txt was made", lambda files: files.write("new.txt", "n")),
    ("dir has changed", lambda files: files.write("dir/deep/c.txt", "z")),
    ("dir has changed", lambda files: files.write("dir/more.txt", "z")),
    ("dir has changed", lambda files: files.delete("dir/b.txt")),
]


@pytest.mark.parametrize(("told", "change"), CHANGES)
def test_everything_that_arguments_name_counts(
    files: Filesystem, told: str, change: Callable[[Filesystem], object]
) -> None:
    """In lists and tables too; directories with all that is in them."""
    arguments = {"path": "a.txt", "more": [{"targets": ["./dir/", "new.txt"]}], "number": 3}
    before = facts(files, arguments)
    assert facts(files, arguments) == before

    change(files)

    assert differences(before, facts(files, arguments)) == (told,)


def test_texts_that_name_nothing_do_no_harm(files: Filesystem) -> None:
    """Content, commands, addresses and places that no tool may look at."""
    arguments = {
        "content": "a.txt\nis not meant",
        "url": "https://example.test/a.txt",
        "outside": "../../etc/passwd",
        "absolute": "/etc/passwd",
        "state": ".wink/record.db",
        "long": "x" * 10_000,
        "empty": "",
    }
    before = facts(files, arguments)
    files.write("a.txt", "z")

    assert facts(files, arguments) == before


def test_an_absolute_path_into_the_workspace_is_what_it_names(tmp_path: Path) -> None:
    """Some models write them."""
    files = HostFilesystem(tmp_path)
    files.write("a.txt", "a")
    before = facts(files, {"path": str(tmp_path / "a.txt")})
    files.write("a.txt", "z")

    assert differences(before, facts(files, {"path": str(tmp_path / "a.txt")})) == ("a.txt has changed",)


@pytest.mark.parametrize("effects", ["process", "external"])
def test_for_programs_everything_counts_but_what_git_ignores(files: Filesystem, effects: str) -> None:
    """A command's meaning depends on files that it does not name."""
    before = facts(files, {"command": "make"}, effects=effects)
    files.write("noise.log", "more")
    assert facts(files, {"command": "make"}, effects=effects) == before

    files.write("dir/b.txt", "z")

    after = facts(files, {"command": "make"}, effects=effects)
    assert differences(before, after) == ("files of the workspace have changed",)
    assert facts(files, {"command": "make"}) == facts(files, {"command": "make"})


def test_modes_and_links_count(tmp_path: Path) -> None:
    """A script that can be run now is another one, and so is a link that leads elsewhere."""
    files = HostFilesystem(tmp_path)
    files.write("run.sh", "#!/bin/sh\n")
    (tmp_path / "now").symlink_to("run.sh")
    before = facts(files, {"script": "run.sh", "link": "now"})
    (tmp_path / "run.sh").chmod(0o755)
    changed = facts(files, {"script": "run.sh", "link": "now"})
    (tmp_path / "now").unlink()
    os.link(tmp_path / "run.sh", tmp_path / "now")

    assert differences(before, changed) == ("now has changed", "run.sh has changed")
    assert differences(changed, facts(files, {"script": "run.sh", "link": "now"})) == ("now has changed",)


def test_what_was_read_since_does_not_count(tmp_path: Path) -> None:
    """Looking at more files changes nothing about what was asked."""
    with Workspace.open(tmp_path) as workspace:
        session, files = workspace.session(), workspace.filesystem
        options = {"arguments": "{}", "effects": "workspace", "position": 1, "place": ""}
        before = facts_of(files, session, **options)  # type: ignore[arg-type]
        from wink.filesystem import Stamp

        session[Stamp].append(Stamp("later.txt", "d", 1, (), complete=True))

        assert facts_of(files, session, noted=noted_in(before), **options) == before  # type: ignore[arg-type]
        assert facts_of(files, session, **options) != before  # type: ignore[arg-type]


def test_many_changes_are_told_in_brief(files: Filesystem) -> None:
    """A person reads five names, not five hundred."""
    names = [f"f{number}.txt" for number in range(9)]
    before = facts(files, {"names": names})
    for name in names:
        files.write(name, "x")

    told = differences(before, facts(files, {"names": names}))

    assert told == (*(f"{name} was made" for name in names[:5]), "4 more paths have changed")


def test_calls_and_copies_are_told_where_no_file_says_more(files: Filesystem) -> None:
    """What has changed elsewhere, and a record that is another one."""
    before = facts(files, {})
    assert differences(before, facts(files, {}, position=8)) == ("another call has changed files",)
    moved = facts_of(files, Session(), arguments="{}", effects="workspace", position=7, place="1:2")
    assert differences(before, moved) == ("the workspace was copied",)
