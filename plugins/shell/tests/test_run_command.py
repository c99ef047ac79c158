"""The tool through the whole pipeline: what is kept, what is dropped, and what the model reads."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import program_has

from wink.cli import program_lines, programs_of
from wink.errors import PromptValidationError, UndoConflict
from wink.runtime import Answer, ToolCall, answer_approval, pending_approvals
from wink.workspace import Workspace
from wink_shell import CommandResult, ShellConfig


def test_what_a_command_that_succeeds_changed_is_kept(agent: Any) -> None:
    """In one transaction, of which the event and the record know every path."""
    value = agent.run("echo more >> README.md; mkdir docs; echo x > docs/a.txt; rm src/app.py; cat")

    assert agent.tree() == {"README.md": "# Project\nmore\n", "docs/a.txt": "x\n"}
    assert value.kept
    assert {note.path: note.kind for note in value.changes} == {
        "README.md": "modified",
        "docs": "created",
        "docs/a.txt": "created",
        "src/app.py": "deleted",
    }
    change = agent.events[-1].change
    assert set(change.paths) == {"README.md", "docs", "docs/a.txt", "src/app.py"}
    assert change.guard == "overlay"


def test_what_a_command_that_fails_changed_is_dropped(agent: Any) -> None:
    """And the model is told what that was, so that it does not believe in it."""
    before = agent.tree()

    text = agent.fails("echo more >> README.md; rm -r src; echo oops >&2; exit 3")

    assert agent.tree() == before
    assert "exit code 3" in text
    assert "stderr:\noops" in text
    assert "dropped, the workspace is as it was before (3 paths):" in text
    assert "modified README.md" in text


def test_a_command_can_be_undone(agent: Any) -> None:
    """A merge is a call like any other."""
    before = agent.tree()
    agent.run("rm -r src; echo other > README.md; mkdir -p a/b; ln -s ../README.md a/b/link; chmod 755 README.md")

    agent.workspace.undo()

    assert agent.tree() == before
    assert sorted(path.name for path in agent.root.iterdir()) == [".wink", "README.md", "src"]


def test_a_file_that_a_command_changed_must_be_read_again(agent: Any) -> None:
    """The session knew another content: read before write judges by what is in the file."""
    assert agent.call("read_file", file_path="README.md").success
    agent.run("echo changed > README.md")

    reply = agent.call("write_file", file_path="README.md", content="mine")

    assert not reply.success
    assert agent.tree()["README.md"] == "changed\n"
    assert agent.call("read_file", file_path="README.md").success
    assert agent.call("write_file", file_path="README.md", content="mine").success


def test_other_statuses_can_be_accepted(make: Callable[..., Any]) -> None:
    """Some programs say 1 when they have found something."""
    agent = make(accepted=(0, 1))

    value = agent.run("echo x > found; exit 1")

    assert value.exit_code == 1
    assert agent.tree()["found"] == "x\n"


def test_working_directory_environment_and_input(agent: Any) -> None:
    """All that a command can be given."""
    value = agent.run('pwd; echo "$GREETING"; cat', cwd="src", env={"GREETING": "hi there"}, stdin="in\nput")

    assert value.stdout == f"{agent.root}/src\nhi there\nin\nput"


def test_a_directory_that_is_not_there_is_named(agent: Any) -> None:
    """Before anything is run."""
    assert "cwd: 'nowhere' does not exist" in agent.fails("true", cwd="nowhere")
    assert "cwd: '../x' is outside the workspace" in agent.fails("true", cwd="../x")
    assert "is not a directory" in agent.fails("true", cwd="README.md")


def test_secrets_in_the_environment_stay_outside(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only variables on the list are handed on."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")

    assert "s3cret" not in agent.run("env").stdout


def test_long_output_keeps_head_and_tail(make: Callable[..., Any]) -> None:
    """What matters is at the beginning and at the end."""
    agent = make(output_bytes=1024)

    value = agent.run("echo first; seq 100000; echo last")

    assert value.stdout.startswith("first\n1\n2\n")
    assert value.stdout.endswith("100000\nlast\n")
    assert "bytes left out ...]" in value.stdout
    assert len(value.stdout) < 1200


def test_timeout_ends_the_whole_tree_and_drops(agent: Any) -> None:
    """Daemons and processes that ignore signals too."""
    text = agent.fails(
        "echo x > made; (trap '' TERM HUP INT; setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000",
        timeout_seconds=0.5,
    )

    assert text.splitlines()[2].startswith("timed out: ended after 0.")
    assert "made" not in agent.tree()


def test_more_time_than_the_settings_allow_is_refused(make: Callable[..., Any]) -> None:
    """Not silently shortened."""
    assert "timeout_seconds can be 5 at most" in make(timeout_seconds=2, max_timeout_seconds=5).fails(
        "true", timeout_seconds=6
    )


def test_scratch_stays_out_and_is_there_again(agent: Any) -> None:
    """A build may keep its outputs, also those of a command that failed."""
    value = agent.run("mkdir -p web/node_modules/lib; echo 1 > web/node_modules/lib/a; echo x > web/page")
    assert [note.path for note in value.left_out] == ["web/node_modules"]
    assert set(agent.tree()) == {"README.md", "src/app.py", "web/page"}

    text = agent.fails("cat web/node_modules/lib/a; echo 2 > web/node_modules/lib/b; exit 1")
    assert "stdout:\n1" in text

    assert agent.run("rm web/node_modules/lib/a; ls web/node_modules/lib").stdout == "b\n"
    assert agent.run("ls web/node_modules/lib").stdout == "b\n"
    agent.run("rm -r web/node_modules")
    assert agent.run("ls web").stdout == "page\n"


def test_a_hard_link_in_scratch_reaches_no_committed_file(agent: Any) -> None:
    """What a command does to scratch stays also when it fails, and the file was committed."""
    agent.run(
        "mkdir node_modules; echo 1 > src/a; ln src/a node_modules/x; cp src/a node_modules/y; ln src/app.py node_modules/z"
    )
    agent.run("ln node_modules/y src/b")

    agent.fails("for name in x y z; do echo EVIL > node_modules/$name; done; exit 1")

    assert agent.run("cat node_modules/*").stdout == "EVIL\n" * 3
    assert agent.tree() == {
        "README.md": "# Project\n",
        "src/app.py": "print('hello')\n",
        "src/a": "1\n",
        "src/b": "1\n",
    }


def test_scratch_shows_what_the_workspace_has_beneath(agent: Any) -> None:
    """What a person installed is seen; what programs do to it stays with them."""
    (agent.root / "node_modules/lib").mkdir(parents=True)
    (agent.root / "node_modules/lib/a").write_text("theirs")

    agent.run("cat node_modules/lib/a; echo mine > node_modules/lib/a; rm -f node_modules/lib/none")
    assert agent.run("cat node_modules/lib/a").stdout == "mine\n"
    assert (agent.root / "node_modules/lib/a").read_text() == "theirs"
    agent.run("rm -r node_modules/lib")
    assert agent.run("ls node_modules").stdout == ""
    assert (agent.root / "node_modules/lib/a").read_text() == "theirs"


def test_bytecode_in_scratch_never_stands_for_another_source(agent: Any) -> None:
    """Python takes it for that of any source of the same size and second, as an edit makes it that is tried at once."""
    imports = f"env -u PYTHONDONTWRITEBYTECODE {sys.executable} -c 'import sums; print(sums.value)'"
    os.utime(write(agent, "older.py", 0), ns=(1, 1))
    for value in range(8):
        write(agent, "sums.py", value)
        assert agent.run(imports).stdout == f"{value}\n"
    agent.run(imports.replace("sums", "older"))
    assert "older" in agent.run("ls __pycache__").stdout


def write(agent: Any, name: str, value: int) -> Path:
    assert agent.call("write_file", file_path=name, content=f"value = {value}\n").success
    return Path(agent.root / name)


def test_model_reads_a_result(agent: Any) -> None:
    """Short where there is little to say."""
    assert agent.call("run_command", command="true").text.startswith("Done.\n\nexit code 0 after ")
    assert "no output, and no file was changed" in agent.call("run_command", command="true").text
    assert isinstance(agent.session[CommandResult].latest(), CommandResult)


def test_a_program_that_is_not_there(agent: Any) -> None:
    """The shell says so."""
    assert "exit code 127" in agent.fails("no-such-program")


def test_home_is_empty(agent: Any) -> None:
    """What lies in it is nobody's business."""
    value = agent.run("ls -A ~ | wc -l; echo x > ~/y && cat ~/y")

    assert value.stdout.splitlines()[-1] == "x"
    assert not (Path.home() / "y").exists()


