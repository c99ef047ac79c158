"""The file tools' section in a prompt: whose files it works on, and the policy that it brings."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from wink.errors import PromptValidationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink_files import HostMount, VfsConfig, VfsToolsSection, files_section


def template(section: VfsToolsSection, **others: Any) -> PromptTemplate:
    """A template with this section only."""
    return PromptTemplate(ns="tests", key="files", sections=[section], **others)


def call(prompt: Prompt, session: Session, name: str, **arguments: Any) -> ToolReply:
    """One call in a session of this prompt."""
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    return executor.execute(ToolCall(name, arguments))


def test_each_prompt_starts_with_empty_files_of_its_own() -> None:
    """Two runs of one template must not see each other's files."""
    one, other = (Prompt(shared) for shared in [template(files_section())] * 2)

    assert call(one, Session(), "write_file", file_path="a.txt", content="x").success

    assert not call(other, Session(), "read_file", file_path="a.txt").success


def test_section_works_on_the_filesystem_that_it_was_given() -> None:
    """Its content is there afterwards, for the program that made it."""
    files = InMemoryFilesystem()

    assert call(
        Prompt(template(VfsToolsSection(files))), Session(), "write_file", file_path="a.txt", content="x"
    ).success

    assert files.read("a.txt").content == "x"


def test_filesystem_that_the_prompt_is_bound_to_wins() -> None:
    """A workspace's files are bound to the prompt, whatever the section brings."""
    workspace, own = InMemoryFilesystem(), InMemoryFilesystem()
    prompt = Prompt(template(VfsToolsSection(own))).bind(resources={Filesystem: workspace})

    assert call(prompt, Session(), "write_file", file_path="a.txt", content="x").success

    assert workspace.exists("a.txt")
    assert not own.exists("a.txt")


def test_mounts_are_there_for_the_agent(tmp_path: Path) -> None:
    """Copied when the prompt's files are first needed, for each prompt anew."""
    (tmp_path / "a.md").write_text("from the host\n")
    section = files_section(config=VfsConfig(mounts=[HostMount(tmp_path, "docs")]))
    prompt = Prompt(template(section))

    reply = call(prompt, Session(), "read_file", file_path="docs/a.md")

    assert reply.text == "docs/a.md: 1 line\n\n     1\tfrom the host"


def test_mounts_and_a_filesystem_are_refused_together(tmp_path: Path) -> None:
    """Copying the host's files into a program's own filesystem would surprise it."""
    with pytest.raises(PromptValidationError, match="give mounts or a filesystem, not both"):
        VfsToolsSection(InMemoryFilesystem(), mounts=[HostMount(tmp_path)])


def test_mount_that_does_not_exist_is_refused_when_the_section_is_built(tmp_path: Path) -> None:
    """Not when the agent looks for its files."""
    with pytest.raises(PromptValidationError, match="does not exist"):
        files_section(mounts=[HostMount(tmp_path / "missing")])


def test_files_have_to_be_read_before_they_are_changed() -> None:
    """The default, without anything being said."""
    files = InMemoryFilesystem()
    files.write("config.yaml", "a: 1\n")
    prompt, session = Prompt(template(VfsToolsSection(files))), Session()

    denied = call(prompt, session, "write_file", file_path="config.yaml", content="x")
    assert denied.text == "config.yaml exists and has not been read in this session; call read_file on it first"

    assert call(prompt, session, "read_file", file_path="config.yaml").success
    assert call(prompt, session, "write_file", file_path="config.yaml", content="x").success


def test_rule_can_be_switched_off() -> None:
    """For programs with rules of their own; the guidance says nothing of it then."""
    files = InMemoryFilesystem()
    files.write("config.yaml", "a: 1\n")
    section = VfsToolsSection(files, read_before_write=False)

    assert section.policies() == ()
    assert "Read a file before you change" not in section.render_body(None)
    assert call(Prompt(template(section)), Session(), "write_file", file_path="config.yaml", content="x").success


def test_template_is_refused_when_the_rule_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is silently missing is worse than a template that cannot be built."""
    monkeypatch.setattr(importlib.metadata, "distribution", Mock(side_effect=importlib.metadata.PackageNotFoundError))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: importlib.metadata.EntryPoints())

    with pytest.raises(PromptValidationError, match="none is installed") as caught:
        template(files_section())

    assert "pass read_before_write=False" in str(caught.value)
    assert caught.value.section_path == ("files",)
    assert template(files_section(read_before_write=False)).sections


def test_prompt_tells_the_model_how_to_use_the_tools() -> None:
    """Tools without guidance are unreliable."""
    rendered = Prompt(template(files_section())).render()

    assert rendered.text.startswith("## 1. Files\n\nWork on the workspace's files with these tools.")
    for tool in rendered.tools:
        assert f"`{tool.name}`" in rendered.text


def test_clone_is_a_section_like_any_other() -> None:
    """A template may hold the tools in several places, under different conditions."""
    twin = files_section().clone(key="other")

    assert [tool.name for tool in twin.tools()] == [tool.name for tool in files_section().tools()]
    assert Prompt(template(twin)).render().tool("read_file") is not None
