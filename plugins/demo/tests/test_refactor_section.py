"""The demo's plugin: a tool that changes several files, and fails after it changed some."""

from __future__ import annotations

import json

import pytest

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
from wink.session import Session
from wink_demo import refactor_section


@pytest.fixture
def files() -> InMemoryFilesystem:
    """Two Python files that use one name."""
    memory = InMemoryFilesystem()
    memory.write("a.py", "size = 1\nresize = size\n")
    memory.write("b.py", "from a import size\n")
    return memory


def rename(files: InMemoryFilesystem, session: Session, old: str, new: str, *paths: str) -> ToolReply:
    """Call the tool as a model would."""
    template = PromptTemplate(ns="demo", key="demo", sections=[refactor_section()])
    prompt = Prompt(template).bind(resources={Filesystem: files})
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    return executor.execute(ToolCall("rename_word", json.dumps({"old": old, "new": new, "files": paths})))


def test_whole_words_are_renamed_in_every_file(files: InMemoryFilesystem) -> None:
    """`resize` is another word."""
    reply = rename(files, Session(), "size", "length", "a.py", "b.py")

    assert reply.text == "renamed size to length\n\na.py: 2 replaced\nb.py: 1 replaced"
    assert files.read("a.py").content == "length = 1\nresize = length\n"
    assert files.read("b.py").content == "from a import length\n"


def test_a_failure_in_the_last_file_takes_the_first_back(files: InMemoryFilesystem) -> None:
    """The tool cleans nothing up; that is what the transaction is for."""
    session, seen = Session(), list[ToolInvoked]()
    session.dispatcher.subscribe(ToolInvoked, seen.append)

    reply = rename(files, session, "size", "a-b", "a.py", "b.py")

    assert not reply.success
    assert "no longer Python (line 1: " in reply.text
    assert files.read("a.py").content == "size = 1\nresize = size\n"
    assert seen[0].change.rolled_back
    assert seen[0].change.paths == ("a.py",)


def test_the_new_name_is_taken_as_it_stands(files: InMemoryFilesystem) -> None:
    r"""`\1` in a name is no group of a pattern, and `.` matches no other character."""
    reply = rename(files, Session(), "s.ze", r"\1", "a.py")

    assert reply.text == "renamed s.ze to \\1\n\na.py: 0 replaced"
