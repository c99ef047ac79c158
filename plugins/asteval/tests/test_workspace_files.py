"""Files through scripts: only what is declared is read, and what is written is all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import paths_of

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.workspace import Workspace
from wink_asteval import AstevalConfig, AstevalSection, EvalFileRead, EvalFileWrite
from wink_files import VfsToolsSection

from .conftest import Agent


def contents(files: Filesystem) -> dict[str, str]:
    """Every file's text."""
    paths = [found.path for found in files.glob("**/*")]
    return {path: files.read(path).content for path in paths if files.stat(path).is_file}


@pytest.mark.parametrize("path", ["in/a.txt", "./in/a.txt", "in//a.txt"])
def test_a_script_reads_what_the_call_names(agent: Agent, files: Filesystem, path: str) -> None:
    """Under any spelling of the path."""
    files.write("in/a.txt", "one\r\ntwo é\n")

    assert agent.value("read_text('in/a.txt') == reads[path]", reads=[{"path": path}], globals={"path": path}) == "True"


def test_a_file_that_is_not_named_cannot_be_read(agent: Agent, files: Filesystem) -> None:
    """Whoever reads the call, a policy included, sees what it reads."""
    files.write("a.txt", "a")

    told = agent.error("read_text('a.txt')")

    assert "FileNotFoundError: 'a.txt' is not among the files that this call reads; name it in reads" in told


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "in/../../secret"])
@pytest.mark.parametrize("what", ["reads", "writes"])
def test_paths_outside_the_workspace_are_refused(disk: Filesystem, path: str, what: str) -> None:
    """Before anything is evaluated."""
    entry = {"path": path} if what == "reads" else {"path": path, "content": "x"}

    told = Agent(disk).error("1", **{what: [entry]})

    assert "outside" in told or "absolute" in told


@pytest.mark.parametrize("path", ["../secret", "/etc/cron.d/x", ".git/hooks/pre-commit", ".wink/x", "link/x"])
def test_write_text_cannot_leave_the_workspace(disk: Filesystem, tmp_path: Path, path: str) -> None:
    """The paths that a script makes up go through the same gate."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside")

    Agent(disk).error(f"write_text('new.txt', 'x')\nwrite_text({path!r}, 'x')")

    found = {found.relative_to(tmp_path).as_posix() for found in paths_of(tmp_path)}
    assert found == {"outside", "work", "work/link"}
    assert not (tmp_path / "work" / ".wink" / "x").exists()


def test_missing_files_are_named(agent: Agent) -> None:
    """With what to do."""
    assert agent.error("1", reads=[{"path": "no.txt"}]) == "'no.txt' does not exist; check the path"


def test_what_is_not_text_is_named(agent: Agent, files: Filesystem) -> None:
    """Scripts are given texts; another encoding may do."""
    files.write_bytes("a.bin", b"\xe9\xff")

    assert "'a.bin' is not text in utf-8 (2 bytes)" in agent.error("1", reads=[{"path": "a.bin"}])
    assert agent.value("read_text('a.bin')", reads=[{"path": "a.bin", "encoding": "latin-1"}]) == "'éÿ'"
    assert "there is no encoding 'klingon'" in agent.error("1", reads=[{"path": "a.bin", "encoding": "klingon"}])


@pytest.mark.parametrize("what", ["reads", "writes"])
def test_a_file_is_named_once(agent: Agent, files: Filesystem, what: str) -> None:
    """Twice is a mistake: which of two contents should count?"""
    files.write("a.txt", "")
    entries = [{"path": path, **({"content": ""} if what == "writes" else {})} for path in ("a.txt", "./a.txt")]

    assert f"{what}[1]: './a.txt' is named twice" in agent.error("1", **{what: entries})


def test_writes_are_filled_from_the_script(agent: Agent, files: Filesystem) -> None:
    """The declared outputs hold the script's values; braces are doubled."""
    files.write("log.txt", "old\n")

    result = agent.result(
        "total = 3.14159\nwho = {'name': 'é'}",
        writes=[
            {"path": "out/a.txt", "content": "{total:.2f} {who[name]} {{}} {total!r:>8}\n"},
            {"path": "log.txt", "content": "new\n", "mode": "append"},
        ],
    )

    assert contents(files) == {"log.txt": "old\nnew\n", "out/a.txt": "3.14 é {}  3.14159\n"}
    assert result.writes == (
        EvalFileWrite("out/a.txt", "3.14 é {}  3.14159\n", "create"),
        EvalFileWrite("log.txt", "new\n", "append"),
    )
    assert result.render().endswith("files:\ncreate out/a.txt (19 characters)\nappend log.txt (4 characters)")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{nope}", "{nope} names nothing"),
        ("{x.__class__}", "the attribute '__class__' cannot be used here"),
        ("{x[9]}", "out of range"),
        ("{", "Single '{'"),
        ("{}", "writes[0].content cannot be filled"),
    ],
)
def test_a_content_that_cannot_be_filled_fails_the_call(
    agent: Agent, files: Filesystem, content: str, told: str
) -> None:
    """With the place, and how to write a literal brace."""
    said = agent.error("x = 'abc'", writes=[{"path": "a.txt", "content": content}])

    assert told in said
    assert "write literal braces as {{ and }}" in said
    assert contents(files) == {}


