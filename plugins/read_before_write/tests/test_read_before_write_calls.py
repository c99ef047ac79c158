"""The policy through the whole pipeline, with the file tools that its author has in mind and with others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
from wink.session import Session
from wink.testing import Harness
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace
from wink_read_before_write import ReadBeforeWritePolicy


@dataclass(frozen=True)
class Target:
    """A file, or lines of it."""

    path: str
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class Change:
    """A file and its content."""

    path: str
    content: str


def read_file(params: Target, *, context: ToolContext) -> ToolResult[None]:
    """Through the call's own handle."""
    return ToolResult.ok(None, context.filesystem.read(params.path, params.offset, params.limit).content)


together = Barrier(2)


def read_together(params: Target, *, context: ToolContext) -> ToolResult[None]:
    """Ends when another call has read as well."""
    content = context.filesystem.read(params.path, params.offset, params.limit).content
    together.wait(10)
    return ToolResult.ok(None, content)


def delete_file(params: Target, *, context: ToolContext) -> ToolResult[None]:
    """For good."""
    context.filesystem.delete(params.path)
    return ToolResult.ok(None, "deleted")


def show_file(params: Target, *, context: ToolContext) -> ToolResult[None]:
    """Without the handle, as a tool that asks a language server would."""
    return ToolResult.ok(None, f"the content of {params.path}")


def write_file(params: Change, *, context: ToolContext) -> ToolResult[None]:
    """Fails after the fact when the content says so."""
    context.filesystem.write(params.path, params.content)
    return ToolResult.error("no") if params.content == "fail" else ToolResult.ok(None, "written")


class Agent:
    """Calls tools in one session."""

    def __init__(self, files: Filesystem, policy: ReadBeforeWritePolicy, session: Session | None = None) -> None:
        tools = (
            Tool[Target, None]("read_file", "Read.", read_file, effects="read"),
            Tool[Target, None]("read_together", "Read.", read_together, effects="read"),
            Tool[Target, None]("delete_file", "Delete.", delete_file),
            Tool[Target, None]("show_file", "Show.", show_file, effects="read"),
            Tool[Change, None]("write_file", "Write.", write_file),
        )
        section = MarkdownSection(title="Files", template="Work.", tools=tools, policies=[policy])
        template = PromptTemplate(ns="tests", key="policy", sections=[section])
        prompt = Prompt(template).bind(resources={Filesystem: files})
        self.session = Session() if session is None else session
        rendered = prompt.render(session=self.session)
        self.executor = ToolExecutor(prompt=prompt, rendered=rendered, session=self.session)

    def call(self, name: str, **arguments: Any) -> ToolReply:
        """One call."""
        return self.executor.execute(ToolCall(name, arguments))


