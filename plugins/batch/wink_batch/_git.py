"""Run git where nothing of a workspace can tell it what to do: bare repositories of our own, no hooks, no prompts.

The user's own configuration counts for what goes over the network (keys, helpers, proxies), and for nothing else.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import IO, Final

from wink.dataclass import dataclass
from wink.trust import inherited
from wink_batch._errors import SourceUnavailable

TIMEOUT: Final = 900.0
"""Seconds that one command may take; a large repository over a slow line takes long."""

_QUIET: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "protocol.ext.allow=never",
    "-c", "submodule.recurse=false",
    "-c", "core.fsmonitor=false",
    "-c", "core.quotePath=false",
    "-c", "advice.detachedHead=false",
)  # fmt: skip
_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SECRET: Final = re.compile(r"(?<=://)[^/@\s]+@")


class GitFailed(Exception):
    """A git command failed; `said` is what it said last."""

    def __init__(self, command: str, said: str) -> None:
        self.command, self.said = command, said
        super().__init__(command, said)

    def __str__(self) -> str:
        return f"git {self.command}: {self.said}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree: its mode in octal, as git writes it, and the id of its content."""

    path: str
    mode: str
    sha: str


def git(
    repository: str,
    *arguments: str,
    network: bool = False,
    stdin: bytes = b"",
    timeout: float = TIMEOUT,
    env: Mapping[str, str] | None = None,
) -> bytes:
    """What a command prints; raises `GitFailed`."""
    command = ["git", *_QUIET, f"--git-dir={repository}", *arguments]
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=timeout, env=environment(network, env), check=False
        )
    except FileNotFoundError:
        raise GitFailed(arguments[0], "git is not installed; apt-get install git") from None
    except subprocess.TimeoutExpired:
        raise GitFailed(arguments[0], f"was not done after {timeout:.0f} s") from None
    if done.returncode:
        raise GitFailed(arguments[0], _last(done.stderr) or f"exit status {done.returncode}")
    return done.stdout


def environment(network: bool = False, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables for git: none that could lead it elsewhere, and no way to ask anybody anything."""
    kept = {
        name: value
        for name, value in inherited(os.environ).items()
        if not name.startswith("GIT_") or name == "GIT_SSH_COMMAND"
    }
    kept |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true", "LC_ALL": "C"}
    kept.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    if not network:
        kept |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return kept | dict(more or {})


def make(repository: str) -> None:
    """Make a bare repository, if there is none; by hand, as a process takes longer than all the rest."""
    if os.path.exists(f"{repository}/HEAD"):
        return
    for name in ("objects/info", "objects/pack", "refs/heads"):
        os.makedirs(f"{repository}/{name}", exist_ok=True)
    with open(f"{repository}/config", "w", encoding="utf-8") as file:
        file.write("[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogAllRefUpdates = false\n")
    with open(f"{repository}/HEAD.new", "w", encoding="utf-8") as file:
        file.write("ref: refs/heads/main\n")
    os.replace(f"{repository}/HEAD.new", f"{repository}/HEAD")


def commit_at(repository: str, reference: str) -> str:
    """The commit that a reference of a repository of ours is at; raises `GitFailed`."""
    try:
        with open(f"{repository}/{reference}", encoding="ascii") as file:
            found = file.read().strip()
    except FileNotFoundError:
        found = ""
    return found if is_full(found) else git(repository, "rev-parse", "--verify", reference).decode().strip()


def is_full(revision: str) -> bool:
    """Whether a revision is the whole id of a commit, which always means the same."""
    return _SHA.fullmatch(revision) is not None


def resolve(address: str, revision: str) -> str:
    """The commit that a remote means by a revision, by its default branch if that is empty; raises `SourceUnavailable`."""
    if is_full(revision):
        return revision
    wanted = revision or "HEAD"
    try:
        said = git(os.devnull, "ls-remote", "--", address, network=True)
    except GitFailed as error:
        raise SourceUnavailable(masked(address), masked(error.said)) from None
    found: dict[str, str] = {}
    for line in said.decode("utf-8", "replace").splitlines():
        sha, _, name = line.partition("\t")
        found[name] = sha
    for name in (f"refs/tags/{wanted}^{{}}", wanted, f"refs/heads/{wanted}", f"refs/tags/{wanted}"):
        if name in found and is_full(found[name]):
            return found[name]
    if re.fullmatch(r"[0-9a-f]{7,39}", wanted):
        return wanted  # the beginning of a commit's id, which only the repository itself can complete
    if not found:
        raise SourceUnavailable(masked(address), "the repository is empty")
    raise SourceUnavailable(masked(address), f"it has no branch or tag {wanted!r}")


def fetch(repository: str, address: str, revision: str) -> str:
    """Have a commit of a remote, and no more than is needed for its files; gives its id. Raises `GitFailed`."""
    make(repository)
    if is_full(revision):
        if has(repository, revision):
            return revision
        try:
            git(repository, "fetch", "--quiet", "--no-tags", "--depth=1", "--", address, revision, network=True)
            return revision
        except GitFailed:
            pass  # a server need not give what no branch or tag is at
    git(repository, "fetch", "--quiet", "--no-tags", "--", address, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/remotes/tags/*", network=True)  # fmt: skip
    return git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()


def has(repository: str, commit: str) -> bool:
    """Whether a commit is there with its tree."""
    try:
        git(repository, "cat-file", "-e", f"{commit}^{{tree}}")
        return True
    except GitFailed:
        return False


def entries(repository: str, commit: str) -> tuple[Entry, ...]:
    """All files of a commit."""
    found: list[Entry] = []
    for line in git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        if line:
            facts, _, path = line.partition(b"\t")
            mode, _, sha = facts.decode().split(" ")
            found.append(Entry(os.fsdecode(path), mode, sha))
    return tuple(found)


@contextmanager
def contents(repository: str) -> Generator[Contents]:
    """Read any number of objects through one process."""
    command = ["git", *_QUIET, f"--git-dir={repository}", "cat-file", "--batch"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Contents(process.stdin, process.stdout)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


class Contents:
    """See `contents`."""

    def __init__(self, asked: IO[bytes], told: IO[bytes]) -> None:
        self._asked, self._told = asked, told

    def read(self, sha: str) -> bytes:
        """The content of one object."""
        self._asked.write(sha.encode() + b"\n")
        self._asked.flush()
        head = self._told.readline().split()
        if len(head) != 3:
            raise GitFailed("cat-file", f"{sha} is missing")
        size = int(head[2])
        content = self._told.read(size + 1)
        if len(content) != size + 1:
            raise GitFailed("cat-file", f"{sha} was cut off")
        return content[:-1]


def masked(text: str) -> str:
    """Text without the users and passwords in its URLs."""
    return _SECRET.sub("***@", text)


def _last(said: bytes) -> str:
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "! "))] or lines
    return masked("; ".join(told[:3]).replace("fatal: ", "").replace("error: ", ""))[:500]