def test_a_commit_can_be_undone(agent: Any) -> None:
    """Objects and refs go back with the files."""
    import subprocess

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=agent.root, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    who = "git -c user.name=a -c user.email=a@b commit -q -m"
    agent.run(f"{who} first --allow-empty")
    agent.run(f"git add . && {who} second && git gc -q")
    assert git("log", "--format=%s").split() == ["second", "first"]

    agent.workspace.undo()

    assert git("log", "--format=%s").split() == ["first"]
    git("fsck", "--strict")


def test_without_a_sandbox_commands_are_real(make: Callable[..., Any]) -> None:
    """Only where the user's own settings say so; and the model is told."""
    agent = make(sandbox="none")

    text = agent.fails("echo x > made; echo out; exit 3")

    assert agent.tree()["made"] == "x\n"
    assert "what it changed stays" in text
    assert "stdout:\nout" in text
    assert agent.events[-1].change.guard == "none"
    assert "timed out" in agent.fails("sleep 98765", timeout_seconds=0.2)


def test_workspace_can_tighten_settings_and_not_loosen_them() -> None:
    """An agent can write the workspace's settings."""
    from wink.plugins import Catalog, Settings, Table

    def table(**values: Any) -> Table:
        return Table("shell", values, "wink.toml", tighten_only=True)

    loose = table(
        sandbox="none", network=True, memory_bytes=1 << 50, readable=["/root"], environment=["*"], accepted=[0, 1]
    )
    with pytest.warns(match="can only tighten"):
        section = Catalog.installed(Settings(tables=(loose,))).use("section", "shell.commands")
    assert section.config == ShellConfig()

    tight = table(memory_bytes=1 << 28, environment=["PATH"])
    section = Catalog.installed(Settings(tables=(tight,))).use("section", "shell.commands")
    assert (section.config.memory_bytes, section.config.environment) == (1 << 28, ("PATH",))


