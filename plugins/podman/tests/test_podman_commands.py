"""Commands in real containers: kept as a whole, or dropped as a whole, and nothing is left of the container."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.states import paths_of, program_has, state_of

from wink.errors import PromptValidationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink_podman import PodmanConfig, PodmanSandboxSection, ShellExecuteResult

from .conftest import Agent
from .local_image import local_image


def containers(pid: int | None = None) -> list[str]:
    """The labels of the containers that a process, this one by default, has made and that are still there."""
    shown = '{{index .Labels "io.wink.owner"}}'
    listed = ["podman", "ps", "--all", "--filter", "label=io.wink.owner", "--format", shown]
    labels = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
    return [label for label in labels if label.startswith(f"{pid or os.getpid()}-")]


def mounts(place: Path) -> list[str]:
    """What is mounted from or beneath a directory."""
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(place) in line]


def test_success_keeps_every_change_in_one_call(agent: Agent) -> None:
    """Made, changed, deleted, moved, chmodded and linked; undo takes all of it back."""
    before = agent.tree()
    done = agent.run(
        "echo two >> a.txt && rm src/b.txt && mkdir -p new/empty && echo n > new/n.txt && chmod 755 new/n.txt "
        "&& ln -s ../a.txt new/link && mv new/n.txt new/m.txt"
    )
    assert (done.exit_code, done.kept) == (0, True)
    assert (agent.root / "a.txt").read_text() == "one\ntwo\n"
    assert not (agent.root / "src/b.txt").exists()
    assert (agent.root / "new/m.txt").stat().st_mode & 0o777 == 0o755
    assert (agent.root / "new/link").is_symlink()
    assert (agent.root / "new/empty").is_dir()
    for path in paths_of(agent.root):
        assert path.lstat().st_uid == agent.root.stat().st_uid, path
    change = agent.events[-1].change
    assert change is not None
    assert change.guard == "podman"
    agent.workspace.undo()
    assert agent.tree() == before
    assert containers() == []


def test_failure_drops_every_change_and_says_which(agent: Agent) -> None:
    """The model reads what it lost."""
    before = agent.tree()
    text = agent.fails("echo half > a.txt; echo new > c.txt; echo oops >&2; exit 3")
    assert "exit code 3" in text
    assert "oops" in text
    assert "modified a.txt" in text
    assert "created c.txt" in text
    assert agent.tree() == before


def test_python_sees_the_same_files(agent: Agent) -> None:
    """An exception drops what the script had done."""
    reply = agent.call("evaluate_python", code="open('made.txt', 'w').write(open('a.txt').read() * 2); print(6 * 7)")
    assert reply.success, reply.text
    assert "42" in reply.text
    assert (agent.root / "made.txt").read_text() == "one\none\n"
    failed = agent.call("evaluate_python", code="open('made.txt', 'w').write('half'); 1 / 0")
    assert not failed.success
    assert "ZeroDivisionError" in failed.text
    assert (agent.root / "made.txt").read_text() == "one\none\n"


def test_file_tools_and_commands_of_one_turn_see_each_other(agent: Agent) -> None:
    """In the model's order, with read before write in force for what a command has changed."""
    calls = [
        ToolCall("write_file", {"file_path": "new.txt", "content": "by a tool\n"}),
        ToolCall("shell_execute", {"command": "cat new.txt && echo by a command > new.txt"}),
        ToolCall("write_file", {"file_path": "new.txt", "content": "not read\n"}),
    ]
    first, second, third = agent.executor.execute_batch(calls)
    assert first.success, first.text
    assert "by a tool" in second.text
    assert not third.success
    assert (agent.root / "new.txt").read_text() == "by a command\n"
    assert agent.call("read_file", file_path="new.txt").success
    assert agent.call("write_file", file_path="new.txt", content="read\n").success


