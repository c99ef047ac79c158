"""The file tools through the whole pipeline, in memory and on disk: what they do, and what the model reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink_files import FileText, VfsConfig, VfsToolsSection


class Agent:
    """Calls file tools on one tree, as a model would; without the policy, which has its own tests."""

    def __init__(self, files: Filesystem, config: VfsConfig | None = None) -> None:
        self.files, self.session = files, Session()
        section = VfsToolsSection(files, config, read_before_write=False)
        self.prompt = Prompt(PromptTemplate(ns="tests", key="files", sections=[section]))
        rendered = self.prompt.render(session=self.session)
        self.executor = ToolExecutor(prompt=self.prompt, rendered=rendered, session=self.session)

    def call(self, name: str, **arguments: Any) -> ToolReply:
        """One call."""
        return self.executor.execute(ToolCall(name, arguments))

    def says(self, name: str, **arguments: Any) -> str:
        """The text that the model is sent for a call that succeeds."""
        reply = self.call(name, **arguments)
        assert reply.success, reply.text
        return reply.text

    def refuses(self, name: str, **arguments: Any) -> str:
        """The text that the model is sent for a call that fails."""
        reply = self.call(name, **arguments)
        assert not reply.success, reply.text
        return reply.text


@pytest.fixture(params=["memory", "disk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Filesystem]:
    """The tools must behave alike on both."""
    if request.param == "memory":
        yield InMemoryFilesystem()
    else:
        (tmp_path / "work").mkdir()
        with HostFilesystem(str(tmp_path / "work")) as disk:
            yield disk


@pytest.fixture
def agent(files: Filesystem) -> Agent:
    """An agent in a small project."""
    files.write("src/app.py", "def main():\n    run()\n\n\ndef run():\n    pass\n")
    files.write("src/util.py", "def run_all():\n    pass\n")
    files.write("README.md", "# Project\n")
    return Agent(files)


# -- ls


def test_ls_shows_directories_first_and_sizes(agent: Agent) -> None:
    """Everything that a model needs to decide where to look next."""
    assert agent.says("ls") == ".: 2 entries\n\nsrc/\nREADME.md  10 bytes"


def test_ls_of_a_directory(agent: Agent) -> None:
    """Names are relative to the directory, as in a shell."""
    assert agent.says("ls", path="src/") == "src: 2 entries\n\napp.py  44 bytes\nutil.py  24 bytes"


def test_ls_of_an_empty_directory_says_so(agent: Agent) -> None:
    """An empty answer would look like a failure."""
    agent.files.mkdir("empty")

    assert agent.says("ls", path="empty") == "empty: 0 entries"


def test_ls_of_many_names_is_cut_with_a_way_on(files: Filesystem) -> None:
    """A directory of a hundred thousand files must not fill the context."""
    for name in "abc":
        files.write(f"{name}.txt", "")

    said = Agent(files, VfsConfig(max_entries=2)).says("ls")

    assert said == ".: 2 entries or more\n\na.txt  0 bytes\nb.txt  0 bytes\n(there are more; find them with glob)"


def test_ls_marks_links(tmp_path: Path) -> None:
    """A link is not what it leads to: deleting it deletes the link."""
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").symlink_to("a.txt")

    with HostFilesystem(str(tmp_path)) as disk:
        assert Agent(disk).says("ls") == ".: 2 entries\n\na.txt  1 byte\nb.txt@"


def test_ls_makes_up_no_size(tmp_path: Path) -> None:
    """Files of names that no path can have cannot be asked for theirs; 0 bytes would be a lie."""
    (tmp_path / "a\nb").write_text("text")

    with HostFilesystem(str(tmp_path)) as disk:
        assert Agent(disk).says("ls") == ".: 1 entry\n\na\\nb"


@pytest.mark.parametrize("path", ["missing", "README.md"])
def test_ls_of_what_is_no_directory_fails_with_a_way_on(agent: Agent, path: str) -> None:
    """The model learns which of the two it is, and what to do."""
    assert agent.refuses("ls", path=path).startswith(f"'{path}' ")


# -- read_file


def test_read_file_numbers_the_lines(agent: Agent) -> None:
    """As `cat -n` does, which models know."""
    assert agent.says("read_file", file_path="src/util.py") == (
        "src/util.py: 2 lines\n\n     1\tdef run_all():\n     2\t    pass"
    )


def test_read_file_shows_a_page_and_how_to_go_on(agent: Agent) -> None:
    """The notice can be followed literally."""
    said = agent.says("read_file", file_path="src/app.py", offset=1, limit=2)

    assert said == (
        "src/app.py: 6 lines\n\n     2\t    run()\n     3\t\n(lines 2-3 of 6; to go on, call read_file with offset=3)"
    )
    assert agent.says("read_file", file_path="src/app.py", offset=3) == (
        "src/app.py: 6 lines\n\n     4\t\n     5\tdef run():\n     6\t    pass"
    )


def test_read_file_is_bounded_whatever_the_model_asks_for(files: Filesystem) -> None:
    """The configuration has the last word."""
    files.write("long.txt", "".join(f"{number}\n" for number in range(10)))

    said = Agent(files, VfsConfig(max_read_lines=2)).says("read_file", file_path="long.txt", limit=1_000_000)

    assert said.endswith("     2\t1\n(lines 1-2 of 10; to go on, call read_file with offset=2)")


def test_read_file_shows_about_as_many_characters_as_allowed(files: Filesystem) -> None:
    """A file of long lines must not fill the context; following the notices shows every line once."""
    lines = [f"{number:04}:{'x' * (number % 90)}" for number in range(3000)]
    files.write("long.txt", "\n".join(lines) + "\n")
    agent, shown, offset = Agent(files, VfsConfig(max_read_chars=20_000)), list[str](), 0

    while offset < len(lines):
        result = agent.call("read_file", file_path="long.txt", offset=offset, limit=100_000).result.value
        assert isinstance(result, FileText)
        assert len(result.content) <= 22_000
        shown += result.content.splitlines()
        offset = result.last_line

    assert shown == lines


def test_read_file_cuts_endless_lines_and_says_which(files: Filesystem) -> None:
    """Minified code has lines of a megabyte."""
    files.write("app.min.js", f"short\n{'x' * 50}\n")

    said = Agent(files, VfsConfig(max_line_chars=10)).says("read_file", file_path="app.min.js")

    assert said.endswith(
        f"     2\t{'x' * 10}\n"
        "(too long to be shown to the end: line 2; to go on, call read_file with offset=1, limit=1, column=10)"
    )


def test_read_file_shows_a_long_line_to_its_end_in_steps(files: Filesystem) -> None:
    """Each answer says how to go on, and a line that is asked for alone may fill a whole answer."""
    line = "".join(f"{number}," for number in range(100))
    files.write("app.min.js", f"short\n{line}\n{line}\n")
    agent = Agent(files, VfsConfig(max_line_chars=10, max_read_chars=150))

    first = agent.says("read_file", file_path="app.min.js")
    second = agent.says("read_file", file_path="app.min.js", offset=1, limit=1, column=10)
    third = agent.says("read_file", file_path="app.min.js", offset=1, limit=1, column=160)

    assert "lines 2, 3; to go on in line 2, call read_file with offset=1, limit=1, column=10)" in first
    assert "(of each line from character 11 on)\n(too long to be shown to the end: line 2;" in second
    assert "offset=1, limit=1, column=160)" in second
    assert "too long" not in third
    pieces = [said.split("\t")[at].split("\n")[0] for said, at in ((first, 2), (second, 1), (third, 1))]
    assert "".join(pieces) == line


def test_read_file_tells_what_numbered_lines_do_not_show(agent: Agent) -> None:
    """Exact edits depend on it."""
    agent.files.write_bytes("dos.txt", b"one\r\ntwo")

    assert agent.says("read_file", file_path="dos.txt") == (
        "dos.txt: 2 lines\n\n     1\tone\n     2\ttwo\n(lines end in CRLF)\n(no newline at the end of the file)"
    )


def test_read_file_of_an_empty_file_says_so(agent: Agent) -> None:
    """An empty answer would look like a failure."""
    agent.files.write("empty.txt", "")

    assert agent.says("read_file", file_path="empty.txt") == "empty.txt: 0 lines\n\n(the file is empty)"


def test_read_file_of_a_binary_file_describes_it(agent: Agent) -> None:
    """It can be replaced or deleted afterwards, and not be shown in any case."""
    agent.files.write_bytes("logo.png", b"\x89PNG\0\0")

    assert agent.says("read_file", file_path="logo.png") == (
        "logo.png: binary\n\n(not UTF-8 text: 6 bytes, not shown; read_bytes shows them in base64)"
    )


def test_read_file_beyond_the_end_fails_with_the_length(agent: Agent) -> None:
    """The model can fix its call from the message alone."""
    assert agent.refuses("read_file", file_path="README.md", offset=5) == (
        "'README.md' has only 1 line; give a smaller offset"
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("missing.py", "'missing.py' does not exist; find the right path with ls or glob"),
        ("src", "'src' is a directory, not a file; see what it holds with ls"),
        ("../secrets.txt", "'../secrets.txt' is outside the workspace"),
    ],
)
def test_read_file_of_what_cannot_be_read_says_what_to_do(agent: Agent, path: str, text: str) -> None:
    """In the workspace's terms, with nothing of the host."""
    assert agent.refuses("read_file", file_path=path) == text