def test_create_does_not_replace(agent: Agent, files: Filesystem) -> None:
    """The mode that nobody chose is the careful one."""
    files.write("a.txt", "old")

    assert agent.error("1", writes=[{"path": "a.txt", "content": "new"}]) == (
        "'a.txt' exists already; use the mode overwrite or append, or another path"
    )
    assert contents(files) == {"a.txt": "old"}


def test_a_script_that_fails_writes_nothing(agent: Agent, files: Filesystem) -> None:
    """Whatever it asked for before."""
    files.write("a.txt", "old")

    agent.error("write_text('a.txt', 'new')\nwrite_text('b.txt', 'new')\n1 / 0")

    assert contents(files) == {"a.txt": "old"}


@pytest.mark.parametrize("backend", ["memory", "disk"])
def test_one_refused_write_undoes_the_others(backend: str, disk: Filesystem) -> None:
    """All or nothing."""
    files = InMemoryFilesystem() if backend == "memory" else disk
    files.write("a.txt", "old")

    told = Agent(files).error(
        "write_text('a.txt', 'new')\nwrite_text('b.txt', 'new')", writes=[{"path": "a.txt", "content": "x"}]
    )

    assert "exists already" in told
    assert contents(files) == {"a.txt": "old"}


def test_a_script_sees_what_it_wrote(agent: Agent, files: Filesystem) -> None:
    """As it would with real files, though nothing is written before the end."""
    files.write("a.txt", "one")

    assert agent.value(
        "write_text('b.txt', 'x')\nwrite_text('./b.txt', 'y', mode='append')\nwrite_text('a.txt', '!', 'append')\n"
        "read_text('b.txt'), read_text('a.txt')",
        reads=[{"path": "a.txt"}],
    ) == repr(("xy", "one!"))
    assert contents(files) == {"a.txt": "one!", "b.txt": "xy"}


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("write_text(3, 'x')", "takes a path and a text"),
        ("write_text('a', b'x')", "takes a path and a text"),
        ("write_text('a', 'x', 'w')", "the mode must be one of 'create', 'overwrite', 'append', not 'w'"),
        ("write_text('a', '\\ud800')", "has no UTF-8 encoding"),
        ("write_text('', 'x')", ""),
        ("write_text('a\\0b', 'x')", ""),
        ("write_text('a\\ud800', 'x')", ""),
    ],
)
def test_wrong_writes_are_explained(agent: Agent, files: Filesystem, code: str, told: str) -> None:
    """And change nothing."""
    assert told in agent.error(f"write_text('first.txt', 'x')\n{code}")
    assert contents(files) == {}


def test_too_much_is_refused(agent_with: Callable[..., Agent], files: Filesystem) -> None:
    """The bounds on reading and writing hold for a call as a whole."""
    agent = agent_with(max_read_bytes=10, max_write_bytes=10)
    files.write("a.txt", "a" * 8)
    files.write("b.txt", "b" * 8)

    assert "'b.txt' is too large" in agent.error("1", reads=[{"path": "a.txt"}, {"path": "b.txt"}])
    assert "more text than one call may" in agent.error("write_text('c', 'x' * 8)\nwrite_text('d', 'x' * 8)")
    assert "write too much" in agent.error("write_text('c', 'é' * 8)")
    assert contents(files) == {"a.txt": "a" * 8, "b.txt": "b" * 8}