def test_directory_environment_and_input(agent: Agent) -> None:
    """As they are given."""
    assert agent.run("pwd; echo $GREETING; cat", cwd="src", env={"GREETING": "hi"}, stdin="fed\n").stdout == (
        "/workspace/src\nhi\nfed\n"
    )
    assert agent.run("id -u; id -g").stdout == "65534\n65534\n"
    assert agent.run("yes | head -n 100000", capture_output=False).stdout == ""
    long = agent.run("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done").stdout
    assert long.startswith("line 0\n")
    assert long.endswith("line 19999\n")
    assert "bytes left out" in long


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"command": "true", "cwd": "nowhere"}, "does not exist"),
        ({"command": "true", "cwd": "../.."}, "outside the workspace"),
        ({"command": "true", "cwd": "a.txt"}, "not a directory"),
        ({"command": "true", "env": {"A=B": "c"}}, "'A=B'"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "true", "timeout_seconds": 10**6}, "at most"),
        ({"command": ""}, "command"),
    ],
)
def test_bad_input_is_one_reply_that_says_what_to_do(agent: Agent, arguments: dict[str, object], says: str) -> None:
    """And no container is made."""
    reply = agent.call("shell_execute", **arguments)
    assert not reply.success
    assert says in reply.text


def test_a_command_is_ended_with_all_that_it_started(agent: Agent) -> None:
    """Also what has left its session and hears no signal."""
    before = agent.tree()
    text = agent.fails(
        "trap '' TERM INT HUP; (trap '' TERM; setsid sleep 1000 &); echo half > a.txt; echo up; sleep 1000",
        timeout_seconds=2,
    )
    assert "timed out" in text
    assert "up" in text
    assert agent.tree() == before
    assert containers() == []
    assert mounts(agent.root) == []


def test_nothing_outside_can_be_reached_or_changed(agent: Agent, tmp_path: Path) -> None:
    """No network, no host, no rights, and the image stays as it is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert (
            "done"
            in agent.run(f"nc -w 1 127.0.0.1 {port} </dev/null; ip link | grep -v lo: | grep -c UP; echo done").stdout
        )
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    (tmp_path / "secret").write_text("secret\n")
    told = agent.run(
        f"cat {tmp_path}/secret; echo x > /etc/x; echo x > /x; mount -t tmpfs none /mnt; mknod /tmp/d b 8 0; "
        "cat .wink/record.db; echo x > .wink/forged; ls -A .wink; kill -9 1; echo done"
    )
    assert told.stdout.splitlines()[-1] == "done"
    assert "secret" not in told.stdout
    assert not (state_of(agent.root) / "forged").exists()


def test_a_planted_git_hook_fails_the_call(agent: Agent) -> None:
    """The next git command of the person would run it."""
    subprocess.run(["git", "init", "-q", str(agent.root)], check=True)
    before = agent.tree()
    text = agent.fails("echo 2 >> a.txt; echo evil > .git/hooks/pre-commit; mkdir -p sub/.git")
    assert ".git/hooks/pre-commit" in text
    assert agent.tree() == before


def test_limits_hold(make: Callable[..., Agent]) -> None:
    """Memory and processes end where the settings say, and the machine does not notice."""
    agent = make(memory="64m", processes=20)
    assert "exit code" in agent.fails("python3 -c 'x = bytearray(300 * 1024 * 1024)'")
    bomb = (
        "import os, time\ncount = 0\n"
        "try:\n    while os.fork():\n        count += 1\n    time.sleep(1000)\n"
        "except BlockingIOError:\n    print(count)\n    os.kill(0, 9)"
    )
    ended = agent.call("evaluate_python", code=bomb, timeout_seconds=60)
    value = ended.result.value
    assert isinstance(value, ShellExecuteResult)
    assert 0 < int(value.stdout) < 20
    assert containers() == []


def test_what_somebody_else_changed_meanwhile_fails_the_merge(agent: Agent) -> None:
    """And is named; the workspace is theirs while the command runs."""
    replies: list[ToolReply] = []
    command = "echo late > a.txt; touch started; sleep 3"
    thread = threading.Thread(target=lambda: replies.append(agent.call("shell_execute", command=command)))
    thread.start()
    while not program_has(agent.root, "started"):
        assert thread.is_alive()
    (agent.root / "a.txt").write_text("theirs\n")
    thread.join(100)
    assert not replies[0].success
    assert "'a.txt'" in replies[0].text
    assert (agent.root / "a.txt").read_text() == "theirs\n"


def test_scratch_is_kept_and_stays_out(make: Callable[..., Agent]) -> None:
    """For the next command, also when this one fails."""
    agent = make(scratch=("target",))
    agent.fails("mkdir -p target && echo built > target/out; exit 1")
    assert agent.run("cat target/out").stdout == "built\n"
    assert not (agent.root / "target").exists()


def test_a_missing_image_is_one_line(make: Callable[..., Agent]) -> None:
    """Nothing is pulled behind the user's back."""
    text = make(image="localhost/no-such-image:1").fails("true")
    assert "no-such-image" in text
    assert containers() == []


