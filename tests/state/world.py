"""A workspace with a state that wink itself has made, copies of it to attack, and wink's commands to run in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from tests.state.canary import SECRET, Looks, changes, make_canary, seen
from tests.state.restoring import remove

SECONDS = 30.0
"""Far more than anything takes on a busy machine: whatever takes longer hangs."""
MOST_BYTES = 640 << 20
"""More than wink with all its modules, and the largest text that it reads whole."""
NOBODY = 65534
SPARE = "spare"
KEPT = f"{SPARE}/kept"
"""Beside the workspace: where `tests.state.restoring` keeps what it puts back."""
_BESIDES = ("it is kept in conflicts/", "wink: workspace ", "wink: not kept in your home: ")
"""Parts of what wink says besides: of somebody's file that it does not free, as a copied workspace looks like that, what a
program sees when it starts, and what of it stays in the try when it has ended."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Ended:
    """How a command ended; `status` is None where it never did."""

    status: int | None
    out: str
    err: str
    bytes: int
    seconds: float
    fetched: str = ""

    @property
    def said(self) -> str:
        """All that it gave away."""
        return f"{self.out}\n{self.err}\n{self.fetched}"


class Forker:
    """Runs commands; see `tests.state.forker`."""

    def __init__(self, user: int | None = None) -> None:
        words = [sys.executable, "-m", "tests.state.forker", *([str(user)] if user is not None else [])]
        top = Path(__file__).parents[2]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(top / "src"), str(top)))}
        self._process = subprocess.Popen(
            words, cwd=top, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._answer() == "ready\n", "it could not be started"

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One command, to its end."""
        self.begin(request)
        return self.ended()

    def begin(self, request: Mapping[str, Any]) -> None:
        """Start one command."""
        print(json.dumps(request), file=self._stream(self._process.stdin), flush=True)

    def ended(self) -> dict[str, Any]:
        """How the one that was begun has ended."""
        return json.loads(self._answer())

    def close(self) -> None:
        """End it."""
        self._stream(self._process.stdin).close()
        self._process.wait(SECONDS)
        self._stream(self._process.stdout).close()

    def _answer(self) -> str:
        return self._stream(self._process.stdout).readline()

    @staticmethod
    def _stream(stream: IO[str] | None) -> IO[str]:
        assert stream is not None
        return stream


@dataclass
class World:
    """A directory `base` with the workspace `work`, the canary, and a home; `close` removes all of it."""

    forker: Forker
    user: int | None = None
    base: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="wink-state-")))
    files: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="wink-said-")))
    before: Mapping[str, Looks] = field(default_factory=dict[str, Looks])
    env: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.base.chmod(0o755)
        make_canary(self.base)
        self.env = {"PATH": _PATH, "HOME": str(self.base / "home"), "XDG_STATE_HOME": str(self.base / "keys"),
                    "LANG": "C.UTF-8", "NO_COLOR": "1"}  # fmt: skip
        (self.base / "keys").mkdir()
        self.work.mkdir()
        self.own(self.base)
        self.own(self.files)

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.base / "work"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for place in (self.base, self.files):
            remove(str(place))

    def own(self, place: Path) -> None:
        """Give what is there to the user whose world this is."""
        if self.user is not None:
            subprocess.run(["chown", "-hR", f"{self.user}:{self.user}", place], check=True)

    def run(
        self, *argv: str, how: str = "run", stdin: str = "", cwd: Path | None = None, guard: str = "", **env: str
    ) -> Ended:
        """One wink command in the workspace; `guard` is the only one that programs can have, if not the usual one."""
        request = self.request(*argv, how=how, stdin=stdin, cwd=cwd, number=0, **env) | {"guard": guard}
        done = self.forker.run(request)
        out, err = (Path(request[name]).read_text(errors="replace") for name in ("out", "err"))
        return Ended(done["status"], out, err, done["bytes"], done["seconds"], done["fetched"])

    def request(
        self, *argv: str, how: str = "run", stdin: str = "", cwd: Path | None = None, number: int = 0, **env: str
    ) -> dict[str, Any]:
        """What a forker is asked for; `number` tells those apart that run at once."""
        said = {name: self.files / f"{name}-{number}" for name in ("stdin", "out", "err")}
        for name, place in said.items():
            place.write_text(stdin if name == "stdin" else "")
            if self.user is not None:
                os.chown(place, self.user, self.user)
        return {
            "argv": argv, "cwd": str(cwd or self.work), "env": {**self.env, **env}, "how": how, "seconds": SECONDS, "guard": "",
            **{name: str(place) for name, place in said.items()},
        }  # fmt: skip

    def python(self, code: str) -> None:
        """Let wink do what no command does alone."""
        done = self.run("python", code)
        assert done.status == 0, done.err

    def ok(self, *argv: str, **how: Any) -> Ended:
        """The same for a command that has to work."""
        done = self.run(*argv, **how)
        assert done.status == 0, (argv, done)
        return done

    def make_key(self) -> None:
        """Be somebody who has used wink elsewhere."""
        (self.base / "keys/wink").mkdir(mode=0o700)
        (self.base / "keys/wink/key").write_bytes(os.urandom(32))
        (self.base / "keys/wink/key").chmod(0o600)
        self.own(self.base / "keys")

    def state(self) -> Path:
        """Where the state of the workspace lies."""
        (found,) = [one for one in (self.work / ".wink").iterdir() if len(one.name) == 32]
        return found

    def seal(self) -> None:
        """From now on nothing outside of the workspace may change."""
        self.before = self._outside()

    def harm(self, done: Ended) -> list[str]:
        """What a command has done that none may, whatever lay there."""
        found = changes(self.before, self._outside())
        if done.status is None:
            found.append(f"it did not end in {SECONDS:g} seconds")
        elif done.status < 0:
            found.append(f"it was killed by signal {-done.status}")
        if done.bytes > MOST_BYTES:
            found.append(f"it used {done.bytes >> 20} MiB")
        if SECRET in done.said:
            found.append("it told what is outside of the workspace")
        return [*found, *(f"{path} has what is outside" for path in self._leaks())]

    def _outside(self) -> Mapping[str, Looks]:
        return seen(self.base, but=("work", SPARE, "keys/wink/known"))  # that there is a state is noted there

    def _leaks(self) -> list[str]:
        found: list[str] = []
        for above, names, files in os.walk(self.work):
            names[:] = [name for name in names if name not in (".wink", ".git")]
            for name in files:
                path = os.path.join(above, name)
                status = os.lstat(path)
                is_small = os.path.isfile(path) and status.st_size < 1 << 20
                if is_small and not os.path.islink(path) and SECRET.encode() in Path(path).read_bytes():
                    found.append(os.path.relpath(path, self.work))
        return found


def complaint(done: Ended) -> str | None:
    """What is wrong with how a command failed: it says so in one line, and that is not a mistake of wink's own."""
    said = [line for line in done.err.splitlines() if line.startswith("wink: ")]
    lines = [line for line in said if not any(part in line for part in _BESIDES)]
    if "Traceback" in done.err or "should not happen" in done.said:
        return f"a mistake of wink's own: {done.err[-600:]}"
    if done.status == 128 and "\nfatal: " in f"\n{done.err}":
        return None  # `wink history` is git by then, and ends as git does
    if "\nwink: tried, " in f"\n{done.err}":
        return None  # the program's own status: it found something closed to it, and was told of as any other
    if done.status not in (0, 1, 2):
        return f"status {done.status}: {done.err[-300:]}"
    if done.status and len(lines) != 1 and len(done.err.splitlines()) != 1:
        return f"{len(lines)} lines: {done.err[-600:]!r}"
    return None


_HOME = "echo h > $HOME/in-home; mkdir $HOME/.claude; cd $HOME/.claude; echo {} > settings.json; echo token > .credentials.json"
RUNNING = ("call", "--section", "shell.commands", "run_command")
MAKING: Sequence[tuple[str, ...]] = (
    ("call", "write_file", "file_path=n.txt", "content=hello"),
    ("call", "read_file", "file_path=a.txt"),
    ("call", "write_file", "file_path=a.txt", "content=second"),
    ("call", "write_file", "file_path=deep/er/b.txt", "content=b"),
    ("checkpoint", "one", "--full"),
    ("history",),
    ("call", "write_file", "file_path=a.txt", "content=third"),
    ("call", "write_file", "file_path=later.txt", "content=later"),
    ("call", "write_file", "file_path=big.txt", f"content={'x' * 5000}"),
    ("call", "rm", "path=deep", "recursive=true"),
    ("try", "--profile", "claude", "--", "sh", "-c", f"echo tried > tried.txt; mkdir sub; echo more > sub/t; rm n.txt; {_HOME}"),
    ("try", "--name", "other", "--profile", "closed", "--", "sh", "-c", "echo other > other.txt"),
    ("try", "--name", "gone", "--profile", "closed", "--", "sh", "-c", "echo gone > gone.txt"),
    ("drop", "--name", "gone"),
    (*RUNNING, "command=sh -c 'mkdir -p web/node_modules; echo 1 > web/node_modules/x; echo p > web/made'"),
    ("call", "write_file", "file_path=c.txt", "content=wink"),
)  # fmt: skip
FAILING: Sequence[tuple[str, ...]] = (
    ("call", "edit_file", "file_path=a.txt", "old_string=absent", "new_string=x"),
    (*RUNNING, "command=sh -c 'echo dropped > dropped.txt; exit 3'"),
)
_KEPT = """
from wink.record._results import Results
from wink.runtime import ToolCall
from wink.workspace import Workspace
from wink.adapters import RecordJournal
with Workspace.open(".") as workspace:
    Results(workspace.state).keep("abcdef0123456789", "a result " * 1000)
    with RecordJournal.begin(workspace, plan={"task": "deploy", "password": "hunter22"}) as journal:
        journal.stopped("no network")
from wink.filesystem import HostFilesystem
with HostFilesystem(".") as files:
    part = files.begin()
    files.write_lock.acquire(5)
    part.handle.write("a.txt", "written")
    open("a.txt", "w").write("a person's")  # which a rollback keeps apart
    part.undo()
    files.write_lock.release()
"""


SETTINGS = """
[[rules]]
action = "ask"
tools = ["write_file"]
paths = "asked*.txt"
reason = "a person looks at them"
"""
READING = """
[[turn]]
[[turn.call]]
tool = "read_file"
arguments = { file_path = "a.txt" }

[[turn]]
text = "Done."
"""
ASKING = READING.replace(
    "[[turn]]\ntext",
    """[[turn]]
[[turn.call]]
tool = "write_file"
arguments = { file_path = "asked-by-a-run.txt", content = "of a run" }

[[turn]]
text""",
)
WRITING = READING.replace("read_file", "write_file").replace('"a.txt"', '"of-a-batch.txt", content = "merged"')
_WAITING: Sequence[str] = ("password=hunter22hunter22", "asked", "approved")
"""What calls that wait for a person would write: the first is masked, so that it is kept aside; the last is answered."""


def make_known(world: World) -> None:
    """Use wink for all that leaves something in a state."""
    (world.work / "a.txt").write_text("one\n")
    (world.work / "wink.toml").write_text(SETTINGS)
    expected = '[[test]]\nread = "a.txt"\nexpect = "allow"\n'
    for name, text in (("reading", READING), ("asking", ASKING), ("writing", WRITING), ("expected", expected)):
        (world.base / f"{name}.toml").write_text(text)
    (world.base / "tasks.jsonl").write_text(json.dumps({"id": "t1", "prompt": "Write", "workspace": str(world.work)}))
    (world.work / "web").mkdir()
    world.own(world.work)
    for argv in MAKING:
        world.ok(*argv)
    for argv in FAILING:
        assert world.run(*argv).status == 1, argv
    world.python(_KEPT)
    edited = world.base / "overridden.txt"
    edited.write_text("Look before you leap.\n")
    world.ok("prompts", "edit", "files", "--from", str(edited))
    world.ok("undo", "c8")
    edited.unlink()
    copied = world.run(*RUNNING, "command=sh -c 'mkdir -p made; echo copied > made/copied.txt'", guard="scan")
    assert copied.status == 0, copied
    if world.user is None:  # another user cannot start the processes that a batch works in
        batch = (
            "batch",
            "run",
            str(world.base / "tasks.jsonl"),
            "--engine",
            "local",
            "--model",
            f"scripted:{world.base}/writing.toml",
        )
        world.ok(*batch, "--out", str(world.base / "batch"), "--cache", str(world.files / "cache"))
    reading = ("run", "Look", "--model", f"scripted:{world.base}/reading.toml")
    world.ok(*reading, "--record", str(world.base / "recording.json"))
    asking = world.run("run", "Write", "--no-input", "--model", f"scripted:{world.base}/asking.toml")
    assert asking.status == 3, asking
    # Last, since an answer holds for the files as they are.
    for number, content in enumerate(_WAITING):
        assert "needs approval" in world.run(*asked(number), f"content={content}").said
    world.ok("approve", f"a{len(_WAITING) + 1}")


def adopt(world: World, template: World) -> None:
    """Take over a copy of a workspace that was made elsewhere."""
    world.work.rmdir()
    subprocess.run(["cp", "-a", template.work, world.work], check=True)
    world.ok("trust", "--state", "--yes")
    world.seal()


def asked(number: int) -> tuple[str, ...]:
    """A call that waits for a person, without its content."""
    return ("call", "write_file", f"file_path=asked-{number}.txt")