def test_commands_and_file_tools_keep_the_order_of_the_model(agent: Any) -> None:
    """In one turn each sees what the ones before it left."""
    calls = [
        ToolCall("write_file", {"file_path": "a.txt", "content": "1\n"}),
        ToolCall("run_command", {"command": "cat a.txt; echo 2 >> a.txt"}),
        ToolCall("read_file", {"file_path": "a.txt"}),
        ToolCall("run_command", {"command": "echo lost >> a.txt; exit 1"}),
        ToolCall("edit_file", {"file_path": "a.txt", "old_string": "2", "new_string": "3"}),
        ToolCall("run_command", {"command": "cat a.txt"}),
    ]

    replies = agent.executor.execute_batch(calls)

    assert [reply.success for reply in replies] == [True, True, True, False, True, True]
    assert "stdout:\n1" in replies[1].text
    assert "stdout:\n1\n3" in replies[5].text


def test_cancelled_call_ends_its_command(agent: Any) -> None:
    """On an event loop nobody waits for a program whose caller has gone."""
    import asyncio

    async def cancelled() -> None:
        call = ToolCall("run_command", {"command": "echo x > made; sleep 600"})
        task = asyncio.ensure_future(agent.executor.aexecute(call))
        while not program_has(agent.root, "made"):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    agent.run("true")
    asyncio.run(cancelled())

    assert "made" not in agent.tree()
    assert agent.run("ls").stdout == "README.md\nsrc\n"


@pytest.mark.parametrize("who", ["a person", "a call"])
def test_command_that_meets_a_change_of_somebody_else_fails_and_names_it(
    make: Callable[..., Any], tmp_path: Path, who: str
) -> None:
    """A person's work is not overwritten, and the model knows what to do; a call is named, which can be looked at."""
    import threading

    seen = tmp_path / "seen"
    seen.mkdir()
    agent = make(readable=(str(seen),))

    def person() -> None:
        while not program_has(agent.root, "README.md"):
            pass
        if who == "a person":
            (agent.root / "README.md").write_text("mine\n")
        else:
            with Workspace.open(agent.root) as workspace:
                workspace.filesystem.write("README.md", "mine\n")
        (seen / "go").touch()

    working = threading.Thread(target=person)
    working.start()
    text = agent.fails(f"echo theirs >> README.md; echo x > new; while [ ! -e {seen}/go ]; do :; done")
    working.join()

    by = "" if who == "a person" else " by c1"
    assert f"changed by somebody else while the program ran: 'README.md'{by}; nothing was merged" in text
    assert agent.tree()["README.md"] == "mine\n"
    assert "new" not in agent.tree()