def test_offset_below_zero_is_refused_before_the_tool_runs(agent: Agent) -> None:
    """The schema says so too."""
    assert "$.offset" in agent.refuses("read_file", file_path="README.md", offset=-1)


# -- read_bytes and write_bytes


def test_read_bytes_shows_base64(agent: Agent) -> None:
    """Bytes that are no text have no other form in JSON."""
    agent.files.write_bytes("logo.png", b"\x89PNG\0\0")

    assert agent.says("read_bytes", file_path="logo.png") == "logo.png: 6 bytes\n\niVBORwAA"


def test_read_bytes_shows_a_page_and_how_to_go_on(agent: Agent) -> None:
    """The notice can be followed literally, and each byte is shown once."""
    agent.files.write_bytes("logo.png", bytes(range(10)))

    assert agent.says("read_bytes", file_path="logo.png", limit=4) == (
        "logo.png: 10 bytes\n\nAAECAw==\n(bytes 0-3 of 10; to go on, call read_bytes with offset=4)"
    )
    assert agent.says("read_bytes", file_path="logo.png", offset=4) == "logo.png: 10 bytes\n\nBAUGBwgJ"


def test_read_bytes_is_bounded_whatever_the_model_asks_for(files: Filesystem) -> None:
    """The configuration has the last word, in the characters that fill a context."""
    files.write_bytes("a.bin", bytes(100))

    said = Agent(files, VfsConfig(max_read_chars=12)).says("read_bytes", file_path="a.bin", limit=1_000_000)

    assert said == "a.bin: 100 bytes\n\nAAAAAAAAAAAA\n(bytes 0-8 of 100; to go on, call read_bytes with offset=9)"


