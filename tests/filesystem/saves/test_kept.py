"""What is found in the way, or written to a replaced file, is kept and reported, also where the kernel tells little."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.states import state_of

from wink.errors import FileConflict
from wink.filesystem import Filesystem, HostFilesystem
from wink.filesystem.disk import _operations as operations
from wink.filesystem.disk import _preimages as kept
from wink.filesystem.disk._store import DiskStore
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a few files."""
    (tmp_path / "root/d").mkdir(parents=True)
    for name in ("a.txt", "d/b.txt"):
        (tmp_path / "root" / name).write_text("before\n")
    return tmp_path / "root"


@pytest.fixture
def no_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filesystem, or somebody else's file, for which the kernel does not say who writes to it."""
    for module in (kept, operations):
        monkeypatch.setattr(module, "is_being_written", lambda *_, **__: None)


@pytest.fixture
def late(root: Path) -> Iterator[dict[str, int]]:
    """Descriptors of programs that have had the files open all the time."""
    opened = {name: os.open(root / name, os.O_WRONLY | os.O_APPEND) for name in ("a.txt", "d/b.txt")}
    yield opened
    for fd in opened.values():
        os.close(fd)


def aside(root: Path) -> list[bytes]:
    """What was kept."""
    return sorted(path.read_bytes() for path in (state_of(root) / "conflicts").iterdir())


@pytest.mark.usefixtures("no_leases")
@pytest.mark.parametrize("act", ["write", "delete", "delete all"])
def test_what_is_written_to_a_replaced_file_is_not_freed_with_it(root: Path, late: dict[str, int], act: str) -> None:
    """The call has been committed when it comes, and nobody sees the file that it goes to."""
    with HostFilesystem(root) as files:
        if act == "write":
            files.write("a.txt", "wink's\n")
        else:
            files.delete("a.txt" if act == "delete" else "d", recursive=act == "delete all")
        os.write(late["d/b.txt" if act == "delete all" else "a.txt"], b"theirs\n")

    assert aside(root) == [b"before\ntheirs\n"]
    (conflict,) = files.conflicts
    assert conflict.path == ("d/b.txt" if act == "delete all" else "a.txt")
    assert conflict.kept is not None
    assert (state_of(root) / conflict.kept).read_bytes() == b"before\ntheirs\n"
    assert list((state_of(root) / "staged").iterdir()) == []


@pytest.mark.usefixtures("no_leases")
def test_the_next_process_keeps_it_too(root: Path, late: dict[str, int]) -> None:
    """The one that replaced the file died before it could free what it had replaced."""
    dead = DiskStore(str(root))
    change_set = dead.begin("tx")
    change_set.put("a.txt", b"wink's\n")
    change_set.delete("d", recursive=True)
    change_set.prepare()
    change_set.publish()
    for fd in late.values():
        os.write(fd, b"theirs\n")

    with HostFilesystem(root) as files:
        dead.begin("another").put("left.txt", b"left behind")
        dead.close()
        files.write("c.txt", "another\n")
        recovered = files.recovered

    told = [conflict for one in recovered for conflict in one.conflicts]
    assert aside(root) == [b"before\ntheirs\n", b"before\ntheirs\n"]
    assert {conflict.kept for conflict in told} == {
        f"conflicts/{path.name}" for path in (state_of(root) / "conflicts").iterdir()
    }


def test_nothing_is_kept_of_what_nobody_wrote_to(root: Path) -> None:
    """Conflicts that are none would soon be read by nobody."""
    with HostFilesystem(root) as files:
        for number in range(100):
            files.write("a.txt", f"{number}\n")
            files.write("d/c.txt", f"{number}\n")
            files.delete("d", recursive=True)
            files.write("d/b.txt", f"{number}\n")
            files.edit("a.txt", f"{number}", "edited")

    assert files.conflicts == ()
    assert not (state_of(root) / "conflicts").exists()
    assert list((state_of(root) / "staged").iterdir()) == []


@pytest.mark.parametrize("act", ["write", "edit"])
def test_a_save_of_the_same_size_in_the_same_tick_is_noticed(
    root: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """Where a clock gives two saves one time, content tells."""
    real = operations.extended_attributes

    def attributes(fd: int) -> Any:
        found = os.stat(root / "a.txt")
        (root / "a.txt").write_text("theirs\n")
        os.utime(root / "a.txt", ns=(found.st_atime_ns, found.st_mtime_ns))
        return real(fd)

    with HostFilesystem(root) as files:
        files._store._root.has_fine_times = False
        monkeypatch.setattr(type(files._store._root), "is_racy", lambda *_: True)
        digest_of = operations.digest_of
        monkeypatch.setattr(operations, "digest_of", lambda fd: (digest_of(fd), attributes(fd))[0])
        if act == "edit":
            monkeypatch.setattr(operations, "extended_attributes", attributes)
        with pytest.raises(FileConflict):
            files.write("a.txt", "wink's\n") if act == "write" else files.edit("a.txt", "before", "wink's")

    assert (root / "a.txt").read_text() == "theirs\n"


def test_a_save_between_two_changes_of_one_call_stops_the_second(root: Path) -> None:
    """The call knows what it has left there; what a person put in its place is not for it to replace."""
    with HostFilesystem(root) as files:
        part = files.begin()
        part.handle.write("a.txt", "wink's\n")
        part.handle.write("d/b.txt", "wink's\n")
        part.handle.move("d", "e")
        for name in ("a.txt", "e/b.txt"):
            (root / name).write_text("theirs\n")
        for change in (
            lambda: part.handle.write("a.txt", "again\n"),
            lambda: part.handle.delete("a.txt"),
            lambda: part.handle.write("e/b.txt", "again\n"),
            lambda: part.handle.delete("e", recursive=True),
        ):
            with pytest.raises(FileConflict):
                change()
        (root / "a.txt").unlink()
        part.handle.write("a.txt", "anew\n")
        inner = part.savepoint()
        inner.handle.write("a.txt", "inner\n")
        inner.undo()
        part.handle.write("a.txt", "at last\n")
        part.prepare()
        part.publish()

    assert (root / "a.txt").read_text() == "at last\n"
    assert (root / "e/b.txt").read_text() == "theirs\n"


def test_the_reply_tells_what_a_rollback_has_put_aside(root: Path) -> None:
    """Nobody would look for it otherwise."""
    events: list[ToolInvoked] = []

    def handler(params: None, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.write("a.txt", "wink's\n")
        (root / "a.txt").write_text("theirs\n")
        return ToolResult[None].error("could not do it")

    tool = Tool[None, None](name="work", description="Work.", handler=handler)
    prompt = Prompt(PromptTemplate(ns="t", key="k", sections=[MarkdownSection(title="T", template="T", tools=[tool])]))
    with Workspace.open(root) as workspace:
        prompt.bind(resources={Filesystem: workspace.filesystem})
        session: Session = workspace.session()
        session.dispatcher.subscribe(ToolInvoked, events.append)
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)

        reply = executor.execute(ToolCall("work", {}))

        assert workspace.filesystem.conflicts == events[0].change.conflicts
    assert not reply.success
    (conflict,) = events[0].change.conflicts
    assert reply.text.startswith("could not do it")
    assert "a.txt was saved by somebody else meanwhile" in reply.text
    assert str(conflict.kept) in reply.text
    assert (root / "a.txt").read_text() == "before\n"
    assert aside(root) == [b"theirs\n"]
