"""What calls changed can be shown later, from the record and what is kept beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.states import state_of
from tests.workspace.working import call

from wink.errors import UnknownCall
from wink.filesystem import FileChange
from wink.workspace import Workspace


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


def text(changes: tuple[FileChange, ...]) -> str:
    return "".join(change.diff() for change in changes)


def signs(changes: tuple[FileChange, ...]) -> list[str]:
    """The lines of a diff that were added or removed."""
    return [line for line in text(changes).splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_one_call_is_shown_although_later_ones_changed_the_same_file(workspace: Workspace) -> None:
    """What a call left is what the next one replaced."""
    first = call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    second = call(workspace, lambda files, _: files.write("a.txt", "two\n"))
    third = call(workspace, lambda files, _: files.delete("a.txt"))

    assert signs(workspace.diff(first)) == ["-before", "+one"]
    assert signs(workspace.diff(second)) == ["-one", "+two"]
    assert signs(workspace.diff(third)) == ["-two"]


def test_several_calls_add_up_to_one_diff(workspace: Workspace) -> None:
    """A file that is again what it was is no change."""
    first = call(workspace, lambda files, _: (files.write("a.txt", "one\n"), files.write("b.txt", "b\n")))
    second = call(workspace, lambda files, _: files.write("a.txt", "two\n"))
    call(workspace, lambda files, _: (files.write("a.txt", "before\n"), files.write("c.txt", "c\n")))

    assert signs(workspace.diff(first, second)) == ["-before", "+two", "+b"]
    assert [change.path for change in workspace.diff()] == ["b.txt", "c.txt"]
    assert [change.path for change in workspace.diff(since=second)] == ["a.txt", "c.txt"]


def test_diff_until_now_shows_what_is_there_now(workspace: Workspace, root: Path) -> None:
    """People want to know how their files differ, whoever wrote the last line."""
    call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    (root / "a.txt").write_text("mine\n")

    assert signs(workspace.diff()) == ["-before", "+mine"]


def test_rolled_back_call_is_shown_as_far_as_it_is_known(workspace: Workspace) -> None:
    """What a failed call was about to do is what people look at first; the file may have changed since."""
    failed = call(workspace, lambda files, _: files.write("a.txt", "wrong\n"), fail=True)
    call(workspace, lambda files, _: files.write("a.txt", "right\n"))

    assert signs(workspace.diff(failed)) == ["-before", "+wrong"]
    assert signs(workspace.diff()) == ["-before", "+right"]


def test_moved_and_deleted_files_are_shown(workspace: Workspace) -> None:
    """A moved file has no pre-image: its content is where it went, also when that was replaced later."""
    moved = call(workspace, lambda files, _: files.move("a.txt", "d/b.txt", create_parents=True))
    call(workspace, lambda files, _: files.write("d/b.txt", "after\n"))
    call(workspace, lambda files, _: files.delete("d", recursive=True))

    assert signs(workspace.diff(moved)) == ["-before", "+before"]
    assert signs(workspace.diff()) == ["-before"]


def test_content_that_is_gone_is_summed_up(workspace: Workspace, root: Path) -> None:
    """A diff must not fail for want of a pre-image that somebody deleted."""
    first = call(workspace, lambda files, _: files.write("a.txt", "one\n"))
    for kept in (state_of(root) / "staged").iterdir():
        kept.unlink()

    assert text(workspace.diff(first)) == "a.txt: a file of 7 bytes became a file of 4 bytes\n"


def test_unknown_call_is_refused(workspace: Workspace) -> None:
    """A number that is no call is more likely a slip than a question."""
    with pytest.raises(UnknownCall, match="there is no call c7"):
        workspace.diff(7)