def test_read_bytes_of_an_empty_file_says_so(agent: Agent) -> None:
    """An empty answer would look like a failure."""
    agent.files.write("empty.bin", "")

    assert agent.says("read_bytes", file_path="empty.bin") == "empty.bin: 0 bytes\n\n(the file is empty)"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"file_path": "README.md", "offset": 10}, "'README.md' has only 10 bytes; give a smaller offset"),
        ({"file_path": "missing.bin"}, "'missing.bin' does not exist; find the right path with ls or glob"),
        ({"file_path": "src"}, "'src' is a directory, not a file; see what it holds with ls"),
        ({"file_path": "../secrets"}, "'../secrets' is outside the workspace"),
    ],
)
def test_read_bytes_of_what_cannot_be_read_says_what_to_do(agent: Agent, arguments: dict[str, Any], text: str) -> None:
    """As read_file does."""
    assert agent.refuses("read_bytes", **arguments) == text


def test_write_bytes_writes_what_base64_says(agent: Agent) -> None:
    """Any byte, in new directories too; lines in the base64 mean nothing."""
    assert (
        agent.says("write_bytes", file_path="img/logo.png", content="iVBO\nRwAA\n") == "Created img/logo.png (6 bytes)."
    )
    assert agent.files.read_bytes("img/logo.png") == b"\x89PNG\0\0"
    assert agent.says("write_bytes", file_path="img/logo.png", content="") == "Overwrote img/logo.png (0 bytes)."
    assert agent.files.read_bytes("img/logo.png") == b""


