"""Odd names that exist are listed and used as they are; those that no checkout elsewhere could hold are not made."""

from __future__ import annotations

import os
import unicodedata
from typing import Any

import pytest

from wink.errors import PathRefused
from wink.filesystem import HostFilesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink_files import VfsToolsSection

UNPORTABLE = (
    "con", "CON.txt", "aux.c", "nul", "prn.log", "com1", "COM9.x", "lpt1", "lpt\u00b9", "conin$", "CONOUT$", "a.", "a ", "dir./x",
    "aa:b", "a?", "a*", "a|b", "a<b", 'a"b', "a>b", "deep/er/nul.txt", "own.txt:stream", "nul .txt",
)  # fmt: skip
ODD = (
    "-rf", "--help", "a b", "$HOME", "`id`", "a;b", "a&b", "'q'", "#x", "!x", "[x]", "{a,b}", "%20", "@", "+", "=", "a,b", "..x",
    "x..y", ".hidden", "~x~", "\u00e9.txt", "\u65e5\u672c\u8a9e.md", "\U0001f600", "\u0645\u0631\u062d\u0628\u0627", "a\u0301.txt", "\u202ex.txt", "\u00a0", "n" * 255,
    "\U0001f600" * 63,
)  # fmt: skip
RAW = (
    b"latin-\xe9.txt",
    b"\xff\xfe",
    b"new\nline",
    b"esc\x1b[2J",
    b"tab\t",
    b"back\\slash",
    b"sur\xed\xa0\x80",
    b"colon:name",
    b"q?",
    b"end ",
)


@pytest.mark.parametrize("name", UNPORTABLE)
def test_names_that_break_a_checkout_are_not_made(world: Any, uses: Any, name: str) -> None:
    """Everybody on Windows would have a repository that they cannot check out."""
    for use in ("write", "create", "append", "open_write", "mkdir", "move to", "copy to"):
        assert "Windows" in world.refuses(uses[use], name, PathRefused), use
    assert len(world.files.glob("**")) == 3
    free = InMemoryFilesystem(portable_names=False)
    free.write(name, "x")
    assert free.read(name).content == "x"


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_odd_names_are_honest(world: Any, name: str) -> None:
    """All that a model and a person may want to call a file."""
    files = world.files
    files.write(f"in/{name}", "text\n")
    files.edit(f"in/{name}", "text", "edited")
    files.append(f"in/{name}", "more\n")
    files.copy(f"in/{name}", f"copy/{name}")
    files.move(f"in/{name}", f"moved/{name}")

    assert files.read(f"moved/{name}").content == "edited\nmore\n"
    assert [entry.name for entry in files.list("moved")] == [name]
    assert f"copy/{name}" in [match.path for match in files.glob("copy/*")]
    assert len(files.grep("more")) == 2
    files.delete("moved", recursive=True)
    assert not files.exists(f"moved/{name}")


def test_unicode_forms_are_different_names(world: Any) -> None:
    """Where the disk tells them apart, so do we; but no second form is made, which macOS would take for the first."""
    composed, decomposed = (unicodedata.normalize(form, "\u00e9") for form in ("NFC", "NFD"))
    world.files.write(composed, "one")
    world.files.write("README", "three")

    assert world.files.read(composed).content == "one"
    assert not world.files.exists(decomposed)
    assert not world.files.exists("readme")
    for twin in (decomposed, "readme"):
        with pytest.raises(PathRefused, match="which is there, only in"):
            world.files.write(twin, "two")


@pytest.mark.parametrize("raw", RAW)
def test_names_that_no_tool_could_give_are_passed_by(disk: Any, watch: Any, raw: bytes) -> None:
    """They come from outside; they are listed, walked, searched, moved and deleted with their directory."""
    odd = os.fsencode(disk.root / "odd")
    os.mkdir(odd)
    with open(odd + b"/" + raw, "wb") as file:
        file.write(b"needle\n")
    os.mkdir(odd + b"/d" + raw)
    os.symlink(raw, odd + b"/link")
    name = os.fsdecode(raw)
    watch()

    assert {entry.name for entry in disk.files.list("odd")} == {name, "d" + name, "link"}
    assert f"odd/{name}" in [match.path for match in disk.files.glob("odd/**", respect_ignore=True)]
    assert [match.path for match in disk.files.grep("needle", respect_ignore=True)] == [f"odd/{name}"]
    assert disk.files.read("odd/link").content == "needle\n"
    disk.files.edit("odd/link", "needle", "found")
    assert [info["name"] for info in disk.files.fs.ls("odd") if info["name"] == f"odd/{name}"]
    part = disk.files.begin()
    part.handle.move("odd", "dir/odd")
    part.handle.delete("dir/odd", recursive=True)
    assert any(change.path.endswith(name) for change in part.changes())
    part.undo()
    with open(odd + b"/" + raw, "rb") as file:
        assert file.read() == b"found\n"
    disk.files.delete("odd", recursive=True)
    assert not os.path.lexists(odd)


@pytest.mark.parametrize("raw", RAW)
def test_a_model_reads_one_honest_line_for_each(disk: Any, raw: bytes) -> None:
    """A name can neither break the text that is sent, nor pretend to be another entry."""
    with open(os.fsencode(disk.root) + b"/" + raw, "wb") as file:
        file.write(b"needle\n")
    session = Session()
    prompt = Prompt(
        PromptTemplate(ns="tests", key="files", sections=[VfsToolsSection(disk.files, read_before_write=False)])
    )
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)

    for call, lines in (
        (ToolCall("ls", {}), 3),
        (ToolCall("glob", {"pattern": "*"}), 3),
        (ToolCall("grep", {"pattern": "needle"}), 1),
    ):
        reply = executor.execute(call)
        assert reply.success, reply.text
        assert len(reply.text.partition("\n\n")[2].split("\n")) == lines, reply.text
        reply.text.encode()
        assert "\x1b" not in reply.text
        assert str(disk.top) not in reply.text


def test_read_only_directories_are_respected_and_survive(disk: Any) -> None:
    """What may not be written stays; what is in it can be read."""
    closed = disk.root / "closed"
    closed.mkdir()
    (closed / "file.txt").write_text("text\n")
    closed.chmod(0o555)

    assert disk.files.read("closed/file.txt").content == "text\n"
    if os.geteuid():
        with pytest.raises(PermissionError):
            disk.files.write("closed/new.txt", "x")
    part = disk.files.begin()
    part.handle.write("closed/file.txt", "changed\n")
    part.undo()

    assert (closed / "file.txt").read_text() == "text\n"
    assert closed.stat().st_mode & 0o777 == 0o555
    closed.chmod(0o755)
    with HostFilesystem(disk.root, read_only=True) as reader, pytest.raises(PermissionError):
        reader.write("x", "x")
