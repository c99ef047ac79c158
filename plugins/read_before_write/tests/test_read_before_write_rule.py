"""What the policy allows and denies, asked directly on a call's own handle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import PolicyError
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem, Stamp
from wink.policies import PolicyDecision, ToolPolicy
from wink.session import Session
from wink.tools import ToolResult
from wink_read_before_write import ReadBeforeWritePolicy, files_policy


class Calls:
    """One session's calls on one tree: what a call noted is what the next one has seen."""

    def __init__(self, root: Filesystem, policy: ReadBeforeWritePolicy | None = None) -> None:
        self.root = root
        self.policy = policy or ReadBeforeWritePolicy()
        self.stamps: dict[str, Stamp | None] = {}

    def do(self, act: Callable[[Filesystem], Any]) -> Any:
        """Let one successful call do something with its handle."""
        part = self.root.begin(seen=self.stamps.get)
        result = act(part.handle)
        self._end(part)
        return result

    def check(self, tool: str, **params: Any) -> PolicyDecision:
        """Ask the policy about a call; asking must not count as reading."""
        part = self.root.begin(seen=self.stamps.get)
        decision = self.policy.check(_tool(tool), _params(params), context=_context(part.handle))
        assert part.stamps() == {}
        part.undo()
        return decision

    def told(self, tool: str, result: ToolResult[Any], **params: Any) -> None:
        """Tell the policy of a call that did nothing with its handle."""
        part = self.root.begin(seen=self.stamps.get)
        self.policy.on_result(_tool(tool), _params(params), result, context=_context(part.handle))
        self._end(part)

    def _end(self, part: Any) -> None:
        part.prepare()
        part.publish()
        self.stamps.update(part.stamps())


def _tool(name: str) -> Any:
    return SimpleNamespace(name=name)


def _params(params: dict[str, Any]) -> Any:
    return SimpleNamespace(**params)


def _context(files: Filesystem) -> Any:
    return SimpleNamespace(filesystem=files, session=Session())