@pytest.mark.parametrize("content", ["iVBORw", "iVBORw=", "not base64!", "_-__", "AA==AA==", "é"])
def test_write_bytes_refuses_what_is_not_base64(agent: Agent, content: str) -> None:
    """A decoder that skips what it does not know would write something else."""
    assert agent.refuses("write_bytes", file_path="logo.png", content=content).startswith("content is not base64 (")
    assert not agent.files.exists("logo.png")


def test_write_bytes_has_the_bound_of_write_file(files: Filesystem) -> None:
    """Counted in the bytes of the file."""
    agent = Agent(files, VfsConfig(max_write_bytes=4))

    assert agent.says("write_bytes", file_path="a.bin", content="AAECAw==") == "Created a.bin (4 bytes)."
    assert agent.refuses("write_bytes", file_path="a.bin", content="AAECAwQ=") == (
        "'a.bin' would have 5 bytes, more than the 4 allowed; split it up"
    )


# -- write_file


def test_write_file_creates_a_file_with_its_directories(agent: Agent) -> None:
    """A model does not make directories first."""
    assert agent.says("write_file", file_path="docs/new/a.md", content="# A\n\ntext") == (
        "Created docs/new/a.md (3 lines, 9 bytes)."
    )
    assert agent.files.read("docs/new/a.md").content == "# A\n\ntext"


def test_write_file_replaces_the_whole_content(agent: Agent) -> None:
    """And says that there was something before."""
    assert agent.says("write_file", file_path="README.md", content="") == "Overwrote README.md (0 lines, 0 bytes)."
    assert agent.files.read("README.md").content == ""


@pytest.mark.parametrize("content", ["x" * 11, "é" * 6])
def test_write_file_refuses_what_is_too_large(files: Filesystem, content: str) -> None:
    """Bytes count, not characters."""
    agent = Agent(files, VfsConfig(max_write_bytes=10))

    assert "more than the 10 allowed; split it up" in agent.refuses("write_file", file_path="a.txt", content=content)
    assert not files.exists("a.txt")


@pytest.mark.parametrize("text", ["half \ud83d", "\udcff"])
def test_half_a_character_is_refused_with_a_way_on(agent: Agent, text: str) -> None:
    """Models cut emoji in two; JSON carries the halves, and no file can."""
    said = agent.refuses("write_file", file_path="new.txt", content=text)

    assert "is half a character, which no file can hold; write the whole character instead" in said
    assert agent.refuses("read_file", file_path="new.txt").startswith("'new.txt' does not exist")


def test_write_file_into_git_is_refused(agent: Agent) -> None:
    """A planted hook is code execution later."""
    said = agent.refuses("write_file", file_path=".git/hooks/pre-commit", content="x")

    assert "which file tools read and never write" in said


# -- edit_file


def test_edit_file_replaces_text_and_shows_the_lines_around_it(agent: Agent) -> None:
    """The model sees what it has done without reading the file again."""
    said = agent.says(
        "edit_file", file_path="src/app.py", old_string="    run()\n", new_string="    run()\n    stop()\n"
    )

    assert said == (
        "Edited src/app.py. It now reads:\n\n     1\tdef main():\n     2\t    run()\n     3\t    stop()\n"
        "     4\t\n     5\t\n     6\tdef run():\n     7\t    pass"
    )


def test_edit_file_replaces_every_occurrence_when_asked(agent: Agent) -> None:
    """The message says how many there were."""
    said = agent.says("edit_file", file_path="src/app.py", old_string="run()", new_string="go()", replace_all=True)

    assert said.startswith("Edited src/app.py in 2 places.")
    assert agent.files.read("src/app.py").content == "def main():\n    go()\n\n\ndef go():\n    pass\n"


