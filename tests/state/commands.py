"""Every command that opens a workspace, and what it must have said when it says that all is well."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.state.world import RUNNING, Ended, World, asked


class Command(NamedTuple):
    """`argv` as typed; `how` it is ended; with `changes` it does not leave a workspace as it is; `guard` as for `World.run`."""

    name: str
    argv: tuple[str, ...]
    how: str = "run"
    stdin: str = ""
    changes: bool = False
    says: Callable[[Ended, Ended], bool] | None = None
    guard: str = ""

    def run(self, world: World) -> Ended:
        """To its end."""
        argv = [word.replace("{files}", str(world.files)).replace("{base}", str(world.base)) for word in self.argv]
        stdin = self.stdin.replace("{base}", str(world.base))
        return world.run(*argv, how=self.how, stdin=stdin, guard=self.guard)


def _same(done: Ended, usual: Ended) -> bool:
    return done.out == usual.out


def _calls(done: Ended, usual: Ended) -> bool:
    """The log tells of the same calls; later ones may have been added."""
    found = _facts(done)
    return all(fact in found for fact in _facts(usual))


def _facts(done: Ended) -> list[Any]:
    return [(row["call"], row["tool"], row["outcome"]) for row in map(json.loads, done.out.splitlines())]


def _names(done: Ended, usual: Ended) -> bool:
    return done.out.splitlines()[:1] == usual.out.splitlines()[:1]


def _message(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def _tool(number: int, tool: str, **arguments: Any) -> str:
    return _message(number, "tools/call", name=tool, arguments=arguments)


_LOGIN = "echo token > $HOME/.claude/.credentials.json"
"""What is real in the home already, so that nothing outside of the workspace changes."""
_HELLO = _message(
    1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"}
)
SERVED = "\n".join((
    _HELLO, '{"jsonrpc": "2.0", "method": "notifications/initialized"}', _message(2, "tools/list"),
    _tool(3, "read_file", file_path="big.txt"), _tool(4, "write_file", file_path="served.txt", content="served"),
    _tool(5, "run_command", command="sh -c 'echo ran > ran.txt'"), "",
))  # fmt: skip
OPENED = _message(1, "session/new", cwd="{base}/work", mcpServers=[]) + "\n"

LOOKING: Sequence[Command] = (
    Command("tools", ("tools",), says=_same),
    Command("call read", ("call", "read_file", "file_path=big.txt"), says=_same),
    Command("status", ("status",)),
    Command("attach", ("attach",)),
    Command("detach", ("detach", "claude-code")),
    Command("acp", ("acp", "--", "cat"), stdin=OPENED),
    Command("rewind", ("rewind", "--to", "1")),
    Command("log", ("log", "--json"), says=_calls),
    Command("show", ("show", "c5"), says=_names),
    Command("diff", ("diff", "c3..c7")),
    Command("diff of a call", ("diff", "c5")),
    Command("blame", ("blame", "a.txt")),
    Command("verify", ("verify",)),
    Command("diff of a try", ("diff", "--try", "default")),
    Command("tries", ("tries",)),
    Command("tries that were dropped", ("tries", "--dropped")),
    Command("events", ("events",)),
    Command("export", ("export", "--force", "{files}/exported.wink")),
    Command("prompts", ("prompts",), says=_same),
    Command("runs", ("runs",)),
    Command("approvals", ("approvals",), says=_same),
    Command("explain", ("explain", "write_file", "file_path=a.txt", "content=x"), says=_same),
    Command("explain a path", ("explain", "--path", "a.txt"), says=_same),
    Command("rules test", ("rules", "test", "{base}/expected.toml"), says=_same),
    Command("doctor", ("doctor",)),
    Command("lint", ("lint",), says=_same),
    Command("plugins", ("plugins",), says=_same),
    Command("watch", ("watch",), how="interrupt"),
    Command("ui", ("ui", "--no-open"), how="ui"),
    Command("recover", ("recover",)),
    Command("undo, dry", ("undo", "--dry-run")),
    Command("trust --state", ("trust", "--state", "--yes")),
)  # fmt: skip
CHANGING: Sequence[Command] = (
    Command("history", ("history", "log", "-p"), changes=True),
    Command("call write", ("call", "write_file", "file_path=new.txt", "content=new"), changes=True),
    Command("run_command", (*RUNNING, "command=sh -c 'echo x > web/y'"), changes=True),
    Command("run_command on a copy", (*RUNNING, "command=sh -c 'echo x > web/y'"), changes=True, guard="scan"),
    Command("call of what waits", (*asked(1), "content=asked"), changes=True),
    Command("call of what was approved", (*asked(2), "content=approved"), changes=True),
    Command("approve", ("approve", "a2"), changes=True, says=_same),
    Command("approve, edited", ("approve", "a3", "content=other"), changes=True, says=_same),
    Command("deny", ("deny", "a2", "--note", "not today"), changes=True, says=_same),
    Command("run", ("run", "Write", "--no-input", "--model", "scripted:{base}/asking.toml"), changes=True),
    Command("run --resume", ("run", "--resume", "--no-input"), changes=True),
    Command("replay", ("replay", "{base}/recording.json"), changes=True),
    Command("batch merge", ("batch", "merge", "{base}/batch"), changes=True),
    Command("undo", ("undo",), changes=True),
    Command("undo of an older call", ("undo", "c7"), changes=True),
    Command("redo", ("redo",), changes=True),
    Command("checkpoint", ("checkpoint", "two"), changes=True),
    Command("checkpoint --full", ("checkpoint", "three", "--full"), changes=True),
    Command("restore", ("restore", "one"), changes=True),
    Command("gc", ("gc", "--calls", "1"), changes=True),
    Command("try", ("try", "--", "sh", "-c", "echo again > again.txt"), changes=True),
    Command("try, claude", ("try", "--profile", "claude", "--", "sh", "-c", _LOGIN), changes=True),
    Command("try, closed", ("try", "--profile", "closed", "--", "true"), changes=True),
    Command("update", ("update", "--name", "default"), changes=True),
    Command("accept", ("accept", "--name", "other"), changes=True),
    Command("drop", ("drop", "--name", "default"), changes=True),
    Command("drop --undo", ("drop", "--undo"), changes=True),
    Command("serve", ("serve", "--section", "shell.commands"), stdin=SERVED, changes=True),
    Command("serve on a copy", ("serve", "--section", "shell.commands"), stdin=SERVED, changes=True, guard="scan"),
    Command("recover --undo", ("recover", "--undo"), changes=True),
    Command("recover --set-aside", ("recover", "--set-aside"), changes=True),
)  # fmt: skip
COMMANDS = (*LOOKING, *CHANGING)

OPEN_NO_STATE: Mapping[str, str] = {
    "completion": "it prints a script",
    "demo": "it works on a copy of a project, in a directory that it makes",
    "help": "it prints what a command does",
    "import": "it writes into a directory that is empty",
    "new-plugin": "it writes a package of its own",
}
"""The other commands, each with the reason why no workspace's state can be in its way; of `batch` only `merge` opens one."""