@pytest.fixture(params=["memory", "disk"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Filesystem]:
    """Both kinds of filesystem must be judged alike."""
    if request.param == "memory":
        yield InMemoryFilesystem()
    else:
        (tmp_path / "work").mkdir()
        yield HostFilesystem(tmp_path / "work")


@pytest.fixture
def calls(root: Filesystem) -> Calls:
    """A session that has read nothing, on files that somebody else wrote."""
    root.write("config.yaml", "".join(f"line {number}\n" for number in range(1, 11)))
    return Calls(root)


def test_it_is_a_policy() -> None:
    """The runtime asks for the protocol, not for a base class."""
    assert isinstance(ReadBeforeWritePolicy(), ToolPolicy)


def test_new_file_may_be_written(calls: Calls) -> None:
    """There is nothing to lose."""
    assert calls.check("write_file", file_path="new.txt", content="x")


def test_existing_file_must_be_read_first(calls: Calls) -> None:
    """The denial tells the model exactly what to do."""
    decision = calls.check("write_file", file_path="config.yaml", content="x")

    assert not decision
    assert decision.reason == "config.yaml exists and has not been read in this session; call read_file on it first"


def test_file_that_was_read_may_be_overwritten(calls: Calls) -> None:
    """The normal case."""
    calls.do(lambda files: files.read("config.yaml"))

    assert calls.check("write_file", file_path="config.yaml", content="x")


@pytest.mark.parametrize("spelling", ["./config.yaml", "x/../config.yaml", ".//config.yaml"])
def test_spelling_of_a_path_makes_no_difference(calls: Calls, spelling: str) -> None:
    """Paths are compared as the filesystem takes them, or `./config.yaml` would be a way around the rule."""
    assert not calls.check("write_file", file_path=spelling, content="x")

    calls.do(lambda files: files.read(spelling))

    assert calls.check("write_file", file_path="config.yaml", content="x")


def test_file_that_changed_since_must_be_read_again(calls: Calls) -> None:
    """What the model knows is no longer what it would overwrite."""
    calls.do(lambda files: files.read("config.yaml"))
    calls.root.write("config.yaml", "somebody else's\n")

    decision = calls.check("write_file", file_path="config.yaml", content="x")

    assert decision.reason is not None
    assert "config.yaml changed since it was read; read it again" in decision.reason


def test_file_that_is_what_was_read_again_may_be_overwritten(calls: Calls) -> None:
    """Content counts, not the time of the last change."""
    before = calls.do(lambda files: files.read("config.yaml")).content
    calls.root.write("config.yaml", "somebody else's\n")
    calls.root.write("config.yaml", before)

    assert calls.check("write_file", file_path="config.yaml", content="x")


def test_own_write_counts_as_reading(calls: Calls) -> None:
    """Whoever wrote a file knows what is in it."""
    calls.do(lambda files: files.write("new.txt", "mine\n"))

    assert calls.check("write_file", file_path="new.txt", content="x")


def test_part_of_a_file_is_not_enough_to_overwrite_it(calls: Calls) -> None:
    """The lines that were not shown would be lost unseen."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=4))

    decision = calls.check("write_file", file_path="config.yaml", content="x")

    assert decision.reason == (
        "config.yaml has been read only in part: only lines 1-4 of its 10 have been read; call read_file on the rest first"
    )


def test_parts_add_up_over_several_reads(calls: Calls) -> None:
    """A long file is read in pages."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=4))
    calls.do(lambda files: files.read("config.yaml", offset=4, limit=6))

    assert calls.check("write_file", file_path="config.yaml", content="x")


def test_parts_read_of_different_contents_do_not_add_up(calls: Calls) -> None:
    """Half of yesterday's file and half of today's are no whole file."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=4))
    calls.root.write("config.yaml", "".join(f"changed {number}\n" for number in range(1, 11)))
    calls.do(lambda files: files.read("config.yaml", offset=4, limit=6))

    assert not calls.check("write_file", file_path="config.yaml", content="x")


def test_edit_needs_only_the_lines_that_it_replaces(calls: Calls) -> None:
    """Reading a page is enough to fix what is on it."""
    calls.do(lambda files: files.read("config.yaml", offset=2, limit=2))

    assert calls.check("edit_file", file_path="config.yaml", old_string="line 3\nline 4", new_string="x")


def test_edit_of_lines_that_were_not_read_is_denied(calls: Calls) -> None:
    """The model guessed what is there."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=2))

    decision = calls.check("edit_file", file_path="config.yaml", old_string="line 2\nline 3", new_string="x")

    assert decision.reason == (
        "lines 2-3 of config.yaml would change and only lines 1-2 of its 10 have been read; call read_file on them first"
    )


def test_edit_of_a_file_of_which_nothing_was_read_is_denied(calls: Calls) -> None:
    """As for overwriting."""
    decision = calls.check("edit_file", file_path="config.yaml", old_string="line 3", new_string="x")

    assert decision.reason == "config.yaml exists and has not been read in this session; call read_file on it first"


def test_edit_of_every_occurrence_needs_every_occurrence_to_be_read(calls: Calls) -> None:
    """`replace_all` reaches lines that the model may not have seen."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=5))

    decision = calls.check("edit_file", file_path="config.yaml", old_string="line ", new_string="x", replace_all=True)

    assert decision.reason == (
        "line 6 of config.yaml would change and only lines 1-5 of its 10 have been read; call read_file on it first"
    )


def test_edit_of_text_that_is_not_there_is_denied_while_parts_are_unread(calls: Calls) -> None:
    """A tool that looks for similar text could find it where nobody has looked."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=2))

    decision = calls.check("edit_file", file_path="config.yaml", old_string="lines 9", new_string="x")

    assert not decision


def test_edit_of_text_that_is_not_there_is_left_to_the_tool_once_all_is_read(calls: Calls) -> None:
    """The tool has the better message."""
    calls.do(lambda files: files.read("config.yaml"))

    assert calls.check("edit_file", file_path="config.yaml", old_string="lines 9", new_string="x")


def test_empty_old_string_puts_the_whole_file_at_stake(calls: Calls) -> None:
    """No line contains it, so no line could vouch for it."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=2))

    assert not calls.check("edit_file", file_path="config.yaml", old_string="", new_string="x")


def test_lines_stay_known_through_an_own_edit(calls: Calls) -> None:
    """An agent edits a page several times; it must not have to read it again each time."""
    calls.do(lambda files: files.read("config.yaml", offset=0, limit=4))
    calls.do(lambda files: files.edit("config.yaml", "line 2\n", "one\ntwo\nthree\n"))

    assert calls.check("edit_file", file_path="config.yaml", old_string="three\nline 3", new_string="x")
    assert not calls.check("edit_file", file_path="config.yaml", old_string="line 5", new_string="x")
    assert not calls.check("write_file", file_path="config.yaml", content="x")


def test_moving_needs_the_source_to_be_read(calls: Calls) -> None:
    """It is gone from where it was."""
    assert not calls.check("move_file", source_path="config.yaml", target_path="b.yaml")

    calls.do(lambda files: files.read("config.yaml"))

    assert calls.check("move_file", source_path="config.yaml", target_path="b.yaml")


def test_moving_over_a_file_needs_that_to_be_read_too(calls: Calls) -> None:
    """It would be overwritten."""
    calls.root.write("b.yaml", "b\n")
    calls.do(lambda files: files.read("config.yaml"))

    decision = calls.check("move_file", source="config.yaml", target="b.yaml")

    assert decision.reason == "b.yaml exists and has not been read in this session; call read_file on it first"


def test_deleting_needs_the_file_to_be_read(calls: Calls) -> None:
    """It would be lost unseen."""
    assert not calls.check("rm", path="config.yaml", recursive=False)

    calls.do(lambda files: files.read("config.yaml"))

    assert calls.check("rm", path="config.yaml", recursive=False)


def test_directory_needs_each_of_its_files_to_be_read(calls: Calls) -> None:
    """Deleting many files at once is no way around the rule."""
    for name in "abcd":
        calls.root.write(f"src/{name}.txt", name)
    calls.do(lambda files: files.write("src/deep/mine.txt", "mine"))

    decision = calls.check("rm", path="src", recursive=True)

    assert decision.reason == (
        "src holds files that have not been read as they are now: src/a.txt, src/b.txt, src/c.txt and 1 more; "
        "call read_file on them first"
    )

    for name in "abcd":
        calls.do(lambda files, name=name: files.read(f"src/{name}.txt"))

    assert calls.check("rm", path="src", recursive=True)


def test_link_in_a_directory_needs_no_reading(tmp_path: Path) -> None:
    """Only the link goes with the directory, not what it leads to."""
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a").symlink_to("../a.txt")

    with HostFilesystem(str(tmp_path)) as disk:
        assert Calls(disk).check("rm", path="links", recursive=True)


def test_empty_directory_may_be_deleted(calls: Calls) -> None:
    """It holds nothing that could be lost."""
    calls.root.mkdir("empty")

    assert calls.check("rm", path="empty", recursive=True)


def test_directory_of_too_many_files_is_not_looked_through(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check has to end soon, and says so when it cannot."""
    monkeypatch.setattr("wink_read_before_write._evidence.MAX_FILES", 2)
    for name in "abc":
        calls.do(lambda files, name=name: files.write(f"src/{name}.txt", name))

    decision = calls.check("rm", path="src", recursive=True)

    assert decision.reason == (
        "src holds more than 2 files, too many to check whether each has been read; take parts of it"
    )


@pytest.mark.parametrize("path", ["../secrets.txt", "/etc/passwd", "a\0b"])
def test_path_that_is_refused_is_denied_with_the_reason(calls: Calls, path: str) -> None:
    """What cannot be checked is not allowed."""
    decision = calls.check("write_file", file_path=path, content="x")

    assert not decision
    assert decision.reason is not None
    assert decision.reason.startswith("cannot check whether ")


def test_write_tool_that_does_not_say_what_it_changes_is_denied(calls: Calls) -> None:
    """A rule that cannot be applied must not be passed over."""
    decision = calls.check("write_file", target_of_change="config.yaml")

    assert decision.reason == "write_file does not say in a parameter `path` or `file_path` what it changes"


def test_other_tools_are_none_of_its_business(calls: Calls) -> None:
    """It governs the tools that it was told write."""
    assert calls.check("touch", path="config.yaml")


def test_tools_are_named_by_whoever_sets_the_rule(root: Filesystem) -> None:
    """Other sections' tools have other names, and the denial names theirs."""
    root.write("a.txt", "a")
    calls = Calls(root, files_policy(read_tools=["cat"], write_tools=["put"]))

    decision = calls.check("put", path="a.txt")

    assert decision.reason == "a.txt exists and has not been read in this session; call cat on it first"
    assert calls.check("write_file", path="a.txt")


def test_rule_without_a_read_tool_is_refused() -> None:
    """It would deny every change for good, and name nothing to call."""
    with pytest.raises(PolicyError, match="name at least one tool in read_tools"):
        ReadBeforeWritePolicy(read_tools=())


def test_read_tool_that_read_some_other_way_is_believed(calls: Calls) -> None:
    """A tool may show a file without the handle, which then did not notice."""
    calls.told("read_file", ToolResult.ok(None, "shown"), path="config.yaml")

    assert calls.check("write_file", path="config.yaml", content="x")


def test_read_tool_that_failed_is_not_believed(calls: Calls) -> None:
    """Nothing was shown."""
    calls.told("read_file", ToolResult.error("no"), path="config.yaml")

    assert not calls.check("write_file", path="config.yaml", content="x")


def test_tool_that_does_not_read_is_not_believed(calls: Calls) -> None:
    """Only the tools that were named show files."""
    calls.told("lookup", ToolResult.ok(None, "shown"), path="config.yaml")

    assert not calls.check("write_file", path="config.yaml", content="x")


def test_read_tool_that_showed_a_part_is_not_credited_with_the_whole(calls: Calls) -> None:
    """Where the handle noticed, it knows better than the tool's name."""

    def read_a_part(files: Filesystem) -> None:
        files.read("config.yaml", limit=2)
        result: ToolResult[Any] = ToolResult.ok(None, "shown")
        calls.policy.on_result(_tool("read_file"), _params({"path": "config.yaml"}), result, context=_context(files))

    calls.do(read_a_part)

    assert not calls.check("write_file", path="config.yaml", content="x")


@pytest.mark.parametrize("path", ["missing.txt", "../outside", "."])
def test_read_tool_that_showed_something_else_leaves_no_trace(calls: Calls, path: str) -> None:
    """What is no file of this filesystem cannot be noted, and the call does not fail for it."""
    calls.told("read_file", ToolResult.ok(None, "shown"), path=path)

    assert calls.stamps == {}


def test_mount_point_is_taken_off_the_models_paths(root: Filesystem) -> None:
    """The model sees `/workspace/a.txt`, the filesystem has `a.txt`."""
    root.write("a.txt", "a")
    calls = Calls(root, ReadBeforeWritePolicy(mount_point="/workspace"))

    decision = calls.check("write_file", path="/workspace/a.txt")
    assert (
        decision.reason == "/workspace/a.txt exists and has not been read in this session; call read_file on it first"
    )

    calls.do(lambda files: files.read("a.txt"))
    assert calls.check("write_file", path="/workspace/a.txt")


@pytest.mark.parametrize("path", ["//workspace/a.txt", "/workspace/./a.txt", "/x/../workspace/a.txt", "a.txt"])
def test_mount_point_cannot_be_spelled_around(root: Filesystem, path: str) -> None:
    """Each of these is `a.txt`, which exists and was not read."""
    root.write("a.txt", "a")
    calls = Calls(root, ReadBeforeWritePolicy(mount_point="/workspace"))

    assert not calls.check("write_file", path=path)


def test_path_outside_the_mount_point_is_denied(root: Filesystem) -> None:
    """Nobody can say what the tool would make of it."""
    calls = Calls(root, ReadBeforeWritePolicy(mount_point="/workspace"))

    decision = calls.check("write_file", path="/workspace/../etc/passwd")

    assert decision.reason == (
        "cannot check whether /workspace/../etc/passwd has been read: '/workspace/../etc/passwd' is outside /workspace"
    )


@dataclass(frozen=True)
class Read:
    """Some lines."""

    offset: int
    limit: int


reads = st.lists(st.builds(Read, st.integers(0, 9), st.integers(1, 6)), max_size=6)


@given(reads, st.integers(0, 9), st.integers(1, 4))
def test_edit_is_allowed_exactly_when_every_line_of_it_was_read(pages: list[Read], start: int, height: int) -> None:
    """The law: over any reads, the known lines are the union of the pages."""
    files = InMemoryFilesystem()
    lines = [f"<{number}>\n" for number in range(10)]
    files.write("a.txt", "".join(lines))
    calls = Calls(files)
    for page in pages:
        calls.do(lambda handle, page=page: handle.read("a.txt", offset=page.offset, limit=page.limit))

    touched = range(start, min(start + height, 10))
    old = "".join(lines[number] for number in touched).removesuffix("\n")
    known = {number for page in pages for number in range(page.offset, min(page.offset + page.limit, 10))}

    assert bool(calls.check("edit_file", path="a.txt", old_string=old, new_string="x")) == known.issuperset(touched)
    assert bool(calls.check("write_file", path="a.txt", content="x")) == known.issuperset(range(10))