def test_edit_file_that_would_be_ambiguous_changes_nothing(agent: Agent) -> None:
    """The model is told where the text is, and how to tell the places apart."""
    said = agent.refuses("edit_file", file_path="src/app.py", old_string="run()", new_string="go()")

    assert "is there 2 times (lines 2, 5)" in said
    assert agent.files.read("src/app.py").content.count("run()") == 2


def test_edit_file_whose_text_is_not_there_says_so(agent: Agent) -> None:
    """With the place that was probably meant."""
    said = agent.refuses("edit_file", file_path="src/app.py", old_string="      run()\n", new_string="go()")

    assert "line 2 differs only in spaces" in said


def test_edit_file_of_a_binary_file_says_what_can_be_done_with_it(agent: Agent) -> None:
    """There are no lines to edit."""
    agent.files.write_bytes("logo.png", b"\x89PNG\0\0")

    assert agent.refuses("edit_file", file_path="logo.png", old_string="P", new_string="J") == (
        "'logo.png' is not UTF-8 text (6 bytes); it can only be replaced, moved or deleted as a whole"
    )


def test_edit_file_that_makes_a_file_much_longer_is_refused(files: Filesystem) -> None:
    """What is there already does not count: a large file can be edited, and no edit multiplies one."""
    files.write("a.txt", "abcb")
    agent = Agent(files, VfsConfig(max_write_bytes=8))

    assert (
        agent.refuses("edit_file", file_path="a.txt", old_string="b", new_string="123456", replace_all=True)
        == "'a.txt' would have 14 bytes, over 8 more than now, and one edit may not add more; split it up"
    )
    assert files.read("a.txt").content == "abcb"
    assert agent.call("edit_file", file_path="a.txt", old_string="b", new_string="12345", replace_all=True).success
    assert agent.call("edit_file", file_path="a.txt", old_string="c", new_string="1234567").success


def test_edit_file_cuts_endless_lines_and_says_so(files: Filesystem) -> None:
    """A line of a megabyte in the answer would fill the context, and reading one of 64 MiB fail the edit."""
    files.write("app.min.js", f"short\nneedle{'x' * 50}\n")

    said = Agent(files, VfsConfig(max_line_chars=10)).says(
        "edit_file", file_path="app.min.js", old_string="needle", new_string="thread"
    )

    assert said == "Edited app.min.js. It now reads, with long lines cut:\n\n     1\tshort\n     2\tthreadxxxx"


def test_empty_old_string_is_refused_before_the_tool_runs(agent: Agent) -> None:
    """It is everywhere and nowhere."""
    assert "$.old_string" in agent.refuses("edit_file", file_path="README.md", old_string="", new_string="x")


# -- move_file, rm


def test_move_file_moves_and_makes_directories(agent: Agent) -> None:
    """A rename, or a move somewhere else."""
    assert agent.says("move_file", source_path="src/util.py", target_path="lib/./util.py") == (
        "Moved src/util.py to lib/util.py."
    )
    assert not agent.files.exists("src/util.py")
    assert agent.files.read("lib/util.py").content.startswith("def run_all")


def test_move_file_onto_a_file_needs_to_be_told(agent: Agent) -> None:
    """The file there would be lost."""
    assert agent.refuses("move_file", source_path="src/app.py", target_path="src/util.py").endswith(
        "exists already; choose another path, or pass overwrite=true to replace a file"
    )

    agent.says("move_file", source_path="src/app.py", target_path="src/util.py", overwrite=True)

    assert agent.files.read("src/util.py").content.startswith("def main")


def test_rm_deletes_a_file(agent: Agent) -> None:
    """Gone, and said so."""
    assert agent.says("rm", path="./README.md") == "Deleted README.md."
    assert not agent.files.exists("README.md")


def test_rm_of_a_directory_needs_to_be_told(agent: Agent) -> None:
    """A slip of the path must not cost a directory."""
    agent.refuses("rm", path="src")
    assert agent.files.exists("src/app.py")

    agent.says("rm", path="src", recursive=True)

    assert not agent.files.exists("src")