def _with_file_tools(files: Filesystem, **bounds: Any) -> tuple[Agent, Callable[..., Any]]:
    agent = Agent(files, AstevalConfig(**bounds), more=[VfsToolsSection(files)])
    return agent, lambda name, **arguments: agent.executor.execute(ToolCall(name, arguments))


def test_what_a_call_reads_counts_as_read(files: Filesystem) -> None:
    """The file tools' rule takes reading here for reading, and writing here for knowing."""
    files.write("a.txt", "old")
    agent, tool = _with_file_tools(files)
    assert not tool("write_file", file_path="a.txt", content="new").success

    agent.result("1", reads=[{"path": "a.txt"}])
    assert tool("write_file", file_path="a.txt", content="new").success

    agent.result("write_text('b.txt', 'made here')")
    assert tool("edit_file", file_path="b.txt", old_string="made", new_string="kept").success
    assert contents(files) == {"a.txt": "new", "b.txt": "kept here"}


def test_reading_first_can_be_demanded(files: Filesystem) -> None:
    """Of scripts too, for the paths that they make up as well."""
    files.write("a.txt", "old")
    agent, _ = _with_file_tools(files, read_before_write=True)

    assert "'a.txt' exists and has not been read in this session; name it in reads" in agent.error(
        "write_text('a.txt', 'x')"
    )
    agent.result("write_text('a.txt', read_text('a.txt') + '!')", reads=[{"path": "a.txt"}])
    agent.result("write_text('a.txt', 'own writes are known')")
    files.write("a.txt", "changed by somebody")
    assert "'a.txt' changed since it was read" in agent.error("write_text('a.txt', 'x')")
    agent.result("write_text('new.txt', 'x')\nwrite_text('a.txt', '!', 'append')")
    assert contents(files) == {"a.txt": "changed by somebody!", "new.txt": "x"}


def test_calls_of_one_batch_see_each_other_in_order(agent: Agent, files: Filesystem) -> None:
    """A failing call takes nothing from its siblings."""
    replies = agent.executor.execute_batch(
        [
            ToolCall("evaluate_python", {"code": "write_text('a.txt', '1')"}),
            ToolCall("evaluate_python", {"code": "write_text('a.txt', 'lost')\n1 / 0"}),
            ToolCall(
                "evaluate_python",
                {"code": "write_text('a.txt', read_text('a.txt') + '2')", "reads": [{"path": "a.txt"}]},
            ),
        ]
    )

    assert [reply.success for reply in replies] == [True, False, True]
    assert contents(files) == {"a.txt": "12"}


def test_a_workspace_records_and_undoes_an_evaluation(tmp_path: Path) -> None:
    """It is a call like any other."""
    (tmp_path / "a.txt").write_text("old")
    with Workspace.open(str(tmp_path)) as workspace:
        agent = Agent(workspace.filesystem)
        agent.session = workspace.session()
        rendered = agent.prompt.render(session=agent.session)
        agent.executor = type(agent.executor)(prompt=agent.prompt, rendered=rendered, session=agent.session)

        result = agent.result(
            "write_text('a.txt', read_text('a.txt') + ' and new')\nx = {'n': [1, None, 2.5]}", reads=[{"path": "a.txt"}]
        )
        assert (tmp_path / "a.txt").read_text() == "old and new"
        assert result.reads == (EvalFileRead("a.txt"),)

        workspace.undo()
        assert (tmp_path / "a.txt").read_text() == "old"


def test_expressions_need_no_files() -> None:
    """A prompt that is bound to none can compute all the same."""
    session, prompt = Session(), Prompt(PromptTemplate(ns="tests", key="bare", sections=[AstevalSection()]))
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)

    assert executor.execute(ToolCall("evaluate_python", {"code": "1 + 2"})).success
    for arguments in ({"code": "write_text('a', '')"}, {"code": "1", "reads": [{"path": "a"}]}):
        reply = executor.execute(ToolCall("evaluate_python", arguments))
        assert reply.text == "there are no files here; leave out reads, writes and write_text"