def test_a_host_without_bubblewrap_refuses(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says what to install, instead of running anything unconfined."""
    from wink.errors import SandboxUnavailable
    from wink_sandbox import _sandbox as module

    def missing() -> str:
        raise SandboxUnavailable("overlay", ("bubblewrap is not installed; apt-get install bubblewrap",))

    monkeypatch.setattr(module, "bubblewrap", missing)

    assert "apt-get install bubblewrap" in agent.fails("echo x > made")
    assert "made" not in agent.tree()


def test_a_distribution_that_a_command_leaves_is_told(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build backend makes one, and so does whoever wants to be run by the next program."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(agent.root / "src")])

    value = agent.run("mkdir -p src/x.egg-info; echo > src/x.egg-info/entry_points.txt; ln -s a.txt pyproject.toml")

    assert [note.path for note in value.left_out] == ["pyproject.toml", "src/x.egg-info"]
    assert "note:\n  pyproject.toml is where wink reads settings" in value.render()
    assert agent.workspace.undo()
    assert not (agent.root / "src" / "x.egg-info").exists()
    assert agent.workspace.redo()
    assert (agent.root / "src" / "x.egg-info").exists()


def test_special_bits_of_a_directory_go_back(agent: Any) -> None:
    """An undo left a directory as shared as the command had made it."""
    modes = {"src": 0o755, "src/sticky": 0o1777, "src/group": 0o2755}
    for name, mode in modes.items():
        (agent.root / name).mkdir(exist_ok=True)
        (agent.root / name).chmod(mode)
    agent.run("chmod 3777 src; chmod -t src/sticky; chmod g-s src/group; chmod 700 src/group")

    agent.workspace.undo()
    assert {name: (agent.root / name).stat().st_mode & 0o7777 for name in modes} == modes
    agent.workspace.redo()
    assert [(agent.root / name).stat().st_mode & 0o7777 for name in modes] == [0o3777, 0o777, 0o700]


def test_a_commit_can_be_undone_after_git_status(agent: Any) -> None:
    """Editors ask for it all the time, and git then writes an index that says the same with other times in it."""

    def git(*arguments: str) -> str:
        command = ("git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *arguments)
        return subprocess.run(command, cwd=agent.root, check=True, capture_output=True, text=True).stdout

    def refresh() -> None:
        before = (agent.root / ".git/index").read_bytes()
        for seconds, path in enumerate(sorted(agent.root.glob("*.*")), 1_000_000_000):
            os.utime(path, (seconds, seconds + before[20]))
        git("status")
        assert (agent.root / ".git/index").read_bytes() != before

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    first = git("rev-parse", "HEAD")
    agent.run("echo more >> README.md; git -c user.name=a -c user.email=a@example.invalid commit -qam second")
    second = git("rev-parse", "HEAD")
    refresh()

    agent.workspace.undo()
    assert git("rev-parse", "HEAD") == first
    refresh()
    agent.workspace.redo()
    assert git("rev-parse", "HEAD") == second
    refresh()
    agent.workspace.undo()
    assert git("rev-parse", "HEAD") == first
    assert git("status", "--porcelain", "--untracked-files=no") == ""
    git("rm", "-q", "--cached", "README.md")
    with pytest.raises(UndoConflict, match=r"\.git/index"):
        agent.workspace.redo()


def test_a_name_that_is_no_text_is_kept_and_told_as_git_writes_it(agent: Any) -> None:
    """One newline in a name could pass for another line of the reply, and one such name cost all that a command had done."""
    value = agent.run("printf x > \"$(printf 'a\\377b')\"; printf x > \"$(printf 'a\\n  deleted README.md')\"")

    assert value.kept
    assert {note.path for note in value.changes} == {'"a\\377b"', '"a\\n  deleted README.md"'}
    assert (agent.root / os.fsdecode(b"a\xffb")).read_text() == "x"
    agent.workspace.undo()
    assert sorted(path.name for path in agent.root.iterdir()) == [".wink", "README.md", "src"]


def test_a_command_reaches_listed_hosts_and_the_reply_says_what_it_asked_for(make: Callable[..., Any]) -> None:
    """The model reads it, and the record keeps it with the call."""
    agent = make(network=("example.org", "*.github.com:443"))

    value = agent.run("curl -sS https://elsewhere.test/ || true; curl -sS --noproxy '*' http://1.1.1.1/ || true")

    (contact,) = value.traffic.contacts
    assert (contact.host, contact.port, contact.outcome) == ("elsewhere.test", 443, "refused: not listed")
    assert value.traffic.unrouted > 0
    assert "\n\nnetwork:\n  elsewhere.test:443 refused: not listed\n" in value.render()
    assert "reach `example.org`, `*.github.com:443` through the proxy" in agent.prompt.render().text


def test_a_person_is_asked_about_a_host_in_the_middle_of_a_call(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who watches is told; what they approve for the run holds for the commands after it, and each call says what it was."""
    monkeypatch.setattr("wink_sandbox.network.has_terminal", lambda: True)
    agent = make(network_default="ask")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    seen = list[str]()

    def person() -> None:
        while len(seen) < 2:
            for request in pending_approvals(agent.workspace):
                seen.append(request.reason)
                assert request.call_id.startswith("call-")
                is_ours = json.loads(request.arguments)["port"] == server.server_port
                answer_approval(agent.workspace, request.id, Answer(is_ours, "" if is_ours else "not that one"))

    answering = threading.Thread(target=person, daemon=True)
    answering.start()
    command = f"curl -sS --noproxy '' -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{server.server_port}/"

    value = agent.run(f"{command}; curl -sS http://elsewhere.test/")
    answering.join()
    again = agent.run(command)
    server.shutdown()
    server.server_close()

    place = f"127.0.0.1:{server.server_port}"
    assert value.stdout == "200wink: elsewhere.test:80 refused: a person denied it: not that one\n"
    assert again.stdout == "200"
    assert f"{place} allowed, as a1 was approved, " in value.render()
    assert seen[0] == (
        f"a program of run_command wants to connect to {place}, which is not listed, and not on the public internet"
    )
    assert len(seen) == 2
    assert "reach hosts that a person is asked about" in agent.prompt.render().text


def test_where_no_person_can_be_asked_a_command_is_refused_at_once(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wink_sandbox.network.has_terminal", lambda: False)
    agent = make(network_default="ask", network=("example.org",))

    value = agent.run("curl -sS http://elsewhere.test/")

    assert value.stdout == (
        "wink: elsewhere.test:80 refused: not listed, and nobody can be asked: there is no terminal; "
        "a person can list elsewhere.test:80 as `network` in the settings of this tool\n"
    )
    assert pending_approvals(agent.workspace) == ()
    with pytest.raises(PromptValidationError, match="network_default can ask only where there is a sandbox"):
        ShellConfig(network_default="ask", sandbox="none")


def test_the_record_keeps_which_programs_a_call_ran(make: Callable[..., Any]) -> None:
    """Also those of a call that was taken back, with their secrets masked."""
    agent = make()
    agent.run("true")
    agent.fails("cat a | wc; : ghp_0123456789abcdef0123456789abcdef0123; exit 3")
    agent.fails("sleep 100", timeout_seconds=0.5)
    calls = sorted(agent.workspace.record.calls(), key=lambda call: call.position)

    first, second, third = (programs_of(agent.workspace.record.queries, call) for call in calls)

    assert [(one["argv"], one["status"], one["guard"]) for one in first] == [(["/bin/sh", "-c", "true"], 0, "overlay")]
    (line,) = program_lines(second)
    assert line.startswith("/bin/sh -c 'cat a | wc; : [masked]; exit 3': exit status 3 after ")
    assert [(one["status"], one["reason"]) for one in third] == [(None, "timed out")]


def test_an_entry_that_is_no_host_is_refused() -> None:
    """And so is a list where nothing would hold a command to it."""
    with pytest.raises(PromptValidationError, match=r"network: 'http://a.org' "):
        ShellConfig(network=("http://a.org",))
    with pytest.raises(PromptValidationError, match="only where there is a sandbox"):
        ShellConfig(network=("a.org",), sandbox="none")


@pytest.mark.parametrize(
    ("own", "workspace", "expected"),
    [
        (["a.org", "b.org"], ["b.org"], ("b.org",)),
        (True, ["b.org"], ("b.org",)),
        (["a.org"], False, False),
        (["a.org"], [], ()),
        (["a.org"], ["b.org"], ("a.org",)),
        (["a.org"], True, ("a.org",)),
        (False, ["b.org"], False),
    ],
)
def test_a_workspace_takes_hosts_away_and_adds_none(own: Any, workspace: Any, expected: Any) -> None:
    """In whichever of its two forms the setting is."""
    from wink.plugins import Catalog, Settings, Table

    tables = (Table("shell", {"network": own}, "own"), Table("shell", {"network": workspace}, "w", tighten_only=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        section = Catalog.installed(Settings(tables=tables)).use("section", "shell.commands")
    assert section.config.network == expected