# -- glob, grep


def test_glob_finds_files_at_every_depth(agent: Agent) -> None:
    """Paths are relative to the workspace, ready for the next call."""
    assert agent.says("glob", pattern="**/*.py") == "2 paths found.\n\nsrc/app.py\nsrc/util.py"


def test_glob_starts_where_it_is_told(agent: Agent) -> None:
    """And still gives paths from the root."""
    assert agent.says("glob", pattern="a*", path="src") == "1 path found.\n\nsrc/app.py"


def test_glob_without_a_match_is_an_answer(agent: Agent) -> None:
    """Nothing went wrong."""
    assert agent.says("glob", pattern="*.rs") == "No path matches."


def test_glob_is_cut_with_a_way_on(agent: Agent) -> None:
    """As for `ls`."""
    said = Agent(agent.files, VfsConfig(max_entries=1)).says("glob", pattern="**/*.py")

    assert said.endswith("src/app.py\n(there are more; give a narrower pattern or path)")


def test_grep_shows_path_line_and_text(agent: Agent) -> None:
    """The form that every tool for programmers has."""
    assert agent.says("grep", pattern=r"def run\b") == "1 line found.\n\nsrc/app.py:5: def run():"


def test_grep_searches_the_files_that_a_glob_names(agent: Agent) -> None:
    """Below a directory, too."""
    assert agent.says("grep", pattern="run", path="src", glob="util.*") == (
        "1 line found.\n\nsrc/util.py:1: def run_all():"
    )


def test_grep_without_a_match_is_an_answer(agent: Agent) -> None:
    """Nothing went wrong."""
    assert agent.says("grep", pattern="nowhere") == "No line matches."


def test_grep_is_cut_with_a_way_on(agent: Agent) -> None:
    """Matches and lines are both bounded."""
    said = Agent(agent.files, VfsConfig(max_matches=1, max_match_chars=8)).says("grep", pattern="def")

    assert said == ("1 line found.\n\nsrc/app.py:1: def main…\n(there are more; give a narrower pattern, path or glob)")


def test_grep_with_a_broken_pattern_says_what_is_wrong(agent: Agent) -> None:
    """A model's regular expression is not always one."""
    assert agent.refuses("grep", pattern="(").startswith("the pattern '('")


@pytest.mark.parametrize("tool", ["glob", "grep"])
def test_files_that_gitignore_names_are_left_out_unless_configured(agent: Agent, tool: str) -> None:
    """Build output would drown what was written by hand."""
    agent.files.write(".gitignore", "build/\n")
    agent.files.write("build/app.py", "def main(): ...\n")
    arguments = {"glob": {"pattern": "**/*.py"}, "grep": {"pattern": "def main"}}[tool]

    assert "build/app.py" not in agent.says(tool, **arguments)
    assert "build/app.py" in Agent(agent.files, VfsConfig(respect_ignore_files=False)).says(tool, **arguments)


# -- symlink and chmod


def test_symlink_takes_both_paths_from_the_root(agent: Agent) -> None:
    """As all tools do; the link's body is relative to the link, so that it holds wherever the workspace is."""
    said = agent.says("symlink", path="bin/run/app", target_path="src/app.py")

    assert said == "Made bin/run/app a link to src/app.py."
    assert agent.files.stat("bin/run/app").target == "../../src/app.py"
    assert agent.files.read("bin/run/app").content == agent.files.read("src/app.py").content


def test_symlink_in_a_linked_directory_leads_to_what_was_named(agent: Agent) -> None:
    """The body counts from where the link really is."""
    agent.says("symlink", path="lib/deep/code", target_path="src")
    agent.says("symlink", path="lib/deep/code/main", target_path="README.md")

    assert agent.files.stat("src/main").target == "../README.md"


def test_symlink_to_what_is_not_there_says_so(agent: Agent) -> None:
    """Allowed, and mostly a mistake."""
    assert agent.says("symlink", path="a", target_path="b") == "Made a a link to b, where nothing is yet."