@pytest.fixture(params=["memory", "disk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Filesystem]:
    """A tree with one file that nobody has read."""
    if request.param == "memory":
        made: Filesystem = InMemoryFilesystem()
        made.write("config.yaml", "a: 1\n")
        yield made
    else:
        (tmp_path / "work").mkdir()
        with HostFilesystem(str(tmp_path / "work")) as disk:
            disk.write("config.yaml", "a: 1\n")
            yield disk


@pytest.fixture
def agent(files: Filesystem) -> Agent:
    """An agent under the rule, with a second read tool that does not use the handle."""
    return Agent(files, ReadBeforeWritePolicy(read_tools=["read_file", "show_file"]))


def test_example_of_the_specification(agent: Agent) -> None:
    """New is fine, existing is denied, reading allows it."""
    assert agent.call("write_file", path="new.txt", content="x").success

    denied = agent.call("write_file", path="config.yaml", content="x")
    assert not denied.success
    assert denied.text == "config.yaml exists and has not been read in this session; call read_file on it first"

    assert agent.call("read_file", path="config.yaml").success
    assert agent.call("write_file", path="config.yaml", content="x").success


def test_denied_call_changes_nothing_and_is_told_of(agent: Agent, files: Filesystem) -> None:
    """The handler does not run; the event names the policy."""
    agent.call("write_file", path="config.yaml", content="x")

    (event,) = agent.session[ToolInvoked].all()
    assert files.read("config.yaml").content == "a: 1\n"
    assert not event.success
    assert [(verdict.policy, verdict.allowed) for verdict in event.decisions] == [("read_before_write", False)]


def test_asking_does_not_count_as_reading(agent: Agent) -> None:
    """A model that tries again must not be let through."""
    for _ in range(3):
        assert not agent.call("write_file", path="config.yaml", content="x").success


def test_own_write_may_be_followed_by_another(agent: Agent) -> None:
    """The session knows what it wrote."""
    assert agent.call("write_file", path="new.txt", content="1").success
    assert agent.call("write_file", path="new.txt", content="2").success


def test_write_that_was_rolled_back_is_forgotten(agent: Agent, files: Filesystem) -> None:
    """What a failed call wrote is not there, so knowing it is worth nothing."""
    agent.call("read_file", path="config.yaml")
    assert not agent.call("write_file", path="config.yaml", content="fail").success

    assert files.read("config.yaml").content == "a: 1\n"
    assert agent.call("write_file", path="config.yaml", content="x").success


def test_change_from_outside_calls_for_another_reading(agent: Agent, files: Filesystem) -> None:
    """Somebody saved the file in an editor."""
    agent.call("read_file", path="config.yaml")
    files.write("config.yaml", "a: 2\n")

    reply = agent.call("write_file", path="config.yaml", content="x")

    assert "config.yaml changed since it was read; read it again" in reply.text
    assert files.read("config.yaml").content == "a: 2\n"


def test_tool_that_reads_some_other_way_counts_as_well(agent: Agent) -> None:
    """What it showed is noted in the session when its call succeeds."""
    assert agent.call("show_file", path="config.yaml").success

    assert agent.call("write_file", path="config.yaml", content="x").success


def test_restored_session_knows_what_it_knew_then(agent: Agent) -> None:
    """Decisions follow from the session's state alone."""
    before = agent.session.snapshot()
    agent.call("read_file", path="config.yaml")
    agent.session.restore(before)

    assert not agent.call("write_file", path="config.yaml", content="x").success


def test_reset_session_has_read_nothing(agent: Agent) -> None:
    """As the specification says of policy state."""
    agent.call("read_file", path="config.yaml")
    agent.session.reset()

    assert not agent.call("write_file", path="config.yaml", content="x").success


def test_sessions_know_nothing_of_each_other(agent: Agent, files: Filesystem) -> None:
    """One agent's reading does not bless another's writing."""
    agent.call("read_file", path="config.yaml")

    other = Agent(files, ReadBeforeWritePolicy())

    assert not other.call("write_file", path="config.yaml", content="x").success


def test_path_that_is_refused_is_denied(agent: Agent) -> None:
    """With the reason, and before the handler runs."""
    reply = agent.call("write_file", path="../outside.txt", content="x")

    assert reply.text == "cannot check whether ../outside.txt has been read: '../outside.txt' is outside the workspace"


def test_reading_and_writing_in_one_turn_works(agent: Agent) -> None:
    """Models send both at once when they are sure."""
    replies = agent.executor.execute_batch(
        [
            ToolCall("read_file", {"path": "config.yaml"}),
            ToolCall("write_file", {"path": "config.yaml", "content": "x"}),
        ]
    )

    assert [reply.success for reply in replies] == [True, True]


def test_pages_read_in_one_turn_add_up(agent: Agent, files: Filesystem) -> None:
    """They run together, and neither knows of the other while it does."""
    files.write("long.txt", "1\n2\n3\n4\n")
    agent.executor.execute_batch(
        [
            ToolCall("read_together", {"path": "long.txt", "offset": 0, "limit": 2}),
            ToolCall("read_together", {"path": "long.txt", "offset": 2, "limit": 2}),
        ]
    )

    assert agent.call("write_file", path="long.txt", content="x").success


def test_file_that_was_deleted_and_made_again_has_not_been_read(agent: Agent, files: Filesystem) -> None:
    """What the session knew of it went with it."""
    agent.call("read_file", path="config.yaml")
    assert agent.call("delete_file", path="config.yaml").success
    files.write("config.yaml", "somebody else's\n")

    reply = agent.call("write_file", path="config.yaml", content="x")

    assert reply.text == "config.yaml exists and has not been read in this session; call read_file on it first"


def test_a_link_to_a_file_goes_without_a_look_behind_it(tmp_path: Path) -> None:
    """Only the link is deleted or moved; what is written through it still has to be known."""
    (tmp_path / "a.txt").write_text("unread\n")
    (tmp_path / "link").symlink_to("a.txt")
    with Harness(root=tmp_path) as harness:
        harness.use("section", "files")

        assert not harness.call("write_file", file_path="link", content="new").success
        assert harness.call("move_file", source_path="link", target_path="other").success
        assert not harness.call("move_file", source_path="a.txt", target_path="b.txt").success
        assert harness.call("rm", path="other").success
        assert not harness.call("rm", path="a.txt").success

    assert (tmp_path / "a.txt").read_text() == "unread\n"


def test_a_link_to_a_directory_goes_without_a_look_behind_it(tmp_path: Path) -> None:
    """Only the link is deleted or moved; it took reading all that lies behind it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.txt").write_text("a")
    (tmp_path / "link").symlink_to("real")
    with Harness(root=tmp_path) as harness:
        harness.use("section", "files")

        assert not harness.call("rm", path="real", recursive=True).success
        assert harness.call("move_file", source_path="link", target_path="other").success
        assert harness.call("rm", path="other").success

        assert harness.tree() == {"real/a.txt": "a"}


@pytest.mark.parametrize("change", ["edit_file", "write_file", "rm"])
def test_a_line_of_any_length_can_be_read_and_then_changed(tmp_path: Path, change: str) -> None:
    """What read_file cut off could never be read, so that such a file could not even be removed."""
    (tmp_path / "app.min.js").write_text(f"{'x' * 250_000}needle\n")
    arguments = {
        "edit_file": {"file_path": "app.min.js", "old_string": "needle", "new_string": "thread"},
        "write_file": {"file_path": "app.min.js", "content": ""},
        "rm": {"path": "app.min.js"},
    }[change]
    with Harness(root=tmp_path) as harness:
        harness.use("section", "files")
        said = harness.call("read_file", file_path="app.min.js").text
        denied = harness.call(change, **arguments).text
        assert "its only line has not been read to the end" in denied

        steps = 0
        while (found := re.search(r"offset=(\d+), limit=1, column=(\d+)\)", said)) is not None:
            offset, column = map(int, found.groups())
            said = harness.call("read_file", file_path="app.min.js", offset=offset, limit=1, column=column).text
            steps += 1

        assert steps == 3
        assert harness.call(change, **arguments).success


@pytest.fixture
def binary(tmp_path: Path) -> Iterator[Harness]:
    """The file tools under the rule, on a file that is not text."""
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0\0")
    with Harness(root=tmp_path) as harness:
        harness.use("section", "files")
        yield harness


def test_bytes_are_not_written_over_a_file_that_nobody_has_read(binary: Harness) -> None:
    """As with write_file."""
    denied = binary.call("write_bytes", file_path="logo.png", content="AAAA")

    assert denied.text == "logo.png exists and has not been read in this session; call read_file on it first"
    assert binary.call("write_bytes", file_path="new.png", content="AAAA").success


def test_a_file_whose_bytes_were_read_may_be_changed(binary: Harness) -> None:
    """All of them were shown."""
    assert binary.call("read_bytes", file_path="logo.png").success

    assert binary.call("write_bytes", file_path="logo.png", content="AAAA").success
    assert binary.call("rm", path="logo.png").success


def test_bytes_that_were_read_in_parts_add_up(binary: Harness) -> None:
    """As lines do; until then the denial says which are known."""
    assert binary.call("read_bytes", file_path="logo.png", limit=2).success
    assert binary.call("read_bytes", file_path="logo.png", offset=4).success
    denied = binary.call("write_bytes", file_path="logo.png", content="AAAA")
    assert denied.text == ("logo.png has been read only in part: only bytes 0-1 and 4-5 of its 6; read the rest first")

    assert binary.call("read_bytes", file_path="logo.png", offset=1, limit=3).success

    assert binary.call("write_bytes", file_path="logo.png", content="AAAA").success


def test_parts_of_two_contents_do_not_add_up(binary: Harness, tmp_path: Path) -> None:
    """What was read of the old content is no part of the new one."""
    assert binary.call("read_bytes", file_path="logo.png", limit=3).success
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\1\1")
    assert binary.call("read_bytes", file_path="logo.png", offset=3).success

    denied = binary.call("write_bytes", file_path="logo.png", content="AAAA")

    assert "only bytes 3-5 of its 6" in denied.text


def test_a_binary_file_of_any_size_may_be_removed_once_it_was_looked_at(tmp_path: Path) -> None:
    """Nothing of it can be shown; above 64 MiB it could then never be replaced or removed."""
    with (tmp_path / "disk.img").open("wb") as image:
        image.truncate(65 << 20)
    with Harness(root=tmp_path) as harness:
        harness.use("section", "files")
        assert not harness.call("rm", path="disk.img").success
        assert harness.call("read_file", file_path="disk.img").success

        assert harness.call("rm", path="disk.img").success


CHANGED = "changed since it was read, by {}; read it again before you change it"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with a file, and a link to it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("a: 1\n")
    (tmp_path / "work/link.txt").symlink_to("a.txt")
    with Workspace.open(tmp_path / "work") as workspace:
        yield workspace


@pytest.fixture
def two(workspace: Workspace) -> tuple[Agent, Agent]:
    """Two clients of it, each with a session of its own."""
    one, other = (
        Agent(workspace.filesystem, ReadBeforeWritePolicy(), workspace.session(name)) for name in ("one", "two")
    )
    return one, other


def test_it_is_said_whose_call_has_changed_a_file(two: tuple[Agent, Agent], workspace: Workspace) -> None:
    """What another has read does not count, and what it has written is not written over unseen."""
    one, other = two
    assert one.call("read_file", path="a.txt").success
    unread = other.call("write_file", path="a.txt", content="theirs\n")
    assert unread.text == "a.txt exists and has not been read in this session; call read_file on it first"
    assert other.call("read_file", path="a.txt").success
    assert other.call("write_file", path="a.txt", content="theirs\n").success
    number = workspace.calls("two", 1)[0].position

    whose = f"c{number} (write_file) of session 'two'"
    denied = one.call("write_file", path="a.txt", content="mine\n")
    assert denied.text == f"a.txt {CHANGED.format(whose)}"
    assert workspace.filesystem.read("a.txt").content == "theirs\n"
    assert one.call("read_file", path="a.txt").success
    assert one.call("write_file", path="a.txt", content="mine\n").success


def test_a_save_of_a_person_and_an_undo_are_told_apart(two: tuple[Agent, Agent], workspace: Workspace) -> None:
    """The one is nobody's call."""
    one, other = two
    assert other.call("read_file", path="a.txt").success
    assert other.call("write_file", path="a.txt", content="theirs\n").success
    assert one.call("read_file", path="link.txt").success
    undone = workspace.undo(session="two").call
    denied = one.call("write_file", path="link.txt", content="x")
    assert CHANGED.format(f"c{undone} (undo) of session 'two'") in denied.text

    assert one.call("read_file", path="a.txt").success
    Path(workspace.root, "a.txt").write_text("a person's\n")
    denied = one.call("write_file", path="a.txt", content="x")
    assert denied.text == f"a.txt {CHANGED.format('somebody outside of wink')}"
    assert Path(workspace.root, "a.txt").read_text() == "a person's\n"