def test_containers_of_a_process_that_was_killed_are_removed(root: Path) -> None:
    """By the watchdog, at once."""
    words = f"""
import sys
from pathlib import Path
sys.path[:0] = {[str(Path(__file__).parents[3])]!r}
import importlib.util
from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.workspace import Workspace
from wink_podman import PodmanSandboxSection
with Workspace.open({str(root)!r}) as workspace:
    session = workspace.session()
    template = PromptTemplate(ns="t", key="t", sections=[PodmanSandboxSection(image={local_image()!r})])
    prompt = Prompt(template).bind(resources={{Filesystem: workspace.filesystem}})
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    executor.execute(ToolCall("shell_execute", {{"command": "echo half > a.txt; sleep 1000"}}))
"""
    process = subprocess.Popen([sys.executable, "-c", words], stdin=subprocess.DEVNULL)
    while not containers(process.pid):
        assert process.poll() is None
    while not program_has(root, "a.txt"):
        assert process.poll() is None
    process.kill()
    process.wait()
    while containers(process.pid):
        pass
    assert (root / "a.txt").read_text() == "one\n"
    while mounts(root):
        pass
    again = Agent(root)
    again.run("true")
    assert not any((state_of(root) / "programs").glob("*/upper"))
    again.workspace.close()


def test_a_prompt_without_files_gets_a_directory_that_goes_with_it() -> None:
    """And files in memory are refused with what to do."""
    section = PodmanSandboxSection(image=local_image())
    session = Session()
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section]))
    with prompt.resources:
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        assert executor.execute(ToolCall("write_file", {"file_path": "a.txt", "content": "a\n"})).success
        reply = executor.execute(ToolCall("shell_execute", {"command": "cat a.txt; echo b > b.txt"}))
        assert reply.success, reply.text
        place = prompt.resources.get(Filesystem).root
        assert (Path(place) / "b.txt").read_text() == "b\n"
    assert not os.path.exists(place)

    memory = Prompt(PromptTemplate(ns="t", key="m", sections=[section])).bind(
        resources={Filesystem: InMemoryFilesystem()}
    )
    executor = ToolExecutor(prompt=memory, rendered=memory.render(session=session), session=session)
    reply = executor.execute(ToolCall("shell_execute", {"command": "true"}))
    assert not reply.success
    assert "on the disk" in reply.text


def test_wrong_configurations_are_refused_when_they_are_made() -> None:
    """Not at the first call."""
    with pytest.raises(PromptValidationError):
        PodmanSandboxSection()
    with pytest.raises(PromptValidationError):
        PodmanSandboxSection(image="a", config=PodmanConfig(image="b"))
    with pytest.raises(PromptValidationError):
        PodmanSandboxSection(image=" ")
    names = [tool.name for tool in PodmanSandboxSection(image="a").tools()]
    assert {"read_file", "write_file", "edit_file", "shell_execute", "evaluate_python"} <= set(names)
    assert [policy.name for policy in PodmanSandboxSection(image="a").policies()]
    assert not PodmanSandboxSection(image="a", read_before_write=False).policies()