@pytest.mark.parametrize(
    ("path", "target_path", "text"),
    [
        ("README.md", "src", "'README.md' exists already; choose another path, or pass overwrite=true to replace a file"),
        ("link", "../secrets", "'../secrets' is outside the workspace"),
        ("link", "/etc/passwd", "'/etc/passwd' is absolute; paths are relative to the workspace root, so leave out the leading '/'"),
        ("link", ".git/hooks", "'link' would be a link into .git or .wink, which file tools never write"),
        ("link", "src/GIT~1", "'link' would be a link into .git or .wink, which file tools never write"),
        ("link", ".wink", "'.wink' is wink's own state"),
        (".git/hooks/x", "src/app.py", "'.git' is in a .git directory, which file tools read and never write"),
    ],
)  # fmt: skip
def test_symlink_refuses_what_tools_may_not_use(agent: Agent, path: str, target_path: str, text: str) -> None:
    """A link is a way for every program that follows it."""
    assert agent.refuses("symlink", path=path, target_path=target_path) == text
    assert [entry.name for entry in agent.files.list()] == ["README.md", "src"]


def test_symlink_through_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    """Somebody else's link is a link to follow, too."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/out").symlink_to("..")
    with HostFilesystem(str(tmp_path / "work")) as disk:
        text = Agent(disk).refuses("symlink", path="link", target_path="out/secrets")

    assert text == "'link' leads out of the workspace; only links that are relative and stay inside are followed"


def test_chmod_makes_a_script_executable(agent: Agent) -> None:
    """Its content stays."""
    assert agent.says("chmod", path="src/app.py", mode="755") == "Changed the mode of src/app.py from 644 to 755."
    assert agent.files.stat("src/app.py").mode == 0o755
    assert agent.says("chmod", path="src/app.py", mode="755") == "src/app.py has mode 755 already."


@pytest.mark.parametrize("mode", ["4755", "u+x", "", "888", "0755", "75", "755\n", "\u0667\u0665\u0665"])
def test_chmod_takes_three_octal_digits_only(agent: Agent, mode: str) -> None:
    """No setuid, setgid and sticky bits, and one form for the rest."""
    assert "$.mode" in agent.refuses("chmod", path="README.md", mode=mode)


@pytest.mark.parametrize(
    ("path", "mode", "text"),
    [
        ("README.md", "000", "'README.md' would be closed to its own owner by mode 000; keep at least 400"),
        ("src", "644", "'src' would be closed to its own owner by mode 644; keep at least 700"),
        ("missing", "755", "'missing' does not exist; find the right path with ls or glob"),
        ("", "755", "'.' is the workspace root"),
        ("../x", "755", "'../x' is outside the workspace"),
    ],
)
def test_chmod_refuses_what_it_could_not_take_back(agent: Agent, path: str, mode: str, text: str) -> None:
    """What cannot be read any more cannot be shown, edited or undone."""
    assert agent.refuses("chmod", path=path, mode=mode) == text


# -- all of them


def test_reading_tools_declare_that_they_only_read() -> None:
    """They may run together, and their handle refuses writes."""
    effects = {tool.name: tool.effects for tool in VfsToolsSection(read_before_write=False).tools()}

    assert effects == {
        "ls": "read",
        "read_file": "read",
        "read_bytes": "read",
        "glob": "read",
        "grep": "read",
        "write_file": "workspace",
        "write_bytes": "workspace",
        "edit_file": "workspace",
        "move_file": "workspace",
        "symlink": "workspace",
        "chmod": "workspace",
        "rm": "workspace",
    }


def test_tools_pass_the_checks_that_a_prompt_makes() -> None:
    """Schemas compile, every parameter is described, and the examples keep their own rules."""
    for tool in VfsToolsSection(read_before_write=False).tools():
        tool.check()
        for name, facts in tool.schema()["properties"].items():
            assert facts.get("description"), f"{tool.name}.{name}"


def test_session_keeps_only_the_latest_result_of_a_kind(agent: Agent) -> None:
    """A thousand files read must not stay in the session's state."""
    agent.says("read_file", file_path="src/app.py")
    agent.says("read_file", file_path="src/util.py")

    assert [text.path for text in agent.session[FileText].all()] == ["src/util.py"]
